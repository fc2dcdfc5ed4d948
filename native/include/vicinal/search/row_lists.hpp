// The candidates of every row in a search of an index in itself.
//
// A pair of rows is known by an interval that contains its key (shortlist.hpp), and a row's list is
// pruned when it is full: the k-th smallest upper end bounds the key of the k-th nearest row. If
// pruning leaves too many, they are compared by the exact definition and the best are kept in the
// answers.
//
// Memory: 16 k + 524 bytes per row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/search/pair_scorer.hpp"
#include "vicinal/search/query_batch.hpp"

namespace vicinal {

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

}  // namespace vicinal
