// Loops of CountIndex over a group of 512 rows: add bitmaps, select counts that reach a threshold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vicinal/common/simd.hpp"
#include "vicinal/search/bit_slices.hpp"
#include "vicinal/search/candidate.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// The bitmaps of a query's frequent features in one block.
struct Bitmaps {
  const std::uint8_t* const* starts;
  std::size_t count;
};

// One-byte counters suffice while no count can exceed 255; otherwise two bytes are used.
template <class Counter>
struct CountKernelsOf {
  // Add the bits of rows [first, first + 512) to their counters.
  void (*add)(Counter* counters, const Bitmaps& bitmaps, std::int64_t first);
  // The same, then write the rows whose count reaches `threshold` and set all counters to zero.
  std::size_t (*add_and_take)(Counter* counters, const Bitmaps& bitmaps, std::int64_t first,
                              std::int32_t threshold, Candidate* out);
  // Write the rows whose count reaches `threshold` and leave the counters unchanged.
  std::size_t (*find)(const Counter* counters, std::int64_t first, std::int32_t threshold,
                      Candidate* out);
};

struct CountKernels {
  CountKernelsOf<std::uint8_t> narrow;
  CountKernelsOf<std::uint16_t> wide;
};

namespace plain {

// Each bit of a byte as a byte of 0 or 1, in the order of memory.
inline const std::array<std::uint64_t, 256> bits_as_bytes = [] {
  const auto shift = [](int bit) {
    return 8 * (std::endian::native == std::endian::little ? bit : 7 - bit);
  };
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < 256; ++byte)
    for (int bit = 0; bit < 8; ++bit) table[byte] |= ((byte >> bit) & 1) << shift(bit);
  return table;
}();

// Eight rows at a time: a 64-bit register holds eight byte counters.
inline void add_bitmaps(std::uint8_t* counters, const Bitmaps& bitmaps, std::int64_t first) {
  for (std::int64_t byte = 0; byte < Blocks::group / 8; ++byte) {
    std::uint64_t sums;
    std::memcpy(&sums, counters + 8 * byte, 8);
    for (std::size_t b = 0; b < bitmaps.count; ++b)
      sums += bits_as_bytes[bitmaps.starts[b][first / 8 + byte]];
    std::memcpy(counters + 8 * byte, &sums, 8);
  }
}

template <class Counter>
std::size_t find(const Counter* counters, std::int64_t first, std::int32_t threshold,
                 Candidate* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; ++i)
    if (counters[i] >= threshold)
      out[count++] = {static_cast<std::int32_t>(first) + i, counters[i]};
  return count;
}

template <class Counter>
std::size_t take(Counter* counters, std::int64_t first, std::int32_t threshold, Candidate* out) {
  const std::size_t count = find(counters, first, threshold, out);
  std::fill_n(counters, Blocks::group, Counter{0});
  return count;
}

inline std::size_t add_and_take(std::uint8_t* counters, const Bitmaps& bitmaps, std::int64_t first,
                                std::int32_t threshold, Candidate* out) {
  add_bitmaps(counters, bitmaps, first);
  return take(counters, first, threshold, out);
}

inline void add_bitmaps_wide(std::uint16_t* counters, const Bitmaps& bitmaps, std::int64_t first) {
  for (std::size_t b = 0; b < bitmaps.count; ++b)
    for (std::int64_t i = 0; i < Blocks::group; ++i) {
      const std::int64_t row = first + i;
      counters[i] += (bitmaps.starts[b][row / 8] >> (row % 8)) & 1;
    }
}

inline std::size_t add_and_take_wide(std::uint16_t* counters, const Bitmaps& bitmaps,
                                     std::int64_t first, std::int32_t threshold, Candidate* out) {
  add_bitmaps_wide(counters, bitmaps, first);
  return take(counters, first, threshold, out);
}

inline CountKernelsOf<std::uint8_t> narrow_kernels() {
  return {add_bitmaps, add_and_take, find<std::uint8_t>};
}
inline CountKernelsOf<std::uint16_t> wide_kernels() {
  return {add_bitmaps_wide, add_and_take_wide, find<std::uint16_t>};
}

}  // namespace plain
}  // namespace vicinal
