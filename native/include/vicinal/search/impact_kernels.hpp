// Similarities in 16-bit integers, with an error bound that holds for every row.
//
// Rows and query are scaled to length one. A row's value x of feature j is kept as a number b =
// round(127 x / M), M the largest |x| of that feature: as 8 bits in a column, with 8 more bits
// after the point in a list. The query's value q is the 16-bit weight w = round(q M S 128/127). The
// accumulator of a row adds round(b w / 128), which stands for q x S: after all features it holds S
// times the cosine, with an error of at most
//
//   S * |sum of q * (kept x - true x)|  <=  S * (|q_C| D_C + D_L),   D_C and D_L: largest Euclidean
//                                             norm over rows of (kept row - true row) in features
//                                             with a column and with a list, |q_C| <= |q| = 1 the
//                                             norm of the query in features with a column
//   + 1/2 for each rounding of w (as |b| < 128) and 1/2 for each rounding of b w / 128, one of each
//     for a feature that both have: at most min(features of q, longest row).
//
// The same inequality of Cauchy and Schwarz bounds every partial sum, so S is chosen such that no
// accumulator leaves the 16-bit range, in whatever order features come and whatever their signs.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

struct ImpactScale {
  double unit;  // S
  bool usable;  // false where rows are so long that the bound says nothing
};

inline ImpactScale impact_scale(std::int64_t query_size, std::int64_t longest_row,
                                double quantization_error) {
  const auto roundings = static_cast<double>(std::min(query_size, longest_row));
  const double unit = std::min(32000.0, (32765.0 - roundings) / (1.0 + quantization_error));
  return {unit, roundings < 16000.0};
}

// Largest difference of accumulator / S and the cosine of the definition, for rows of at most
// `longest_row` entries whose |q_C| D_C + D_L is `quantization_error`. The slack covers float64
// rounding: of the definition, and of what is computed from it here.
inline double impact_error(std::int64_t query_size, std::int64_t longest_row,
                           double quantization_error, double unit) {
  const auto roundings = static_cast<double>(std::min(query_size, longest_row));
  const double slack = 1e-9 + 4e-16 * static_cast<double>(query_size + longest_row);
  return quantization_error + roundings / unit + slack;
}

inline std::int16_t impact_weight(double query_value, double peak, double unit) {
  return static_cast<std::int16_t>(std::lrint(query_value * peak * unit * (128.0 / 127.0)));
}

inline std::int8_t impact_byte(double row_value, double peak) {
  return static_cast<std::int8_t>(std::lrint(row_value * 127.0 / peak));
}

inline std::int16_t impact_of(std::int8_t byte, std::int16_t weight) {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(byte) * weight + 64) >> 7);
}

// The same for an entry of a list, in units of 1/256 of a byte.
inline std::int16_t fine_byte(double row_value, double peak) {
  return static_cast<std::int16_t>(std::lrint(row_value * (127.0 * 256.0) / peak));
}

inline std::int16_t fine_impact_of(std::int16_t fine, std::int16_t weight) {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(fine) * weight + (1 << 14)) >> 15);
}

// The smallest cosine with which a row whose norm lies between `low` and `high` could be as near as
// `worst_key`. In the Euclidean case |q|^2 + |x|^2 - 2 |q| |x| cos <= worst, solved for cos: its
// right-hand side falls, then rises with |x|, with the least value at |x| = sqrt(|q|^2 - worst).
inline double least_cosine(Metric metric, double worst_key, double query_norm, double low,
                           double high) {
  if (metric == Metric::cosine) return -worst_key;
  if (metric == Metric::dot) return -worst_key / (query_norm * (worst_key < 0.0 ? high : low));
  const double gap = query_norm * query_norm - worst_key;
  const double x = gap > 0.0 ? std::clamp(std::sqrt(gap), low, high) : low;
  const double rounding = 1e-12 * (2.0 + query_norm / low + high / query_norm);
  return (gap / x + x) / (2.0 * query_norm) - rounding;
}

// The keys a row of norm `row_norm` may have whose cosine lies within `error` of `cosine`, where
// the metric is not the cosine itself. For distances, the margin covers the rounding of `n_terms`
// squares added up.
inline KeyRange impact_keys(Metric metric, double cosine, double error, double query_norm,
                            double row_norm, std::int64_t n_terms) {
  const double size = query_norm * row_norm;
  if (metric == Metric::dot) return {-(cosine + error) * size, -(cosine - error) * size};
  const double sum = query_norm * query_norm + row_norm * row_norm;
  const double margin = (1e-12 + 1e-15 * static_cast<double>(n_terms)) * sum;
  return {sum - 2.0 * (cosine + error) * size - margin,
          sum - 2.0 * (cosine - error) * size + margin};
}

// Loops of ImpactIndex over a group of 512 rows: add whole columns, select sums that reach a
// threshold.

struct ImpactColumn {
  std::int64_t offset;  // from the first column of the same rows
  std::int16_t weight;
};

struct ImpactKernels {
  // Add columns to the sums of a group; `group` points to its rows in the first column.
  void (*add)(std::int16_t* sums, const ImpactColumn* columns, std::size_t n_columns,
              const std::int8_t* group);
  // Write the rows whose sum is at least `threshold` and return their number; `take` also sets all
  // sums to zero.
  std::size_t (*find)(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                      Candidate* out);
  std::size_t (*take)(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                      Candidate* out);
  // As `take`, for rows whose sum reaches `threshold` or their own `row_thresholds[i]`.
  std::size_t (*take_rows)(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                           const std::int16_t* row_thresholds, Candidate* out);
};

namespace plain {

inline void add_columns(std::int16_t* sums, const ImpactColumn* columns, std::size_t n_columns,
                        const std::int8_t* group) {
  for (std::size_t c = 0; c < n_columns; ++c) {
    const std::int8_t* bytes = group + columns[c].offset;
    const std::int16_t weight = columns[c].weight;
    for (std::int64_t i = 0; i < Blocks::group; ++i)
      sums[i] = static_cast<std::int16_t>(sums[i] + impact_of(bytes[i], weight));
  }
}

template <bool Clear>
std::size_t find_sums(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                      Candidate* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; ++i) {
    if (sums[i] >= threshold) out[count++] = {static_cast<std::int32_t>(first) + i, sums[i]};
    if (Clear) sums[i] = 0;
  }
  return count;
}

inline std::size_t take_rows(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                             const std::int16_t* row_thresholds, Candidate* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; ++i) {
    if (sums[i] >= std::min<std::int32_t>(threshold, row_thresholds[i]))
      out[count++] = {static_cast<std::int32_t>(first) + i, sums[i]};
    sums[i] = 0;
  }
  return count;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

VICINAL_AVX2 inline void add_columns(std::int16_t* sums, const ImpactColumn* columns,
                                     std::size_t n_columns, const std::int8_t* group) {
  for (std::int64_t i = 0; i < Blocks::group; i += 32) {
    auto* at = reinterpret_cast<__m256i*>(sums + i);
    __m256i low = _mm256_loadu_si256(at), high = _mm256_loadu_si256(at + 1);
    for (std::size_t c = 0; c < n_columns; ++c) {
      const auto* bytes = reinterpret_cast<const __m128i*>(group + columns[c].offset + i);
      const __m256i weight = _mm256_set1_epi16(columns[c].weight);
      // With the byte in the upper half of its 16 bits, the rounded product is b w / 128.
      const __m256i b0 = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(bytes)), 8);
      const __m256i b1 = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(bytes + 1)), 8);
      low = _mm256_add_epi16(low, _mm256_mulhrs_epi16(b0, weight));
      high = _mm256_add_epi16(high, _mm256_mulhrs_epi16(b1, weight));
    }
    _mm256_storeu_si256(at, low);
    _mm256_storeu_si256(at + 1, high);
  }
}

template <bool Clear>
VICINAL_AVX2 std::size_t find_sums(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                                   Candidate* out) {
  std::size_t count = 0;
  const __m256i below = _mm256_set1_epi16(static_cast<short>(threshold - 1));
  for (std::int32_t i = 0; i < Blocks::group; i += 16) {
    auto* at = reinterpret_cast<__m256i*>(sums + i);
    const __m256i values = _mm256_loadu_si256(at);
    if (_mm256_testz_si256(values, values) && threshold > 0) continue;
    const auto pass =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi16(values, below)));
    for (int j = 0; pass != 0 && j < 16; ++j)
      if ((pass >> (2 * j)) & 1)
        out[count++] = {static_cast<std::int32_t>(first) + i + j, sums[i + j]};
    if (Clear) _mm256_storeu_si256(at, _mm256_setzero_si256());
  }
  return count;
}

VICINAL_AVX2 inline std::size_t take_rows(std::int16_t* sums, std::int64_t first,
                                          std::int32_t threshold,
                                          const std::int16_t* row_thresholds, Candidate* out) {
  std::size_t count = 0;
  const __m256i most = _mm256_set1_epi16(static_cast<short>(threshold));
  for (std::int32_t i = 0; i < Blocks::group; i += 16) {
    auto* at = reinterpret_cast<__m256i*>(sums + i);
    const __m256i values = _mm256_loadu_si256(at);
    const __m256i least = _mm256_min_epi16(
        most, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row_thresholds + i)));
    const auto fail =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi16(least, values)));
    for (std::uint32_t pass = ~fail & 0x55555555u; pass != 0; pass &= pass - 1) {
      const int j = std::countr_zero(pass) / 2;
      out[count++] = {static_cast<std::int32_t>(first) + i + j, sums[i + j]};
    }
    _mm256_storeu_si256(at, _mm256_setzero_si256());
  }
  return count;
}

}  // namespace avx2

namespace avx512 {

// Add sums of even and of odd rows to those of 64 rows.
VICINAL_AVX512 inline void add_in_order(std::int16_t* sums, __m512i even, __m512i odd) {
  const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
  const __m512i from_low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i from_high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i first = _mm512_permutex2var_epi64(low, from_low, high);
  const __m512i second = _mm512_permutex2var_epi64(low, from_high, high);
  _mm512_storeu_si512(sums, _mm512_add_epi16(_mm512_loadu_si512(sums), first));
  _mm512_storeu_si512(sums + 32, _mm512_add_epi16(_mm512_loadu_si512(sums + 32), second));
}

// One load gives the bytes of even and odd rows, each in the upper half of 16 bits. Their sums are
// interleaved into row order only once, after the last column.
VICINAL_AVX512 inline void add_columns(std::int16_t* sums, const ImpactColumn* columns,
                                       std::size_t n_columns, const std::int8_t* group) {
  const __m512i upper = _mm512_set1_epi16(static_cast<short>(0xFF00));
  for (std::int64_t i = 0; i < Blocks::group; i += 128) {
    __m512i even[2], odd[2];
    for (int j = 0; j < 2; ++j) even[j] = odd[j] = _mm512_setzero_si512();
    for (std::size_t c = 0; c < n_columns; ++c) {
      const std::int8_t* bytes = group + columns[c].offset + i;
      const __m512i weight = _mm512_set1_epi16(columns[c].weight);
      VICINAL_UNROLL
      for (int j = 0; j < 2; ++j) {
        const __m512i b = _mm512_loadu_si512(bytes + 64 * j);
        const __m512i low = _mm512_slli_epi16(b, 8), high = _mm512_and_si512(b, upper);
        even[j] = _mm512_add_epi16(even[j], _mm512_mulhrs_epi16(low, weight));
        odd[j] = _mm512_add_epi16(odd[j], _mm512_mulhrs_epi16(high, weight));
      }
    }
    for (int j = 0; j < 2; ++j) add_in_order(sums + i + 64 * j, even[j], odd[j]);
  }
}

template <bool Clear>
VICINAL_AVX512 std::size_t find_sums(std::int16_t* sums, std::int64_t first, std::int32_t threshold,
                                     Candidate* out) {
  std::size_t count = 0;
  const __m512i least = _mm512_set1_epi16(static_cast<short>(threshold));
  for (std::int32_t i = 0; i < Blocks::group; i += 32) {
    const __m512i values = _mm512_loadu_si512(sums + i);
    std::uint32_t pass = _mm512_cmpge_epi16_mask(values, least);
    for (; pass != 0; pass &= pass - 1) {
      const int j = std::countr_zero(pass);
      out[count++] = {static_cast<std::int32_t>(first) + i + j, sums[i + j]};
    }
    if (Clear) _mm512_storeu_si512(sums + i, _mm512_setzero_si512());
  }
  return count;
}

VICINAL_AVX512 inline std::size_t take_rows(std::int16_t* sums, std::int64_t first,
                                            std::int32_t threshold,
                                            const std::int16_t* row_thresholds, Candidate* out) {
  std::size_t count = 0;
  const __m512i most = _mm512_set1_epi16(static_cast<short>(threshold));
  for (std::int32_t i = 0; i < Blocks::group; i += 32) {
    const __m512i values = _mm512_loadu_si512(sums + i);
    const __m512i least = _mm512_min_epi16(most, _mm512_loadu_si512(row_thresholds + i));
    std::uint32_t pass = _mm512_cmpge_epi16_mask(values, least);
    for (; pass != 0; pass &= pass - 1) {
      const int j = std::countr_zero(pass);
      out[count++] = {static_cast<std::int32_t>(first) + i + j, sums[i + j]};
    }
    _mm512_storeu_si512(sums + i, _mm512_setzero_si512());
  }
  return count;
}

}  // namespace avx512
#endif

inline ImpactKernels impact_kernels([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level == Simd::avx512)
    return {avx512::add_columns, avx512::find_sums<false>, avx512::find_sums<true>,
            avx512::take_rows};
  if (level == Simd::avx2)
    return {avx2::add_columns, avx2::find_sums<false>, avx2::find_sums<true>, avx2::take_rows};
#endif
  return {plain::add_columns, plain::find_sums<false>, plain::find_sums<true>, plain::take_rows};
}

}  // namespace vicinal
