// Similarities in 16-bit integers, with an error bound that holds for every row.
//
// Rows and query are scaled to length one. A row's value x of feature j is kept as a number b =
// round(127 x / M), M the largest |x| of that feature: as 8 bits in a column, with 8 more bits
// after the point in a list. The query's value q is the 16-bit weight w = round(q M S 128/127). The
// accumulator of a row adds round(b w / 128), which stands for q x S: after all features it holds S
// times the cosine, with an error of at most
//
//   S * |sum of q * (kept x - true x)|  <=  S * (|q_C| D_C + D_L),   D_C and D_L: largest Euclidean
//                                             norm over rows of (kept row - true row) in features
//                                             with a column and with a list, |q_C| <= |q| = 1 the
//                                             norm of the query in features with a column
//   + 1/2 for each rounding of w (as |b| < 128) and 1/2 for each rounding of b w / 128, one of each
//     for a feature that both have: at most min(features of q, longest row).
//
// The same inequality of Cauchy and Schwarz bounds every partial sum, so S is chosen such that no
// accumulator leaves the 16-bit range, in whatever order features come and whatever their signs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vicinal/common/top_k.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

struct ImpactScale {
  double unit;  // S
  bool usable;  // false where rows are so long that the bound says nothing
};

inline ImpactScale impact_scale(std::int64_t query_size, std::int64_t longest_row,
                                double quantization_error) {
  const auto roundings = static_cast<double>(std::min(query_size, longest_row));
  const double unit = std::min(32000.0, (32765.0 - roundings) / (1.0 + quantization_error));
  return {unit, roundings < 16000.0};
}

// Largest difference of accumulator / S and the cosine of the definition, for rows of at most
// `longest_row` entries whose |q_C| D_C + D_L is `quantization_error`. The slack covers float64
// rounding: of the definition, and of what is computed from it here.
inline double impact_error(std::int64_t query_size, std::int64_t longest_row,
                           double quantization_error, double unit) {
  const auto roundings = static_cast<double>(std::min(query_size, longest_row));
  const double slack = 1e-9 + 4e-16 * static_cast<double>(query_size + longest_row);
  return quantization_error + roundings / unit + slack;
}

inline std::int16_t impact_weight(double query_value, double peak, double unit) {
  return static_cast<std::int16_t>(std::lrint(query_value * peak * unit * (128.0 / 127.0)));
}

inline std::int8_t impact_byte(double row_value, double peak) {
  return static_cast<std::int8_t>(std::lrint(row_value * 127.0 / peak));
}

inline std::int16_t impact_of(std::int8_t byte, std::int16_t weight) {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(byte) * weight + 64) >> 7);
}

// The same for an entry of a list, in units of 1/256 of a byte.
inline std::int16_t fine_byte(double row_value, double peak) {
  return static_cast<std::int16_t>(std::lrint(row_value * (127.0 * 256.0) / peak));
}

inline std::int16_t fine_impact_of(std::int16_t fine, std::int16_t weight) {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(fine) * weight + (1 << 14)) >> 15);
}

// The smallest cosine with which a row whose norm lies between `low` and `high` could be as near as
// `worst_key`. In the Euclidean case |q|^2 + |x|^2 - 2 |q| |x| cos <= worst, solved for cos: its
// right-hand side falls, then rises with |x|, with the least value at |x| = sqrt(|q|^2 - worst).
inline double least_cosine(Metric metric, double worst_key, double query_norm, double low,
                           double high) {
  if (metric == Metric::cosine) return -worst_key;
  if (metric == Metric::dot) return -worst_key / (query_norm * (worst_key < 0.0 ? high : low));
  const double gap = query_norm * query_norm - worst_key;
  const double x = gap > 0.0 ? std::clamp(std::sqrt(gap), low, high) : low;
  const double rounding = 1e-12 * (2.0 + query_norm / low + high / query_norm);
  return (gap / x + x) / (2.0 * query_norm) - rounding;
}

// The keys a row of norm `row_norm` may have whose cosine lies within `error` of `cosine`, where
// the metric is not the cosine itself. For distances, the margin covers the rounding of `n_terms`
// squares added up.
inline KeyRange impact_keys(Metric metric, double cosine, double error, double query_norm,
                            double row_norm, std::int64_t n_terms) {
  const double size = query_norm * row_norm;
  if (metric == Metric::dot) return {-(cosine + error) * size, -(cosine - error) * size};
  const double sum = query_norm * query_norm + row_norm * row_norm;
  const double margin = (1e-12 + 1e-15 * static_cast<double>(n_terms)) * sum;
  return {sum - 2.0 * (cosine + error) * size - margin,
          sum - 2.0 * (cosine - error) * size + margin};
}

}  // namespace vicinal
