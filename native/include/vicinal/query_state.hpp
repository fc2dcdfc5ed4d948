// What a search knows of one query, and how a row is offered to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "vicinal/exact.hpp"
#include "vicinal/feature_lookup.hpp"
#include "vicinal/top_k.hpp"

namespace vicinal {

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#endif
}

struct QueryState {
  SparseRow<double> row;
  double squared_norm;
  double norm;
  std::int32_t excluded;  // a row id, or -1: leave-one-out is by index
  TopK best;
  FeatureLookup lookup = {};
};

// The rows of an index as the definition sees them. Row i is known to callers as first_id + i.
template <class Value>
struct Collection {
  CsrView<Value> rows;
  Metric metric;
  std::span<const double> norms;
  std::span<const std::uint8_t> removed;  // 1 for a row that is no longer there; may be empty
  std::int32_t first_id = 0;

  bool admits(const QueryState& query, std::int32_t row) const {
    return first_id + row != query.excluded && (removed.empty() || !removed[row]);
  }

  void push(QueryState& query, double key, std::int32_t row) const {
    query.best.push({key, first_id + row});
  }

  // Compare by the definition and keep the row if it is among the best.
  void offer(QueryState& query, std::int32_t row) const {
    if (!admits(query, row)) return;
    if (metric == Metric::euclidean)
      return push(query, exact_squared_distance(query.row, row_of(rows, row)), row);
    if (!query.lookup.ready()) query.lookup.prepare(query.row);
    const Dot dot = query.lookup.dot(row_of(rows, row));
    if (dot.shares_feature) push(query, key_of(metric, dot.value, query.norm, norms[row]), row);
  }

  // Ask for what comparing a row needs, before it is needed: first where its entries are, then the
  // entries themselves, of which the memory system brings more by itself.
  void fetch_place(std::int32_t row) const {
    prefetch(rows.indptr.data() + row);
    prefetch(norms.data() + row);
  }
  void fetch_entries(std::int32_t row) const {
    const std::int64_t begin = rows.indptr[row], end = std::min(rows.indptr[row + 1], begin + 128);
    const auto fetch = [&](std::int64_t at) {
      prefetch(rows.indices.data() + at);
      prefetch(rows.values.data() + at);
    };
    for (std::int64_t at = begin; at < end; at += 16) fetch(at);
    if (begin < end) fetch(end - 1);  // its line may be one further
  }

  // The same for rows and queries whose values are all one, from the number they share: sums of
  // ones are exact in any order, and a row's norm is the root of its length.
  double key_of_count(const QueryState& query, std::int32_t length, std::int32_t shared) const {
    if (metric == Metric::euclidean) {
      const auto total = static_cast<std::int64_t>(query.row.size()) + length;
      return static_cast<double>(total - 2 * std::int64_t{shared});
    }
    return key_of(metric, shared, query.norm, std::sqrt(static_cast<double>(length)));
  }
};

}  // namespace vicinal
