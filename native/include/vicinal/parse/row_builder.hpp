// Sparse rows in the making, as a parser finds them: entries of a row come in any order and are
// sorted once the row is complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace vicinal {

// Memory: 12 bytes per entry and 8 per row. Sizes that a file claims never reserve memory.
class RowBuilder {
 public:
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> values;

  void add(std::int32_t column, double value) {
    rising_ = rising_ && (indices.size() == row_start() || indices.back() < column);
    has_zero_ = has_zero_ || value == 0;
    indices.push_back(column);
    values.push_back(value);
  }

  // Complete the row: sort it and drop zeros. Returns a column that occurred twice, if any.
  std::optional<std::int32_t> finish_row() {
    std::optional<std::int32_t> repeated;
    if (!rising_) repeated = sort_row();
    if (has_zero_) drop_zeros();
    rising_ = true;
    has_zero_ = false;
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
    return repeated;
  }

 private:
  bool rising_ = true;
  bool has_zero_ = false;
  std::vector<std::pair<std::int32_t, double>> scratch_;

  std::size_t row_start() const { return static_cast<std::size_t>(indptr.back()); }

  std::optional<std::int32_t> sort_row() {
    scratch_.clear();
    for (std::size_t i = row_start(); i < indices.size(); ++i)
      scratch_.emplace_back(indices[i], values[i]);
    std::sort(scratch_.begin(), scratch_.end());
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      indices[row_start() + i] = scratch_[i].first;
      values[row_start() + i] = scratch_[i].second;
    }
    const auto twice = std::adjacent_find(indices.begin() + indptr.back(), indices.end());
    if (twice == indices.end()) return std::nullopt;
    return *twice;
  }

  void drop_zeros() {
    std::size_t kept = row_start();
    for (std::size_t i = kept; i < indices.size(); ++i) {
      if (values[i] == 0) continue;
      indices[kept] = indices[i];
      values[kept++] = values[i];
    }
    indices.resize(kept);
    values.resize(kept);
  }
};

// The same for sets of columns, such as label sets. Memory: 4 bytes per entry and 8 per row.
class SetBuilder {
 public:
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;

  void add(std::int32_t column) { indices.push_back(column); }

  std::optional<std::int32_t> finish_row() {
    const auto start = indices.begin() + indptr.back();
    if (!std::is_sorted(start, indices.end())) std::sort(start, indices.end());
    const auto twice = std::adjacent_find(start, indices.end());
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
    if (twice == indices.end()) return std::nullopt;
    return *twice;
  }
};

}  // namespace vicinal
