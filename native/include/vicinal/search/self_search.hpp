// The nearest other rows of every row of an index, with each pair of rows scored once.
//
// The key of a pair is the same from both sides, to the last bit. Positions are divided into tiles
// whose columns fit a core's cache:
//
//  1. Every row is scored against its own tile, which gives it a first bound on the key of its k-th
//     neighbour.
//  2. A batch of rows, the queries, is scored against all later tiles, one after another. A
//     candidate is a row whose sum reaches the query's threshold or its own; both are compared in
//     one pass. What the queries find goes to lists of the batch; what they mean to the rows of the
//     tile is collected and delivered to the lists of these rows when the tile is done, which
//     tightens their bounds.
//  3. What is left on the lists is compared by the exact definition.
//
// Which pairs end up on a list depends on the threads; the k nearest are always among them, so that
// the results do not. Memory: that of RowLists.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/search/pair_scorer.hpp"
#include "vicinal/search/query_batch.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

// The candidates of every row in a search of an index in itself.
//
// A pair of rows is known by an interval that contains its key (shortlist.hpp), and a row's list is
// pruned when it is full: the k-th smallest upper end bounds the key of the k-th nearest row. If
// pruning leaves too many, they are compared by the exact definition and the best are kept in the
// answers.
//
// Memory: 16 k + 524 bytes per row.

// A list of at most RowLists::capacity() pairs, and the bound on the key of its k-th neighbour.
struct PairList {
  std::int64_t position;
  PairSum* pairs;
  std::int32_t& size;
  double& bound;
};

template <class Value, PairScorer<Value> S>
class RowLists {
 public:
  // What a thread needs for pruning and comparing.
  struct Workspace {
    std::vector<double> lows, highs, sorted;
    std::vector<double> values;
    ScatteredQuery scattered;
    Shortlist shortlist{scattered};

    Workspace() = default;
    Workspace(const Workspace&) = delete;  // the shortlist refers to `scattered`
    Workspace& operator=(const Workspace&) = delete;
  };

  RowLists(const S& scorer, const QueryBatch<Value>& batch, std::int64_t n_rows)
      : scorer_(scorer),
        batch_(batch),
        k_(std::min(batch.answers.k, batch.answers.n_rows)),
        pairs_(n_rows * capacity()),
        sizes_(n_rows, 0),
        bounds_(n_rows, std::numeric_limits<double>::infinity()) {}

  std::int64_t k() const { return k_; }
  std::int64_t capacity() const { return 2 * k_ + 64; }
  const std::vector<double>& bounds() const { return bounds_; }

  PairList list(std::int64_t position) {
    return {position, pairs_.data() + position * capacity(), sizes_[position], bounds_[position]};
  }

  // Start loading what add() reads, then what it writes to.
  void prefetch_bound(std::int64_t position) const {
    prefetch(sizes_.data() + position);
    prefetch(bounds_.data() + position);
  }
  void prefetch_pairs(std::int64_t position) const {
    prefetch(pairs_.data() + position * capacity() + sizes_[position]);
  }

  // Add a pair; true if the list is full and make_room() must follow.
  bool add(const PairList& list, const PairSum& pair) const {
    if (scorer_.key_range(list.position, pair).low > list.bound) return false;
    list.pairs[list.size++] = pair;
    return list.size == capacity();
  }

  // Drop what cannot be among the k nearest; true if that left so much that compare() must follow.
  bool prune(const PairList& list, Workspace& work) const {
    work.lows.clear();
    work.highs.clear();
    for (std::int32_t i = 0; i < list.size; ++i) {
      const auto [low, high] = scorer_.key_range(list.position, list.pairs[i]);
      work.lows.push_back(low);
      work.highs.push_back(high);
    }
    if (list.size >= k_) {
      std::nth_element(work.highs.begin(), work.highs.begin() + (k_ - 1), work.highs.end());
      list.bound = std::min(list.bound, work.highs[k_ - 1]);
    }
    std::int32_t kept = 0;
    for (std::int32_t i = 0; i < list.size; ++i) {
      list.pairs[kept] = list.pairs[i];
      kept += work.lows[i] <= list.bound;
    }
    list.size = kept;
    return kept > capacity() - k_ / 2 - 8;
  }

  // Compare all pairs of the list by the exact definition and empty it. The answers of the row hold
  // the best so far. Returns whether k were found, all others being farther.
  bool compare(const PairList& list, Workspace& work) const {
    QueryState query = state(list.position, work);
    work.shortlist.reset(query);
    for (const PairSum& pair : pairs_of(list))
      work.shortlist.add(batch_.collection, query, id_at(pair.position),
                         scorer_.key_range(list.position, pair));
    work.shortlist.prune(k_);
    work.shortlist.compare(batch_.collection, query);
    list.size = 0;
    list.bound = std::min(list.bound, query.best.worst_key());
    const bool certain = scorer_.certain(list.position, query.best.worst_key());
    batch_.answers.write(id_at(list.position), query.best);
    return certain;
  }

  // Compare a row with those that lie outside the blocks.
  void compare_outside(const PairList& list, Workspace& work) const {
    QueryState query = state(list.position, work);
    batch_.offer_rows_outside_blocks(query);
    list.bound = std::min(list.bound, query.best.worst_key());
    batch_.answers.write(id_at(list.position), query.best);
  }

  std::int32_t id_at(std::int64_t position) const { return batch_.order.ranked[position]; }

 private:
  static std::span<const PairSum> pairs_of(const PairList& list) {
    return {list.pairs, static_cast<std::size_t>(list.size)};
  }

  QueryState state(std::int64_t position, Workspace& work) const {
    const std::int32_t id = id_at(position);
    const auto& collection = batch_.collection;
    const auto row = collection.rows.row(id);
    work.values.assign(row.begin(), row.end());
    const double square = squared_norm(row);
    return {{collection.rows.columns(id), work.values},
            square,
            std::sqrt(square),
            collection.first_id + id,
            batch_.answers.read(id)};
  }

  const S& scorer_;
  const QueryBatch<Value>& batch_;
  std::int64_t k_;
  std::vector<PairSum> pairs_;
  std::vector<std::int32_t> sizes_;
  std::vector<double> bounds_;
};

template <class Value, PairScorer<Value> S>
class SelfSearch {
 public:
  SelfSearch(const S& scorer, const QueryBatch<Value>& batch, const SearchOptions& options)
      : scorer_(scorer),
        batch_(batch),
        options_(options),
        tiles_(scorer.tiles()),
        n_queries_(scorer.n_queries()),
        lists_(scorer, batch, tiles_.blocks().n_rows),
        locks_(tiles_.size()) {
    for (int i = 0; i < std::max(options.n_threads, 1); ++i) scratch_.emplace_back(*this);
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
      for (std::int64_t begin = tiles_[tile].begin; begin < std::min(tiles_[tile].end, n_queries_);
           begin += batch_rows)
        tasks_.push_back(
            {tile, begin, std::min({begin + batch_rows, tiles_[tile].end, n_queries_})});
  }

  // Whether there are enough tiles for this to pay, and enough rows in each for k neighbours.
  static bool may_pay(const S& scorer, std::int64_t k) {
    const std::int64_t n_rows = scorer.tiles().blocks().n_rows;
    return scorer.tiles().size() >= fewest_tiles && scorer.tiles().rows_per_tile() >= 8 * k &&
           4 * scorer.n_queries() >= 3 * n_rows;
  }

  // Find first bounds. False if they are so loose that queries one by one would cost less: because
  // many rows have few neighbours, or many equally near ones.
  bool start() {
    std::atomic<std::int64_t> n_found = 0, n_unbounded = 0;
    in_parallel([&](const Task& task, Scratch& scratch) {
      for (std::int64_t position = task.begin; position < task.end; ++position) {
        if (is_removed(position)) {
          lists_.list(position).bound = -std::numeric_limits<double>::infinity();
          continue;
        }
        n_found += search_own_tile(task.tile, position, scratch);
        n_unbounded += lists_.bounds()[position] == std::numeric_limits<double>::infinity();
      }
    });
    return n_found <= 16 * lists_.k() * n_queries_ && 4 * n_unbounded <= n_queries_;
  }

  // Write the answers of the rows at positions below n_queries(); return those of them that have to
  // be compared with every row.
  std::vector<std::int64_t> finish() {
    in_parallel([&](const Task& task, Scratch& scratch) { search_later_tiles(task, scratch); });
    std::vector<std::int64_t> uncertain;
    std::mutex mutex;
    in_parallel([&](const Task& task, Scratch& scratch) {
      for (std::int64_t position = task.begin; position < task.end; ++position) {
        if (is_removed(position) || lists_.compare(lists_.list(position), scratch.work)) continue;
        std::lock_guard lock(mutex);
        uncertain.push_back(lists_.id_at(position));
      }
    });
    return uncertain;
  }

 private:
  using Sum = typename S::Sum;
  static constexpr std::size_t fewest_tiles = 10;
  static constexpr std::int64_t batch_rows = 256;
  static constexpr std::size_t ahead = 12;  // finds whose lists are loaded before they are needed

  // Queries at positions [begin, end) of a tile.
  struct Task {
    std::size_t tile;
    std::int64_t begin, end;
  };

  // A pair that matters to the row at `position`.
  struct Find {
    std::int64_t position;
    PairSum pair;
  };

  // A query on its way through later tiles, with a list of its own.
  struct ActiveQuery {
    typename S::Query scored;
    std::vector<PairSum> pairs;
    std::int32_t size = 0;
    double bound = 0.0;

    PairList list() { return {scored.position, pairs.data(), size, bound}; }
  };

  struct Scratch {
    typename RowLists<Value, S>::Workspace work;
    std::vector<ActiveQuery> active;
    AlignedVector<Sum> sums, thresholds;
    std::vector<Sum> maxima;
    std::vector<Candidate> candidates;
    std::vector<Find> finds;
    PrepareScratch prepare;

    explicit Scratch(const SelfSearch& search)
        : active(batch_rows),
          sums(search.tiles_.rows_per_tile()),
          thresholds(sums.size()),
          candidates(Blocks::group) {
      for (ActiveQuery& query : active) query.pairs.resize(search.lists_.capacity());
    }
  };

  template <class Body>
  void in_parallel(Body&& body) {
    parallel_for(
        std::ssize(tasks_), options_.n_threads,
        [&](std::int64_t task, int worker) { body(tasks_[task], scratch_[worker]); },
        options_.interrupted);
  }

  bool is_removed(std::int64_t position) const {
    const auto& removed = batch_.collection.removed;
    return !removed.empty() && removed[lists_.id_at(position)];
  }

  SparseRow<Value> row_at(std::int64_t position) const {
    return row_of(batch_.collection.rows, lists_.id_at(position));
  }

  // Score a row against its tile; return the number of pairs examined.
  std::int64_t search_own_tile(std::size_t t, std::int64_t position, Scratch& scratch) {
    const Tile& tile = tiles_[t];
    typename S::Query& query = scratch.active.front().scored;
    scorer_.prepare(query, row_at(position), position, tile.begin, tile.end, scratch.prepare);
    scorer_.enter_block(query, tile);
    scorer_.add_lists(query, t, scratch.sums.data());
    for (std::int64_t first = tile.begin; first < tile.end; first += Blocks::group)
      scorer_.add_columns(query, first, sums_at(tile, first, scratch));

    const PairList list = lists_.list(position);
    if (has_rows_outside()) lists_.compare_outside(list, scratch.work);
    const std::int32_t lowest = batch_.collection.metric == Metric::euclidean ? -32767 : 1;
    // The row itself and removed rows have sums, but are no neighbours.
    const std::int64_t wanted = batch_.collection.removed.empty() ? lists_.k() + 1 : 2 * lists_.k();
    const std::int32_t estimate = std::max<std::int32_t>(
        lowest,
        threshold_estimate(scratch.sums.data(), tile.end - tile.begin, wanted + 8, scratch.maxima));
    std::int64_t n_found = 0;
    const auto list_between = [&](std::int64_t first, std::int32_t least, std::int32_t most) {
      const std::size_t count = scorer_.find(query, first, sums_at(tile, first, scratch), least,
                                             scratch.candidates.data());
      for (std::size_t i = 0; i < count; ++i) {
        const Candidate& candidate = scratch.candidates[i];
        const std::int64_t other = tiles_.blocks().begin(tile.block) + candidate.local;
        if (candidate.sum > most || other >= tile.end || other == position || is_removed(other))
          continue;
        ++n_found;
        add_own(list, pair_of(other, candidate.sum, false), scratch);
      }
    };
    for (std::int64_t first = tile.begin; first < tile.end; first += Blocks::group)
      list_between(first, estimate, std::numeric_limits<Sum>::max());
    lists_.prune(list, scratch.work);
    const std::int64_t n_best = n_found;
    for (std::int64_t first = tile.begin; first < tile.end; first += Blocks::group) {
      const std::int32_t least = scorer_.query_threshold(query, list.bound, first);
      if (least < estimate) list_between(first, least, estimate - 1);
    }
    if (n_found > n_best) lists_.prune(list, scratch.work);
    std::fill(scratch.sums.begin(), scratch.sums.end(), Sum{0});
    return n_found;
  }

  bool has_rows_outside() const {
    return !batch_.order.out_of_range.empty() ||
           (batch_.collection.metric == Metric::euclidean && !batch_.order.empty.empty());
  }

  static PairSum pair_of(std::int64_t other, std::int32_t sum, bool other_was_query) {
    return {static_cast<std::int32_t>(other), static_cast<std::int16_t>(sum), other_was_query};
  }

  static Sum* sums_at(const Tile& tile, std::int64_t first, Scratch& scratch) {
    return scratch.sums.data() + (first - tile.begin);
  }

  // Add a pair to a list that no other thread uses now.
  void add_own(const PairList& list, const PairSum& pair, Scratch& scratch) {
    if (lists_.add(list, pair) && lists_.prune(list, scratch.work))
      lists_.compare(list, scratch.work);
  }

  void search_later_tiles(const Task& task, Scratch& scratch) {
    if (task.tile + 1 == tiles_.size()) return;
    const QueryRange range = open_lists(task, scratch);
    std::int64_t block = -1;
    for (std::size_t t = task.tile + 1; t < tiles_.size(); ++t) {
      const Tile& tile = tiles_[t];
      for (std::int64_t q = 0; block != tile.block && q < task.end - task.begin; ++q)
        scorer_.enter_block(scratch.active[q].scored, tile);
      block = tile.block;
      {
        std::lock_guard lock(locks_[t]);
        scorer_.row_thresholds(range, lists_.bounds().data(), tile, scratch.thresholds.data());
      }
      for (std::int64_t q = 0; q < task.end - task.begin; ++q)
        if (!is_removed(task.begin + q)) search_tile(t, scratch.active[q], task.tile, scratch);
      deliver(t, scratch);
    }
    close_lists(task, scratch);
  }

  // Take the queries' lists out of the shared ones, so that they can grow without locks.
  QueryRange open_lists(const Task& task, Scratch& scratch) {
    QueryRange range;
    std::lock_guard lock(locks_[task.tile]);
    for (std::int64_t position = task.begin; position < task.end; ++position) {
      ActiveQuery& query = scratch.active[position - task.begin];
      const auto row = row_at(position);
      scorer_.prepare(query.scored, row, position, tiles_[task.tile].end, tiles_.blocks().n_rows,
                      scratch.prepare);
      range.include(scorer_.range_of(query.scored));
      const PairList shared = lists_.list(position);
      query.bound = shared.bound;
      query.size = shared.size;
      std::copy_n(shared.pairs, shared.size, query.pairs.data());
      shared.size = 0;
    }
    return range;
  }

  void close_lists(const Task& task, Scratch& scratch) {
    std::lock_guard lock(locks_[task.tile]);
    for (std::int64_t position = task.begin; position < task.end; ++position) {
      ActiveQuery& query = scratch.active[position - task.begin];
      const PairList shared = lists_.list(position);
      shared.bound = std::min(shared.bound, query.bound);
      for (std::int32_t i = 0; i < query.size; ++i) add_own(shared, query.pairs[i], scratch);
    }
  }

  void search_tile(std::size_t t, ActiveQuery& query, std::size_t own_tile, Scratch& scratch) {
    const Tile& tile = tiles_[t];
    scorer_.add_lists(query.scored, t, scratch.sums.data());
    const std::int64_t block_begin = tiles_.blocks().begin(tile.block);
    for (std::int64_t first = tile.begin; first < tile.end; first += Blocks::group) {
      const std::int32_t threshold = scorer_.query_threshold(query.scored, query.bound, first);
      const std::size_t count =
          scorer_.take(query.scored, first, sums_at(tile, first, scratch), threshold,
                       scratch.thresholds.data() + (first - tile.begin), scratch.candidates.data());
      for (std::size_t i = 0; i < count; ++i) {
        const auto [local, sum] = scratch.candidates[i];
        const std::int64_t other = block_begin + local;
        if (other >= tile.end || is_removed(other)) continue;
        if (sum >= threshold) add_open(query, pair_of(other, sum, false), own_tile, scratch);
        if (sum >= scratch.thresholds[other - tile.begin] && other < n_queries_)
          scratch.finds.push_back({other, pair_of(query.scored.position, sum, true)});
      }
    }
  }

  // Add a pair to the list of a query; comparing writes to answers that other threads may write to.
  void add_open(ActiveQuery& query, const PairSum& pair, std::size_t own_tile, Scratch& scratch) {
    if (!lists_.add(query.list(), pair) || !lists_.prune(query.list(), scratch.work)) return;
    std::lock_guard lock(locks_[own_tile]);
    lists_.compare(query.list(), scratch.work);
  }

  void deliver(std::size_t tile, Scratch& scratch) {
    std::lock_guard lock(locks_[tile]);
    const auto& finds = scratch.finds;
    for (std::size_t i = 0; i < finds.size(); ++i) {
      if (i + 2 * ahead < finds.size()) lists_.prefetch_bound(finds[i + 2 * ahead].position);
      if (i + ahead < finds.size()) lists_.prefetch_pairs(finds[i + ahead].position);
      add_own(lists_.list(finds[i].position), finds[i].pair, scratch);
    }
    scratch.finds.clear();
  }

  const S& scorer_;
  const QueryBatch<Value>& batch_;
  const SearchOptions& options_;
  const Tiles& tiles_;
  std::int64_t n_queries_;
  RowLists<Value, S> lists_;
  std::vector<std::mutex> locks_;  // one for the lists of each tile
  std::deque<Scratch> scratch_;    // one per thread
  std::vector<Task> tasks_;
};

}  // namespace vicinal
