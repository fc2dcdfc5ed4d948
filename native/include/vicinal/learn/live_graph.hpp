// The leave-one-out graph of rows that are learned and forgotten one at a time.
//
// Similarity is symmetric, so one pass over the postings of a new row gives both its own neighbours
// and, compared with the last entry of each row's list, the rows whose lists it enters. After every
// step the lists equal those of a fresh search over the rows that are left, to the bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/learn/limit_kernels.hpp"
#include "vicinal/learn/live_rows.hpp"
#include "vicinal/learn/neighbor_lists.hpp"

namespace vicinal {

// A row whose k nearest changed: one entered, one left; -1 for none.
struct ListChange {
  std::int32_t row;
  std::int32_t entering;
  std::int32_t leaving;
};

template <class Value>
class LiveGraph {
 public:
  // `ids` holds `width` neighbours per row, nearest first, padded with -1: the graph of `rows`. A
  // list that is not padded may have further candidates.
  LiveGraph(const CsrView<Value>& rows, Metric metric, std::int64_t k, std::int64_t spare,
            std::span<const std::int32_t> ids, std::int64_t width, Simd level = simd_level("auto"))
      : metric_(metric),
        within_limits_(within_limits(level)),
        rows_(rows, level),
        lists_(k, spare) {
    for (std::int32_t row = 0; row < rows_.n_slots(); ++row) {
      lists_.append();
      assign(row, ids.subspan(row * width, width));
    }
  }

  const LiveRows<Value>& rows() const { return rows_; }
  const NeighborLists& lists() const { return lists_; }
  std::span<const ListChange> changes() const { return changes_; }
  std::size_t bytes() const { return rows_.bytes() + lists_.bytes(); }

  // Learn a row; `changes` then holds the other rows whose k nearest it entered.
  std::int32_t learn(const SparseRow<Value>& row) {
    changes_.clear();
    const std::int32_t slot = rows_.add(row);
    lists_.append();
    TopK best(lists_.width());
    visit(
        slot, lists_.limits(), [&] { return best.worst_key(); },
        [&](std::int32_t other, double key) {
          best.push({key, other});
          if (!(key > lists_.limit(other))) offer(other, {key, slot});
        });
    lists_.assign(slot, best.sort(), is_cut(best));
    return slot;
  }

  // Forget a row; `changes` then holds the rows whose k nearest it left.
  void forget(std::int32_t slot) {
    for (const std::int32_t row : take_out(slot)) {
      search(row);
      settle(row, slot);
    }
  }

  // The first half of forget: the answer holds the rows whose lists ran short. Each of them must
  // get its nearest rows by refill() before anything else is done.
  std::span<const std::int32_t> take_out(std::int32_t slot) {
    changes_.clear();
    short_.clear();
    std::vector<std::int32_t> holders;
    visit(
        slot, lists_.limits(), [] { return -std::numeric_limits<double>::infinity(); },
        [&](std::int32_t other, double) { holders.push_back(other); });
    rows_.remove(slot);
    lists_.clear(slot);
    for (const std::int32_t holder : holders) withdraw(holder, slot);
    return short_;
  }

  // The second half, for a caller with a faster search: `ids` are the nearest rows of `row`, in
  // order, padded with -1. Lists that are not padded may have further candidates.
  void refill(std::int32_t row, std::span<const std::int32_t> ids, std::int32_t forgotten) {
    assign(row, ids);
    settle(row, forgotten);
  }

  // Renumber the rows that are left from 0 on; the answer holds the new slot of each old one.
  std::vector<std::int32_t> compact() {
    changes_.clear();
    auto moved = rows_.compact();
    lists_.renumber(moved);
    return moved;
  }

 private:
  double key(std::int32_t a, std::int32_t b) const {
    if (metric_ == Metric::euclidean) return exact_squared_distance(rows_.row(a), rows_.row(b));
    const SparseRow<Value> left = rows_.row(a), right = rows_.row(b);
    double dot = 0.0;
    for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
      if (left.columns[i] == right.columns[j])
        dot += static_cast<double>(left.values[i]) * static_cast<double>(right.values[j]);
      const std::int32_t a_column = left.columns[i], b_column = right.columns[j];
      i += a_column <= b_column;
      j += b_column <= a_column;
    }
    return key_of(metric_, dot, rows_.norm(a), rows_.norm(b));
  }

  // Call seen(other, key) for every other row that is a candidate with a key of at most the
  // larger of worst(), which may fall meanwhile, and, of `limits`, its own.
  template <class Worst, class Seen>
  void visit(std::int32_t slot, std::span<const double> limits, Worst&& worst, Seen&& seen) {
    const auto limit = [&](std::int32_t other) {
      return limits.empty() ? worst() : std::max(worst(), limits[other]);
    };
    rows_.dots(slot, [&](std::int32_t first, std::span<const double> dots) {
      const auto stop = first + static_cast<std::int32_t>(dots.size());
      if (metric_ == Metric::euclidean) {
        for (std::int32_t other = first; other < stop; ++other) {
          if (other == slot || !rows_.is_live(other)) continue;
          if (lowest_distance(slot, other, dots[other - first]) > limit(other)) continue;
          const double exact = exact_squared_distance(rows_.row(slot), rows_.row(other));
          if (!(exact > limit(other))) seen(other, exact);
        }
        return;
      }
      for (std::int32_t begin = first; begin < stop; begin += run_slots) {
        const DotRun run{dots.data() + (begin - first),
                         metric_ == Metric::cosine ? rows_.norms().data() + begin : nullptr,
                         limits.empty() ? nullptr : limits.data() + begin, rows_.norm(slot),
                         worst()};
        std::uint32_t within = within_limits_(run, std::min(run_slots, stop - begin));
        for (; within != 0; within &= within - 1) {
          const std::int32_t other = begin + std::countr_zero(within);
          const double dot = dots[other - first];
          if (other == slot || !LiveRows<Value>::shares_feature(dot)) continue;
          const double exact = key_of(metric_, dot, rows_.norm(slot), rows_.norm(other));
          if (!(exact > limit(other))) seen(other, exact);
        }
      }
    });
  }

  static constexpr std::int32_t run_slots = 32;

  // A squared distance from norms and a dot product, less its largest possible rounding error (the
  // last term covers squares that vanish); NaN where one overflowed, which no comparison drops.
  double lowest_distance(std::int32_t a, std::int32_t b, double dot) const {
    const double total = rows_.squared_norm(a) + rows_.squared_norm(b);
    const auto n_terms = static_cast<double>(rows_.row(a).size() + rows_.row(b).size() + 8);
    return total - 2.0 * dot - n_terms * (1e-15 * total + 1e-300);
  }

  bool is_cut(const TopK& best) const {
    return best.full() && static_cast<std::int64_t>(best.size()) < rows_.n_live() - 1;
  }

  void offer(std::int32_t row, Neighbor candidate) {
    const std::int64_t k = lists_.k();
    const auto old = lists_.nearest(row);
    const std::int32_t last =
        static_cast<std::int64_t>(old.size()) == k && k > 0 ? old.back().id : -1;
    const std::int64_t place = lists_.insert(row, candidate);
    if (place >= 0 && place < k) changes_.push_back({row, candidate.id, last});
  }

  void withdraw(std::int32_t row, std::int32_t slot) {
    const std::int64_t place = lists_.erase(row, slot);
    if (place < 0) return;
    if (lists_.runs_short(row))
      short_.push_back(row);
    else if (place < lists_.k())
      settle(row, slot);
  }

  // Note that a row left the k nearest of another, whose list is whole again.
  void settle(std::int32_t row, std::int32_t slot) {
    const auto left = lists_.nearest(row);
    const bool filled = static_cast<std::int64_t>(left.size()) == lists_.k();
    changes_.push_back({row, filled ? left.back().id : -1, slot});
  }

  void assign(std::int32_t row, std::span<const std::int32_t> ids) {
    found_.clear();
    for (const std::int32_t id : ids) {
      if (id < 0) break;
      found_.push_back({key(row, id), id});
    }
    const bool is_full = found_.size() == ids.size();
    lists_.assign(row, found_, is_full && std::ssize(found_) < rows_.n_live() - 1);
  }

  void search(std::int32_t row) {
    TopK best(lists_.width());
    visit(
        row, {}, [&] { return best.worst_key(); },
        [&](std::int32_t other, double key) { best.push({key, other}); });
    lists_.assign(row, best.sort(), is_cut(best));
  }

  Metric metric_;
  WithinLimits within_limits_;
  LiveRows<Value> rows_;
  NeighborLists lists_;
  std::vector<ListChange> changes_;
  std::vector<std::int32_t> short_;
  std::vector<Neighbor> found_;
};

}  // namespace vicinal
