// A hash table of a query's features, to compare many rows with it one after another.
//
// Merging two sorted lists costs one step per entry of both, each step waits for the one before,
// and the processor cannot predict which entries match. Here a small table, indexed by the low bits
// of a feature, names the one query feature it could be, so that one look-up without a branch skips
// most entries of a row. Products of the others are added in rising order, as the exact definition
// does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/exact.hpp"

namespace vicinal {

class FeatureLookup {
 public:
  // Prepared when the first row is compared, because many queries never need it.
  bool ready() const { return !narrow_.empty() || !wide_.empty(); }
  void release() { *this = {}; }

  // `query` must outlive this.
  void prepare(const SparseRow<double>& query) {
    query_ = query;
    if (query.size() < std::numeric_limits<std::uint8_t>::max())
      fill(narrow_);
    else
      fill(wide_);
  }

  template <class Value>
  Dot dot(const SparseRow<Value>& row) const {
    return wide_.empty() ? dot_by(narrow_, row) : dot_by(wide_, row);
  }

 private:
  // A cell holds 0 for "none", one more than a position in the query, or `several`.
  template <class Cell>
  static constexpr Cell several = std::numeric_limits<Cell>::max();

  // Enough cells that few features of other rows collide, few enough that they stay in the cache.
  template <class Cell>
  void fill(std::vector<Cell>& cells) {
    std::size_t size = 1024;
    while (size < 32 * query_.size() && size < 16384) size *= 2;
    cells.assign(size, 0);
    for (std::size_t i = 0; i < query_.size(); ++i) {
      Cell& cell = cells[static_cast<std::uint32_t>(query_.columns[i]) & (size - 1)];
      cell = cell == 0 && i + 1 < several<Cell> ? static_cast<Cell>(i + 1) : several<Cell>;
    }
  }

  // The position a feature has in the query, if the query has it.
  template <class Cell>
  std::size_t position(Cell cell, std::int32_t feature) const {
    if (cell != several<Cell>) [[likely]]
      return cell - std::size_t{1};
    const auto at = std::lower_bound(query_.columns.begin(), query_.columns.end() - 1, feature);
    return at - query_.columns.begin();
  }

  template <class Cell, class Value>
  Dot dot_by(const std::vector<Cell>& cells, const SparseRow<Value>& row) const {
    thread_local std::vector<std::uint32_t> entries;
    if (entries.size() <= row.size()) entries.resize(2 * row.size() + 1);
    const auto mask = static_cast<std::uint32_t>(cells.size() - 1);
    const auto cell_of = [&](std::size_t i) {
      return cells[static_cast<std::uint32_t>(row.columns[i]) & mask];
    };
    std::uint32_t* const VICINAL_RESTRICT found = entries.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      found[count] = static_cast<std::uint32_t>(i);
      count += cell_of(i) != 0;
    }
    Dot dot;
    for (std::size_t f = 0; f < count; ++f) {
      const std::size_t i = found[f], at = position(cell_of(i), row.columns[i]);
      const bool there = query_.columns[at] == row.columns[i];
      // A feature the query lacks adds zero, which changes no sum.
      dot.value += (there ? query_.values[at] : 0.0) * static_cast<double>(row.values[i]);
      dot.shares_feature |= there;
    }
    return dot;
  }

  SparseRow<double> query_;
  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint16_t> wide_;  // if a byte cannot number all features
};

}  // namespace vicinal
