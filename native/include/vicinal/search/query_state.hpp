// The state of one query during a search, and how a row is compared with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "vicinal/common/compiler.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/search/feature_lookup.hpp"

namespace vicinal {

struct QueryState {
  SparseRow<double> row;
  double squared_norm;
  double norm;
  std::int32_t excluded;  // the row id that leave-one-out excludes, or -1
  TopK best;
  FeatureLookup lookup = {};
};

// The rows of an index as the exact definition sees them. Callers know row i as first_id + i.
template <class Value>
struct Collection {
  CsrView<Value> rows;
  Metric metric;
  std::span<const double> norms;
  std::span<const std::uint8_t> removed;  // 1 for a removed row; may be empty
  std::int32_t first_id = 0;

  bool admits(const QueryState& query, std::int32_t row) const {
    return first_id + row != query.excluded && (removed.empty() || !removed[row]);
  }

  void push(QueryState& query, double key, std::int32_t row) const {
    query.best.push({key, first_id + row});
  }

  // Compare by the exact definition and keep the row if it is among the best.
  void offer(QueryState& query, std::int32_t row) const {
    if (!admits(query, row)) return;
    if (metric == Metric::euclidean)
      return push(query, exact_squared_distance(query.row, row_of(rows, row)), row);
    if (!query.lookup.ready()) query.lookup.prepare(query.row);
    const Dot dot = query.lookup.dot(row_of(rows, row));
    if (dot.shares_feature) push(query, key_of(metric, dot.value, query.norm, norms[row]), row);
  }

  // Prefetch what a comparison reads: first the position of the row's entries, then the entries
  // themselves. The hardware prefetches the rest of a long row.
  void prefetch_offsets(std::int32_t row) const {
    prefetch(rows.indptr.data() + row);
    prefetch(norms.data() + row);
  }
  void prefetch_entries(std::int32_t row) const {
    const std::int64_t begin = rows.indptr[row], end = std::min(rows.indptr[row + 1], begin + 128);
    const auto fetch = [&](std::int64_t at) {
      prefetch(rows.indices.data() + at);
      prefetch(rows.values.data() + at);
    };
    for (std::int64_t at = begin; at < end; at += 16) fetch(at);
    if (begin < end) fetch(end - 1);  // it may lie on one more cache line
  }

  // The key of a row and a query whose values are all 1, from the number of features they share:
  // sums of ones are exact in any order, and a row's norm is the square root of its length.
  double key_of_count(const QueryState& query, std::int32_t length, std::int32_t shared) const {
    if (metric == Metric::euclidean) {
      const auto total = static_cast<std::int64_t>(query.row.size()) + length;
      return static_cast<double>(total - 2 * std::int64_t{shared});
    }
    return key_of(metric, shared, query.norm, std::sqrt(static_cast<double>(length)));
  }
};

}  // namespace vicinal
