// Exact nearest rows of a dense collection, from products made by a matrix multiplication.
//
// The caller multiplies blocks of queries and rows in float32 and says how wrong each product can
// be; what could be among the k nearest is then compared by the definition. The score of a row is
//   product - bias            for the Euclidean metric, bias = half the row's squared norm,
//   product                   for cosine (both scaled to length one) and dot product,
// and lies within error * row size + constant of what was computed (see index/dense.py).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/exact.hpp"
#include "vicinal/interval_kernels.hpp"
#include "vicinal/interval_top_k.hpp"
#include "vicinal/top_k.hpp"

namespace vicinal {

template <class Value>
struct DenseRows {
  std::span<const Value> values;
  std::int64_t n_rows;
  std::int64_t n_columns;

  const Value* row(std::int64_t i) const { return values.data() + i * n_columns; }
};

// Offer a run of `n` rows, the first with id `first`. `excluded` is a row id or -1.
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

// Compares by the definition: float64, features in rising order.
template <class Value>
struct DenseDefinition {
  DenseRows<Value> rows;
  Metric metric;
  std::span<const double> norms;

  void offer(const double* query, double query_norm, std::int32_t id, TopK& best) const {
    const Value* row = rows.row(id);
    if (metric == Metric::euclidean) {
      best.push({squared_distance(query, row), id});
      return;
    }
    double sum = 0.0;
    bool shares_feature = false;
    for (std::int64_t j = 0; j < rows.n_columns; ++j) {
      sum += query[j] * static_cast<double>(row[j]);
      shares_feature |= (query[j] != 0.0) & (row[j] != Value{0});
    }
    if (shares_feature) best.push({key_of(metric, sum, query_norm, norms[id]), id});
  }

 private:
  double squared_distance(const double* query, const Value* row) const {
    double sum = 0.0;
    for (std::int64_t j = 0; j < rows.n_columns; ++j) {
      const double difference = query[j] - static_cast<double>(row[j]);
      sum += difference * difference;
    }
    return sum;
  }
};

}  // namespace vicinal
