// All mixtures of instance and feature scores: threshold, prediction and counts in one pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/tune/cardinality_threshold.hpp"

namespace vicinal {

// Counts of predicted and of correctly predicted labels, without storing predictions.

// One label of a row: its two scores, and whether it is true.
struct ScoredLabel {
  double a, b;
  std::int32_t label;
  bool is_true;
};

// Weights of the two scores, and the threshold that a label's score must exceed.
struct MixedRule {
  double weight_a, weight_b;
  double threshold;

  double score(const ScoredLabel& each) const { return weight_a * each.a + weight_b * each.b; }
};

// Per row and per label: how often predicted, and how often correctly. Sizes: rows, labels.
struct BipartitionCounts {
  std::span<std::int64_t> row_given, row_common;
  std::span<std::int64_t> label_given, label_common;

  void give(std::int64_t row, std::int32_t label, bool is_true) {
    ++row_given[row];
    ++label_given[label];
    row_common[row] += is_true;
    label_common[label] += is_true;
  }
};

// Row `row` gets the labels above the threshold or, if there are none, the best one: of equal ones
// the lowest id, and `when_all_zero` if the best scores 0. Labels that are not among `labels` score
// 0. `truth` holds the true labels of the row.
inline void count_row(std::int64_t row, std::span<const ScoredLabel> labels,
                      std::span<const std::int32_t> truth, const MixedRule& rule,
                      std::int32_t when_all_zero, BipartitionCounts& counts) {
  if (rule.threshold < 0.0) {  // every label passes, including those that score 0
    counts.row_given[row] = static_cast<std::int64_t>(counts.label_given.size());
    counts.row_common[row] = static_cast<std::int64_t>(truth.size());
    for (auto& given : counts.label_given) ++given;
    for (const std::int32_t label : truth) ++counts.label_common[label];
    return;
  }
  for (const ScoredLabel& each : labels)
    if (rule.score(each) > rule.threshold) counts.give(row, each.label, each.is_true);
  if (counts.row_given[row] > 0) return;
  double best = 0.0;
  std::int32_t chosen = when_all_zero;
  bool is_true = std::find(truth.begin(), truth.end(), when_all_zero) != truth.end();
  for (const ScoredLabel& each : labels) {
    const double score = rule.score(each);
    if (score < best || score == 0.0) continue;
    if (score == best && each.label > chosen) continue;
    best = score;
    chosen = each.label;
    is_true = each.is_true;
  }
  counts.give(row, chosen, is_true);
}

// Merges two sparse rows: every label that either stores, with both values.

// The first row is scattered into a dense array, where the second finds its partners; entries that
// were not found have none. Labels come out unordered, but no branch depends on which row stores
// what. Memory: 8 bytes per label and thread.
class PairMerge {
 public:
  void resize(std::int64_t n_labels) { dense_.resize(n_labels, 0.0); }

  // Call emit(label, a, b) for every label of row i of `first` or `second`; absent values are 0. A
  // label that both store may be emitted a second time with two zeros.
  template <class Emit>
  void row(const CsrView<double>& first, const CsrView<double>& second, std::int64_t i,
           Emit&& emit) {
    const auto labels = first.columns(i), others = second.columns(i);
    const auto values = first.row(i), other_values = second.row(i);
    double* const dense = dense_.data();
    for (std::size_t j = 0; j < labels.size(); ++j) dense[labels[j]] = values[j];
    for (std::size_t j = 0; j < others.size(); ++j) {
      emit(others[j], dense[others[j]], other_values[j]);
      dense[others[j]] = 0.0;
    }
    for (const std::int32_t label : labels) {
      emit(label, dense[label], 0.0);
      dense[label] = 0.0;
    }
  }

 private:
  std::vector<double> dense_;  // all 0 between two rows
};

// The pairs (a, b) of all rows of two matrices, except those of two low values.
struct ValuePairs {
  std::vector<double> a, b;
  std::int64_t size = 0;

  // Keep pairs in which one value is at least `floor`; for floor 0, those that are not both 0.
  void fill(const CsrView<double>& first, const CsrView<double>& second, double floor,
            PairMerge& merge) {
    const double least = std::max(floor, std::numeric_limits<double>::denorm_min());
    size = 0;
    for (std::int64_t i = 0; i < first.n_rows(); ++i) {
      reserve(size + first.row_size(i) + second.row_size(i) + 1);
      double *const to_a = a.data(), *const to_b = b.data();
      std::int64_t at = size;
      merge.row(first, second, i, [&](std::int32_t, double left, double right) {
        to_a[at] = left;
        to_b[at] = right;
        at += std::max(left, right) >= least;
      });
      size = at;
    }
  }

  // Keep only the pairs that reach a higher floor.
  void narrow(double floor) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double left = a[i], right = b[i];
      a[kept] = left;
      b[kept] = right;
      kept += std::max(left, right) >= floor;
    }
    size = kept;
  }

 private:
  void reserve(std::int64_t needed) {
    if (static_cast<std::int64_t>(a.size()) >= needed) return;
    a.resize(std::max(needed, 2 * static_cast<std::int64_t>(a.size())));
    b.resize(a.size());
  }
};

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

// Scores of one part of the method at one k: leave-one-out scores of the training rows, and scores
// of the held-out rows.
struct PartScores {
  CsrView<double> training, held_out;
};

// What all settings share.
struct GridTask {
  std::vector<double> mixings;  // the λ
  CardinalityRule rule = CardinalityRule::exact;
  std::int64_t n_true = 0;         // N, labels of all training rows
  std::int32_t when_all_zero = 0;  // the label of rows that score 0 everywhere
  PatternView truth;               // labels of the held-out rows
};

// Counts of settings (feature part, λ), λ changing fastest: one row of numbers per setting.
struct GridCounts {
  std::vector<std::int64_t> row_given, row_common;      // settings × held-out rows
  std::vector<std::int64_t> label_given, label_common;  // settings × labels

  GridCounts(std::int64_t settings, std::int64_t rows, std::int64_t labels)
      : row_given(settings * rows),
        row_common(settings * rows),
        label_given(settings * labels),
        label_common(settings * labels) {}

  BipartitionCounts setting(std::int64_t at, std::int64_t rows, std::int64_t labels) {
    const auto part = [at](std::vector<std::int64_t>& all, std::int64_t size) {
      return std::span(all).subspan(at * size, size);
    };
    return {part(row_given, rows), part(row_common, rows), part(label_given, labels),
            part(label_common, labels)};
  }
};

class LcifGrid {
 public:
  LcifGrid(std::vector<PartScores> features, GridTask task, int n_threads,
           const InterruptCheck& interrupted = never_interrupted)
      : task_(std::move(task)),
        thresholds_(task_.rule, task_.n_true, task_.mixings),
        features_(std::move(features)),
        tails_(features_.size()) {
    for ([[maybe_unused]] const PartScores& part : features_) {
      VICINAL_ASSERT(part.training.n_columns == task_.truth.n_columns);
      VICINAL_ASSERT(part.held_out.n_columns == task_.truth.n_columns);
      VICINAL_ASSERT(part.held_out.n_rows() == task_.truth.n_rows());
    }
    std::vector<std::vector<double>> numbers(std::max(n_threads, 1));
    parallel_for(
        static_cast<std::int64_t>(features_.size()), n_threads,
        [&](std::int64_t j, int worker) {
          tails_[j] = thresholds_.alone(features_[j].training, numbers[worker]);
        },
        interrupted);
  }

  // All λ of the feature parts [first, last) with one instance part.
  GridCounts counts(const PartScores& instance, std::int64_t first, std::int64_t last,
                    int n_threads, const InterruptCheck& interrupted = never_interrupted) const {
    GridCounts all(n_settings(last - first), n_held_out(), n_labels());
    std::vector<Scratch> workers(std::max(n_threads, 1));
    const PartTail tail = thresholds_.alone(instance.training, workers[0].fitting.numbers);
    parallel_for(
        last - first, n_threads,
        [&](std::int64_t task, int worker) {
          // Parts with many neighbours take longest and go first.
          const std::int64_t j = last - 1 - task;
          const auto fitted = thresholds_.fit(tail, tails_[j], workers[worker].fitting);
          count({instance.held_out, features_[j].held_out}, fitted, n_settings(j - first),
                workers[worker], all);
        },
        interrupted);
    return all;
  }

  std::int64_t n_settings(std::int64_t parts) const {
    return parts * static_cast<std::int64_t>(task_.mixings.size());
  }
  std::int64_t n_held_out() const { return task_.truth.n_rows(); }
  std::int64_t n_labels() const { return task_.truth.n_columns; }

 private:
  struct Scratch {
    MixtureThresholds::Scratch fitting;
    std::vector<ScoredLabel> row;
    std::vector<std::uint8_t> is_true;
  };

  // Decide every held-out row by the rule of every λ.
  void count(const std::pair<CsrView<double>, CsrView<double>>& scores,
             std::span<const double> thresholds, std::int64_t first_setting, Scratch& scratch,
             GridCounts& all) const {
    std::vector<BipartitionCounts> counts;
    for (std::size_t at = 0; at < thresholds.size(); ++at)
      counts.push_back(
          all.setting(first_setting + static_cast<std::int64_t>(at), n_held_out(), n_labels()));
    scratch.is_true.assign(n_labels(), 0);
    for (std::int64_t i = 0; i < n_held_out(); ++i) {
      const auto truth = task_.truth.columns(i);
      read_row(scores.first, scores.second, i, scratch);
      for (std::size_t at = 0; at < thresholds.size(); ++at) {
        const double mixing = task_.mixings[at];
        count_row(i, scratch.row, truth, {mixing, 1.0 - mixing, thresholds[at]},
                  task_.when_all_zero, counts[at]);
      }
    }
  }

  // Fill the scratch row with the labels that have a positive score.
  void read_row(const CsrView<double>& a, const CsrView<double>& b, std::int64_t i,
                Scratch& scratch) const {
    for (const std::int32_t label : task_.truth.columns(i)) scratch.is_true[label] = 1;
    scratch.row.clear();
    scratch.fitting.merge.row(a, b, i, [&](std::int32_t label, double left, double right) {
      if (std::max(left, right) > 0.0)
        scratch.row.push_back({left, right, label, scratch.is_true[label] != 0});
    });
    for (const std::int32_t label : task_.truth.columns(i)) scratch.is_true[label] = 0;
  }

  GridTask task_;
  MixtureThresholds thresholds_;
  std::vector<PartScores> features_;
  std::vector<PartTail> tails_;
};

}  // namespace vicinal
