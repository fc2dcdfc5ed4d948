// How many cells of each label have each score: the pairs of label and score, each of them once.
//
// Cells come as a list in any order. They are dealt out to their labels by counting, and those of
// one label are sorted by score. Scores are compared as whole numbers of the same order, so that
// even a NaN has a place.
#pragma once

#include <algorithm>
#include <bit>
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

// Column j says: `n_all[j]` cells of label `labels[j]` have the score `values[j]`, `n_true[j]` of
// them true.
struct ScoreCountsView {
  std::span<const std::int32_t> labels;
  std::span<const double> values;
  std::span<const std::int64_t> n_true;
  std::span<const std::int64_t> n_all;
};

struct ScoreCounts {
  std::vector<std::int32_t> labels;
  std::vector<double> values;
  std::vector<std::int64_t> n_true;
  std::vector<std::int64_t> n_all;
};

// A whole number for each score, in the same order; one for both zeros.
inline std::uint64_t ordered_bits(double score) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);
  return bits & sign ? ~bits : bits | sign;
}

inline double score_of_bits(std::uint64_t ordered) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>(ordered & sign ? ordered & ~sign : ~ordered);
}

// The same counts by label, then by rising score, each pair once. Memory: 24 bytes per column, and
// the result.
inline ScoreCounts merged_counts(const ScoreCountsView& counts, std::int64_t n_labels,
                                 int n_threads,
                                 const InterruptCheck& interrupted = never_interrupted) {
  struct Cells {
    std::uint64_t score;
    std::int64_t n_true;
    std::int64_t n_all;
  };
  std::vector<std::int64_t> starts(n_labels + 1);
  for (const std::int32_t label : counts.labels) ++starts[label + 1];
  for (std::int64_t label = 0; label < n_labels; ++label) starts[label + 1] += starts[label];

  std::vector<Cells> cells(counts.labels.size());
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t j = 0; j < cells.size(); ++j)
    cells[next[counts.labels[j]]++] = {ordered_bits(counts.values[j]), counts.n_true[j],
                                       counts.n_all[j]};

  // From here on next[label] is where the distinct scores of a label end.
  constexpr std::int64_t labels_per_task = 256;
  parallel_for(
      (n_labels + labels_per_task - 1) / labels_per_task, n_threads,
      [&](std::int64_t task, int) {
        const std::int64_t end = std::min((task + 1) * labels_per_task, n_labels);
        for (std::int64_t label = task * labels_per_task; label < end; ++label) {
          const auto first = cells.begin() + starts[label], last = cells.begin() + next[label];
          std::sort(first, last, [](const Cells& a, const Cells& b) { return a.score < b.score; });
          auto kept = first;
          for (auto each = first; each != last; ++each) {
            if (each == first) continue;
            if (each->score == kept->score) {
              kept->n_true += each->n_true;
              kept->n_all += each->n_all;
            } else {
              *++kept = *each;
            }
          }
          next[label] = first == last ? starts[label] : kept + 1 - cells.begin();
        }
      },
      interrupted);

  std::int64_t n_distinct = 0;
  for (std::int64_t label = 0; label < n_labels; ++label) n_distinct += next[label] - starts[label];
  ScoreCounts merged;
  merged.labels.reserve(n_distinct);
  merged.values.reserve(n_distinct);
  merged.n_true.reserve(n_distinct);
  merged.n_all.reserve(n_distinct);
  for (std::int64_t label = 0; label < n_labels; ++label)
    for (std::int64_t at = starts[label]; at < next[label]; ++at) {
      merged.labels.push_back(static_cast<std::int32_t>(label));
      merged.values.push_back(score_of_bits(cells[at].score));
      merged.n_true.push_back(cells[at].n_true);
      merged.n_all.push_back(cells[at].n_all);
    }
  return merged;
}

}  // namespace vicinal
