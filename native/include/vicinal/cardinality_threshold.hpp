// The threshold at which as many cells pass as there are labels, from the scores alone.
//
// A cell passes where its score is above the threshold. Scores are never negative. Most cells score
// 0 and are not stored, and of the stored ones only the higher matter: `Cells` may hold just those.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "vicinal/order_statistic.hpp"

namespace vicinal {

// Scores value(0) .. value(n - 1) out of n_cells cells: all that are at least `floor`, and maybe
// some below it. With a floor of 0 every cell that is not among them scores 0.
template <class Value>
struct Cells {
  std::int64_t n;
  Value value;
  std::int64_t n_cells;
  double floor;

  bool complete() const { return floor == 0.0; }
};

template <class Value>
Cells(std::int64_t, Value, std::int64_t, double) -> Cells<Value>;

namespace cardinality_detail {

// Scores above this are exactly those that are at least `value`.
inline double just_below(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}

// The (wanted + 1)-th largest score of all cells; nothing if it may lie below the floor.
template <class Value>
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

// The highest score below `value`; minus infinity if no cell has a lower one, nothing if it may lie
// below the floor.
template <class Value>
std::optional<double> score_below(const Cells<Value>& cells, double value) {
  const double stored = next_below(cells.n, cells.value, value);
  if (cells.complete())
    return cells.n < cells.n_cells && value > 0.0 ? std::max(stored, 0.0) : stored;
  if (stored >= cells.floor) return stored;
  return std::nullopt;
}

}  // namespace cardinality_detail

// The score t whose count of cells above is nearest to `wanted`, the larger of two equally near:
// the (wanted + 1)-th largest score or, where that is tied, the next one. If every cell had better
// pass, just below the least. Nothing where the floor hides the answer.
template <class Value>
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
  const auto lower = score_below(cells, tail->value);
  if (!lower) return std::nullopt;
  return std::isinf(*lower) ? just_below(tail->value) : *lower;
}

// The paper's search: t in {0, 0.1, .., 1}, then the best and up to 0.05 to either side in steps of
// 0.01; the first best wins. Needs complete cells.
template <class Value>
double two_pass_threshold(const Cells<Value>& cells, std::int64_t wanted) {
  // passed[h]: the cells that are above exactly h of the thresholds 0, 0.01, .., 1.05.
  std::array<std::int64_t, 107> passed{};
  std::array<double, 106> hundredths;
  for (int h = 0; h < 106; ++h) hundredths[h] = h / 100.0;
  for (std::int64_t i = 0; i < cells.n; ++i) {
    const double value = cells.value(i);
    // Right but for the last threshold, which rounding may put on either side.
    const int below = static_cast<int>(std::min(value * 100.0, 105.0));
    ++passed[below + (hundredths[below] < value)];
  }
  for (int h = 105; h >= 0; --h) passed[h] += passed[h + 1];
  const auto miss = [&](int h) {
    return std::llabs((h < 0 ? cells.n_cells : passed[h + 1]) - wanted);
  };
  const auto first_best = [&](int first, int last, int step) {
    int best = first;
    for (int h = first; h <= last; h += step)
      if (miss(h) < miss(best)) best = h;
    return best;
  };
  const int coarse = first_best(0, 100, 10);
  return first_best(coarse - 5, coarse + 5, 1) / 100.0;
}

}  // namespace vicinal
