// What a search needs from a method that scores the rows of a block for a query.
//
// CountIndex (counts of shared features) and ImpactIndex (weighted sums) are scorers. A search
// takes a query through the blocks one by one:
//
//   plan(query)            once: the query's features as they occur in this index;
//   begin_query(...)       once, after the rows outside the blocks have been compared;
//   begin_block(...)       per block: reset the accumulators and add the short posting lists;
//   scan(...)              per block, a range of rows at a time: complete the sums, keep
//   candidates; finish(...)            once: true if the k nearest rows are certain. If false, the
//   search
//                          compares the query with every row.
#pragma once

#include <concepts>
#include <cstdint>

#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/scattered_query.hpp"

namespace vicinal {

template <class S, class Value>
concept Scorer =
    std::constructible_from<typename S::Scratch, const S&, ScatteredQuery&> &&
    requires(const S& scorer, const Collection<Value>& collection, const typename S::Plan& plan,
             QueryState& query, typename S::Scratch& scratch, std::int64_t row) {
      { plan.usable } -> std::convertible_to<bool>;
      { scorer.plan(query) } -> std::same_as<typename S::Plan>;
      { scorer.blocks() } -> std::same_as<const Blocks&>;
      { scorer.rows_per_scan() } -> std::same_as<std::int64_t>;
      scorer.begin_query(query, scratch);
      scorer.begin_block(row, collection, plan, query, scratch);
      scorer.scan(row, row, row, collection, plan, query, scratch);
      { scorer.finish(collection, plan, query, scratch) } -> std::same_as<bool>;
    };

// A scorer for which the queries of a batch scan the same rows before any of them moves on, so that
// the cost of loading those rows is shared. Each query needs a scratch of its own, and first
// estimates a threshold from a window of rows:
//
//   fill_window(...)         complete the sums of the window's rows among [begin, end);
//   estimate_threshold(...)  take the best rows of the window.
template <class S, class Value>
concept LockstepScorer =
    Scorer<S, Value> &&
    requires(const S& scorer, const Collection<Value>& collection, const typename S::Plan& plan,
             QueryState& query, typename S::Scratch& scratch, std::int64_t row) {
      scorer.fill_window(row, row, row, scratch);
      scorer.estimate_threshold(row, collection, plan, query, scratch);
    };

}  // namespace vicinal
