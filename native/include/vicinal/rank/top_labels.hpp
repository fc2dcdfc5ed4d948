// The best labels of each row, without visiting labels that cannot be among them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "vicinal/common/parallel.hpp"
#include "vicinal/rank/score_rows.hpp"

namespace vicinal {

// `width` labels and scores per row, best first: score falling, label id rising.
struct TopLabels {
  std::vector<std::int32_t> labels;
  std::vector<double> scores;
};

// Merges the row's best stored labels with the base order, skipping stored labels in the latter.
// Cost per row: s log(width) for its s stored labels, and at most s + width steps in the base
// order.
inline void top_of_row(const ScoreRows& scores, const BaseOrder& base, std::int64_t row,
                       std::int64_t width,
                       std::vector<std::pair<double, std::int32_t>>& stored,  // scratch
                       std::int32_t* labels_out, double* scores_out) {
  const auto before = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  const auto labels = scores.labels(row);
  const auto values = scores.row(row);
  stored.clear();
  for (std::size_t j = 0; j < labels.size(); ++j) stored.emplace_back(values[j], labels[j]);
  const std::size_t n_best = std::min(static_cast<std::size_t>(width), stored.size());
  std::partial_sort(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(n_best),
                    stored.end(), before);

  std::size_t next_base = 0, next_stored = 0;
  for (std::int64_t out = 0; out < width; ++out) {
    while (next_base < base.label.size() &&
           std::binary_search(labels.begin(), labels.end(), base.label[next_base]))
      ++next_base;
    const bool base_left = next_base < base.label.size();
    const bool take_stored =
        next_stored < n_best &&
        (!base_left ||
         before(stored[next_stored], std::pair(base.score[next_base], base.label[next_base])));
    const auto [score, label] =
        take_stored ? stored[next_stored] : std::pair(base.score[next_base], base.label[next_base]);
    ++(take_stored ? next_stored : next_base);
    labels_out[out] = label;
    scores_out[out] = score;
  }
}

// How many of the best labels of the base a row can need: none if enough of those it stores are
// better than all of them, else at most as many as it stores, and `width` others.
inline std::int64_t needed_of_base(const ScoreRows& scores, std::int64_t width) {
  if (scores.base.empty()) return 0;
  const double highest = *std::max_element(scores.base.begin(), scores.base.end());
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < scores.n_rows; ++row) {
    const auto values = scores.row(row);
    const auto better = std::ranges::count_if(values, [=](double v) { return v > highest; });
    if (better < width) most = std::max(most, std::ssize(values) + width);
  }
  return std::min(most, std::ssize(scores.base));
}

// `width` is at most the number of labels, so a row never runs out.
inline TopLabels top_labels(const ScoreRows& scores, std::int64_t width, int n_threads,
                            const InterruptCheck& interrupted = never_interrupted) {
  TopLabels top{std::vector<std::int32_t>(scores.n_rows * width),
                std::vector<double>(scores.n_rows * width)};
  const BaseOrder base(scores.base, needed_of_base(scores, width));
  std::vector<std::vector<std::pair<double, std::int32_t>>> scratch(std::max(n_threads, 1));
  parallel_for(
      tasks_for(scores.n_rows), n_threads,
      [&](std::int64_t task, int worker) {
        const std::int64_t end = std::min((task + 1) * rows_per_task, scores.n_rows);
        for (std::int64_t i = task * rows_per_task; i < end; ++i)
          top_of_row(scores, base, i, width, scratch[worker], top.labels.data() + i * width,
                     top.scores.data() + i * width);
      },
      interrupted);
  return top;
}

}  // namespace vicinal
