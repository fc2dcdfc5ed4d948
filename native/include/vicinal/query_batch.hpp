// One call of a search: its queries, in batches, along a road through the blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "vicinal/parallel.hpp"
#include "vicinal/query_state.hpp"
#include "vicinal/row_order.hpp"
#include "vicinal/spread_query.hpp"

namespace vicinal {

// Where answers go: `k` cells a query, nearest first, id -1 where there is none. What is there
// already, from rows searched before, takes part.
struct Answers {
  std::span<std::int32_t> ids;
  std::span<double> keys;
  std::int64_t k;
  std::int64_t n_rows;  // of all searches together: no more can be found

  TopK read(std::int64_t query) const {
    TopK best(static_cast<std::size_t>(std::min(k, n_rows)));
    for (std::int64_t at = query * k; at < (query + 1) * k && ids[at] >= 0; ++at)
      best.push({keys[at], ids[at]});
    return best;
  }

  void write(std::int64_t query, TopK& best) const {
    std::int64_t at = query * k;
    for (const Candidate& candidate : best.sort()) {
      ids[at] = candidate.id;
      keys[at++] = candidate.key;
    }
  }
};

struct SearchOptions {
  int n_threads = 1;
  std::int64_t batch = 32;  // queries that visit a block one after the other, while it is cached
  InterruptCheck interrupted = never_interrupted;
};

// What the threads of a search share: read-only but for disjoint parts of `answers`.
template <class Value>
struct QueryBatch {
  const CsrView<double>& queries;
  std::span<const std::int32_t> excluded;
  const Collection<Value>& collection;
  const Answers& answers;
  const RowOrder& order;

  // Queries of like norm next to each other: they begin with the same block.
  std::vector<std::int64_t> by_norm() const {
    std::vector<double> norms(queries.n_rows());
    for (std::int64_t i = 0; i < queries.n_rows(); ++i) norms[i] = squared_norm(queries.row(i));
    std::vector<std::int64_t> turn(queries.n_rows());
    std::iota(turn.begin(), turn.end(), 0);
    std::stable_sort(turn.begin(), turn.end(),
                     [&](std::int64_t a, std::int64_t b) { return norms[a] < norms[b]; });
    return turn;
  }

  // Answer these queries; return those that must be compared with every row.
  template <class Road>
  std::vector<std::int64_t> along(const Road& road, std::span<const std::int64_t> chosen,
                                  const SearchOptions& options) const {
    const auto n = static_cast<std::int64_t>(chosen.size());
    const std::int64_t batch = batch_of(n, options);
    std::vector<std::int64_t> left;
    std::mutex mutex;
    std::vector<Desk<Road>> desks(std::max(options.n_threads, 1));
    parallel_for((n + batch - 1) / batch, options.n_threads,
                 [&](std::int64_t task, int worker) {
                   const std::int64_t begin = task * batch;
                   const auto part = chosen.subspan(begin, std::min(batch, n - begin));
                   const auto unfinished = answer(road, part, desks[worker]);
                   std::lock_guard lock(mutex);
                   left.insert(left.end(), unfinished.begin(), unfinished.end());
                 },
                 options.interrupted);
    return left;
  }

  void compare_with_all(std::int64_t query) const {
    QueryState fresh = state(query);
    for (std::int64_t id = 0; id < collection.rows.n_rows(); ++id)
      collection.offer(fresh, static_cast<std::int32_t>(id));
    answers.write(query, fresh.best);
  }

 private:
  // No more at a time than leaves each thread a few batches, so that all end together.
  static std::int64_t batch_of(std::int64_t n, const SearchOptions& options) {
    const std::int64_t wanted = 4 * std::max(options.n_threads, 1);
    return std::clamp<std::int64_t>((n + wanted - 1) / wanted, 1, options.batch);
  }

  // Working memory of one thread: a seat for each query on its way. Those that travel together are
  // compared with rows in turn, and share the memory for it.
  template <class Road>
  struct Desk {
    SpreadQuery spread;
    std::vector<typename Road::Scratch> seats;

    void add_seat(const Road& road) {
      if constexpr (Road::together)
        seats.emplace_back(road, spread);
      else
        seats.emplace_back(road);
    }
  };

  template <class Road>
  struct Traveller {
    std::int64_t query;
    QueryState state;
    typename Road::Plan plan;
  };

  template <class Road>
  std::vector<std::int64_t> answer(const Road& road, std::span<const std::int64_t> chosen,
                                   Desk<Road>& desk) const {
    std::vector<std::int64_t> left;
    std::vector<Traveller<Road>> travellers;
    for (const std::int64_t query : chosen) {
      QueryState fresh = state(query);
      if (fresh.best.capacity() == 0) continue;
      if (fresh.row.size() == 0 && collection.metric != Metric::euclidean) continue;
      auto plan = road.plan(fresh);
      if (is_tame(fresh.squared_norm) && plan.usable)
        travellers.push_back({query, std::move(fresh), std::move(plan)});
      else
        left.push_back(query);
    }
    if (travellers.empty()) return left;
    walk(road, travellers, desk);
    for (std::size_t i = 0; i < travellers.size(); ++i) {
      auto& [query, state, plan] = travellers[i];
      if (road.finish(collection, plan, state, desk.seats[Road::together ? i : 0]))
        answers.write(query, state.best);
      else
        left.push_back(query);
    }
    return left;
  }

  template <class Road>
  void walk(const Road& road, std::vector<Traveller<Road>>& travellers, Desk<Road>& desk) const {
    const std::size_t parallel = Road::together ? travellers.size() : 1;
    while (desk.seats.size() < parallel) desk.add_seat(road);
    for (std::size_t i = 0; i < travellers.size(); ++i) {
      offer_special(travellers[i].state);
      road.start(travellers[i].state, desk.seats[Road::together ? i : 0]);
    }
    const double middle = travellers[travellers.size() / 2].state.norm;
    for (const std::int64_t block : block_order(road.blocks(), middle))
      for (std::size_t i = 0; i < travellers.size(); i += parallel)
        cross(road, block, {travellers.data() + i, parallel}, desk.seats);
  }

  // Together, travellers sweep the same few rows before any goes on: what the rows' columns cost to
  // fetch is paid once.
  template <class Road>
  void cross(const Road& road, std::int64_t block, std::span<Traveller<Road>> travellers,
             std::vector<typename Road::Scratch>& seats) const {
    for (std::size_t i = 0; i < travellers.size(); ++i)
      road.enter(block, collection, travellers[i].plan, travellers[i].state, seats[i]);
    const std::int64_t size = road.blocks().size(block);
    const std::int64_t step = road.sweep_rows();
    if constexpr (Road::together) {
      for (std::int64_t begin = 0; begin < size; begin += step)
        for (std::size_t i = 0; i < travellers.size(); ++i)
          road.fill_window(block, begin, begin + step, seats[i]);
      for (std::size_t i = 0; i < travellers.size(); ++i)
        road.prime(block, collection, travellers[i].plan, travellers[i].state, seats[i]);
    }
    for (std::int64_t begin = 0; begin < size; begin += step)
      for (std::size_t i = 0; i < travellers.size(); ++i)
        road.sweep(block, begin, std::min(begin + step, size), collection, travellers[i].plan,
                   travellers[i].state, seats[i]);
  }

  QueryState state(std::int64_t query) const {
    const double square = squared_norm(queries.row(query));
    return {row_of(queries, query), square, std::sqrt(square),
            excluded.empty() ? -1 : excluded[query], answers.read(query)};
  }

  // Rows outside the blocks. Of the empty ones only the first k that count can matter.
  void offer_special(QueryState& query) const {
    for (const std::int32_t id : order.wild) collection.offer(query, id);
    if (collection.metric != Metric::euclidean) return;
    std::size_t taken = 0;
    for (const std::int32_t id : order.empty) {
      if (taken == query.best.capacity()) break;
      taken += collection.admits(query, id);
      collection.offer(query, id);
    }
  }

  // Blocks whose rows have norms like the query's first: there the nearest rows are likely.
  std::vector<std::int64_t> block_order(const Blocks& blocks, double norm) const {
    const auto at =
        std::lower_bound(order.ranked.begin(), order.ranked.end(), norm,
                         [&](std::int32_t id, double value) { return order.norms[id] < value; });
    const std::int64_t home = (at - order.ranked.begin()) / blocks.rows_per_block;
    std::vector<std::int64_t> turn(blocks.count);
    std::iota(turn.begin(), turn.end(), 0);
    std::stable_sort(turn.begin(), turn.end(), [&](std::int64_t a, std::int64_t b) {
      return std::abs(a - home) < std::abs(b - home);
    });
    return turn;
  }
};

}  // namespace vicinal
