// Every mixture of instance and feature scores: threshold, prediction and counts in one go.
//
// A mixture λa + (1 - λ)b needs a threshold of its own, an order statistic over the training cells;
// nearly all cells are too low to matter for it. Let A be the (N + 1)-th largest instance score and
// B the same of the feature scores, N the number of labels. As scores are not negative, N + 1
// mixtures are at least λA, and N + 1 at least (1 - λ)B; so the order statistic of the mixture is
// at least the larger of the two. A cell whose a and b are both below the least of these bounds
// over all λ stays below every threshold, and is left out once for all λ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/bipartition_counts.hpp"
#include "vicinal/cardinality_threshold.hpp"
#include "vicinal/csr.hpp"
#include "vicinal/pair_merge.hpp"
#include "vicinal/parallel.hpp"

namespace vicinal {

// Scores of one part of the method at one k: leave-one-out of the training rows, and of the rows
// held out.
struct PartScores {
  CsrView<double> training, held_out;
};

enum class CardinalityRule { exact, two_pass };

// What is the same for all settings.
struct GridTask {
  std::vector<double> mixings;  // the λ
  CardinalityRule rule = CardinalityRule::exact;
  std::int64_t n_true = 0;         // N, labels of all training rows
  std::int32_t when_all_zero = 0;  // the label of rows that score 0 everywhere
  PatternView truth;               // labels of the held-out rows
};

// Counts of settings (feature part, λ), λ changing fastest: one row of numbers a setting.
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
      : features_(std::move(features)), task_(std::move(task)), bounds_(features_.size()) {
    Workers workers(n_threads);
    parallel_for(
        static_cast<std::int64_t>(features_.size()), n_threads,
        [&](std::int64_t j, int worker) {
          bounds_[j] = bound_of(features_[j].training, workers[worker].numbers);
        },
        interrupted);
  }

  // All λ of the feature parts [first, last) with one instance part. Memory: a thread holds 16
  // bytes for each training cell that is not left out, 24 where all cells had to be looked at.
  GridCounts counts(const PartScores& instance, std::int64_t first, std::int64_t last,
                    int n_threads, const InterruptCheck& interrupted = never_interrupted) const {
    const auto n_mixings = static_cast<std::int64_t>(task_.mixings.size());
    GridCounts all((last - first) * n_mixings, n_held_out(), n_labels());
    Workers workers(n_threads);
    const double bound = bound_of(instance.training, workers[0].numbers);
    parallel_for(
        last - first, n_threads,
        [&](std::int64_t task, int worker) {
          // Parts of many neighbours, which take longest, go first.
          const std::int64_t j = last - 1 - task;
          Worker& scratch = workers[worker];
          scratch.merge.resize(n_labels());
          const auto rules = fit(instance.training, bound, j, scratch);
          count(instance.held_out, features_[j].held_out, rules, (j - first) * n_mixings, scratch,
                all);
        },
        interrupted);
    return all;
  }

  std::int64_t n_parts() const { return static_cast<std::int64_t>(features_.size()); }
  std::int64_t n_settings(std::int64_t parts) const {
    return parts * static_cast<std::int64_t>(task_.mixings.size());
  }
  std::int64_t n_held_out() const { return task_.truth.n_rows(); }
  std::int64_t n_labels() const { return task_.truth.n_columns; }

 private:
  struct Worker {
    PairMerge merge;
    PairList high, every;
    std::vector<double> numbers;
    std::vector<ScoredLabel> row;
    std::vector<std::uint8_t> is_true;
  };

  struct Workers : std::vector<Worker> {
    explicit Workers(int n_threads) : std::vector<Worker>(std::max(n_threads, 1)) {}
  };

  // The (N + 1)-th largest score, 0 if it is not stored.
  double bound_of(const CsrView<double>& scores, std::vector<double>& numbers) const {
    const auto stored = scores.values;
    const auto n = static_cast<std::int64_t>(stored.size());
    if (task_.n_true >= n) return 0.0;
    return tail_at(n, [&](std::int64_t i) { return stored[i]; }, task_.n_true, numbers).value;
  }

  // No score below this can be the threshold of λ. Bounds so small that a product with λ may lose
  // its digits are not used.
  double floor_of(double mixing, double instance, double feature) const {
    const double floor = std::max(mixing * instance, (1.0 - mixing) * feature);
    return floor > 1e-280 ? floor : 0.0;
  }

  // The rule of each λ, fitted on the training rows.
  std::vector<MixedRule> fit(const CsrView<double>& instance, double bound, std::int64_t j,
                             Worker& scratch) const {
    const CsrView<double>& feature = features_[j].training;
    double floor = 0.0;
    for (const double mixing : task_.mixings) {
      const double each = floor_of(mixing, bound, bounds_[j]);
      if (each > 0.0) floor = floor > 0.0 ? std::min(floor, each) : each;
    }
    const bool exact = task_.rule == CardinalityRule::exact && floor > 0.0;
    // A mixture may exceed the larger of two scores by rounding.
    if (exact) scratch.high.fill(instance, feature, floor * (1.0 - 1e-12), scratch.merge);
    bool have_every = false;
    std::vector<MixedRule> rules;
    for (const double mixing : task_.mixings) {
      std::optional<double> threshold;
      if (exact) threshold = threshold_of(scratch.high, mixing, floor, scratch.numbers);
      if (!threshold) {
        if (!std::exchange(have_every, true))
          scratch.every.fill(instance, feature, 0.0, scratch.merge);
        threshold = threshold_of(scratch.every, mixing, 0.0, scratch.numbers);
      }
      rules.push_back({mixing, 1.0 - mixing, *threshold});
    }
    return rules;
  }

  std::optional<double> threshold_of(const PairList& pairs, double mixing, double floor,
                                     std::vector<double>& numbers) const {
    const double *const a = pairs.a.data(), *const b = pairs.b.data();
    const double other = 1.0 - mixing;
    const auto mixed = [=](std::int64_t i) { return mixing * a[i] + other * b[i]; };
    const Cells cells{pairs.size, mixed, n_training() * n_labels(), floor};
    if (task_.rule == CardinalityRule::two_pass) return two_pass_threshold(cells, task_.n_true);
    return exact_threshold(cells, task_.n_true, numbers);
  }

  // Decide every held-out row by every rule.
  void count(const CsrView<double>& instance, const CsrView<double>& feature,
             std::span<const MixedRule> rules, std::int64_t first_setting, Worker& scratch,
             GridCounts& all) const {
    std::vector<BipartitionCounts> counts;
    for (std::size_t rule = 0; rule < rules.size(); ++rule)
      counts.push_back(
          all.setting(first_setting + static_cast<std::int64_t>(rule), n_held_out(), n_labels()));
    scratch.is_true.assign(n_labels(), 0);
    for (std::int64_t i = 0; i < n_held_out(); ++i) {
      const auto truth = task_.truth.columns(i);
      for (const std::int32_t label : truth) scratch.is_true[label] = 1;
      scratch.row.clear();
      scratch.merge.row(instance, feature, i, [&](std::int32_t label, double a, double b) {
        if (std::max(a, b) > 0.0) scratch.row.push_back({a, b, label, scratch.is_true[label] != 0});
      });
      for (const std::int32_t label : truth) scratch.is_true[label] = 0;
      for (std::size_t rule = 0; rule < rules.size(); ++rule)
        count_row(i, scratch.row, truth, rules[rule], task_.when_all_zero, counts[rule]);
    }
  }

  std::int64_t n_training() const { return features_.front().training.n_rows(); }

  std::vector<PartScores> features_;
  GridTask task_;
  std::vector<double> bounds_;  // of each feature part
};

}  // namespace vicinal
