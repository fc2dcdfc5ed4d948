// Adds sums of labels to their products with a row: those of frequent features, a number per label,
// several features at a time, and those of a list of labels.
//
// All versions of a kernel round the same numbers in the same order, so the bits do not depend on
// the instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
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

  std::int64_t sum(std::int32_t place) const {
    for (const auto& [at, sum] : wide)
      if (at == place) return sum;
    return sums[place];
  }
};

// Of a feature: one per tile, nothing for a tile without sums. Others may share the tiles.
using DenseTiles = std::vector<std::shared_ptr<const DenseTile>>;

namespace dense_detail {

inline constexpr std::int64_t step = 16;  // labels that are compared at a time

// Add the sums of `count` features to each product, in their order.
template <int count>
inline void add(const std::uint32_t* const* sums, const double* values, double* products) {
  for (std::int64_t i = 0; i < tile_labels; ++i)
    for (int f = 0; f < count; ++f) products[i] += values[f] * static_cast<double>(sums[f][i]);
}

// Add the sums of a list from place `at` on, of labels below `end`; return the place behind them.
VICINAL_INLINE std::size_t add_list(const std::int32_t* VICINAL_RESTRICT labels,
                                    const std::uint32_t* VICINAL_RESTRICT sums, std::size_t at,
                                    std::size_t size, std::int32_t end, double value,
                                    double* VICINAL_RESTRICT products) {
  constexpr std::size_t lanes = 8;
  for (; at + lanes <= size && labels[at + lanes - 1] < end; at += lanes) {
    double more[lanes];
    for (std::size_t i = 0; i < lanes; ++i) more[i] = value * static_cast<double>(sums[at + i]);
    for (std::size_t i = 0; i < lanes; ++i) products[labels[at + i]] += more[i];
  }
  for (; at < size && labels[at] < end; ++at)
    products[labels[at]] += value * static_cast<double>(sums[at]);
  return at;
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
template <int count>
VICINAL_AVX2 inline void add_avx2(const std::uint32_t* const* sums, const double* values,
                                  double* products) {
  const __m256d large = _mm256_set1_pd(4503599627370496.0);
  for (std::int64_t i = 0; i < tile_labels; i += 4) {
    __m256d product = _mm256_loadu_pd(products + i);
    for (int f = 0; f < count; ++f) {
      const __m256i whole =
          _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sums[f] + i)));
      const __m256d sum = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(whole), large), large);
      product = _mm256_add_pd(product, _mm256_mul_pd(_mm256_set1_pd(values[f]), sum));
    }
    _mm256_storeu_pd(products + i, product);
  }
}

VICINAL_AVX2 inline std::size_t add_list_avx2(const std::int32_t* labels, const std::uint32_t* sums,
                                              std::size_t at, std::size_t size, std::int32_t end,
                                              double value, double* products) {
  return add_list(labels, sums, at, size, end, value, products);
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

template <int count>
VICINAL_AVX512 inline void add_avx512(const std::uint32_t* const* sums, const double* values,
                                      double* products) {
  for (std::int64_t i = 0; i < tile_labels; i += 8) {
    __m512d product = _mm512_loadu_pd(products + i);
    for (int f = 0; f < count; ++f) {
      const __m512d sum =
          _mm512_cvtepu32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums[f] + i)));
      product = _mm512_add_pd(product, _mm512_mul_pd(_mm512_set1_pd(values[f]), sum));
    }
    _mm512_storeu_pd(products + i, product);
  }
}

VICINAL_AVX512 inline std::size_t add_list_avx512(const std::int32_t* labels,
                                                  const std::uint32_t* sums, std::size_t at,
                                                  std::size_t size, std::int32_t end, double value,
                                                  double* products) {
  return add_list(labels, sums, at, size, end, value, products);
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

template <int count>
void add_features(const std::uint32_t* const* sums, const double* values, double* products,
                  [[maybe_unused]] Simd simd) {
#if VICINAL_X86
  if (simd == Simd::avx512) return add_avx512<count>(sums, values, products);
  if (simd == Simd::avx2) return add_avx2<count>(sums, values, products);
#endif
  add<count>(sums, values, products);
}

inline void add_some(const std::uint32_t* const* sums, std::span<const double> values,
                     double* products, Simd simd) {
  switch (values.size()) {
    case 1:
      return add_features<1>(sums, values.data(), products, simd);
    case 2:
      return add_features<2>(sums, values.data(), products, simd);
    case 3:
      return add_features<3>(sums, values.data(), products, simd);
    default:
      return add_features<4>(sums, values.data(), products, simd);
  }
}

}  // namespace dense_detail

inline constexpr std::size_t tiles_at_once = 4;

// Add to the products of a tile its sums in up to four features, times the row's values of these.
//
// Sums that stand apart count as 0 for the vector instructions: the products of their labels are
// computed again.
inline void add_tiles(std::span<const DenseTile* const> tiles, std::span<const double> values,
                      double* products, [[maybe_unused]] Simd simd) {
  constexpr std::size_t most_wide = 64;
  std::size_t n_wide = 0;
  for (const DenseTile* tile : tiles) n_wide += tile->wide.size();
  if (tiles.size() > 1 && n_wide > most_wide) {
    for (std::size_t f = 0; f < tiles.size(); ++f)
      add_tiles(tiles.subspan(f, 1), values.subspan(f, 1), products, simd);
    return;
  }
  if (tiles.size() == 1) n_wide = 0;
  std::array<std::pair<std::int32_t, double>, most_wide> again;
  std::size_t n_again = 0;
  for (std::size_t f = 0; f < tiles.size() && n_wide > 0; ++f)
    for (const auto& [place, sum] : tiles[f]->wide) again[n_again++] = {place, products[place]};
  std::array<const std::uint32_t*, tiles_at_once> sums{};
  for (std::size_t f = 0; f < tiles.size(); ++f) sums[f] = tiles[f]->sums.data();
  dense_detail::add_some(sums.data(), values, products, simd);
  for (std::size_t i = 0; i < n_again; ++i) {
    auto [place, product] = again[i];
    for (std::size_t f = 0; f < tiles.size(); ++f)
      product += values[f] * static_cast<double>(tiles[f]->sum(place));
    products[place] = product;
  }
  if (tiles.size() == 1)
    for (const auto& [place, sum] : tiles[0]->wide)
      products[place] += values[0] * static_cast<double>(sum);
}

// Add `value` times the sums of a list, from place `at` on and of labels below `end`, to their
// products; return the place behind them. A sum that stands apart counts as 0.
inline std::size_t add_list(std::span<const std::int32_t> labels,
                            std::span<const std::uint32_t> sums, std::size_t at, std::int32_t end,
                            double value, double* products, [[maybe_unused]] Simd simd) {
  const std::size_t size = labels.size();
  const std::int32_t* of = labels.data();
#if VICINAL_X86
  if (simd == Simd::avx512)
    return dense_detail::add_list_avx512(of, sums.data(), at, size, end, value, products);
  if (simd == Simd::avx2)
    return dense_detail::add_list_avx2(of, sums.data(), at, size, end, value, products);
#endif
  return dense_detail::add_list(of, sums.data(), at, size, end, value, products);
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
