// A query laid out over the whole feature space, for comparing several rows with it at once.
//
// A sum of the definition adds in rising feature order, each addition waiting for the one before: a
// row alone leaves the processor idle most of the time. Rows are independent of each other, so four
// are walked side by side, one entry of each in turn. What the query has of a feature is one look
// away, zero where it has none, and adding zero changes no sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vicinal/exact.hpp"

namespace vicinal {

class SpreadQuery {
 public:
  static constexpr std::size_t rows_at_once = 4;

  // Beyond this the lookups would leave the cache.
  static constexpr std::int64_t most_features = 1 << 16;

  void open(const SparseRow<double>& query, std::int64_t n_features) {
    if (values_.size() < static_cast<std::size_t>(n_features)) values_.resize(n_features, 0.0);
    for (std::size_t i = 0; i < query.size(); ++i) values_[query.columns[i]] = query.values[i];
  }

  void close(const SparseRow<double>& query) {
    for (const std::int32_t feature : query.columns) values_[feature] = 0.0;
  }

  // Dot products with the query; `rows` may be reordered, and the sums go with them.
  template <class Value>
  struct Comparison {
    SparseRow<Value> row;
    std::int32_t id;
    double dot;
  };

  template <class Value>
  void add(std::array<Comparison<Value>, rows_at_once>& rows) const {
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.row.size() > b.row.size(); });
    walk<4>(rows, 0, rows[3].row.size());
    walk<3>(rows, rows[3].row.size(), rows[2].row.size());
    walk<2>(rows, rows[2].row.size(), rows[1].row.size());
    walk<1>(rows, rows[1].row.size(), rows[0].row.size());
  }

 private:
  // Entries [begin, end) of the first `Ways` rows.
  template <std::size_t Ways, class Value>
  void walk(std::array<Comparison<Value>, rows_at_once>& rows, std::size_t begin,
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
