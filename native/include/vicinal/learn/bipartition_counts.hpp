// Counts of predicted and of correctly predicted labels, without storing predictions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace vicinal {

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

}  // namespace vicinal
