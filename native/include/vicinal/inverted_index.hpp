// Exact nearest rows of a sparse collection: queries in, sorted candidates out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "vicinal/impact_index.hpp"
#include "vicinal/parallel.hpp"
#include "vicinal/query_state.hpp"
#include "vicinal/row_order.hpp"

namespace vicinal {

// Where answers go: `k` cells a query, nearest first, the rest as the caller filled it.
struct Answers {
  std::span<std::int32_t> ids;
  std::span<double> values;
  std::int64_t k;

  void write(std::int64_t query, Metric metric, const std::vector<Candidate>& best) const {
    for (std::size_t i = 0; i < best.size(); ++i) {
      ids[query * k + i] = best[i].id;
      values[query * k + i] = metric == Metric::euclidean ? std::sqrt(best[i].key) : -best[i].key;
    }
  }
};

struct SearchOptions {
  int n_threads = 1;
  std::int64_t batch = 16;  // queries that visit a block one after the other, while it is cached
  InterruptCheck interrupted = never_interrupted;
};

template <class Value>
class InvertedIndex {
 public:
  InvertedIndex(const CsrView<Value>& rows, Metric metric, std::int64_t block_rows)
      : rows_(rows),
        metric_(metric),
        order_(order_rows(rows)),
        impacts_(rows, order_, block_rows) {}
  InvertedIndex(const InvertedIndex&) = delete;  // impacts_ points into order_
  InvertedIndex& operator=(const InvertedIndex&) = delete;

  std::int64_t n_rows() const { return rows_.n_rows(); }
  std::int64_t n_features() const { return rows_.n_columns; }
  std::size_t bytes() const { return impacts_.bytes() + 12 * order_.norms.size(); }

  // `excluded` holds a row id (or -1) for each query, or nothing. `removed` marks rows that are no
  // longer there, or is empty.
  void search(const CsrView<double>& queries, std::span<const std::int32_t> excluded,
              std::span<const std::uint8_t> removed, const Answers& answers,
              const SearchOptions& options) const {
    const Search search{*this, queries, excluded, {rows_, metric_, order_.norms, removed}, answers};
    const std::vector<std::int64_t> turn = search.by_norm();
    const std::int64_t n_queries = queries.n_rows();
    std::vector<std::int64_t> unfinished;
    std::mutex mutex;
    parallel_for((n_queries + options.batch - 1) / options.batch, options.n_threads,
                 [&](std::int64_t task, int) {
                   const std::int64_t begin = task * options.batch;
                   const std::int64_t end = std::min(begin + options.batch, n_queries);
                   const auto left = search.batch({turn.data() + begin, turn.data() + end});
                   std::lock_guard lock(mutex);
                   unfinished.insert(unfinished.end(), left.begin(), left.end());
                 },
                 options.interrupted);
    parallel_for(
        static_cast<std::int64_t>(unfinished.size()), options.n_threads,
        [&](std::int64_t task, int) { search.compare_with_all(unfinished[task]); },
        options.interrupted);
  }

 private:
  // One call of search(): what its threads share, read-only but for disjoint parts of `answers`.
  struct Search {
    const InvertedIndex& index;
    const CsrView<double>& queries;
    std::span<const std::int32_t> excluded;
    Collection<Value> collection;
    const Answers& answers;

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

    QueryState state(std::int64_t query) const {
      const double square = squared_norm(queries.row(query));
      const auto k = static_cast<std::size_t>(std::min(answers.k, index.n_rows()));
      return {row_of(queries, query), square, std::sqrt(square),
              excluded.empty() ? -1 : excluded[query], TopK(k)};
    }

    // Rows outside the blocks. Of the empty ones only the first k can matter, but removed rows and
    // the excluded one are not among those.
    void offer_special(QueryState& query) const {
      for (const std::int32_t id : index.order_.wild) collection.offer(query, id);
      if (index.metric_ != Metric::euclidean) return;
      std::size_t taken = 0;
      for (const std::int32_t id : index.order_.empty) {
        if (taken == query.best.capacity()) break;
        taken += collection.admits(query, id);
        collection.offer(query, id);
      }
    }

    // Answer these queries; return those that must be compared with every row.
    std::vector<std::int64_t> batch(std::span<const std::int64_t> chosen) const {
      const ImpactIndex& impacts = index.impacts_;
      std::vector<std::int64_t> left;
      std::vector<std::int64_t> taken;
      std::vector<QueryState> states;
      std::vector<ImpactIndex::Plan> plans;
      for (const std::int64_t query : chosen) {
        QueryState fresh = state(query);
        if (fresh.best.capacity() == 0) continue;
        if (fresh.row.size() == 0 && index.metric_ != Metric::euclidean) continue;
        ImpactIndex::Plan plan = impacts.plan(fresh);
        if (!is_tame(fresh.squared_norm) || !plan.scale.usable) {
          left.push_back(query);
          continue;
        }
        taken.push_back(query);
        states.push_back(std::move(fresh));
        plans.push_back(std::move(plan));
      }
      if (taken.empty()) return left;
      ImpactIndex::Scratch scratch(impacts);
      for (QueryState& query : states) offer_special(query);
      for (const std::int64_t block : block_order(states[states.size() / 2].norm))
        for (std::size_t i = 0; i < states.size(); ++i)
          impacts.visit(block, collection, plans[i], states[i], scratch);
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (impacts.finish(index.metric_, plans[i], states[i]))
          answers.write(taken[i], index.metric_, states[i].best.sort());
        else
          left.push_back(taken[i]);
      }
      return left;
    }

    // Blocks whose rows have norms like the query's first: there the nearest rows are likely.
    std::vector<std::int64_t> block_order(double norm) const {
      const Blocks& blocks = index.impacts_.blocks();
      const auto& ranked = index.order_.ranked;
      const auto at = std::lower_bound(
          ranked.begin(), ranked.end(), norm,
          [&](std::int32_t id, double value) { return index.order_.norms[id] < value; });
      const std::int64_t home = (at - ranked.begin()) / blocks.rows_per_block;
      std::vector<std::int64_t> order(blocks.count);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return std::abs(a - home) < std::abs(b - home);
      });
      return order;
    }

    void compare_with_all(std::int64_t query) const {
      QueryState fresh = state(query);
      for (std::int64_t id = 0; id < index.n_rows(); ++id)
        collection.offer(fresh, static_cast<std::int32_t>(id));
      answers.write(query, index.metric_, fresh.best.sort());
    }
  };

  CsrView<Value> rows_;
  Metric metric_;
  RowOrder order_;
  ImpactIndex impacts_;
};

}  // namespace vicinal
