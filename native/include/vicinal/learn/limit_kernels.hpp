// Which of up to 32 rows may have a key within their limits, judged by their dot products.
//
// There is no division, and the slack is larger than all roundings together, so that most runs of
// rows need no further look. Norms so small that their product may have vanished always pass, as
// does what is not a number.
#pragma once

#include <cmath>
#include <cstdint>

#include "vicinal/common/simd.hpp"

namespace vicinal {

// Dot products of one row with consecutive others; a key is at most the larger of `worst` and the
// limit of the other row.
struct DotRun {
  const double* dots;
  const double* norms;   // of the others; null where dot products are not divided by norms
  const double* limits;  // of the others; null for none
  double norm;           // of the one row
  double worst;
};

inline constexpr double limit_slack = 1e-14;
inline constexpr double least_slack = 1e-300;
inline constexpr double least_size = 1e-200;

// Bit i is set where row i < n of the run may have a key within its limit.
using WithinLimits = std::uint32_t (*)(const DotRun& run, std::int32_t n);

namespace plain {

inline bool may_pass(const DotRun& run, std::int32_t i) {
  const double own = run.limits == nullptr ? run.worst : run.limits[i];
  const double limit = run.worst > own ? run.worst : own;
  const double size = run.norms == nullptr ? 1.0 : run.norm * run.norms[i];
  const double slack = limit_slack * std::abs(limit) + least_slack;
  return !(-run.dots[i] > (limit + slack) * size) || !(size > least_size);
}

inline std::uint32_t within_limits(const DotRun& run, std::int32_t n) {
  std::uint32_t rows = 0;
  for (std::int32_t i = 0; i < n; ++i) rows |= static_cast<std::uint32_t>(may_pass(run, i)) << i;
  return rows;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

VICINAL_AVX2 inline std::uint32_t within_limits(const DotRun& run, std::int32_t n) {
  const __m256d sign = _mm256_set1_pd(-0.0), worst = _mm256_set1_pd(run.worst);
  std::uint32_t rows = 0;
  std::int32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256d limit =
        run.limits == nullptr ? worst : _mm256_max_pd(worst, _mm256_loadu_pd(run.limits + i));
    const __m256d size = run.norms == nullptr ? _mm256_set1_pd(1.0)
                                              : _mm256_mul_pd(_mm256_set1_pd(run.norm),
                                                              _mm256_loadu_pd(run.norms + i));
    const __m256d slack =
        _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(limit_slack), _mm256_andnot_pd(sign, limit)),
                      _mm256_set1_pd(least_slack));
    const __m256d reach = _mm256_mul_pd(_mm256_add_pd(limit, slack), size);
    const __m256d key = _mm256_xor_pd(sign, _mm256_loadu_pd(run.dots + i));
    const __m256d passes =
        _mm256_or_pd(_mm256_cmp_pd(key, reach, _CMP_NGT_UQ),
                     _mm256_cmp_pd(size, _mm256_set1_pd(least_size), _CMP_NGT_UQ));
    rows |= static_cast<std::uint32_t>(_mm256_movemask_pd(passes)) << i;
  }
  for (; i < n; ++i) rows |= static_cast<std::uint32_t>(plain::may_pass(run, i)) << i;
  return rows;
}

}  // namespace avx2
#endif

inline WithinLimits within_limits([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level != Simd::plain) return avx2::within_limits;
#endif
  return plain::within_limits;
}

}  // namespace vicinal
