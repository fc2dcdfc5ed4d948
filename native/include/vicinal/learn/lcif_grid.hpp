// All mixtures of instance and feature scores: threshold, prediction and counts in one pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/learn/bipartition_counts.hpp"
#include "vicinal/learn/mixture_thresholds.hpp"
#include "vicinal/learn/pair_merge.hpp"

namespace vicinal {

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
