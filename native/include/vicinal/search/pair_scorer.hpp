// What a search of an index in itself (self_search.hpp) needs to score pairs of rows.
//
// ImpactPairs scores one row, the query, against a tile: consecutive positions of one
// block. Sums serve both rows of a pair. Positions are those of RowOrder::ranked.
//
//   n_queries()            rows at positions below this can be queries;
//   tiles()                runs of rows whose columns fit a core's cache;
//   prepare(...)           a query's features as they occur among rows [from, to);
//   enter_block(...)       before the first tile of a block that the query is scored against;
//   add_lists(...)         add the posting lists for the rows of a tile;
//   add_columns(...)       complete the sums of a group of rows;
//   find(...)              write the rows of a group whose sum reaches a threshold, by their
//                          numbers within the block;
//   take(...)              complete the sums of a group, write the rows that reach the query's
//                          threshold or their own, and set all sums to zero;
//   range_of(query)        the range that contains the query alone;
//   query_threshold(...)   the smallest sum with which a row of a group could have a key of at most
//                          `bound` for the query;
//   row_thresholds(...)    the same for each row of a tile and its own bound, for every query of a
//                          batch;
//   key_range(...)         the interval that contains the key of a pair;
//   certain(...)           whether rows whose sum was too small to be examined are farther from a
//                          row than `worst`.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "vicinal/search/candidate.hpp"
#include "vicinal/search/posting_cursors.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"
#include "vicinal/search/tiles.hpp"

namespace vicinal {

// The ranges of lengths and norms in a batch of queries.
struct QueryRange {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  double low_norm = std::numeric_limits<double>::infinity();
  double high_norm = 0.0;
  double column_norm = 0.0;  // the largest norm in features with a column, where values matter

  void include(const QueryRange& other) {
    shortest = std::min(shortest, other.shortest);
    longest = std::max(longest, other.longest);
    low_norm = std::min(low_norm, other.low_norm);
    high_norm = std::max(high_norm, other.high_norm);
    column_norm = std::max(column_norm, other.column_norm);
  }
};

// A pair as one of its rows sees it: the other row, the sum, and which of them was the query.
struct PairSum {
  std::int32_t position;
  std::int16_t sum;
  bool other_was_query;
};

template <class S, class Value>
concept PairScorer =
    requires(const S& scorer, const SparseRow<Value>& row, typename S::Query& query,
             typename S::Sum* sums, const double* bounds, std::int32_t sum, std::int64_t at,
             const Tile& tile, const QueryRange& range, Candidate* out, PrepareScratch& scratch) {
      { scorer.n_queries() } -> std::same_as<std::int64_t>;
      { scorer.tiles() } -> std::same_as<const Tiles&>;
      scorer.prepare(query, row, at, at, at, scratch);
      scorer.enter_block(query, tile);
      scorer.add_lists(query, std::size_t{}, sums);
      scorer.add_columns(query, at, sums);
      { scorer.find(query, at, sums, sum, out) } -> std::same_as<std::size_t>;
      { scorer.take(query, at, sums, sum, sums, out) } -> std::same_as<std::size_t>;
      { scorer.range_of(query) } -> std::same_as<QueryRange>;
      { scorer.query_threshold(query, *bounds, at) } -> std::same_as<std::int32_t>;
      scorer.row_thresholds(range, bounds, tile, sums);
      { scorer.key_range(at, PairSum{}) } -> std::same_as<KeyRange>;
      { scorer.certain(at, *bounds) } -> std::same_as<bool>;
    };

}  // namespace vicinal
