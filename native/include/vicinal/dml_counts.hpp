// DML-kNN: which training rows saw the same votes as a query, and how many of them carry a label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "vicinal/csr.hpp"
#include "vicinal/parallel.hpp"

namespace vicinal {

// A training row i speaks for the query x and label l where C_i(l) = C_x(l) and every other label's
// votes differ by at most the tolerance. Equal votes differ by nothing, so row i speaks for *some*
// label only if *all* its votes are within the tolerance of x's (i lies in the ball around x), and
// then for exactly the labels at which the two are equal. So one look at each row settles all
// labels.
//
// Votes are sparse and nearly all 0. A row in the ball speaks for a label that got no vote unless
// it stores one, so only stored votes are walked; the rest is the size of the ball.
class DmlCounts {
 public:
  // Votes of the training rows (none stored is 0) and their labels: same rows, same labels.
  DmlCounts(const CsrView<std::int32_t>& votes, const PatternView& labels)
      : votes_(votes), labels_(labels), start_(votes.n_columns + 1), rows_(votes.indices.size()) {
    for (const auto label : votes_.indices) ++start_[label + 1];
    for (std::size_t l = 1; l < start_.size(); ++l) start_[l] += start_[l - 1];
    std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
    for (std::int64_t i = 0; i < votes_.n_rows(); ++i)
      for (const auto label : votes_.columns(i))
        rows_[next[label]++] = static_cast<std::int32_t>(i);
  }

  // Fill `with` and `without`, one cell a label and 0 at first, for the query with these votes.
  // `asked`, one cell a label, is a worker's memory: all 0 before and after.
  void count(std::span<const std::int32_t> labels, std::span<const std::int32_t> votes,
             std::int32_t tolerance, std::vector<std::int32_t>& asked, std::span<std::int32_t> with,
             std::span<std::int32_t> without) const {
    for (std::size_t j = 0; j < labels.size(); ++j) asked[labels[j]] = votes[j];
    std::int32_t ball = 0;
    for_candidates(labels, votes, tolerance, [&](std::int64_t i, std::int64_t n_needed) {
      if (!in_ball(i, asked, tolerance, n_needed)) return;
      ++ball;
      note(i, asked, with, without);
    });
    for (std::size_t l = 0; l < with.size(); ++l) {
      const std::int32_t equal = asked[l] == 0 ? ball - without[l] : without[l];
      without[l] = equal - with[l];
    }
    for (const auto label : labels) asked[label] = 0;
  }

 private:
  // A label with more votes than the tolerance must have some at every row of the ball. Of such
  // labels the one that fewest rows have gives the candidates; without any, all rows are.
  template <class Visit>
  void for_candidates(std::span<const std::int32_t> labels, std::span<const std::int32_t> votes,
                      std::int32_t tolerance, Visit&& visit) const {
    std::int64_t n_needed = 0;
    std::int32_t rarest = -1;
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (votes[j] <= tolerance) continue;
      ++n_needed;
      if (rarest < 0 || n_rows_with(labels[j]) < n_rows_with(rarest)) rarest = labels[j];
    }
    if (rarest < 0)
      for (std::int64_t i = 0; i < votes_.n_rows(); ++i) visit(i, n_needed);
    else
      for (std::int64_t at = start_[rarest]; at < start_[rarest + 1]; ++at)
        visit(rows_[at], n_needed);
  }

  std::int64_t n_rows_with(std::int32_t label) const { return start_[label + 1] - start_[label]; }

  // Whether all votes of row i are within the tolerance of those asked for. A label that row i does
  // not store differs too much only if it is one of the needed ones: so count those it stores.
  bool in_ball(std::int64_t i, const std::vector<std::int32_t>& asked, std::int32_t tolerance,
               std::int64_t n_needed) const {
    const auto labels = votes_.columns(i);
    const auto votes = votes_.row(i);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const std::int32_t wanted = asked[labels[j]];
      if (std::abs(votes[j] - wanted) > tolerance) return false;
      n_needed -= wanted > tolerance;
    }
    return n_needed == 0;
  }

  // Count a row of the ball. In `with`: the labels it carries and speaks for. In `without`, until
  // the ball is known: of labels asked with votes, that it has as many; of the others, that it has
  // some, and so does not speak for them.
  void note(std::int64_t i, const std::vector<std::int32_t>& asked, std::span<std::int32_t> with,
            std::span<std::int32_t> without) const {
    const auto labels = votes_.columns(i);
    const auto votes = votes_.row(i);
    for (std::size_t j = 0; j < labels.size(); ++j)
      without[labels[j]] += asked[labels[j]] == 0 || asked[labels[j]] == votes[j];
    std::size_t j = 0;
    for (const auto label : labels_.columns(i)) {
      while (j < labels.size() && labels[j] < label) ++j;
      const bool stored = j < labels.size() && labels[j] == label;
      with[label] += asked[label] == (stored ? votes[j] : 0);
    }
  }

  CsrView<std::int32_t> votes_;
  PatternView labels_;
  std::vector<std::int64_t> start_;  // rows_[start_[l] .. start_[l + 1]): those that store label l
  std::vector<std::int32_t> rows_;
};

// Counts for all queries, rows of n_labels cells each; `with` and `without` come filled with 0.
inline void dml_counts(const DmlCounts& training, const CsrView<std::int32_t>& queries,
                       std::int32_t tolerance, std::span<std::int32_t> with,
                       std::span<std::int32_t> without, int n_threads,
                       const InterruptCheck& interrupted = never_interrupted) {
  const std::int64_t width = queries.n_columns;
  std::vector<std::vector<std::int32_t>> asked(std::max(n_threads, 1));
  for (auto& votes : asked) votes.resize(width);
  parallel_for(
      queries.n_rows(), n_threads,
      [&](std::int64_t q, int worker) {
        training.count(queries.columns(q), queries.row(q), tolerance, asked[worker],
                       with.subspan(q * width, width), without.subspan(q * width, width));
      },
      interrupted);
}

}  // namespace vicinal
