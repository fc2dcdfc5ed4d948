// The nearest other rows of every row, kept a little longer than asked for.
//
// A list holds the nearest rows there are, in order. A *truncated* list has further candidates that
// it does not hold; one that is not truncated holds them all. The spare entries absorb removals: a
// row is searched again only when a truncated list has become shorter than k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/top_k.hpp"
#include "vicinal/learn/slow_growth.hpp"

namespace vicinal {

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

  std::size_t bytes() const {
    return entries_.capacity() * sizeof(Neighbor) + sizes_.capacity() * 13;
  }

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

}  // namespace vicinal
