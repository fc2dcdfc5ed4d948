// The search from its definition, with all cells of the rows written out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "vicinal/search/inverted_index.hpp"

namespace vicinal::testing {

inline std::vector<double> dense(const CsrView<double>& rows, std::int64_t i) {
  std::vector<double> cells(rows.n_columns, 0.0);
  for (std::size_t e = 0; e < rows.columns(i).size(); ++e)
    cells[rows.columns(i)[e]] = rows.row(i)[e];
  return cells;
}

// The value that neighbours are ordered by, from all cells of two rows; none where they share no
// feature, unless the metric is Euclidean.
inline std::optional<double> key_by_definition(Metric metric, const std::vector<double>& a,
                                               const std::vector<double>& b) {
  double dot = 0, distance = 0, left = 0, right = 0;
  bool shares = false;
  for (std::size_t j = 0; j < a.size(); ++j) {
    dot += a[j] * b[j];
    distance += (a[j] - b[j]) * (a[j] - b[j]);
    left += a[j] * a[j];
    right += b[j] * b[j];
    shares = shares || (a[j] != 0 && b[j] != 0);
  }
  if (metric == Metric::euclidean) return distance;
  if (!shares) return std::nullopt;
  return metric == Metric::dot ? -dot : -dot / (std::sqrt(left) * std::sqrt(right));
}

// All neighbours of row `query` of `queries`, nearest first; without row `excluded`, if it is not
// negative.
inline std::vector<Neighbor> nearest_first(const CsrView<double>& rows,
                                           const CsrView<double>& queries, std::int64_t query,
                                           Metric metric, std::int64_t excluded) {
  const auto a = dense(queries, query);
  std::vector<Neighbor> all;
  for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
    if (i == excluded) continue;
    const auto key = key_by_definition(metric, a, dense(rows, i));
    if (key) all.push_back({*key, static_cast<std::int32_t>(i)});
  }
  std::sort(all.begin(), all.end(), before);
  return all;
}

}  // namespace vicinal::testing
