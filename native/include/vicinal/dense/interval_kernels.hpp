// Which of 64 rows could still be among the nearest, judged by their products.
#pragma once

#include <cstdint>

#include "vicinal/common/simd.hpp"

namespace vicinal {

// Products of one query with consecutive rows, and what bounds their error.
struct ProductRun {
  const float* products;
  const float* sizes;   // by row: what the error grows with
  const float* biases;  // by row
  float error;          // of this query, per unit of row size
  float constant;       // of this query

  float margin(std::int64_t i) const { return error * sizes[i] + constant; }
  float low(std::int64_t i) const { return (products[i] - biases[i]) - margin(i); }
  float high(std::int64_t i) const { return (products[i] - biases[i]) + margin(i); }
};

// Bit i is set where row first + i (i < 64) has an upper end of at least `threshold`.
using ReachingRows = std::uint64_t (*)(const ProductRun& run, std::int64_t first, float threshold);

namespace plain {

inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first, float threshold) {
  std::uint64_t rows = 0;
  for (std::int64_t i = 0; i < 64; ++i)
    rows |= static_cast<std::uint64_t>(run.high(first + i) >= threshold) << i;
  return rows;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

VICINAL_AVX2 inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first,
                                                float threshold) {
  const __m256 error = _mm256_set1_ps(run.error), constant = _mm256_set1_ps(run.constant);
  const __m256 least = _mm256_set1_ps(threshold);
  std::uint64_t rows = 0;
  for (int i = 0; i < 64; i += 8) {
    const std::int64_t at = first + i;
    const __m256 margin =
        _mm256_add_ps(_mm256_mul_ps(error, _mm256_loadu_ps(run.sizes + at)), constant);
    const __m256 score =
        _mm256_sub_ps(_mm256_loadu_ps(run.products + at), _mm256_loadu_ps(run.biases + at));
    const __m256 passed = _mm256_cmp_ps(_mm256_add_ps(score, margin), least, _CMP_GE_OQ);
    rows |= static_cast<std::uint64_t>(_mm256_movemask_ps(passed)) << i;
  }
  return rows;
}

}  // namespace avx2

namespace avx512 {

VICINAL_AVX512 inline std::uint64_t reaching_rows(const ProductRun& run, std::int64_t first,
                                                  float threshold) {
  const __m512 error = _mm512_set1_ps(run.error), constant = _mm512_set1_ps(run.constant);
  const __m512 least = _mm512_set1_ps(threshold);
  std::uint64_t rows = 0;
  for (int i = 0; i < 64; i += 16) {
    const std::int64_t at = first + i;
    const __m512 margin =
        _mm512_add_ps(_mm512_mul_ps(error, _mm512_loadu_ps(run.sizes + at)), constant);
    const __m512 score =
        _mm512_sub_ps(_mm512_loadu_ps(run.products + at), _mm512_loadu_ps(run.biases + at));
    const __mmask16 passed = _mm512_cmp_ps_mask(_mm512_add_ps(score, margin), least, _CMP_GE_OQ);
    rows |= static_cast<std::uint64_t>(passed) << i;
  }
  return rows;
}

}  // namespace avx512
#endif

inline ReachingRows reaching_rows([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level == Simd::avx512) return avx512::reaching_rows;
  if (level == Simd::avx2) return avx2::reaching_rows;
#endif
  return plain::reaching_rows;
}

}  // namespace vicinal
