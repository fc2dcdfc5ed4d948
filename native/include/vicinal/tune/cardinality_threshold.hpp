// The threshold at which as many cells pass as there are true labels.
//
// A cell passes if its score is above the threshold. Scores are never negative. Most cells score 0
// and are not stored, and of the stored ones only the higher ones matter: `Cells` may hold just
// those.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/common/assert.hpp"

namespace vicinal {

// One order statistic of many numbers, without sorting them.
//
// A sample gives a band in which the wanted number almost certainly lies. One pass counts the
// numbers above the band and keeps those inside it, a few percent; the result is selected among
// them. If the count shows that the sample was misleading, the band is widened to everything: the
// sample affects the running time, never the result.

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

// Scores value(0) .. value(n - 1) out of n_cells cells: all that are at least `floor`, and possibly
// some below it. With a floor of 0, every cell that is not among them scores 0.
template <IndexedNumbers Value>
struct Cells {
  std::int64_t n;
  Value value;
  std::int64_t n_cells;
  double floor;

  bool complete() const { return floor == 0.0; }
};

template <IndexedNumbers Value>
Cells(std::int64_t, Value, std::int64_t, double) -> Cells<Value>;

namespace cardinality_detail {

// Scores above the returned number are exactly those that are at least `value`.
inline double just_below(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}

// The (wanted + 1)-th largest score of all cells; nothing if it may lie below the floor.
template <IndexedNumbers Value>
std::optional<Tail> tail_of(const Cells<Value>& cells, std::int64_t wanted,
                            std::vector<double>& scratch) {
  Tail tail;
  if (wanted < cells.n) {
    tail = tail_at(cells.n, cells.value, wanted, scratch);
    if (tail.value > 0.0 && tail.value >= cells.floor) return tail;
  }
  if (!cells.complete()) return std::nullopt;
  tail = {};
  for (std::int64_t i = 0; i < cells.n; ++i) tail.above += cells.value(i) > 0.0;
  tail.equal = cells.n_cells - tail.above;
  return tail;
}

// The highest score below that of `tail`; minus infinity if no cell has a lower one, nothing if it
// may lie below the floor.
template <IndexedNumbers Value>
std::optional<double> score_below(const Cells<Value>& cells, const Tail& tail) {
  const double stored =
      std::isinf(tail.below) ? next_below(cells.n, cells.value, tail.value) : tail.below;
  if (cells.complete())
    return cells.n < cells.n_cells && tail.value > 0.0 ? std::max(stored, 0.0) : stored;
  if (stored >= cells.floor) return stored;
  return std::nullopt;
}

}  // namespace cardinality_detail

// The score t whose count of cells above is nearest to `wanted`, the larger of two equally near:
// the (wanted + 1)-th largest score or, where that is tied, the next one. If every cell should
// pass, just below the smallest. Nothing if the result may lie below the floor.
template <IndexedNumbers Value>
std::optional<double> exact_threshold(const Cells<Value>& cells, std::int64_t wanted,
                                      std::vector<double>& scratch) {
  using namespace cardinality_detail;
  if (cells.n_cells == 0) return 0.0;
  if (wanted >= cells.n_cells) {
    if (!cells.complete()) return std::nullopt;
    const double least = -next_below(
        cells.n, [&](std::int64_t i) { return -cells.value(i); },
        std::numeric_limits<double>::infinity());
    return just_below(cells.n < cells.n_cells ? 0.0 : least);
  }
  const auto tail = tail_of(cells, wanted, scratch);
  if (!tail) return std::nullopt;
  if (wanted - tail->above <= tail->above + tail->equal - wanted) return tail->value;
  const auto lower = score_below(cells, *tail);
  if (!lower) return std::nullopt;
  return std::isinf(*lower) ? just_below(tail->value) : *lower;
}

namespace cardinality_detail {

// How many cells are above each hundredth. Below the floor this is a lower bound.
class HundredthCounts {
 public:
  template <IndexedNumbers Value>
  explicit HundredthCounts(const Cells<Value>& cells) : n_cells_(cells.n_cells) {
    for (int h = 0; h < 106; ++h) hundredths_[h] = h / 100.0;
    for (std::int64_t i = 0; i < cells.n; ++i) {
      const double value = cells.value(i);
      // Correct except for the last hundredth, which rounding may put on either side.
      const int below = static_cast<int>(std::min(value * 100.0, 105.0));
      ++above_[below + (hundredths_[below] < value)];
    }
    for (int h = 105; h >= 0; --h) above_[h] += above_[h + 1];
    while (first_known_ < 106 && hundredths_[first_known_] < cells.floor) ++first_known_;
    if (cells.complete()) first_known_ = -5;
  }

  // Of the hundredths first, first + step .. last the first whose count is nearest to `wanted`;
  // nothing if one below the floor might be nearer.
  std::optional<int> nearest(int first, int last, int step, std::int64_t wanted) const {
    std::optional<int> best;
    for (int h = first; h <= last; h += step)
      if (h >= first_known_ && (!best || miss(h, wanted) < miss(*best, wanted))) best = h;
    for (int h = first; h <= last && h < first_known_; h += step)
      if (best && above(h) - wanted <= miss(*best, wanted)) return std::nullopt;
    return best;
  }

 private:
  std::int64_t above(int h) const { return h < 0 ? n_cells_ : above_[h + 1]; }
  std::int64_t miss(int h, std::int64_t wanted) const { return std::llabs(above(h) - wanted); }

  std::int64_t n_cells_;
  std::array<double, 106> hundredths_;
  std::array<std::int64_t, 107> above_{};  // while counting: cells above exactly so many hundredths
  int first_known_ = 0;
};

}  // namespace cardinality_detail

// The paper's search: t in {0, 0.1, .., 1}, then the best and up to 0.05 to either side in steps of
// 0.01; the first best wins. Nothing if the result may lie below the floor.
template <IndexedNumbers Value>
std::optional<double> two_pass_threshold(const Cells<Value>& cells, std::int64_t wanted) {
  const cardinality_detail::HundredthCounts counts(cells);
  const auto coarse = counts.nearest(0, 100, 10, wanted);
  if (!coarse) return std::nullopt;
  const auto fine = counts.nearest(*coarse - 5, *coarse + 5, 1, wanted);
  if (!fine) return std::nullopt;
  return *fine / 100.0;
}

}  // namespace vicinal
