// The threshold at which as many cells pass as there are true labels.
//
// A cell passes if its score is above the threshold. Scores are never negative. Most cells score 0
// and are not stored, and of the stored ones only the higher ones matter: `Cells` may hold just
// those.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "vicinal/learn/order_statistic.hpp"

namespace vicinal {

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
