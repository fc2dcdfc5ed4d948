// The most frequent features of sparse rows as bits: one word per row.
//
// A few features occur in most rows and hold most of the postings. Where rows hold counts, nearly
// all entries of these features are 1, and a bit says as much as a posting of 16 bytes. Counting
// the bits that a row has in common with a query adds up all of these features at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/simd.hpp"
#include "vicinal/learn/slow_growth.hpp"

namespace vicinal {

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

  std::size_t bytes() const { return bits_.capacity() + words_.capacity() * 8; }

 private:
  static constexpr std::int8_t no_bit = -1;

  std::vector<std::int8_t> bits_;            // of each feature
  std::array<std::int32_t, most> columns_;   // of each bit, -1 for one that is free
  std::array<std::int64_t, most> counts_{};  // of each bit, the rows that have it
  std::vector<std::uint64_t> words_;
  AddCommonBits add_common_;
};

}  // namespace vicinal
