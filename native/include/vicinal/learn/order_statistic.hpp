// One order statistic of many numbers, without sorting them.
//
// A sample gives a band in which the wanted number almost certainly lies. One pass counts the
// numbers above the band and keeps those inside it, a few percent; the result is selected among
// them. If the count shows that the sample was misleading, the band is widened to everything: the
// sample affects the running time, never the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/common/assert.hpp"

namespace vicinal {

// Numbers that are computed on demand: value(i) is the i-th of them.
template <class V>
concept IndexedNumbers = std::regular_invocable<const V&, std::int64_t> &&
                         std::convertible_to<std::invoke_result_t<const V&, std::int64_t>, double>;

// The wanted number, how many are larger and how many are equal. `below` is the next lower number
// if it was encountered, as it mostly is; otherwise minus infinity.
struct Tail {
  double value = 0.0;
  std::int64_t above = 0;
  std::int64_t equal = 0;
  double below = -std::numeric_limits<double>::infinity();
};

namespace order_statistic_detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr std::int64_t worth_a_sample = 2048;
inline constexpr std::int64_t largest_sample = 16384;

struct Band {
  double low = -infinity;
  double high = infinity;
};

// A band that contains the rank-th of n unless the sample is unusual: four deviations either way.
template <IndexedNumbers Value>
Band guess_band(std::int64_t n, const Value& value, std::int64_t rank,
                std::vector<double>& scratch) {
  const std::int64_t stride = std::max<std::int64_t>(16, n / largest_sample);
  const std::int64_t size = n / stride;
  for (std::int64_t i = 0; i < size; ++i) scratch[i] = value(i * stride);
  const std::int64_t place = rank / stride;
  const auto slack = static_cast<std::int64_t>(4.0 * std::sqrt(static_cast<double>(place))) + 8;
  Band band;
  const auto begin = scratch.begin(), end = begin + size;
  auto rest = begin;
  if (place - slack >= 0) {
    rest = begin + (place - slack);
    std::nth_element(begin, rest, end, std::greater<>());
    band.high = *rest;
  }
  if (place + slack < size) {
    std::nth_element(rest, begin + (place + slack), end, std::greater<>());
    band.low = begin[place + slack];
  }
  return band;
}

// Move the numbers in the band to the front of `scratch`; return how many are above the band and
// how many are in it. No branch depends on a value.
template <IndexedNumbers Value>
std::pair<std::int64_t, std::int64_t> collect(std::int64_t n, const Value& value, Band band,
                                              std::vector<double>& scratch) {
  double* const out = scratch.data();
  std::int64_t above = 0, kept = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double each = value(i);
    out[kept] = each;
    above += each > band.high;
    kept +=
        static_cast<std::int64_t>(each >= band.low) & static_cast<std::int64_t>(each <= band.high);
  }
  return {above, kept};
}

}  // namespace order_statistic_detail

// Of value(0) .. value(n - 1), the one at index `rank` when they are sorted falling; 0 <= rank < n.
// `scratch` grows to n numbers, of which few are touched.
template <IndexedNumbers Value>
Tail tail_at(std::int64_t n, const Value& value, std::int64_t rank, std::vector<double>& scratch) {
  using namespace order_statistic_detail;
  VICINAL_ASSERT(rank >= 0 && rank < n);
  if (static_cast<std::int64_t>(scratch.size()) < n) scratch.resize(n);
  Band band;
  if (n >= worth_a_sample) band = guess_band(n, value, rank, scratch);
  auto [above, kept] = collect(n, value, band, scratch);
  if (rank < above || rank >= above + kept)
    std::tie(above, kept) = collect(n, value, Band{}, scratch);
  const auto begin = scratch.begin(), end = begin + kept, at = begin + (rank - above);
  std::nth_element(begin, at, end, std::greater<>());
  Tail tail{*at, above, 0};
  for (auto each = begin; each != end; ++each) {
    tail.above += *each > tail.value;
    tail.equal += *each == tail.value;
    if (*each < tail.value && *each > tail.below) tail.below = *each;
  }
  return tail;
}

// The largest number below `bound`, minus infinity if there is none.
template <IndexedNumbers Value>
double next_below(std::int64_t n, const Value& value, double bound) {
  double best = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    const double each = value(i);
    if (each < bound && each > best) best = each;
  }
  return best;
}

}  // namespace vicinal
