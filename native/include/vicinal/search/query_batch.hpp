// One call of a search: its queries, in batches, and a scorer that takes them through the blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "vicinal/common/parallel.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// Where results go: `k` cells per query, nearest first, id -1 in cells without a neighbour. Results
// that are already there, from rows searched before, take part.
struct Answers {
  std::span<std::int32_t> ids;
  std::span<double> keys;
  std::int64_t k;
  std::int64_t n_rows;  // of all searches together: an upper limit for what can be found

  TopK read(std::int64_t query) const {
    TopK best(static_cast<std::size_t>(std::min(k, n_rows)));
    for (std::int64_t at = query * k; at < (query + 1) * k && ids[at] >= 0; ++at)
      best.push({keys[at], ids[at]});
    return best;
  }

  void write(std::int64_t query, TopK& best) const {
    std::int64_t at = query * k;
    for (const Neighbor& neighbor : best.sort()) {
      ids[at] = neighbor.id;
      keys[at++] = neighbor.key;
    }
  }
};

struct SearchOptions {
  int n_threads = 1;
  std::int64_t batch = 32;  // queries that visit a block one after another, while it is cached
  InterruptCheck interrupted = never_interrupted;
};

// What the threads of a search share; they write only to disjoint parts of `answers`.
template <class Value>
struct QueryBatch {
  const CsrView<double>& queries;
  std::span<const std::int32_t> excluded;
  const Collection<Value>& collection;
  const Answers& answers;
  const RowOrder& order;

  // Queries of similar norm next to each other, because they start with the same block.
  std::vector<std::int64_t> by_norm() const {
    std::vector<double> norms(queries.n_rows());
    for (std::int64_t i = 0; i < queries.n_rows(); ++i) norms[i] = squared_norm(queries.row(i));
    std::vector<std::int64_t> sorted(queries.n_rows());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::int64_t a, std::int64_t b) { return norms[a] < norms[b]; });
    return sorted;
  }

  // Answer these queries; return those that must be compared with every row.
  template <Scorer<Value> S>
  std::vector<std::int64_t> search(const S& scorer, std::span<const std::int64_t> chosen,
                                   const SearchOptions& options) const {
    const auto n = static_cast<std::int64_t>(chosen.size());
    const std::int64_t batch = batch_size(n, options);
    std::vector<std::int64_t> uncertain;
    std::mutex mutex;
    std::vector<ThreadScratch<S>> scratch(std::max(options.n_threads, 1));
    parallel_for((n + batch - 1) / batch, options.n_threads,
                 [&](std::int64_t task, int worker) {
                   const std::int64_t begin = task * batch;
                   const auto part = chosen.subspan(begin, std::min(batch, n - begin));
                   const auto more = search_batch(scorer, part, scratch[worker]);
                   std::lock_guard lock(mutex);
                   uncertain.insert(uncertain.end(), more.begin(), more.end());
                 },
                 options.interrupted);
    return uncertain;
  }

  void compare_with_all(std::int64_t query) const {
    QueryState fresh = state(query);
    for (std::int64_t id = 0; id < collection.rows.n_rows(); ++id)
      collection.offer(fresh, static_cast<std::int32_t>(id));
    answers.write(query, fresh.best);
  }

  // The same for cosine and dot product, where rows without a common feature have no place.
  template <class S>
  void compare_with_sharing(const S& scorer, std::int64_t query) const {
    QueryState fresh = state(query);
    for (const std::int32_t id : order.out_of_range) collection.offer(fresh, id);
    scorer.visit_sharing(fresh.row, [&](std::int32_t id) { collection.offer(fresh, id); });
    answers.write(query, fresh.best);
  }

  // Of the empty rows, only the first k admissible ones can matter.
  void offer_rows_outside_blocks(QueryState& query) const {
    for (const std::int32_t id : order.out_of_range) collection.offer(query, id);
    if (collection.metric != Metric::euclidean) return;
    std::size_t taken = 0;
    for (const std::int32_t id : order.empty) {
      if (taken == query.best.capacity()) break;
      taken += collection.admits(query, id);
      collection.offer(query, id);
    }
  }

 private:
  // Small enough that each thread gets a few batches, so that all threads finish together.
  static std::int64_t batch_size(std::int64_t n, const SearchOptions& options) {
    const std::int64_t wanted = 4 * std::max(options.n_threads, 1);
    return std::clamp<std::int64_t>((n + wanted - 1) / wanted, 1, options.batch);
  }

  // Working memory of one thread.
  template <class S>
  struct ThreadScratch {
    ScatteredQuery scattered;
    std::optional<typename S::Scratch> scorer;
  };

  // A query on its way through the blocks.
  template <class S>
  struct ActiveQuery {
    std::int64_t query;
    QueryState state;
    typename S::Plan plan;
  };

  template <class S>
  std::vector<std::int64_t> search_batch(const S& scorer, std::span<const std::int64_t> chosen,
                                         ThreadScratch<S>& scratch) const {
    std::vector<std::int64_t> uncertain;
    std::vector<ActiveQuery<S>> active;
    for (const std::int64_t query : chosen) {
      QueryState fresh = state(query);
      if (fresh.best.capacity() == 0) continue;
      if (fresh.row.size() == 0 && collection.metric != Metric::euclidean) continue;
      if (!is_in_range(fresh.squared_norm)) {
        uncertain.push_back(query);
        continue;
      }
      auto plan = scorer.plan(fresh);
      if (plan.usable)
        active.push_back({query, std::move(fresh), std::move(plan)});
      else
        uncertain.push_back(query);
    }
    if (active.empty()) return uncertain;
    if (!scratch.scorer) scratch.scorer.emplace(scorer, scratch.scattered);
    visit_blocks(scorer, active, *scratch.scorer);
    for (auto& [query, state, plan] : active) {
      if (scorer.finish(collection, plan, state, *scratch.scorer))
        answers.write(query, state.best);
      else
        uncertain.push_back(query);
    }
    return uncertain;
  }

  // All queries visit a block before any of them moves on, so that it is loaded once per batch.
  template <class S>
  void visit_blocks(const S& scorer, std::vector<ActiveQuery<S>>& active,
                    typename S::Scratch& scratch) const {
    for (auto& [query, state, plan] : active) {
      offer_rows_outside_blocks(state);
      scorer.begin_query(collection, plan, state, scratch);
    }
    const double median_norm = active[active.size() / 2].state.norm;
    const std::int64_t first = scorer.first_block(collection.metric, median_norm);
    for (const std::int64_t block : block_order(scorer.blocks(), first))
      for (auto& [query, state, plan] : active) {
        scorer.begin_block(block, collection, plan, state, scratch);
        scorer.scan(block, collection, plan, state, scratch);
      }
  }

  QueryState state(std::int64_t query) const {
    const double square = squared_norm(queries.row(query));
    return {row_of(queries, query), square, std::sqrt(square),
            excluded.empty() ? -1 : excluded[query], answers.read(query)};
  }

  // All blocks, those next to `first` before others.
  static std::vector<std::int64_t> block_order(const Blocks& blocks, std::int64_t first) {
    std::vector<std::int64_t> sorted(blocks.count);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::int64_t a, std::int64_t b) {
      return std::abs(a - first) < std::abs(b - first);
    });
    return sorted;
  }
};

}  // namespace vicinal
