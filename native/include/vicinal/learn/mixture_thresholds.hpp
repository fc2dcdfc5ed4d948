// The thresholds of all mixtures λa + (1 - λ)b of two parts' training scores.
//
// Each is an order statistic over all cells, and nearly all cells are too low to affect it. So a
// floor is guessed, and only cells with an a or a b that reaches it are examined (a mixture of two
// lower scores is lower). If the resulting threshold is at or above the floor, it is correct. If
// not, the floor is lowered: first to a bound that always holds, then to zero.
//
// The bound: let A be the (N + 1)-th largest a, and B the same of b, N the number of labels. As no
// score is negative, N + 1 mixtures are at least λA and N + 1 at least (1 - λ)B; so the (N + 1)-th
// largest mixture is at least the larger of the two. The guess: somewhat below the threshold that
// the same λ had with the neighbouring k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/learn/cardinality_threshold.hpp"
#include "vicinal/learn/pair_merge.hpp"

namespace vicinal {

enum class CardinalityRule { exact, two_pass };

// The training scores of one part, and what can be derived from them alone.
struct PartTail {
  CsrView<double> scores;
  double bound = 0.0;      // the (N + 1)-th largest, 0 if it is not stored
  double threshold = 0.0;  // of the part by itself: λ = 1, or 0
};

class MixtureThresholds {
 public:
  // Memory: 8 bytes per score examined, and 16 per cell for each of at most three floors.
  struct Scratch {
    PairMerge merge;
    ValuePairs guessed, bounded, every;
    std::vector<double> numbers;
    std::vector<double> last;  // thresholds of each λ for the parts processed before
  };

  MixtureThresholds(CardinalityRule rule, std::int64_t n_true, std::vector<double> mixings)
      : rule_(rule), n_true_(n_true), mixings_(std::move(mixings)) {}

  // Derive the bound and the threshold of one part.
  PartTail alone(const CsrView<double>& scores, std::vector<double>& numbers) const {
    const double* const stored = scores.values.data();
    const auto n = static_cast<std::int64_t>(scores.values.size());
    const auto value = [=](std::int64_t i) { return stored[i]; };
    PartTail part{scores};
    if (n_true_ < n) part.bound = tail_at(n, value, n_true_, numbers).value;
    part.threshold = *threshold_of(Cells{n, value, cells_of(scores), 0.0}, numbers);
    return part;
  }

  // One threshold for each λ: a cell passes if its mixture is above it.
  std::vector<double> fit(const PartTail& a, const PartTail& b, Scratch& scratch) const {
    scratch.merge.resize(a.scores.n_columns);
    scratch.last.resize(mixings_.size(), 0.0);
    Lists lists(a, b, lowest_bound(a, b), scratch);
    for (const std::size_t at : by_last(scratch.last)) {
      double& threshold = scratch.last[at];
      if (mixings_[at] == 1.0)
        threshold = a.threshold;
      else if (mixings_[at] == 0.0)
        threshold = b.threshold;
      else
        threshold = mixed(mixings_[at], guess_below(threshold), lists, scratch.numbers);
    }
    return scratch.last;
  }

 private:
  // Smaller bounds are not used, because a product with λ may have lost its digits.
  static constexpr double tiny = 1e-280;

  // The two-pass rule compares with thresholds up to a tenth lower.
  double guess_below(double threshold) const {
    return (rule_ == CardinalityRule::exact ? 0.9 : 0.6) * threshold;
  }

  // The cells that reach each floor, collected on first use.
  class Lists {
   public:
    Lists(const PartTail& a, const PartTail& b, double bound, MixtureThresholds::Scratch& scratch)
        : a_(a.scores), b_(b.scores), bound_(bound), scratch_(scratch) {}

    double bound() const { return bound_; }
    std::int64_t n_cells() const { return cells_of(a_); }

    // Call with rising floors; `floor` is lowered to that of the list.
    const ValuePairs& guessed(double& floor) {
      if (guess_ == 0.0)
        fill(scratch_.guessed, guess_ = floor);
      else if (floor > 1.2 * guess_)
        scratch_.guessed.narrow(reached(guess_ = floor));
      floor = guess_;
      return scratch_.guessed;
    }
    const ValuePairs& bounded() {
      if (!std::exchange(have_bounded_, true)) fill(scratch_.bounded, bound_);
      return scratch_.bounded;
    }
    const ValuePairs& every() {
      if (!std::exchange(have_every_, true)) fill(scratch_.every, 0.0);
      return scratch_.every;
    }

   private:
    // A mixture may exceed the larger of two scores by rounding.
    static double reached(double floor) { return floor * (1.0 - 1e-12); }
    void fill(ValuePairs& list, double floor) { list.fill(a_, b_, reached(floor), scratch_.merge); }

    CsrView<double> a_, b_;
    double bound_;
    double guess_ = 0.0;
    bool have_bounded_ = false, have_every_ = false;
    MixtureThresholds::Scratch& scratch_;
  };

  static std::int64_t cells_of(const CsrView<double>& scores) {
    return scores.n_rows() * scores.n_columns;
  }

  // The order of rising guesses.
  static std::vector<std::size_t> by_last(const std::vector<double>& last) {
    std::vector<std::size_t> order(last.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t i, std::size_t j) { return last[i] < last[j]; });
    return order;
  }

  // A lower bound of the thresholds of all λ other than 0 and 1; 0 if none is known.
  double lowest_bound(const PartTail& a, const PartTail& b) const {
    double lowest = 1.0;
    for (const double mixing : mixings_)
      if (mixing > 0.0 && mixing < 1.0)
        lowest = std::min(lowest, std::max(mixing * a.bound, (1.0 - mixing) * b.bound));
    return lowest > tiny ? lowest : 0.0;
  }

  double mixed(double mixing, double guess, Lists& lists, std::vector<double>& numbers) const {
    std::optional<double> threshold;
    if (guess > std::max(lists.bound(), tiny)) {
      const ValuePairs& list = lists.guessed(guess);
      threshold = threshold_of(list, mixing, lists.n_cells(), guess, numbers);
    }
    if (!threshold && lists.bound() > 0.0)
      threshold = threshold_of(lists.bounded(), mixing, lists.n_cells(), lists.bound(), numbers);
    if (!threshold) threshold = threshold_of(lists.every(), mixing, lists.n_cells(), 0.0, numbers);
    return *threshold;
  }

  std::optional<double> threshold_of(const ValuePairs& pairs, double mixing, std::int64_t n_cells,
                                     double floor, std::vector<double>& numbers) const {
    const double *const a = pairs.a.data(), *const b = pairs.b.data();
    const double other = 1.0 - mixing;
    const auto value = [=](std::int64_t i) { return mixing * a[i] + other * b[i]; };
    return threshold_of(Cells{pairs.size, value, n_cells, floor}, numbers);
  }

  template <IndexedNumbers Value>
  std::optional<double> threshold_of(const Cells<Value>& cells,
                                     std::vector<double>& numbers) const {
    if (rule_ == CardinalityRule::two_pass) return two_pass_threshold(cells, n_true_);
    return exact_threshold(cells, n_true_, numbers);
  }

  CardinalityRule rule_;
  std::int64_t n_true_;
  std::vector<double> mixings_;
};

}  // namespace vicinal
