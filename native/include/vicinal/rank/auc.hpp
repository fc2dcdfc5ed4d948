// Areas under ROC curves from sparse scores, without a number for every row and label.
//
// The area is the fraction of (true cell, false cell) pairs in which the true cell scores higher;
// ties count half. True cells are few: their scores are sorted, and each stored false cell is
// located among them. The false cells that are not stored for a label all have its base score, so
// one search locates them all. Twice the area is an integer, so sums do not depend on their order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/rank/score_rows.hpp"

namespace vicinal {

// The scores of all true cells, in the order of `truth.indices`.
inline std::vector<double> true_scores(const ScoreRows& scores, const PatternView& truth) {
  std::vector<double> found(truth.indices.size());
  for (std::int64_t i = 0; i < scores.n_rows; ++i)
    for (std::int64_t at = truth.indptr[i]; at < truth.indptr[i + 1]; ++at)
      found[at] = scores.score(i, truth.indices[at]);
  return found;
}

// Twice the number of pairs that a false cell of this score loses; `positives` must rise.
inline std::int64_t twice_pairs(std::span<const double> positives, double score) {
  const auto [first, last] = std::equal_range(positives.begin(), positives.end(), score);
  return 2 * (positives.end() - last) + (last - first);
}

// Calls visit(label, score) for each stored cell of the row that is not true.
template <class Visit>
void each_stored_false(const ScoreRows& scores, const PatternView& truth, std::int64_t row,
                       Visit&& visit) {
  const auto labels = scores.labels(row);
  const auto values = scores.row(row);
  const auto trues = truth.columns(row);
  auto next = trues.begin();
  for (std::size_t j = 0; j < labels.size(); ++j) {
    while (next != trues.end() && *next < labels[j]) ++next;
    if (next == trues.end() || *next != labels[j]) visit(labels[j], values[j]);
  }
}

template <class Body>
void each_row(const ScoreRows& scores, int n_threads, const InterruptCheck& interrupted,
              Body&& body) {
  parallel_for(
      tasks_for(scores.n_rows), n_threads,
      [&](std::int64_t task, int) {
        const std::int64_t end = std::min((task + 1) * rows_per_task, scores.n_rows);
        for (std::int64_t i = task * rows_per_task; i < end; ++i) body(i);
      },
      interrupted);
}

// Twice the number of pairs won, for each label. `positives[starts[l] .. starts[l + 1])` are the
// scores of the rows that carry label l, rising.
inline std::vector<std::int64_t> label_areas(
    const ScoreRows& scores, const PatternView& truth, std::span<const std::int64_t> starts,
    std::span<const double> positives, int n_threads,
    const InterruptCheck& interrupted = never_interrupted) {
  const auto of_label = [&](std::int64_t label) {
    return positives.subspan(starts[label], starts[label + 1] - starts[label]);
  };
  std::vector<std::atomic<std::int64_t>> area(scores.n_labels), stored_false(scores.n_labels);
  each_row(scores, n_threads, interrupted, [&](std::int64_t i) {
    each_stored_false(scores, truth, i, [&](std::int32_t label, double score) {
      if (of_label(label).empty()) return;
      area[label].fetch_add(twice_pairs(of_label(label), score), std::memory_order_relaxed);
      stored_false[label].fetch_add(1, std::memory_order_relaxed);
    });
  });
  std::vector<std::int64_t> total(area.begin(), area.end());
  if (scores.is_dense()) return total;
  for (std::int64_t label = 0; label < scores.n_labels; ++label) {
    const auto own = of_label(label);
    const std::int64_t unstored =
        scores.n_rows - static_cast<std::int64_t>(own.size()) - stored_false[label];
    if (!own.empty()) total[label] += unstored * twice_pairs(own, scores.base[label]);
  }
  return total;
}

// Twice the number of pairs won, all labels in one pool. `positives` are the scores of all true
// cells, rising; `n_true[l]` is how many rows carry label l. A double, because it can exceed 2^63.
inline double pooled_area(const ScoreRows& scores, const PatternView& truth,
                          std::span<const std::int64_t> n_true, std::span<const double> positives,
                          int n_threads, const InterruptCheck& interrupted = never_interrupted) {
  std::vector<double> of_row(scores.n_rows);
  std::vector<std::atomic<std::int64_t>> stored_false(scores.n_labels);
  each_row(scores, n_threads, interrupted, [&](std::int64_t i) {
    each_stored_false(scores, truth, i, [&](std::int32_t label, double score) {
      of_row[i] += static_cast<double>(twice_pairs(positives, score));
      stored_false[label].fetch_add(1, std::memory_order_relaxed);
    });
  });
  double total = 0;
  for (double area : of_row) total += area;
  if (scores.is_dense()) return total;
  for (std::int64_t label = 0; label < scores.n_labels; ++label) {
    const std::int64_t unstored = scores.n_rows - n_true[label] - stored_false[label];
    total += static_cast<double>(unstored) *
             static_cast<double>(twice_pairs(positives, scores.base[label]));
  }
  return total;
}

}  // namespace vicinal
