// Loops of CountIndex over a group of 512 rows: add bitmaps, select counts that reach a threshold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vicinal/common/simd.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// Bit-sliced counters: adding bitmaps for many rows at a time.
//
// A bitmap holds one bit per row. To add many bitmaps row by row, the counts themselves are kept as
// bit planes: plane p of a word holds bit p of the count of each row in the word. Three words of
// equal weight are added by a full adder (sum: a^b^c, carry: majority), so a bitmap costs about one
// adder for a whole word of rows. A tree of adders combines several bitmaps before a carry ripples
// through the upper planes.

// The number of planes needed for counts up to n.
constexpr int planes_for(std::size_t n) {
  int planes = 0;
  while ((n >> planes) > 0) ++planes;
  return planes;
}

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

// The kernels of CountIndex with 256-bit words: a group is two words.

#if VICINAL_X86
namespace vicinal::avx2 {

struct Pair {
  __m256i carry, sum;
};
VICINAL_AVX2 inline Pair full_add(__m256i a, __m256i b, __m256i c) {
  const __m256i differ = _mm256_xor_si256(a, b);
  return {_mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(differ, c)),
          _mm256_xor_si256(differ, c)};
}

VICINAL_AVX2 inline __m256i word(const Bitmaps& bitmaps, std::size_t b, std::int64_t first) {
  return b < bitmaps.count
             ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bitmaps.starts[b] + first / 8))
             : _mm256_setzero_si256();
}

// Bit planes of the number of bitmaps each of 256 rows is in, 32 bytes per plane.
template <int Planes>
VICINAL_AVX2 inline void add_up(const Bitmaps& bitmaps, std::int64_t first,
                                std::uint32_t (*planes)[8]) {
  __m256i plane[8];
  for (int p = 0; p < 8; ++p) plane[p] = _mm256_setzero_si256();
  for (std::size_t b = 0; b < bitmaps.count; b += 4) {
    const Pair p0 = full_add(plane[0], word(bitmaps, b, first), word(bitmaps, b + 1, first));
    const Pair p1 = full_add(p0.sum, word(bitmaps, b + 2, first), word(bitmaps, b + 3, first));
    const Pair q = full_add(plane[1], p0.carry, p1.carry);
    plane[0] = p1.sum;
    plane[1] = q.sum;
    __m256i carry = q.carry;
    VICINAL_UNROLL
    for (int p = 2; p < Planes; ++p) {
      const __m256i old = plane[p];
      plane[p] = _mm256_xor_si256(old, carry);
      carry = _mm256_and_si256(old, carry);
    }
  }
  for (int p = 0; p < Planes; ++p)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes[p]), plane[p]);
}

// Each bit of `bits` as a byte of `value` or 0.
VICINAL_AVX2 inline __m256i bits_as_bytes(std::uint32_t bits, char value) {
  const __m256i pick = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2,
                                        2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), pick);
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(value));
}

template <int Planes>
VICINAL_AVX2 inline __m256i merged(const std::uint8_t* counters, const std::uint32_t (*planes)[8],
                                   int part) {
  __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counters + 32 * part));
  for (int p = 0; p < Planes; ++p)
    sums = _mm256_add_epi8(sums, bits_as_bytes(planes[p][part], static_cast<char>(1 << p)));
  return sums;
}

template <int Planes>
VICINAL_AVX2 void add(std::uint8_t* counters, const Bitmaps& bitmaps, std::int64_t first) {
  for (std::int64_t half = 0; half < Blocks::group; half += 256) {
    std::uint32_t planes[8][8];
    add_up<Planes>(bitmaps, first + half, planes);
    for (int part = 0; part < 8; ++part) {
      const __m256i sums = merged<Planes>(counters + half, planes, part);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(counters + half + 32 * part), sums);
    }
  }
}

template <int Planes>
VICINAL_AVX2 std::size_t add_and_take(std::uint8_t* counters, const Bitmaps& bitmaps,
                                      std::int64_t first, std::int32_t threshold, Candidate* out) {
  std::size_t count = 0;
  const __m256i least = _mm256_set1_epi8(static_cast<char>(threshold));
  for (std::int64_t half = 0; half < Blocks::group; half += 256) {
    std::uint32_t planes[8][8];
    add_up<Planes>(bitmaps, first + half, planes);
    for (int part = 0; part < 8; ++part) {
      const __m256i sums = merged<Planes>(counters + half, planes, part);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(counters + half + 32 * part),
                          _mm256_setzero_si256());
      const __m256i passed = _mm256_cmpeq_epi8(_mm256_max_epu8(sums, least), sums);
      auto pass = static_cast<std::uint32_t>(_mm256_movemask_epi8(passed));
      if (pass == 0) continue;
      std::uint8_t bytes[32];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), sums);
      for (; pass != 0; pass &= pass - 1) {
        const int i = std::countr_zero(pass);
        out[count++] = {static_cast<std::int32_t>(first + half) + 32 * part + i, bytes[i]};
      }
    }
  }
  return count;
}

VICINAL_AVX2 inline std::size_t find(const std::uint8_t* counters, std::int64_t first,
                                     std::int32_t threshold, Candidate* out) {
  std::size_t count = 0;
  const __m256i least = _mm256_set1_epi8(static_cast<char>(threshold));
  for (std::int32_t part = 0; part < Blocks::group; part += 32) {
    const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counters + part));
    const __m256i passed = _mm256_cmpeq_epi8(_mm256_max_epu8(sums, least), sums);
    auto pass = static_cast<std::uint32_t>(_mm256_movemask_epi8(passed));
    for (; pass != 0; pass &= pass - 1) {
      const std::int32_t i = part + std::countr_zero(pass);
      out[count++] = {static_cast<std::int32_t>(first) + i, counters[i]};
    }
  }
  return count;
}

}  // namespace vicinal::avx2
#endif

// The kernels of CountIndex with 512-bit words: one word is a group of rows.

#if VICINAL_X86
namespace vicinal::avx512 {

static_assert(Blocks::group == 512);

// a + b + c = 2 * carry + sum, in each bit.
struct Pair {
  __m512i carry, sum;
};
VICINAL_AVX512 inline Pair full_add(__m512i a, __m512i b, __m512i c) {
  return {_mm512_ternarylogic_epi64(a, b, c, 0xE8), _mm512_ternarylogic_epi64(a, b, c, 0x96)};
}

VICINAL_AVX512 inline __m512i word(const Bitmaps& bitmaps, std::size_t b, std::int64_t first) {
  return b < bitmaps.count ? _mm512_loadu_si512(bitmaps.starts[b] + first / 8)
                           : _mm512_setzero_si512();
}

// Bit planes of the number of bitmaps each row is in.
template <int Planes>
struct Slices {
  __m512i plane[Planes];
};

template <int Planes>
VICINAL_AVX512 inline Slices<Planes> add_up(const Bitmaps& bitmaps, std::int64_t first) {
  __m512i ones = _mm512_setzero_si512(), twos = ones, fours = ones;
  __m512i high[8] = {ones, ones, ones, ones, ones, ones, ones, ones};
  for (std::size_t b = 0; b < bitmaps.count; b += 8) {
    const Pair p0 = full_add(ones, word(bitmaps, b, first), word(bitmaps, b + 1, first));
    const Pair p1 = full_add(p0.sum, word(bitmaps, b + 2, first), word(bitmaps, b + 3, first));
    const Pair p2 = full_add(p1.sum, word(bitmaps, b + 4, first), word(bitmaps, b + 5, first));
    const Pair p3 = full_add(p2.sum, word(bitmaps, b + 6, first), word(bitmaps, b + 7, first));
    const Pair q0 = full_add(twos, p0.carry, p1.carry);
    const Pair q1 = full_add(q0.sum, p2.carry, p3.carry);
    const Pair r = full_add(fours, q0.carry, q1.carry);
    ones = p3.sum;
    twos = q1.sum;
    fours = r.sum;
    __m512i carry = r.carry;
    VICINAL_UNROLL
    for (int p = 3; p < Planes; ++p) {
      const __m512i old = high[p - 3];
      high[p - 3] = _mm512_xor_si512(old, carry);
      carry = _mm512_and_si512(old, carry);
    }
  }
  Slices<Planes> slices;
  VICINAL_UNROLL
  for (int p = 0; p < Planes; ++p)
    slices.plane[p] = p == 0 ? ones : p == 1 ? twos : p == 2 ? fours : high[p < 3 ? 0 : p - 3];
  return slices;
}

// Rows whose count in the planes is at least `least` (0 < least < 2^Planes).
template <int Planes>
VICINAL_AVX512 inline __m512i reach(const Slices<Planes>& slices, std::int32_t least) {
  __m512i greater = _mm512_setzero_si512(), equal = _mm512_set1_epi64(-1);
  VICINAL_UNROLL
  for (int p = Planes - 1; p >= 0; --p) {
    const __m512i plane = slices.plane[p];
    if ((least >> p) & 1) {
      equal = _mm512_and_si512(equal, plane);
    } else {
      greater = _mm512_ternarylogic_epi64(greater, equal, plane, 0xF8);  // greater | equal & plane
      equal = _mm512_ternarylogic_epi64(equal, plane, plane, 0x30);      // equal & ~plane
    }
  }
  return _mm512_or_si512(greater, equal);
}

// The same operations for both widths of counters.
VICINAL_AVX512 inline __m512i larger(__m512i a, __m512i b, std::uint8_t) {
  return _mm512_max_epu8(a, b);
}
VICINAL_AVX512 inline __m512i larger(__m512i a, __m512i b, std::uint16_t) {
  return _mm512_max_epu16(a, b);
}
VICINAL_AVX512 inline __m128i larger(__m128i a, __m128i b, std::uint8_t) {
  return _mm_max_epu8(a, b);
}
VICINAL_AVX512 inline __m128i larger(__m128i a, __m128i b, std::uint16_t) {
  return _mm_max_epu16(a, b);
}
VICINAL_AVX512 inline __m512i added(__m512i sums, std::uint64_t rows, int weight, std::uint8_t) {
  return _mm512_mask_add_epi8(sums, rows, sums, _mm512_set1_epi8(static_cast<char>(weight)));
}
VICINAL_AVX512 inline __m512i added(__m512i sums, std::uint64_t rows, int weight, std::uint16_t) {
  return _mm512_mask_add_epi16(sums, static_cast<__mmask32>(rows), sums,
                               _mm512_set1_epi16(static_cast<short>(weight)));
}
VICINAL_AVX512 inline std::uint64_t reaching(__m512i sums, std::int32_t least, std::uint8_t) {
  return _mm512_cmpge_epu8_mask(sums, _mm512_set1_epi8(static_cast<char>(least)));
}
VICINAL_AVX512 inline std::uint64_t reaching(__m512i sums, std::int32_t least, std::uint16_t) {
  return _mm512_cmpge_epu16_mask(sums, _mm512_set1_epi16(static_cast<short>(least)));
}

template <class Counter>
inline constexpr std::int32_t lanes = 64 / sizeof(Counter);

template <class Counter>
VICINAL_AVX512 inline std::int32_t largest(const Counter* counters) {
  __m512i most = _mm512_setzero_si512();
  for (std::int32_t i = 0; i < Blocks::group; i += lanes<Counter>)
    most = larger(most, _mm512_loadu_si512(counters + i), Counter{});
  if (_mm512_test_epi64_mask(most, most) == 0) return 0;
  alignas(64) __m128i parts[4];
  _mm512_store_si512(parts, most);
  __m128i left = larger(larger(parts[0], parts[1], Counter{}),
                        larger(parts[2], parts[3], Counter{}), Counter{});
  left = larger(left, _mm_srli_si128(left, 8), Counter{});
  left = larger(left, _mm_srli_si128(left, 4), Counter{});
  left = larger(left, _mm_srli_si128(left, 2), Counter{});
  if constexpr (sizeof(Counter) == 1) left = larger(left, _mm_srli_si128(left, 1), Counter{});
  return static_cast<Counter>(_mm_cvtsi128_si32(left));
}

template <class Counter>
VICINAL_AVX512 inline void clear(Counter* counters) {
  for (std::int32_t i = 0; i < Blocks::group; i += lanes<Counter>)
    _mm512_storeu_si512(counters + i, _mm512_setzero_si512());
}

// The planes of a group in memory, from which a few rows at a time are read.
template <int Planes>
struct StoredSlices {
  alignas(64) std::uint64_t planes[Planes][8];

  VICINAL_AVX512 explicit StoredSlices(const Slices<Planes>& slices) {
    for (int p = 0; p < Planes; ++p) _mm512_store_si512(planes[p], slices.plane[p]);
  }

  // Counters of the rows from `i` on, plus their bits in the planes.
  template <class Counter>
  VICINAL_AVX512 __m512i merged(const Counter* counters, std::int32_t i) const {
    __m512i sums = _mm512_loadu_si512(counters + i);
    VICINAL_UNROLL
    for (int p = 0; p < Planes; ++p)
      sums = added(sums, planes[p][i / 64] >> (i % 64), 1 << p, Counter{});
    return sums;
  }
};

template <class Counter>
VICINAL_AVX512 inline std::size_t write_passing(__m512i sums, std::uint64_t pass,
                                                std::int64_t first, Candidate* out) {
  alignas(64) Counter values[lanes<Counter>];
  _mm512_store_si512(values, sums);
  std::size_t count = 0;
  for (; pass != 0; pass &= pass - 1) {
    const int i = std::countr_zero(pass);
    out[count++] = {static_cast<std::int32_t>(first) + i, values[i]};
  }
  return count;
}

template <int Planes, class Counter>
VICINAL_AVX512 std::size_t add_and_take(Counter* counters, const Bitmaps& bitmaps,
                                        std::int64_t first, std::int32_t threshold,
                                        Candidate* out) {
  const Slices<Planes> slices = add_up<Planes>(bitmaps, first);
  // Even the row with the largest counter of the group needs this much from the bitmaps.
  const std::int32_t most = largest(counters);
  const std::int32_t least = threshold - most;
  bool none_pass = least >= (1 << Planes);
  if (least > 0 && !none_pass) {
    const __m512i may_pass = reach<Planes>(slices, least);
    none_pass = _mm512_test_epi64_mask(may_pass, may_pass) == 0;
  }
  if (none_pass) {
    if (most > 0) clear(counters);
    return 0;
  }
  const StoredSlices<Planes> stored(slices);
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; i += lanes<Counter>) {
    const __m512i sums = stored.merged(counters, i);
    _mm512_storeu_si512(counters + i, _mm512_setzero_si512());
    const std::uint64_t pass = reaching(sums, threshold, Counter{});
    if (pass != 0) count += write_passing<Counter>(sums, pass, first + i, out + count);
  }
  return count;
}

template <int Planes, class Counter>
VICINAL_AVX512 void add(Counter* counters, const Bitmaps& bitmaps, std::int64_t first) {
  const StoredSlices<Planes> stored(add_up<Planes>(bitmaps, first));
  for (std::int32_t i = 0; i < Blocks::group; i += lanes<Counter>)
    _mm512_storeu_si512(counters + i, stored.merged(counters, i));
}

template <class Counter>
VICINAL_AVX512 std::size_t find(const Counter* counters, std::int64_t first, std::int32_t threshold,
                                Candidate* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; i += lanes<Counter>) {
    const __m512i sums = _mm512_loadu_si512(counters + i);
    const std::uint64_t pass = reaching(sums, threshold, Counter{});
    if (pass != 0) count += write_passing<Counter>(sums, pass, first + i, out + count);
  }
  return count;
}

}  // namespace vicinal::avx512
#endif

namespace vicinal {

// Selects the kernels of CountIndex for an instruction set and a number of bitmaps.

// Fewer planes need fewer registers, so kernels exist for fewer than 8, 16, 32, 64 and 256 bitmaps.
template <template <int> class Level>
CountKernelsOf<std::uint8_t> by_planes(std::size_t n_bitmaps) {
  const int planes = planes_for(n_bitmaps);
  if (planes <= 3) return Level<3>::kernels();
  if (planes == 4) return Level<4>::kernels();
  if (planes == 5) return Level<5>::kernels();
  if (planes == 6) return Level<6>::kernels();
  return Level<8>::kernels();
}

#if VICINAL_X86
template <int Planes>
struct Avx2Level {
  static CountKernelsOf<std::uint8_t> kernels() {
    return {avx2::add<Planes>, avx2::add_and_take<Planes>, avx2::find};
  }
};
template <int Planes>
struct Avx512Level {
  static CountKernelsOf<std::uint8_t> kernels() {
    using Counter = std::uint8_t;
    return {avx512::add<Planes, Counter>, avx512::add_and_take<Planes, Counter>,
            avx512::find<Counter>};
  }
};
#endif

inline CountKernels count_kernels([[maybe_unused]] Simd level,
                                  [[maybe_unused]] std::size_t n_bitmaps) {
  CountKernels kernels{plain::narrow_kernels(), plain::wide_kernels()};
#if VICINAL_X86
  if (level == Simd::avx2) kernels.narrow = by_planes<Avx2Level>(n_bitmaps);
  if (level == Simd::avx512) {
    using Wide = std::uint16_t;
    kernels.narrow = by_planes<Avx512Level>(n_bitmaps);
    if (n_bitmaps < 1024)
      kernels.wide = {avx512::add<10, Wide>, avx512::add_and_take<10, Wide>, avx512::find<Wide>};
  }
#endif
  return kernels;
}

}  // namespace vicinal
