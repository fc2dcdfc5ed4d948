// The kernels of CountIndex with 256-bit words: a group is two words.
#pragma once

#include <bit>

#include "vicinal/search/count_kernels.hpp"

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
