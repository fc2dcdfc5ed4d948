// Sparse rows that are added and removed one at a time, with the rows that each feature occurs in.
//
// A row lives in a slot. Slots are given in rising order and are not given again until compact()
// renumbers those that are in use, keeping their order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/learn/slow_growth.hpp"

namespace vicinal {

template <class Value>
class LiveRows {
 public:
  // Dot products are added up for so many slots at a time, so that the sums stay in the cache.
  static constexpr std::int32_t block_slots = 1 << 15;

  explicit LiveRows(const CsrView<Value>& rows) : postings_(rows.n_columns) {
    std::vector<std::int32_t> counts(rows.n_columns, 0);
    for (const std::int32_t column : rows.indices) ++counts[column];
    for (std::int64_t f = 0; f < rows.n_columns; ++f) postings_[f].reserve(counts[f]);
    reserve(rows.n_rows(), static_cast<std::int64_t>(rows.indices.size()));
    for (std::int64_t i = 0; i < rows.n_rows(); ++i) add(row_of(rows, i));
  }

  std::int32_t n_slots() const { return static_cast<std::int32_t>(norms_.size()); }
  std::int32_t n_live() const { return n_live_; }
  bool is_live(std::int32_t slot) const { return live_[slot] != 0; }
  double norm(std::int32_t slot) const { return norms_[slot]; }
  double squared_norm(std::int32_t slot) const { return squares_[slot]; }
  std::span<const double> norms() const { return norms_; }
  SparseRow<Value> row(std::int32_t slot) const {
    const std::size_t begin = starts_[slot], size = starts_[slot + 1] - begin;
    return {{columns_.data() + begin, size}, {values_.data() + begin, size}};
  }

  // Stored zeros are left out: the definition does not count them as shared features.
  std::int32_t add(const SparseRow<Value>& row) {
    if (norms_.size() >= 2147483646u) throw std::length_error("fewer than 2^31 - 1 rows");
    const std::int32_t slot = n_slots();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row.values[i] == Value{0}) continue;
      append_slowly(columns_, row.columns[i]);
      append_slowly(values_, row.values[i]);
      append_slowly(postings_[row.columns[i]], Posting{slot, row.values[i]});
    }
    append_slowly(starts_, static_cast<std::int64_t>(columns_.size()));
    append_slowly(squares_, vicinal::squared_norm(row.values));
    append_slowly(norms_, std::sqrt(squares_.back()));
    append_slowly(live_, std::uint8_t{1});
    ++n_live_;
    return slot;
  }

  void remove(std::int32_t slot) {
    const SparseRow<Value> gone = row(slot);
    for (const std::int32_t column : gone.columns) {
      auto& list = postings_[column];
      const auto at = std::lower_bound(list.begin(), list.end(), slot,
                                       [](const Posting& p, std::int32_t s) { return p.slot < s; });
      list.erase(at);
    }
    live_[slot] = 0;
    --n_live_;
  }

  // Call seen(first, sums) for one block of slots after the other, with the dot products of a row
  // and the slots from `first` on. Features are visited in rising order, so each sum is the
  // definition's, to the bit. A slot that shares no feature, or is not in use, keeps -0.0: a sum of
  // products never becomes that, since + 0.0 turns a product that vanished into +0.0.
  template <class Other, class Seen>
  void dots(const SparseRow<Other>& query, Seen&& seen) {
    lists_.clear();
    for (std::size_t i = 0; i < query.size(); ++i) {
      const Postings& list = postings_[query.columns[i]];
      if (query.values[i] == Other{0} || list.empty()) continue;
      const Posting* const begin = list.data();
      lists_.push_back({begin, begin + list.size(), static_cast<double>(query.values[i])});
    }
    sums_.resize(std::min(n_slots(), block_slots));
    for (std::int32_t first = 0; first < n_slots(); first += block_slots) {
      const std::int32_t stop = first + std::min(block_slots, n_slots() - first);
      std::fill(sums_.begin(), sums_.end(), -0.0);
      double* const sums = sums_.data() - first;
      for (Rest& rest : lists_)
        for (; rest.next != rest.end && rest.next->slot < stop; ++rest.next)
          sums[rest.next->slot] += rest.weight * static_cast<double>(rest.next->value) + 0.0;
      seen(first, std::span<const double>(sums_.data(), stop - first));
    }
  }
  static bool shares_feature(double sum) { return sum != 0.0 || !std::signbit(sum); }

  // Renumber the slots in use from 0 on; the answer holds the new slot of each old one, or -1.
  std::vector<std::int32_t> compact() {
    std::vector<std::int32_t> moved(norms_.size(), -1);
    std::int32_t next = 0;
    std::size_t end = 0;
    for (std::int32_t slot = 0; slot < n_slots(); ++slot) {
      if (!live_[slot]) continue;
      moved[slot] = next;
      const std::size_t begin = starts_[slot], size = starts_[slot + 1] - begin;
      std::copy_n(columns_.begin() + begin, size, columns_.begin() + end);
      std::copy_n(values_.begin() + begin, size, values_.begin() + end);
      starts_[next] = static_cast<std::int64_t>(end);
      squares_[next] = squares_[slot];
      norms_[next++] = norms_[slot];
      end += size;
    }
    starts_.resize(next + 1);
    starts_[next] = static_cast<std::int64_t>(end);
    shrink(columns_, end);
    shrink(values_, end);
    shrink(squares_, next);
    shrink(norms_, next);
    live_.assign(next, 1);
    for (auto& list : postings_) {
      for (Posting& posting : list) posting.slot = moved[posting.slot];
      if (list.capacity() > list.size() + list.size() / 4 + 4) list.shrink_to_fit();
    }
    return moved;
  }

  std::size_t bytes() const {
    std::size_t total = columns_.capacity() * (sizeof(std::int32_t) + sizeof(Value)) +
                        norms_.capacity() * 25 + postings_.capacity() * sizeof(Postings);
    for (const auto& list : postings_) total += list.capacity() * sizeof(Posting);
    return total;
  }

 private:
  struct Posting {
    std::int32_t slot;
    Value value;
  };
  using Postings = std::vector<Posting>;

  // What is left to add up of a feature's postings.
  struct Rest {
    const Posting* next;
    const Posting* end;
    double weight;
  };

  void reserve(std::int64_t n_rows, std::int64_t n_entries) {
    reserve_slowly(starts_, n_rows);
    reserve_slowly(squares_, n_rows);
    reserve_slowly(norms_, n_rows);
    reserve_slowly(live_, n_rows);
    reserve_slowly(columns_, n_entries);
    reserve_slowly(values_, n_entries);
  }

  template <class T>
  static void shrink(std::vector<T>& values, std::size_t size) {
    values.resize(size);
    if (values.capacity() > size + size / 4) values.shrink_to_fit();
  }

  std::vector<std::int64_t> starts_{0};
  std::vector<std::int32_t> columns_;
  std::vector<Value> values_;
  std::vector<double> squares_, norms_;
  std::vector<std::uint8_t> live_;
  std::vector<Postings> postings_;
  std::int32_t n_live_ = 0;
  std::vector<double> sums_;  // of one block; scratch, as are the lists
  std::vector<Rest> lists_;
};

}  // namespace vicinal
