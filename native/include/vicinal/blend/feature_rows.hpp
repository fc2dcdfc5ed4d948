// The rows of each feature, some consecutive features at a time, so that any number of features can
// be read within limited memory: 12 bytes per entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"

namespace vicinal {

// The rows that have each of some consecutive features, and their values there.
struct FeatureRows {
  static constexpr std::int64_t usual_at_once = 1 << 25;  // entries: 12 bytes each

  std::int64_t first = 0, last = 0;
  std::vector<std::int64_t> start;  // by feature, from `first` on, and the end
  std::vector<std::int32_t> row_of;
  std::vector<double> value_of;

  static std::vector<std::int64_t> counts(std::span<const std::int32_t> indices,
                                          std::int64_t n_features) {
    std::vector<std::int64_t> found(n_features, 0);
    for (const std::int32_t feature : indices) ++found[feature];
    return found;
  }

  // The end of the features from `first` on that have at most so many entries, at least one.
  static std::int64_t range_end(std::span<const std::int64_t> counts, std::int64_t first,
                                std::int64_t at_once) {
    std::int64_t last = first, total = 0;
    while (last < std::ssize(counts) && (last == first || total + counts[last] <= at_once))
      total += counts[last++];
    return last;
  }

  FeatureRows(std::span<const std::int64_t> counts, std::int64_t first_feature,
              std::int64_t last_feature)
      : first(first_feature), last(last_feature), start(last - first + 1, 0) {
    for (std::int64_t f = first; f < last; ++f) start[f - first + 1] = start[f - first] + counts[f];
  }

  // `value(row, at)` is called for the entries of a row, rising.
  template <class Value>
  void collect(const PatternView& rows, const Value& value, bool has_values) {
    row_of.resize(start.back());
    if (has_values) value_of.resize(start.back());
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::int64_t row = 0; row < rows.n_rows(); ++row) {
      const auto features = rows.columns(row);
      const auto begin = std::lower_bound(features.begin(), features.end(), first);
      for (auto i = begin - features.begin(); i < std::ssize(features) && features[i] < last; ++i) {
        const std::int64_t to = next[features[i] - first]++;
        row_of[to] = static_cast<std::int32_t>(row);
        if (has_values) value_of[to] = value(row, rows.indptr[row] + i);
      }
    }
  }

  // Bounds of tasks of about as many entries each.
  std::vector<std::int64_t> tasks(std::span<const std::int64_t> counts,
                                  std::int64_t entries) const {
    std::vector<std::int64_t> bounds{first};
    while (bounds.back() < last)
      bounds.push_back(std::min(last, range_end(counts, bounds.back(), entries)));
    return bounds;
  }
};

}  // namespace vicinal
