// Exact nearest rows of a dense collection: candidates of a DenseBatch, compared by the definition.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

// Which of 64 rows could still be among the nearest, judged by their products.

// Products of one query with consecutive rows, and what bounds their error.
struct ProductRun {
  const float* products;
  const float* sizes;   // by row: what the error grows with
  const float* biases;  // by row
  float error;          // of this query, per unit of row size
  float constant;       // of this query

  float margin(std::int64_t i) const { return error * sizes[i] + constant; }
  float low(std::int64_t i) const { return (products[i] - biases[i]) - margin(i); }
  float high(std::int64_t i) const { return (products[i] - biases[i]) + margin(i); }
};

// Bit i is set where row first + i (i < 64) has an upper end of at least `threshold`.
using ReachingRows = std::uint64_t (*)(const ProductRun& run, std::int64_t first, float threshold);

namespace plain {

inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first, float threshold) {
  std::uint64_t rows = 0;
  for (std::int64_t i = 0; i < 64; ++i)
    rows |= static_cast<std::uint64_t>(run.high(first + i) >= threshold) << i;
  return rows;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

VICINAL_AVX2 inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first,
                                                float threshold) {
  const __m256 error = _mm256_set1_ps(run.error), constant = _mm256_set1_ps(run.constant);
  const __m256 least = _mm256_set1_ps(threshold);
  std::uint64_t rows = 0;
  for (int i = 0; i < 64; i += 8) {
    const std::int64_t at = first + i;
    const __m256 margin =
        _mm256_add_ps(_mm256_mul_ps(error, _mm256_loadu_ps(run.sizes + at)), constant);
    const __m256 score =
        _mm256_sub_ps(_mm256_loadu_ps(run.products + at), _mm256_loadu_ps(run.biases + at));
    const __m256 passed = _mm256_cmp_ps(_mm256_add_ps(score, margin), least, _CMP_GE_OQ);
    rows |= static_cast<std::uint64_t>(_mm256_movemask_ps(passed)) << i;
  }
  return rows;
}

}  // namespace avx2

namespace avx512 {

VICINAL_AVX512 inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first,
                                                  float threshold) {
  const __m512 error = _mm512_set1_ps(run.error), constant = _mm512_set1_ps(run.constant);
  const __m512 least = _mm512_set1_ps(threshold);
  std::uint64_t rows = 0;
  for (int i = 0; i < 64; i += 16) {
    const std::int64_t at = first + i;
    const __m512 margin =
        _mm512_add_ps(_mm512_mul_ps(error, _mm512_loadu_ps(run.sizes + at)), constant);
    const __m512 score =
        _mm512_sub_ps(_mm512_loadu_ps(run.products + at), _mm512_loadu_ps(run.biases + at));
    const __mmask16 passed = _mm512_cmp_ps_mask(_mm512_add_ps(score, margin), least, _CMP_GE_OQ);
    rows |= static_cast<std::uint64_t>(passed) << i;
  }
  return rows;
}

}  // namespace avx512
#endif

inline ReachingRows reaching_rows([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level == Simd::avx512) return avx512::reaching_rows;
  if (level == Simd::avx2) return avx2::reaching_rows;
#endif
  return plain::reaching_rows;
}

// The k best of values known only up to an error: every row that could be among them is kept.

// A row's score, larger is nearer, lies between `low` and `high`.
struct Interval {
  float low;
  float high;
  std::int32_t id;
};

// Keeps each interval that reaches the k-th best lower end. The list is pruned when it has doubled
// since the last pruning, so the work is linear in the number of intervals added.
class IntervalTopK {
 public:
  explicit IntervalTopK(std::size_t k) : k_(k), limit_(2 * k + 64) {}

  // Nothing whose upper end is below this can be among the k best.
  float threshold() const { return threshold_; }

  void push(Interval interval) {
    kept_.push_back(interval);
    if (kept_.size() >= limit_) tighten();
  }

  const std::vector<Interval>& tighten() {
    if (kept_.size() < k_ || k_ == 0) return kept_;
    const auto kth = kept_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(kept_.begin(), kth, kept_.end(),
                     [](const Interval& a, const Interval& b) { return a.low > b.low; });
    threshold_ = std::max(threshold_, kth->low);
    std::erase_if(kept_, [this](const Interval& interval) { return interval.high < threshold_; });
    limit_ = 2 * kept_.size() + 64;
    return kept_;
  }

 private:
  std::size_t k_;
  std::size_t limit_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<Interval> kept_;
};

// The queries of one batch of a dense search, and the rows that may be among their k nearest.
//
// The caller multiplies blocks of queries and rows in float32 and states how wrong each product can
// be. The score of a row, larger is nearer, is
//   product - bias            for the Euclidean metric, bias = half the row's squared norm,
//   product                   for cosine (both scaled to length one) and dot product,
// and lies within error * row size + constant of the computed value (see index/dense.py).

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

// A dense matrix, row by row.
template <class Value>
struct DenseRows {
  std::span<const Value> values;
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;

  DenseRows(std::span<const Value> values, std::int64_t n_rows, std::int64_t n_columns)
      : values(values), n_rows(n_rows), n_columns(n_columns) {
    VICINAL_ASSERT(n_rows >= 0 && n_columns >= 0);
    VICINAL_ASSERT(std::ssize(values) == n_rows * n_columns);
  }

  std::span<const Value> row(std::int64_t i) const {
    return values.subspan(i * n_columns, n_columns);
  }
};

template <class Value>
std::vector<double> dense_norms(const DenseRows<Value>& rows) {
  std::vector<double> norms(rows.n_rows);
  for (std::int64_t i = 0; i < rows.n_rows; ++i) norms[i] = std::sqrt(squared_norm(rows.row(i)));
  return norms;
}

// Where results go: `k` cells per query, nearest first. Cells without a neighbour keep what the
// caller put there. Values are distances or similarities.
struct DenseAnswers {
  std::span<std::int32_t> ids;
  std::span<double> values;
  std::int64_t k;

  void write(std::size_t query, Metric metric, TopK& best) const {
    std::size_t at = query * static_cast<std::size_t>(k);
    for (const Neighbor& neighbor : best.sort()) {
      ids[at] = neighbor.id;
      values[at++] = metric == Metric::euclidean ? std::sqrt(neighbor.key) : -neighbor.key;
    }
  }
};

// Compares by the exact definition: float64, features in rising order.
template <class Value>
class DenseIndex {
 public:
  // Both arrays must outlive the index. A view of more rows of a growing array costs nothing.
  DenseIndex(const DenseRows<Value>& rows, std::span<const double> norms, Metric metric)
      : rows_(rows), norms_(norms), metric_(metric) {
    VICINAL_ASSERT(std::ssize(norms) == rows.n_rows);
  }

  // Write the results of queries whose k nearest rows are certain; return the other queries.
  std::vector<std::int64_t> finish(DenseBatch& batch, const DenseRows<double>& queries,
                                   const DenseAnswers& answers) const {
    std::vector<std::int64_t> uncertain;
    const std::size_t k = capacity(answers);
    for (std::size_t q = 0; q < batch.size(); ++q) {
      const auto& kept = batch.best(q).tighten();
      // A row that shares no feature has the score 0, and must not have counted among the k best.
      if (metric_ != Metric::euclidean &&
          (kept.size() < k || !(batch.best(q).threshold() > 0.0f))) {
        uncertain.push_back(static_cast<std::int64_t>(q));
        continue;
      }
      const Query query = query_of(queries, q);
      TopK best(k);
      for (const Interval& interval : kept) offer(query, interval.id, best);
      answers.write(q, metric_, best);
    }
    return uncertain;
  }

  // Compare the chosen queries with every row that is not excluded or removed.
  void compare_with_all(const DenseBatch& batch, const DenseRows<double>& queries,
                        std::span<const std::int64_t> chosen, const DenseAnswers& answers,
                        int n_threads,
                        const InterruptCheck& interrupted = never_interrupted) const {
    parallel_for(
        std::ssize(chosen), n_threads,
        [&](std::int64_t task, int) {
          const auto q = static_cast<std::size_t>(chosen[task]);
          const Query query = query_of(queries, q);
          TopK best(capacity(answers));
          for (std::int32_t id = 0; id < rows_.n_rows; ++id)
            if (batch.admits(q, id)) offer(query, id, best);
          answers.write(q, metric_, best);
        },
        interrupted);
  }

 private:
  struct Query {
    std::span<const double> values;
    double norm;
  };

  std::size_t capacity(const DenseAnswers& answers) const {
    return static_cast<std::size_t>(std::min(answers.k, rows_.n_rows));
  }

  Query query_of(const DenseRows<double>& queries, std::size_t q) const {
    const auto values = queries.row(static_cast<std::int64_t>(q));
    return {values, metric_ == Metric::cosine ? std::sqrt(squared_norm(values)) : 0.0};
  }

  void offer(const Query& query, std::int32_t id, TopK& best) const {
    const auto row = rows_.row(id);
    if (metric_ == Metric::euclidean) {
      best.push({squared_distance(query.values, row), id});
      return;
    }
    double sum = 0.0;
    unsigned shares_feature = 0;  // an integer, so that the loop has no branch
    for (std::size_t j = 0; j < row.size(); ++j) {
      sum += query.values[j] * static_cast<double>(row[j]);
      shares_feature |= unsigned{query.values[j] != 0.0} & unsigned{row[j] != Value{0}};
    }
    if (shares_feature != 0) best.push({key_of(metric_, sum, query.norm, norms_[id]), id});
  }

  static double squared_distance(std::span<const double> query, std::span<const Value> row) {
    double sum = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double difference = query[j] - static_cast<double>(row[j]);
      sum += difference * difference;
    }
    return sum;
  }

  DenseRows<Value> rows_;
  std::span<const double> norms_;
  Metric metric_;
};

}  // namespace vicinal
