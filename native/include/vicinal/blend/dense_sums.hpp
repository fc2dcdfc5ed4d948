// The sums of a frequent feature for all labels, a number per label, so that vector instructions
// add them.
//
// All versions of a kernel round the same numbers in the same order, so the bits do not depend on
// the instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "vicinal/common/simd.hpp"

namespace vicinal {

inline constexpr std::int64_t tile_labels = 4096;  // whose products are added together

// The sums of a feature for the labels of a tile, 0 for none; those that do not fit stand apart.
struct DenseTile {
  std::array<std::uint32_t, tile_labels> sums{};
  std::vector<std::pair<std::int32_t, std::int64_t>> wide;  // by place in the tile

  void set(std::int32_t place, std::int64_t sum) {
    std::erase_if(wide, [=](const auto& each) { return each.first == place; });
    const bool fits = sum >= 0 && sum <= std::numeric_limits<std::uint32_t>::max();
    sums[place] = fits ? static_cast<std::uint32_t>(sum) : 0;
    if (!fits) wide.emplace_back(place, sum);
  }
};

// Of a feature: one per tile, nothing for a tile without sums. Others may share the tiles.
using DenseTiles = std::vector<std::shared_ptr<const DenseTile>>;

namespace dense_detail {

inline constexpr std::int64_t step = 16;  // labels that are compared at a time

inline void add(const std::uint32_t* sums, double value, double* products) {
  for (std::int64_t i = 0; i < tile_labels; ++i)
    products[i] += value * static_cast<double>(sums[i]);
}

inline bool is_any_above(const double* products, const double* norms, double bound) {
  bool found = false;
  for (std::int64_t i = 0; i < step; ++i) found |= products[i] > bound * norms[i];
  return found;
}

inline std::int64_t first_above(const double* products, const double* norms, double bound,
                                std::int64_t from) {
  while (from < tile_labels && !is_any_above(products + from, norms + from, bound)) from += step;
  return from;
}

#if VICINAL_X86
// A whole number below 2^32 under the exponent of 2^52, less 2^52.
VICINAL_AVX2 inline void add_avx2(const std::uint32_t* sums, double value, double* products) {
  const __m256d values = _mm256_set1_pd(value), large = _mm256_set1_pd(4503599627370496.0);
  for (std::int64_t i = 0; i < tile_labels; i += 4) {
    const __m256i whole =
        _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sums + i)));
    const __m256d sum = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(whole), large), large);
    const __m256d product = _mm256_mul_pd(values, sum);
    _mm256_storeu_pd(products + i, _mm256_add_pd(_mm256_loadu_pd(products + i), product));
  }
}

VICINAL_AVX2 inline std::int64_t first_above_avx2(const double* products, const double* norms,
                                                  double bound, std::int64_t from) {
  const __m256d bounds = _mm256_set1_pd(bound);
  for (; from < tile_labels; from += step) {
    __m256d found = _mm256_setzero_pd();
    for (std::int64_t i = from; i < from + step; i += 4) {
      const __m256d least = _mm256_mul_pd(bounds, _mm256_loadu_pd(norms + i));
      found = _mm256_or_pd(found, _mm256_cmp_pd(_mm256_loadu_pd(products + i), least, _CMP_GT_OQ));
    }
    if (_mm256_movemask_pd(found) != 0) break;
  }
  return from;
}

VICINAL_AVX512 inline void add_avx512(const std::uint32_t* sums, double value, double* products) {
  const __m512d values = _mm512_set1_pd(value);
  for (std::int64_t i = 0; i < tile_labels; i += 8) {
    const __m512d sum =
        _mm512_cvtepu32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i)));
    const __m512d product = _mm512_mul_pd(values, sum);
    _mm512_storeu_pd(products + i, _mm512_add_pd(_mm512_loadu_pd(products + i), product));
  }
}

VICINAL_AVX512 inline std::int64_t first_above_avx512(const double* products, const double* norms,
                                                      double bound, std::int64_t from) {
  const __m512d bounds = _mm512_set1_pd(bound);
  for (; from < tile_labels; from += step) {
    const __m512d low = _mm512_mul_pd(bounds, _mm512_loadu_pd(norms + from));
    const __m512d high = _mm512_mul_pd(bounds, _mm512_loadu_pd(norms + from + 8));
    if ((_mm512_cmp_pd_mask(_mm512_loadu_pd(products + from), low, _CMP_GT_OQ) |
         _mm512_cmp_pd_mask(_mm512_loadu_pd(products + from + 8), high, _CMP_GT_OQ)) != 0)
      break;
  }
  return from;
}
#endif

}  // namespace dense_detail

// Add `value` times the sums of a tile to the products of its labels.
inline void add_tile(const DenseTile& tile, double value, double* products, Simd simd) {
#if VICINAL_X86
  if (simd == Simd::avx512)
    dense_detail::add_avx512(tile.sums.data(), value, products);
  else if (simd == Simd::avx2)
    dense_detail::add_avx2(tile.sums.data(), value, products);
  else
#endif
    dense_detail::add(tile.sums.data(), value, products);
  for (const auto& [place, sum] : tile.wide) products[place] += value * static_cast<double>(sum);
}

// The first step of labels from `from` on in which a product is above `bound` times the norm, or
// the end of the tile.
inline std::int64_t first_above(const double* products, const double* norms, double bound,
                                std::int64_t from, [[maybe_unused]] Simd simd) {
#if VICINAL_X86
  if (simd == Simd::avx512) return dense_detail::first_above_avx512(products, norms, bound, from);
  if (simd == Simd::avx2) return dense_detail::first_above_avx2(products, norms, bound, from);
#endif
  return dense_detail::first_above(products, norms, bound, from);
}

}  // namespace vicinal
