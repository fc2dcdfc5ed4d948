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

namespace vicinal {

template <class Value>
class LiveRows {
 public:
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
      columns_.push_back(row.columns[i]);
      values_.push_back(row.values[i]);
      postings_[row.columns[i]].push_back({slot, row.values[i]});
    }
    starts_.push_back(static_cast<std::int64_t>(columns_.size()));
    squares_.push_back(vicinal::squared_norm(row.values));
    norms_.push_back(std::sqrt(squares_.back()));
    live_.push_back(1);
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

  // The dot product of a row with every slot, in `sums`. Features are visited in rising order, so
  // each sum is the definition's, to the bit. A slot that shares no feature keeps -0.0: a sum of
  // products never becomes that, since + 0.0 turns a product that vanished into +0.0.
  template <class Other>
  void dots(const SparseRow<Other>& query, std::vector<double>& sums) const {
    sums.assign(norms_.size(), -0.0);
    for (std::size_t i = 0; i < query.size(); ++i) {
      const auto weight = static_cast<double>(query.values[i]);
      if (weight == 0.0) continue;
      for (const Posting& posting : postings_[query.columns[i]])
        sums[posting.slot] += weight * static_cast<double>(posting.value) + 0.0;
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
      if (list.capacity() > 2 * list.size()) list.shrink_to_fit();
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

  void reserve(std::int64_t n_rows, std::int64_t n_entries) {
    starts_.reserve(n_rows + 1);
    squares_.reserve(n_rows);
    norms_.reserve(n_rows);
    live_.reserve(n_rows);
    columns_.reserve(n_entries);
    values_.reserve(n_entries);
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
};

}  // namespace vicinal
