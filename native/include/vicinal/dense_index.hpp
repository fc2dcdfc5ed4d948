// Exact nearest rows of a dense collection, from products made by a matrix multiplication.
//
// The caller multiplies blocks of queries and rows in float32 and says how wrong each product can
// be; what could be among the k nearest is then compared by the definition. The score of a row is
//   product - bias            for the Euclidean metric, bias = half the row's squared norm,
//   product                   for cosine (both scaled to length one) and dot product,
// and lies within error * row size + constant of what was computed (see index/dense.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/exact.hpp"
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

// One row of products, with what is needed to bound them.
struct ProductRow {
  std::span<const float> products;
  std::span<const float> sizes;   // by row: what the error grows with
  std::span<const float> biases;  // by row
  float error;                    // of this query, a unit of row size
  float constant;                 // of this query
};

// Offer a run of rows, the first with id `first`. `excluded` is a row id or -1.
inline void collect(const ProductRow& run, std::int32_t first, std::int32_t excluded,
                    std::span<const std::uint8_t> removed, IntervalTopK& best) {
  constexpr std::int64_t strip = 64;
  const auto n = static_cast<std::int64_t>(run.products.size());
  for (std::int64_t begin = 0; begin < n; begin += strip) {
    const std::int64_t end = std::min(begin + strip, n);
    float highs[strip];
    float highest = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = begin; i < end; ++i) {
      const float margin = run.error * run.sizes[i] + run.constant;
      highs[i - begin] = (run.products[i] - run.biases[i]) + margin;
      highest = std::max(highest, highs[i - begin]);
    }
    if (highest < best.threshold()) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto id = static_cast<std::int32_t>(first + i);
      if (highs[i - begin] < best.threshold() || id == excluded) continue;
      if (!removed.empty() && removed[id]) continue;
      const float margin = run.error * run.sizes[i] + run.constant;
      best.push({(run.products[i] - run.biases[i]) - margin, highs[i - begin], id});
    }
  }
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
