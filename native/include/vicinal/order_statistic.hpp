// One order statistic of many numbers, without sorting them.
//
// A sample says between which two values the number asked for must lie, all but surely. One pass
// counts what is above that band and keeps what is in it, a few percent; the answer is selected
// among those. Where the sample misled, which the count shows, the band is made as wide as need be:
// the sample decides how long it takes, never what comes out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace vicinal {

// The number asked for, how many are larger and how many the same. `below` is the next lower one if
// it was come across, which it mostly is; else minus infinity.
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

// A band that holds the rank-th of n unless the sample is unusual: four deviations to each side.
template <class Value>
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

// Move what lies in the band to the front of `scratch`; return how many are above, and are in it.
// No branch depends on a value.
template <class Value>
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

// Of value(0) .. value(n - 1), the one that `rank` others precede when they are sorted falling;
// 0 <= rank < n. `scratch` grows to n numbers, of which few are touched.
template <class Value>
Tail tail_at(std::int64_t n, const Value& value, std::int64_t rank, std::vector<double>& scratch) {
  using namespace order_statistic_detail;
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
template <class Value>
double next_below(std::int64_t n, const Value& value, double bound) {
  double best = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    const double each = value(i);
    if (each < bound && each > best) best = each;
  }
  return best;
}

}  // namespace vicinal
