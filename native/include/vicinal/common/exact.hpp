// The exact definition of similarity and distance: float64, sums in rising feature order.
//
// A search may select candidates in any way, but it orders them by keys from these functions.
// Features absent from both rows would add zero to a sum, so adding only the stored ones gives the
// same bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

template <class Value>
struct SparseRow {
  std::span<const std::int32_t> columns;
  std::span<const Value> values;

  std::size_t size() const { return columns.size(); }
};

template <class Value>
SparseRow<Value> row_of(const CsrView<Value>& matrix, std::int64_t i) {
  return {matrix.columns(i), matrix.row(i)};
}

struct Dot {
  double value = 0.0;
  bool shares_feature = false;
};

template <class Left, class Right>
double exact_squared_distance(const SparseRow<Left>& a, const SparseRow<Right>& b) {
  double sum = 0.0;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a.columns[i] <= b.columns[j]);
    const bool take_b = i == a.size() || (j < b.size() && b.columns[j] <= a.columns[i]);
    const double left = take_a ? static_cast<double>(a.values[i]) : 0.0;
    const double right = take_b ? static_cast<double>(b.values[j]) : 0.0;
    const double difference = left - right;
    sum += difference * difference;
    i += take_a;
    j += take_b;
  }
  return sum;
}

template <class Value>
double squared_norm(std::span<const Value> values) {
  double sum = 0.0;
  for (const Value v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum;
}

// If squares overflow, a sum or quotient may be undefined (NaN): it counts as 0.
inline double zero_if_undefined(double value) { return std::isnan(value) ? 0.0 : value; }

// If squares underflow so that the product of the norms is 0, the cosine counts as 0.
inline double cosine_of(double dot, double query_norm, double row_norm) {
  const double size = query_norm * row_norm;
  return size == 0.0 ? 0.0 : zero_if_undefined(dot / size);
}

// The key by which similarities are ordered: smaller is nearer, so the sign is flipped.
inline double key_of(Metric metric, double dot, double query_norm, double row_norm) {
  return -(metric == Metric::cosine ? cosine_of(dot, query_norm, row_norm)
                                    : zero_if_undefined(dot));
}

}  // namespace vicinal
