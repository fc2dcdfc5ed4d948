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

#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/live/live_rows.hpp"

namespace vicinal {

// The nearest other rows of every row, kept a little longer than asked for.
//
// A list holds the nearest rows there are, in order. A *truncated* list has further candidates that
// it does not hold; one that is not truncated holds them all. The spare entries absorb removals: a
// row is searched again only when a truncated list has become shorter than k.

class NeighborLists {
 public:
  NeighborLists(std::int64_t k, std::int64_t spare) : k_(k), width_(k + spare) {}

  std::int64_t k() const { return k_; }
  std::int64_t width() const { return width_; }
  std::int32_t n_rows() const { return static_cast<std::int32_t>(sizes_.size()); }
  bool is_truncated(std::int32_t row) const { return truncated_[row] != 0; }
  bool runs_short(std::int32_t row) const { return is_truncated(row) && sizes_[row] < k_; }

  std::span<const Neighbor> all(std::int32_t row) const {
    return {entries_.data() + row * width_, static_cast<std::size_t>(sizes_[row])};
  }
  std::span<const Neighbor> nearest(std::int32_t row) const {
    return all(row).first(std::min<std::size_t>(sizes_[row], k_));
  }

  // The largest key that can still enter a list; infinity where every candidate does. Kept apart
  // from the lists, because a pass over all rows asks for nothing else.
  double limit(std::int32_t row) const { return limits_[row]; }
  std::span<const double> limits() const { return limits_; }

  void append() {
    append_slowly(sizes_, 0);
    append_slowly(truncated_, std::uint8_t{0});
    append_slowly(limits_, std::numeric_limits<double>::infinity());
    reserve_slowly(entries_, width_);
    entries_.resize(entries_.size() + width_);
  }

  // Write a list that is sorted and holds all candidates, or the nearest of them.
  void assign(std::int32_t row, std::span<const Neighbor> found, bool truncated) {
    const auto size = std::min<std::size_t>(found.size(), width_);
    std::copy_n(found.begin(), size, entries_.begin() + row * width_);
    sizes_[row] = static_cast<std::int32_t>(size);
    truncated_[row] = truncated || found.size() > size;
    note_limit(row);
  }

  // Insert a candidate if it belongs into the list; return its place, or -1.
  std::int64_t insert(std::int32_t row, Neighbor candidate) {
    Neighbor* const begin = entries_.data() + row * width_;
    Neighbor* const end = begin + sizes_[row];
    Neighbor* const at = std::upper_bound(begin, end, candidate, before);
    if (at == end && (is_truncated(row) || sizes_[row] == width_)) {
      truncated_[row] = 1;
      note_limit(row);
      return -1;
    }
    const bool full = sizes_[row] == width_;
    std::move_backward(at, full ? end - 1 : end, full ? end : end + 1);
    *at = candidate;
    if (full)
      truncated_[row] = 1;
    else
      ++sizes_[row];
    note_limit(row);
    return at - begin;
  }

  // Take a row out of a list; return the place it had, or -1.
  std::int64_t erase(std::int32_t row, std::int32_t id) {
    Neighbor* const begin = entries_.data() + row * width_;
    Neighbor* const end = begin + sizes_[row];
    Neighbor* const at =
        std::find_if(begin, end, [id](const Neighbor& each) { return each.id == id; });
    if (at == end) return -1;
    std::move(at + 1, end, at);
    --sizes_[row];
    note_limit(row);
    return at - begin;
  }

  void clear(std::int32_t row) { assign(row, {}, false); }

  // Keep the rows with a new number, and number the entries of their lists anew.
  void renumber(std::span<const std::int32_t> moved) {
    std::int32_t kept = 0;
    for (std::int32_t row = 0; row < n_rows(); ++row) {
      if (moved[row] < 0) continue;
      for (std::int64_t place = 0; place < sizes_[row]; ++place) {
        const Neighbor& each = entries_[row * width_ + place];
        entries_[kept * width_ + place] = {each.key, moved[each.id]};
      }
      sizes_[kept] = sizes_[row];
      limits_[kept] = limits_[row];
      truncated_[kept++] = truncated_[row];
    }
    sizes_.resize(kept);
    truncated_.resize(kept);
    limits_.resize(kept);
    entries_.resize(kept * width_);
    entries_.shrink_to_fit();
  }

  std::size_t bytes() const { return entries_.size() * sizeof(Neighbor) + sizes_.size() * 13; }

 private:
  void note_limit(std::int32_t row) {
    limits_[row] = is_truncated(row) && sizes_[row] > 0 ? all(row).back().key
                                                        : std::numeric_limits<double>::infinity();
  }

  std::int64_t k_, width_;
  std::vector<Neighbor> entries_;
  std::vector<std::int32_t> sizes_;
  std::vector<std::uint8_t> truncated_;
  std::vector<double> limits_;
};

// Which of up to 32 rows may have a key within their limits, judged by their dot products.
//
// There is no division, and the slack is larger than all roundings together, so that most runs of
// rows need no further look. Norms so small that their product may have vanished always pass, as
// does what is not a number.

// Dot products of one row with consecutive others; a key is at most the larger of `worst` and the
// limit of the other row.
struct DotRun {
  const double* dots;
  const double* norms;   // of the others; null where dot products are not divided by norms
  const double* limits;  // of the others; null for none
  double norm;           // of the one row
  double worst;
};

inline constexpr double limit_slack = 1e-14;
inline constexpr double least_slack = 1e-300;
inline constexpr double least_size = 1e-200;

// Bit i is set where row i < n of the run may have a key within its limit.
using WithinLimits = std::uint32_t (*)(const DotRun& run, std::int32_t n);

namespace plain {

inline bool may_pass(const DotRun& run, std::int32_t i) {
  const double own = run.limits == nullptr ? run.worst : run.limits[i];
  const double limit = run.worst > own ? run.worst : own;
  const double size = run.norms == nullptr ? 1.0 : run.norm * run.norms[i];
  const double slack = limit_slack * std::abs(limit) + least_slack;
  return !(-run.dots[i] > (limit + slack) * size) || !(size > least_size);
}

inline std::uint32_t within_limits(const DotRun& run, std::int32_t n) {
  std::uint32_t rows = 0;
  for (std::int32_t i = 0; i < n; ++i) rows |= static_cast<std::uint32_t>(may_pass(run, i)) << i;
  return rows;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

VICINAL_AVX2 inline std::uint32_t within_limits(const DotRun& run, std::int32_t n) {
  const __m256d sign = _mm256_set1_pd(-0.0), worst = _mm256_set1_pd(run.worst);
  std::uint32_t rows = 0;
  std::int32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256d limit =
        run.limits == nullptr ? worst : _mm256_max_pd(worst, _mm256_loadu_pd(run.limits + i));
    const __m256d size = run.norms == nullptr ? _mm256_set1_pd(1.0)
                                              : _mm256_mul_pd(_mm256_set1_pd(run.norm),
                                                              _mm256_loadu_pd(run.norms + i));
    const __m256d slack =
        _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(limit_slack), _mm256_andnot_pd(sign, limit)),
                      _mm256_set1_pd(least_slack));
    const __m256d reach = _mm256_mul_pd(_mm256_add_pd(limit, slack), size);
    const __m256d key = _mm256_xor_pd(sign, _mm256_loadu_pd(run.dots + i));
    const __m256d passes =
        _mm256_or_pd(_mm256_cmp_pd(key, reach, _CMP_NGT_UQ),
                     _mm256_cmp_pd(size, _mm256_set1_pd(least_size), _CMP_NGT_UQ));
    rows |= static_cast<std::uint32_t>(_mm256_movemask_pd(passes)) << i;
  }
  for (; i < n; ++i) rows |= static_cast<std::uint32_t>(plain::may_pass(run, i)) << i;
  return rows;
}

}  // namespace avx2
#endif

inline WithinLimits within_limits([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level != Simd::plain) return avx2::within_limits;
#endif
  return plain::within_limits;
}

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

  // Forget a row; `changes` then holds the rows whose k nearest it left. The answer holds the rows
  // whose lists ran short: each of them must get its nearest rows by refill() before anything else
  // is done, and is then among the changes too.
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

  // `ids` are the nearest rows of `row`, in order, padded with -1. Lists that are not padded may
  // have further candidates.
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

  Metric metric_;
  WithinLimits within_limits_;
  LiveRows<Value> rows_;
  NeighborLists lists_;
  std::vector<ListChange> changes_;
  std::vector<std::int32_t> short_;
  std::vector<Neighbor> found_;
};

}  // namespace vicinal
