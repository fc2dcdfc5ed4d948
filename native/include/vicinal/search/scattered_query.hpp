// A query scattered over the whole feature space, to compare several rows with it at once.
//
// The exact definition adds products in rising feature order, and each addition waits for the one
// before, so that comparing one row leaves the processor idle most of the time. Rows do not depend
// on each other, so four of them are processed side by side, one entry of each in turn. The query's
// value of a feature is one array access away, and zero where the query lacks the feature; adding
// zero changes no sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vicinal/common/exact.hpp"

namespace vicinal {

class ScatteredQuery {
 public:
  static constexpr std::size_t rows_at_once = 4;

  // With more features the array would no longer fit the cache.
  static constexpr std::int64_t most_features = 1 << 16;

  void load(const SparseRow<double>& query, std::int64_t n_features) {
    if (values_.size() < static_cast<std::size_t>(n_features)) values_.resize(n_features, 0.0);
    for (std::size_t i = 0; i < query.size(); ++i) values_[query.columns[i]] = query.values[i];
  }

  // Undo load(), at the cost of the query's length.
  void clear(const SparseRow<double>& query) {
    for (const std::int32_t feature : query.columns) values_[feature] = 0.0;
  }

  template <class Value>
  struct Comparison {
    SparseRow<Value> row;
    std::int32_t id;
    double dot;
  };

  // Compute the dot products with the query. This may reorder `rows`.
  template <class Value>
  void add(std::array<Comparison<Value>, rows_at_once>& rows) const {
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.row.size() > b.row.size(); });
    add_range<4>(rows, 0, rows[3].row.size());
    add_range<3>(rows, rows[3].row.size(), rows[2].row.size());
    add_range<2>(rows, rows[2].row.size(), rows[1].row.size());
    add_range<1>(rows, rows[1].row.size(), rows[0].row.size());
  }

 private:
  // Entries [begin, end) of the first `Ways` rows.
  template <std::size_t Ways, class Value>
  void add_range(std::array<Comparison<Value>, rows_at_once>& rows, std::size_t begin,
                 std::size_t end) const {
    std::array<double, Ways> sums;
    for (std::size_t w = 0; w < Ways; ++w) sums[w] = rows[w].dot;
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t w = 0; w < Ways; ++w)
        sums[w] += values_[rows[w].row.columns[i]] * static_cast<double>(rows[w].row.values[i]);
    for (std::size_t w = 0; w < Ways; ++w) rows[w].dot = sums[w];
  }

  std::vector<double> values_;
};

}  // namespace vicinal
