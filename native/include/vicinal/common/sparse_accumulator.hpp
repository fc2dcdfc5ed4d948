// A row under construction: a number per column, and which columns have one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vicinal {

// A dense array that is cleared only in the columns that were touched, so that a row costs as much
// as it holds. Memory: 9 bytes per column and thread.
class SparseAccumulator {
 public:
  void resize(std::int64_t n_columns) {
    if (static_cast<std::int64_t>(values_.size()) == n_columns) return;
    values_.assign(n_columns, 0.0);
    present_.assign(n_columns, 0);
  }

  void add(std::int32_t column, double value) {
    touch(column);
    values_[column] += value;
  }

  // Keep the larger of the stored value, if any, and this one.
  void keep_max(std::int32_t column, double value) {
    if (touch(column) || value > values_[column]) values_[column] = value;
  }

  const std::vector<std::int32_t>& columns() const { return touched_; }  // in order of first touch
  double operator[](std::int32_t column) const { return values_[column]; }

  void clear() {
    for (const std::int32_t column : touched_) {
      values_[column] = 0.0;
      present_[column] = 0;
    }
    touched_.clear();
  }

  // Append the columns, rising, and their values; clear; return their number.
  std::int64_t drain(std::vector<std::int32_t>& columns, std::vector<double>& values) {
    const auto count = static_cast<std::int64_t>(touched_.size());
    if (count * 8 < static_cast<std::int64_t>(present_.size()))
      std::sort(touched_.begin(), touched_.end());
    else
      collect_in_order();
    columns.insert(columns.end(), touched_.begin(), touched_.end());
    for (const std::int32_t column : touched_) values.push_back(values_[column]);
    clear();
    return count;
  }

 private:
  bool touch(std::int32_t column) {
    if (present_[column]) return false;
    present_[column] = 1;
    touched_.push_back(column);
    return true;
  }

  // Scanning all columns is faster than sorting if many of them were touched.
  void collect_in_order() {
    std::size_t next = 0;
    for (std::size_t column = 0; next < touched_.size(); ++column)
      if (present_[column]) touched_[next++] = static_cast<std::int32_t>(column);
  }

  std::vector<double> values_;
  std::vector<std::uint8_t> present_;
  std::vector<std::int32_t> touched_;
};

}  // namespace vicinal
