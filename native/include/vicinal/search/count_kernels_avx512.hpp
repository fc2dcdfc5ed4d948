// The kernels of CountIndex with 512-bit words: one word is a group of rows.
#pragma once

#include <bit>

#include "vicinal/search/count_kernels.hpp"

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
