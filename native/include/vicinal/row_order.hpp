// Which rows go where, and in what order, before anything else is built.
//
// Rows are laid out by rising norm: a threshold on the similarity then becomes one number for a
// whole group of neighbouring rows. Two kinds are kept out of the blocks:
//  - empty rows share no feature with anything and are all equally far from a query;
//  - "wild" rows, whose squared norm lies near the end of the float64 range, so that products with
//    them may overflow or lose all digits. No error bound holds for them; each is always compared
//    by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "vicinal/csr.hpp"
#include "vicinal/exact.hpp"

namespace vicinal {

inline bool is_tame(double squared_norm) { return squared_norm >= 1e-280 && squared_norm <= 1e280; }

struct RowOrder {
  std::vector<double> norms;         // by row id: sqrt of the sum of squares
  std::vector<std::int32_t> ranked;  // tame rows by (norm or length, id)
  std::vector<std::int32_t> wild;    // rising
  std::vector<std::int32_t> empty;   // rising
};

enum class Layout { by_norm, by_length };

template <class Value>
RowOrder order_rows(const CsrView<Value>& rows, Layout layout) {
  RowOrder order;
  order.norms.resize(rows.n_rows());
  for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
    const double square = squared_norm(rows.row(i));
    order.norms[i] = std::sqrt(square);
    auto& kind = rows.row_size(i) == 0 ? order.empty : is_tame(square) ? order.ranked : order.wild;
    kind.push_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(order.ranked.begin(), order.ranked.end(), [&](std::int32_t a, std::int32_t b) {
    return layout == Layout::by_norm ? order.norms[a] < order.norms[b]
                                     : rows.row_size(a) < rows.row_size(b);
  });
  return order;
}

// How positions in `ranked` are cut: blocks whose accumulators stay in the cache and whose row ids
// fit 16 bits, and groups that share one threshold.
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

  std::int64_t begin(std::int64_t block) const { return block * rows_per_block; }
  std::int64_t size(std::int64_t block) const {
    return std::min(rows_per_block, n_rows - begin(block));
  }
};

// Groups of a block that a query is filled from before the others are sifted.
struct PrimeWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool holds(std::int64_t row) const { return row >= begin && row < end; }

  PrimeWindow() = default;

  static constexpr std::int64_t most_rows = 8 * Blocks::group;

  // Around `home`, a place in a block of `size` rows, with room for k candidates at least.
  PrimeWindow(std::int64_t home, std::int64_t size, std::int64_t k) {
    const std::int64_t padded = (size + Blocks::group - 1) / Blocks::group * Blocks::group;
    const std::int64_t rows =
        (std::max(most_rows, 4 * k) + Blocks::group - 1) / Blocks::group * Blocks::group;
    begin = std::clamp<std::int64_t>(home - rows / 2, 0, std::max<std::int64_t>(padded - rows, 0));
    begin -= begin % Blocks::group;
    end = std::min(begin + rows, padded);
  }
};

// Smallest and largest norm in each group of positions.
struct NormRange {
  double low;
  double high;
};

inline std::vector<NormRange> norm_ranges(const RowOrder& order, std::int64_t rows_per_range) {
  std::vector<NormRange> ranges;
  const auto n = static_cast<std::int64_t>(order.ranked.size());
  for (std::int64_t begin = 0; begin < n; begin += rows_per_range) {
    const std::int64_t last = std::min(begin + rows_per_range, n) - 1;
    ranges.push_back({order.norms[order.ranked[begin]], order.norms[order.ranked[last]]});
  }
  return ranges;
}

}  // namespace vicinal
