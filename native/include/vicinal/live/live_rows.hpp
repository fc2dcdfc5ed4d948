// Sparse rows that are added and removed one at a time, with the rows that each feature occurs in.
//
// A row lives in a slot. Slots are given in rising order and are not given again until compact()
// renumbers those that are in use, keeping their order.
//
// While all rows are counts (small whole numbers), every sum of products is exact in any order, and
// the entries 1 of the most frequent features are bits instead of postings.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/simd.hpp"

namespace vicinal {

// Large arrays double, so that hardly any row waits for a copy of all others: what is not used yet
// takes addresses, but no memory. The many small ones, and arrays that are larger still, grow by an
// eighth.
inline constexpr std::size_t least_doubled = std::size_t{1} << 16;  // bytes
inline constexpr std::size_t most_doubled = std::size_t{1} << 26;

// Make room for `more` entries.
template <class T>
void reserve_slowly(std::vector<T>& values, std::size_t more) {
  const std::size_t size = values.size() + more;
  if (size <= values.capacity()) return;
  const bool is_small = size < least_doubled / sizeof(T);
  const std::size_t doubled = is_small ? 4 : std::min(size, most_doubled / sizeof(T));
  values.reserve(size + std::max(doubled, size / 8));
}

template <class T>
void append_slowly(std::vector<T>& values, T value) {
  reserve_slowly(values, 1);
  values.push_back(std::move(value));
}

// The most frequent features of sparse rows as bits: one word per row.
//
// A few features occur in most rows and hold most of the postings. Where rows hold counts, nearly
// all entries of these features are 1, and a bit says as much as a posting of 16 bytes. Counting
// the bits that a row has in common with a query adds up all of these features at once.

// Add to each sum the product for the number of bits that a word has in common with `mask`.
using AddCommonBits = void (*)(std::span<const std::uint64_t> words, std::uint64_t mask,
                               const double* products, double* sums);

namespace plain {

inline void add_common_bits(std::span<const std::uint64_t> words, std::uint64_t mask,
                            const double* products, double* sums) {
  for (std::size_t i = 0; i < words.size(); ++i)
    sums[i] += products[std::popcount(words[i] & mask)];
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

// The same: here the compiler has an instruction that counts bits.
VICINAL_AVX2 inline void add_common_bits(std::span<const std::uint64_t> words, std::uint64_t mask,
                                         const double* products, double* sums) {
  for (std::size_t i = 0; i < words.size(); ++i)
    sums[i] += products[__builtin_popcountll(words[i] & mask)];
}

}  // namespace avx2
#endif

inline AddCommonBits add_common_bits([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level != Simd::plain) return avx2::add_common_bits;
#endif
  return plain::add_common_bits;
}

class FrequentBits {
 public:
  static constexpr std::int32_t most = 64;

  FrequentBits(std::int64_t n_columns, Simd level)
      : bits_(n_columns, no_bit), add_common_(add_common_bits(level)) {
    columns_.fill(-1);
  }

  bool has(std::int32_t column) const { return bits_[column] != no_bit; }
  std::int32_t column(std::int32_t bit) const { return columns_[bit]; }
  std::uint64_t mask(std::int32_t column) const { return std::uint64_t{1} << bits_[column]; }
  std::uint64_t word(std::int32_t slot) const { return words_[slot]; }
  std::int64_t count(std::int32_t column) const { return counts_[bits_[column]]; }

  // Give a feature a bit that no other has.
  void take_in(std::int32_t column) {
    const auto free = std::find(columns_.begin(), columns_.end(), -1);
    *free = column;
    bits_[column] = static_cast<std::int8_t>(free - columns_.begin());
  }

  // Take the bit of a feature away, after its rows were cleared.
  void give_up(std::int32_t column) {
    columns_[bits_[column]] = -1;
    bits_[column] = no_bit;
  }

  void append_row() { append_slowly(words_, std::uint64_t{0}); }

  void set(std::int32_t slot, std::int32_t column) {
    words_[slot] |= mask(column);
    ++counts_[bits_[column]];
  }

  // Take a feature out of a row; false if the row does not have its bit.
  bool clear(std::int32_t slot, std::int32_t column) {
    if (!has(column) || (words_[slot] & mask(column)) == 0) return false;
    words_[slot] &= ~mask(column);
    --counts_[bits_[column]];
    return true;
  }

  // For the rows from `first` on, add weight × (bits in common with `mask`); nothing where there
  // are none, so that a sum of -0.0 stays.
  void add_products(std::int32_t first, std::size_t size, std::uint64_t mask, double weight,
                    double* sums) const {
    std::array<double, most + 1> products;
    for (std::int32_t n = 1; n <= most; ++n) products[n] = weight * n;
    products[0] = -0.0;
    add_common_({words_.data() + first, size}, mask, products.data(), sums);
  }

  // Keep the rows with a new number.
  void renumber(std::span<const std::int32_t> moved) {
    std::size_t kept = 0;
    for (std::size_t slot = 0; slot < moved.size(); ++slot)
      if (moved[slot] >= 0) words_[kept++] = words_[slot];
    words_.resize(kept);
    if (words_.capacity() > kept + kept / 4) words_.shrink_to_fit();
  }

  std::size_t bytes() const { return bits_.size() + words_.size() * 8; }

 private:
  static constexpr std::int8_t no_bit = -1;

  std::vector<std::int8_t> bits_;            // of each feature
  std::array<std::int32_t, most> columns_;   // of each bit, -1 for one that is free
  std::array<std::int64_t, most> counts_{};  // of each bit, the rows that have it
  std::vector<std::uint64_t> words_;
  AddCommonBits add_common_;
};

template <class Value>
class LiveRows {
 public:
  // Dot products are added up for so many slots at a time, so that the sums stay in the cache.
  static constexpr std::int32_t block_slots = 1 << 15;

  explicit LiveRows(const CsrView<Value>& rows, Simd level = simd_level("auto"))
      : postings_(rows.n_columns), frequent_(rows.n_columns, level) {
    std::vector<std::int64_t> sizes(rows.n_columns, 0);
    for (const std::int32_t column : rows.indices) ++sizes[column];
    for (std::int64_t i = 0; i < rows.n_rows(); ++i) are_counts_ &= is_counts(row_of(rows, i));
    if (are_counts_)
      for (const std::int32_t column : largest(sizes)) frequent_.take_in(column);
    for (std::int32_t f = 0; f < rows.n_columns; ++f)
      if (!frequent_.has(f)) postings_[f].reserve(sizes[f]);
    reserve(rows.n_rows(), static_cast<std::int64_t>(rows.indices.size()));
    next_choice_ = after_choice(rows.n_rows());
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
    if (are_counts_ && !is_counts(row)) {
      are_counts_ = false;
      choose_frequent();
    }
    frequent_.append_row();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row.values[i] == Value{0}) continue;
      append_slowly(columns_, row.columns[i]);
      append_slowly(values_, row.values[i]);
      if (row.values[i] == Value{1} && frequent_.has(row.columns[i]))
        frequent_.set(slot, row.columns[i]);
      else
        append_slowly(postings_[row.columns[i]], Posting{slot, row.values[i]});
    }
    append_slowly(starts_, static_cast<std::int64_t>(columns_.size()));
    append_slowly(squares_, vicinal::squared_norm(row.values));
    append_slowly(norms_, std::sqrt(squares_.back()));
    append_slowly(live_, std::uint8_t{1});
    ++n_live_;
    if (are_counts_ && n_slots() >= next_choice_) choose_frequent();
    return slot;
  }

  void remove(std::int32_t slot) {
    const SparseRow<Value> gone = row(slot);
    for (const std::int32_t column : gone.columns) {
      if (frequent_.clear(slot, column)) continue;
      auto& list = postings_[column];
      const auto at = std::lower_bound(list.begin(), list.end(), slot,
                                       [](const Posting& p, std::int32_t s) { return p.slot < s; });
      list.erase(at);
    }
    live_[slot] = 0;
    --n_live_;
  }

  // Call seen(first, sums) for one block of slots after the other, with the dot products of the row
  // of a slot and those of the slots from `first` on. Where the order matters, features are visited
  // in rising order, so each sum is the definition's, to the bit. A slot that shares no feature, or
  // is not in use, keeps -0.0: a sum of products never becomes that, since + 0.0 turns a product
  // that vanished into +0.0.
  template <class Seen>
  void dots(std::int32_t slot, Seen&& seen) {
    look_up(row(slot));
    sums_.resize(std::min(n_slots(), block_slots));
    for (std::int32_t first = 0; first < n_slots(); first += block_slots) {
      const std::int32_t stop = first + std::min(block_slots, n_slots() - first);
      std::fill(sums_.begin(), sums_.end(), -0.0);
      for (const Common& each : common_)
        frequent_.add_products(first, stop - first, each.mask, each.weight, sums_.data());
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
    frequent_.renumber(moved);
    for (auto& list : postings_) {
      for (Posting& posting : list) posting.slot = moved[posting.slot];
      if (list.capacity() > list.size() + list.size() / 4 + 4) list.shrink_to_fit();
    }
    return moved;
  }

  std::size_t bytes() const {
    std::size_t total = columns_.size() * (sizeof(std::int32_t) + sizeof(Value)) +
                        norms_.size() * 25 + postings_.size() * sizeof(Postings) +
                        frequent_.bytes();
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

  // The frequent features that a query has with the same weight.
  struct Common {
    double weight;
    std::uint64_t mask;
  };

  // Whole numbers whose products add up to less than 2^53, by the inequality of Cauchy and Schwarz.
  static bool is_counts(const SparseRow<Value>& row) {
    const auto is_count = [](Value v) {
      return v >= Value{0} && v <= Value{1 << 20} && v == std::floor(v);
    };
    return std::all_of(row.values.begin(), row.values.end(), is_count) &&
           vicinal::squared_norm(row.values) < 0x1p52;
  }

  static std::int64_t after_choice(std::int64_t n_rows) { return n_rows + n_rows / 4 + 64; }

  // The features with the largest sizes, as many as there are bits.
  static std::vector<std::int32_t> largest(std::span<const std::int64_t> sizes) {
    std::vector<std::int32_t> features;
    for (std::size_t f = 0; f < sizes.size(); ++f)
      if (sizes[f] > 0) features.push_back(static_cast<std::int32_t>(f));
    const auto n = std::min<std::size_t>(features.size(), FrequentBits::most);
    std::partial_sort(features.begin(), features.begin() + n, features.end(),
                      [&](std::int32_t a, std::int32_t b) {
                        return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
                      });
    features.resize(n);
    return features;
  }

  // Choose the frequent features anew: none if there are rows that are not counts.
  void choose_frequent() {
    next_choice_ = after_choice(n_slots());
    std::vector<std::int64_t> sizes(postings_.size(), 0);
    for (std::size_t f = 0; are_counts_ && f < sizes.size(); ++f) {
      const auto column = static_cast<std::int32_t>(f);
      sizes[f] = std::ssize(postings_[f]) + (frequent_.has(column) ? frequent_.count(column) : 0);
    }
    const auto chosen = largest(sizes);
    for (std::int32_t bit = 0; bit < FrequentBits::most; ++bit) {
      const std::int32_t column = frequent_.column(bit);
      if (column >= 0 && std::find(chosen.begin(), chosen.end(), column) == chosen.end())
        to_postings(column);
    }
    for (const std::int32_t column : chosen)
      if (!frequent_.has(column)) to_bits(column);
  }

  void to_postings(std::int32_t column) {
    Postings list;
    list.reserve(postings_[column].size() + frequent_.count(column));
    auto known = postings_[column].cbegin();
    for (std::int32_t slot = 0; slot < n_slots(); ++slot)
      if (frequent_.clear(slot, column))
        list.push_back({slot, Value{1}});
      else if (known != postings_[column].cend() && known->slot == slot)
        list.push_back(*known++);
    frequent_.give_up(column);
    postings_[column].swap(list);
  }

  void to_bits(std::int32_t column) {
    frequent_.take_in(column);
    Postings others;
    for (const Posting& posting : postings_[column])
      if (posting.value == Value{1})
        frequent_.set(posting.slot, column);
      else
        others.push_back(posting);
    postings_[column].swap(others);
  }

  // Find what dots() adds up for a query.
  void look_up(const SparseRow<Value>& query) {
    lists_.clear();
    common_.clear();
    for (std::size_t i = 0; i < query.size(); ++i) {
      const std::int32_t column = query.columns[i];
      const auto weight = static_cast<double>(query.values[i]);
      const Postings& list = postings_[column];
      if (!list.empty()) lists_.push_back({list.data(), list.data() + list.size(), weight});
      if (!frequent_.has(column)) continue;
      const auto same = std::find_if(common_.begin(), common_.end(),
                                     [&](const Common& each) { return each.weight == weight; });
      if (same == common_.end())
        common_.push_back({weight, frequent_.mask(column)});
      else
        same->mask |= frequent_.mask(column);
    }
  }

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
  FrequentBits frequent_;
  bool are_counts_ = true;
  std::int64_t next_choice_ = 0;  // the number of slots at which frequent features are chosen anew
  std::int32_t n_live_ = 0;
  std::vector<double> sums_;  // of one block; scratch, as is what follows
  std::vector<Rest> lists_;
  std::vector<Common> common_;
};

}  // namespace vicinal
