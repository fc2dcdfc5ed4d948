// The queries of one batch of a dense search, and the rows that may be among their k nearest.
//
// The caller multiplies blocks of queries and rows in float32 and states how wrong each product can
// be. The score of a row, larger is nearer, is
//   product - bias            for the Euclidean metric, bias = half the row's squared norm,
//   product                   for cosine (both scaled to length one) and dot product,
// and lies within error * row size + constant of the computed value (see index/dense.py).
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/dense/interval_kernels.hpp"
#include "vicinal/dense/interval_top_k.hpp"

namespace vicinal {

// Offer the rows first, first + 1, ... first + n - 1 to one query. `excluded` is a row id or -1.
inline void collect(const ProductRun& run, std::int64_t n, std::int32_t first,
                    std::int32_t excluded, std::span<const std::uint8_t> removed,
                    ReachingRows reaching, IntervalTopK& best) {
  const auto offer = [&](std::int64_t i) {
    const auto id = static_cast<std::int32_t>(first + i);
    if (run.high(i) < best.threshold() || id == excluded) return;
    if (removed.empty() || !removed[id]) best.push({run.low(i), run.high(i), id});
  };
  std::int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (std::uint64_t rows = reaching(run, i, best.threshold()); rows != 0; rows &= rows - 1)
      offer(i + std::countr_zero(rows));
  for (; i < n; ++i) offer(i);
}

// Products of all queries of a batch with a block of rows, and their error bounds.
struct ProductBlock {
  std::span<const float> products;   // one row per query
  std::span<const float> sizes;      // by row: what the error grows with
  std::span<const float> biases;     // by row
  std::span<const float> errors;     // by query, per unit of row size
  std::span<const float> constants;  // by query
};

class DenseBatch {
 public:
  // `excluded` holds one row id (or -1) per query, or is empty. `removed` marks removed rows, or is
  // empty. Both must outlive the batch.
  DenseBatch(std::int64_t n_queries, std::int64_t k, std::span<const std::int32_t> excluded,
             std::span<const std::uint8_t> removed, Simd simd)
      : excluded_(excluded),
        removed_(removed),
        reaching_(reaching_rows(simd)),
        best_(n_queries, IntervalTopK(static_cast<std::size_t>(k))) {
    VICINAL_ASSERT(excluded.empty() || std::ssize(excluded) == n_queries);
  }

  std::size_t size() const { return best_.size(); }
  IntervalTopK& best(std::size_t query) { return best_[query]; }

  bool admits(std::size_t query, std::int32_t id) const {
    return id != excluded(query) && (removed_.empty() || !removed_[id]);
  }

  // Offer a block of rows, the first with id `first`, to every query.
  void collect(const ProductBlock& block, std::int32_t first) {
    const std::int64_t n_rows = std::ssize(block.sizes);
    VICINAL_ASSERT(block.products.size() == size() * block.sizes.size());
    VICINAL_ASSERT(block.biases.size() == block.sizes.size());
    VICINAL_ASSERT(block.errors.size() == size() && block.constants.size() == size());
    VICINAL_ASSERT(removed_.empty() || first + n_rows <= std::ssize(removed_));
    for (std::size_t q = 0; q < size(); ++q) {
      const ProductRun run{block.products.data() + q * n_rows, block.sizes.data(),
                           block.biases.data(), block.errors[q], block.constants[q]};
      vicinal::collect(run, n_rows, first, excluded(q), removed_, reaching_, best_[q]);
    }
  }

 private:
  std::int32_t excluded(std::size_t query) const {
    return excluded_.empty() ? -1 : excluded_[query];
  }

  std::span<const std::int32_t> excluded_;
  std::span<const std::uint8_t> removed_;
  ReachingRows reaching_;
  std::vector<IntervalTopK> best_;
};

}  // namespace vicinal
