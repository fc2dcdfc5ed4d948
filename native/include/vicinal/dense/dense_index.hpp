// Exact nearest rows of a dense collection: candidates of a DenseBatch, compared by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/dense/dense_batch.hpp"

namespace vicinal {

// A dense matrix, row by row.
template <class Value>
struct DenseRows {
  std::span<const Value> values;
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;

  DenseRows(std::span<const Value> values, std::int64_t n_rows, std::int64_t n_columns)
      : values(values), n_rows(n_rows), n_columns(n_columns) {
    VICINAL_ASSERT(n_rows >= 0 && n_columns >= 0);
    VICINAL_ASSERT(std::ssize(values) == n_rows * n_columns);
  }

  std::span<const Value> row(std::int64_t i) const {
    return values.subspan(i * n_columns, n_columns);
  }
};

template <class Value>
std::vector<double> dense_norms(const DenseRows<Value>& rows) {
  std::vector<double> norms(rows.n_rows);
  for (std::int64_t i = 0; i < rows.n_rows; ++i) norms[i] = std::sqrt(squared_norm(rows.row(i)));
  return norms;
}

// Where results go: `k` cells per query, nearest first. Cells without a neighbour keep what the
// caller put there. Values are distances or similarities.
struct DenseAnswers {
  std::span<std::int32_t> ids;
  std::span<double> values;
  std::int64_t k;

  void write(std::size_t query, Metric metric, TopK& best) const {
    std::size_t at = query * static_cast<std::size_t>(k);
    for (const Neighbor& neighbor : best.sort()) {
      ids[at] = neighbor.id;
      values[at++] = metric == Metric::euclidean ? std::sqrt(neighbor.key) : -neighbor.key;
    }
  }
};

// Compares by the exact definition: float64, features in rising order.
template <class Value>
class DenseIndex {
 public:
  // Both arrays must outlive the index. A view of more rows of a growing array costs nothing.
  DenseIndex(const DenseRows<Value>& rows, std::span<const double> norms, Metric metric)
      : rows_(rows), norms_(norms), metric_(metric) {
    VICINAL_ASSERT(std::ssize(norms) == rows.n_rows);
  }

  // Write the results of queries whose k nearest rows are certain; return the other queries.
  std::vector<std::int64_t> finish(DenseBatch& batch, const DenseRows<double>& queries,
                                   const DenseAnswers& answers) const {
    std::vector<std::int64_t> uncertain;
    const std::size_t k = capacity(answers);
    for (std::size_t q = 0; q < batch.size(); ++q) {
      const auto& kept = batch.best(q).tighten();
      // A row that shares no feature has the score 0, and must not have counted among the k best.
      if (metric_ != Metric::euclidean &&
          (kept.size() < k || !(batch.best(q).threshold() > 0.0f))) {
        uncertain.push_back(static_cast<std::int64_t>(q));
        continue;
      }
      const Query query = query_of(queries, q);
      TopK best(k);
      for (const Interval& interval : kept) offer(query, interval.id, best);
      answers.write(q, metric_, best);
    }
    return uncertain;
  }

  // Compare the chosen queries with every row that is not excluded or removed.
  void compare_with_all(const DenseBatch& batch, const DenseRows<double>& queries,
                        std::span<const std::int64_t> chosen, const DenseAnswers& answers,
                        int n_threads,
                        const InterruptCheck& interrupted = never_interrupted) const {
    parallel_for(
        std::ssize(chosen), n_threads,
        [&](std::int64_t task, int) {
          const auto q = static_cast<std::size_t>(chosen[task]);
          const Query query = query_of(queries, q);
          TopK best(capacity(answers));
          for (std::int32_t id = 0; id < rows_.n_rows; ++id)
            if (batch.admits(q, id)) offer(query, id, best);
          answers.write(q, metric_, best);
        },
        interrupted);
  }

 private:
  struct Query {
    std::span<const double> values;
    double norm;
  };

  std::size_t capacity(const DenseAnswers& answers) const {
    return static_cast<std::size_t>(std::min(answers.k, rows_.n_rows));
  }

  Query query_of(const DenseRows<double>& queries, std::size_t q) const {
    const auto values = queries.row(static_cast<std::int64_t>(q));
    return {values, metric_ == Metric::cosine ? std::sqrt(squared_norm(values)) : 0.0};
  }

  void offer(const Query& query, std::int32_t id, TopK& best) const {
    const auto row = rows_.row(id);
    if (metric_ == Metric::euclidean) {
      best.push({squared_distance(query.values, row), id});
      return;
    }
    double sum = 0.0;
    unsigned shares_feature = 0;  // an integer, so that the loop has no branch
    for (std::size_t j = 0; j < row.size(); ++j) {
      sum += query.values[j] * static_cast<double>(row[j]);
      shares_feature |= unsigned{query.values[j] != 0.0} & unsigned{row[j] != Value{0}};
    }
    if (shares_feature != 0) best.push({key_of(metric_, sum, query.norm, norms_[id]), id});
  }

  static double squared_distance(std::span<const double> query, std::span<const Value> row) {
    double sum = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double difference = query[j] - static_cast<double>(row[j]);
      sum += difference * difference;
    }
    return sum;
  }

  DenseRows<Value> rows_;
  std::span<const double> norms_;
  Metric metric_;
};

}  // namespace vicinal
