// The binary road with 512-bit words: one word is a group of rows.
#pragma once

#include "vicinal/count_kernels.hpp"

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
#pragma GCC unroll 8
    for (int p = 3; p < Planes; ++p) {
      const __m512i old = high[p - 3];
      high[p - 3] = _mm512_xor_si512(old, carry);
      carry = _mm512_and_si512(old, carry);
    }
  }
  Slices<Planes> slices;
#pragma GCC unroll 8
  for (int p = 0; p < Planes; ++p)
    slices.plane[p] = p == 0 ? ones : p == 1 ? twos : p == 2 ? fours : high[p < 3 ? 0 : p - 3];
  return slices;
}

// Rows whose count in the planes is at least `least` (0 < least < 2^Planes).
template <int Planes>
VICINAL_AVX512 inline __m512i reach(const Slices<Planes>& slices, std::int32_t least) {
  __m512i greater = _mm512_setzero_si512(), equal = _mm512_set1_epi64(-1);
#pragma GCC unroll 8
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

VICINAL_AVX512 inline std::int32_t largest(const std::uint8_t* counters) {
  __m512i most = _mm512_loadu_si512(counters);
  for (int i = 1; i < 8; ++i) most = _mm512_max_epu8(most, _mm512_loadu_si512(counters + 64 * i));
  if (_mm512_test_epi8_mask(most, most) == 0) return 0;
  alignas(64) std::uint8_t bytes[64];
  _mm512_store_si512(bytes, most);
  __m128i m = _mm_setzero_si128();
  for (int i = 0; i < 64; i += 16)
    m = _mm_max_epu8(m, _mm_load_si128(reinterpret_cast<const __m128i*>(bytes + i)));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 8));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 4));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 2));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 1));
  return _mm_cvtsi128_si32(m) & 255;
}

// Counters of 64 rows plus their bits in the planes.
template <int Planes>
VICINAL_AVX512 inline __m512i merged(const std::uint8_t* counters, const std::uint64_t (*planes)[8],
                                     int part) {
  __m512i sums = _mm512_loadu_si512(counters + 64 * part);
#pragma GCC unroll 8
  for (int p = 0; p < Planes; ++p)
    sums = _mm512_mask_add_epi8(sums, planes[p][part], sums,
                                _mm512_set1_epi8(static_cast<char>(1 << p)));
  return sums;
}

template <int Planes>
VICINAL_AVX512 inline void clear(std::uint8_t* counters) {
  for (int part = 0; part < 8; ++part)
    _mm512_storeu_si512(counters + 64 * part, _mm512_setzero_si512());
}

template <int Planes>
VICINAL_AVX512 std::size_t add_and_take(std::uint8_t* counters, const Bitmaps& bitmaps,
                                        std::int64_t first, std::int32_t threshold, Survivor* out) {
  const Slices<Planes> slices = add_up<Planes>(bitmaps, first);
  // A row needs this much from the bitmaps even if it has the largest counter of the group.
  const std::int32_t most = largest(counters);
  const std::int32_t least = threshold - most;
  if (least >= (1 << Planes)) {
    if (most > 0) clear<Planes>(counters);
    return 0;
  }
  if (least > 0) {
    const __m512i hopeful = reach<Planes>(slices, least);
    if (_mm512_test_epi64_mask(hopeful, hopeful) == 0) {
      if (most > 0) clear<Planes>(counters);
      return 0;
    }
  }
  alignas(64) std::uint64_t planes[Planes > 0 ? Planes : 1][8];
  for (int p = 0; p < Planes; ++p) _mm512_store_si512(planes[p], slices.plane[p]);
  std::size_t count = 0;
  for (int part = 0; part < 8; ++part) {
    const __m512i sums = merged<Planes>(counters, planes, part);
    _mm512_storeu_si512(counters + 64 * part, _mm512_setzero_si512());
    std::uint64_t pass =
        _mm512_cmpge_epu8_mask(sums, _mm512_set1_epi8(static_cast<char>(threshold)));
    if (pass == 0) continue;
    alignas(64) std::uint8_t bytes[64];
    _mm512_store_si512(bytes, sums);
    for (; pass != 0; pass &= pass - 1) {
      const int i = __builtin_ctzll(pass);
      out[count++] = {static_cast<std::int32_t>(first) + 64 * part + i, bytes[i]};
    }
  }
  return count;
}

template <int Planes>
VICINAL_AVX512 void add(std::uint8_t* counters, const Bitmaps& bitmaps, std::int64_t first) {
  const Slices<Planes> slices = add_up<Planes>(bitmaps, first);
  alignas(64) std::uint64_t planes[Planes > 0 ? Planes : 1][8];
  for (int p = 0; p < Planes; ++p) _mm512_store_si512(planes[p], slices.plane[p]);
  for (int part = 0; part < 8; ++part)
    _mm512_storeu_si512(counters + 64 * part, merged<Planes>(counters, planes, part));
}

VICINAL_AVX512 inline std::size_t find(const std::uint8_t* counters, std::int64_t first,
                                       std::int32_t threshold, Survivor* out) {
  std::size_t count = 0;
  const __m512i least = _mm512_set1_epi8(static_cast<char>(threshold));
  for (std::int32_t part = 0; part < Blocks::group; part += 64) {
    std::uint64_t pass = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(counters + part), least);
    for (; pass != 0; pass &= pass - 1) {
      const std::int32_t i = part + __builtin_ctzll(pass);
      out[count++] = {static_cast<std::int32_t>(first) + i, counters[i]};
    }
  }
  return count;
}

}  // namespace vicinal::avx512
#endif
