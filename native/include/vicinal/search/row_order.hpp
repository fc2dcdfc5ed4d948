// The order of rows inside an index, decided before anything else is built.
//
// Rows are laid out by rising norm, so that a threshold on the similarity becomes one number for a
// group of neighbouring rows. Two kinds of rows stay outside the blocks:
//  - empty rows share no feature with anything and are all equally far from a query;
//  - out-of-range rows have a squared norm near the limits of float64, so that products with them
//    may overflow or lose all digits. No error bound holds for them: a search always compares them
//    by the exact definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"

namespace vicinal {

// Whether the error bounds of a search hold for a row or query of this squared norm.
inline bool is_in_range(double squared_norm) {
  return squared_norm >= 1e-280 && squared_norm <= 1e280;
}

struct RowOrder {
  Array<double> norms;               // by row id: square root of the sum of squares
  Array<std::int32_t> ranked;        // rows of the blocks, by (norm or length, id)
  Array<std::int32_t> out_of_range;  // rising ids
  Array<std::int32_t> empty;         // rising ids

  static void stored(auto& self, auto& archive) {
    archive(self.norms, self.ranked, self.out_of_range, self.empty);
  }

  // Refuse stored ids of rows that do not exist.
  void check(std::int64_t n_rows) const {
    const auto exists = [&](std::int32_t id) { return id >= 0 && id < n_rows; };
    for (const auto* ids : {&ranked, &out_of_range, &empty})
      expect_stored(std::all_of(ids->begin(), ids->end(), exists), "row ids below n_rows");
    expect_stored(std::ssize(norms) == n_rows &&
                      std::ssize(ranked) + std::ssize(out_of_range) + std::ssize(empty) == n_rows,
                  "every row once");
  }
};

enum class Layout { by_norm, by_length };

template <class Value>
RowOrder order_rows(const CsrView<Value>& rows, Layout layout) {
  RowOrder order;
  order.norms.resize(rows.n_rows());
  for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
    const double square = squared_norm(rows.row(i));
    order.norms.edit(i) = std::sqrt(square);
    auto& kind = rows.row_size(i) == 0 ? order.empty
                 : is_in_range(square) ? order.ranked
                                       : order.out_of_range;
    kind.push_back(static_cast<std::int32_t>(i));
  }
  const std::span<std::int32_t> ranked = order.ranked.edit_all();
  std::stable_sort(ranked.begin(), ranked.end(), [&](std::int32_t a, std::int32_t b) {
    return layout == Layout::by_norm ? order.norms[a] < order.norms[b]
                                     : rows.row_size(a) < rows.row_size(b);
  });
  return order;
}

// How positions in `RowOrder::ranked` are divided: into blocks whose accumulators fit the cache and
// whose row numbers fit 16 bits, and into groups that share one threshold.
struct Blocks {
  static constexpr std::int64_t group = 512;
  static constexpr std::int64_t largest = 65536;

  std::int64_t n_rows = 0;
  std::int64_t rows_per_block = group;  // a multiple of `group`
  std::int64_t count = 0;

  Blocks() = default;
  Blocks(std::int64_t n_rows, std::int64_t wanted) : n_rows(n_rows) {
    wanted = std::clamp(wanted, group, largest);
    count = (n_rows + wanted - 1) / wanted;
    if (count == 0) return;
    const std::int64_t even = (n_rows + count - 1) / count;
    rows_per_block = (even + group - 1) / group * group;
    count = (n_rows + rows_per_block - 1) / rows_per_block;
  }

  // Blocks of exactly `rows` rows, a multiple of `group`.
  static Blocks of_size(std::int64_t n_rows, std::int64_t rows) {
    Blocks blocks;
    blocks.n_rows = n_rows;
    blocks.rows_per_block = rows;
    blocks.count = (n_rows + rows - 1) / rows;
    return blocks;
  }

  std::int64_t begin(std::int64_t block) const { return block * rows_per_block; }
  std::int64_t size(std::int64_t block) const {
    return std::min(rows_per_block, n_rows - begin(block));
  }
};

// The block with norms like this one: the nearest rows are likely to be there.
inline std::int64_t nearest_block(const RowOrder& order, const Blocks& blocks, double norm) {
  const auto at =
      std::lower_bound(order.ranked.begin(), order.ranked.end(), norm,
                       [&](std::int32_t id, double value) { return order.norms[id] < value; });
  return (at - order.ranked.begin()) / blocks.rows_per_block;
}

// A row of a block whose accumulated sum reached a threshold.

struct Candidate {
  std::int32_t local;  // row number within the block
  std::int32_t sum;
};

}  // namespace vicinal
