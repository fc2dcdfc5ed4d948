// DML-kNN: how many training rows have the same votes as a query, with and without each label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

// A training row i matches the query x at label l if C_i(l) = C_x(l) and the votes of every other
// label differ by at most the tolerance. Equal votes do not differ, so row i matches at *some*
// label only if *all* its votes are within the tolerance of x's (i lies in the ball around x), and
// then at exactly the labels at which the two are equal. So one pass over each row settles all
// labels.
//
// Votes are sparse and nearly all 0. A row in the ball matches at a label without votes unless it
// stores one there, so only stored votes are visited; the rest follows from the size of the ball.
class DmlCounts {
 public:
  // Votes of the training rows (0 where none is stored) and their labels, of equal shape.
  DmlCounts(const CsrView<std::int32_t>& votes, const PatternView& labels)
      : votes_(votes), labels_(labels), start_(votes.n_columns + 1), rows_(votes.indices.size()) {
    VICINAL_ASSERT(votes.n_rows() == labels.n_rows() && votes.n_columns == labels.n_columns);
    for (const auto label : votes_.indices) ++start_[label + 1];
    for (std::size_t l = 1; l < start_.size(); ++l) start_[l] += start_[l - 1];
    std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
    for (std::int64_t i = 0; i < votes_.n_rows(); ++i)
      for (const auto label : votes_.columns(i))
        rows_[next[label]++] = static_cast<std::int32_t>(i);
  }

  // Fill `with` and `without`, one cell per label and initially 0, for the query with these votes.
  // `query_votes`, one cell per label, is scratch memory of a worker: all 0 before and after.
  void count(std::span<const std::int32_t> labels, std::span<const std::int32_t> votes,
             std::int32_t tolerance, std::vector<std::int32_t>& query_votes,
             std::span<std::int32_t> with, std::span<std::int32_t> without) const {
    for (std::size_t j = 0; j < labels.size(); ++j) query_votes[labels[j]] = votes[j];
    std::int32_t ball = 0;
    for_candidates(labels, votes, tolerance, [&](std::int64_t i, std::int64_t n_needed) {
      if (!in_ball(i, query_votes, tolerance, n_needed)) return;
      ++ball;
      count_row(i, query_votes, with, without);
    });
    for (std::size_t l = 0; l < with.size(); ++l) {
      const std::int32_t equal = query_votes[l] == 0 ? ball - without[l] : without[l];
      without[l] = equal - with[l];
    }
    for (const auto label : labels) query_votes[label] = 0;
  }

 private:
  // A label with more votes than the tolerance must have votes in every row of the ball. Of such
  // labels, the one with the fewest rows gives the candidates; without one, all rows are
  // candidates.
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

  // Whether all votes of row i are within the tolerance of the query's. A label that row i does not
  // store differs too much only if it is a needed one, so it suffices to count the needed ones.
  bool in_ball(std::int64_t i, const std::vector<std::int32_t>& query_votes, std::int32_t tolerance,
               std::int64_t n_needed) const {
    const auto labels = votes_.columns(i);
    const auto votes = votes_.row(i);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const std::int32_t wanted = query_votes[labels[j]];
      if (std::abs(votes[j] - wanted) > tolerance) return false;
      n_needed -= wanted > tolerance;
    }
    return n_needed == 0;
  }

  // Count a row of the ball. `with` counts the true labels at which it matches. Until the size of
  // the ball is known, `without` counts, for labels with votes in the query, that the row has as
  // many; for other labels, that it has votes and so does not match.
  void count_row(std::int64_t i, const std::vector<std::int32_t>& query_votes,
                 std::span<std::int32_t> with, std::span<std::int32_t> without) const {
    const auto labels = votes_.columns(i);
    const auto votes = votes_.row(i);
    for (std::size_t j = 0; j < labels.size(); ++j)
      without[labels[j]] += query_votes[labels[j]] == 0 || query_votes[labels[j]] == votes[j];
    std::size_t j = 0;
    for (const auto label : labels_.columns(i)) {
      while (j < labels.size() && labels[j] < label) ++j;
      const bool stored = j < labels.size() && labels[j] == label;
      with[label] += query_votes[label] == (stored ? votes[j] : 0);
    }
  }

  CsrView<std::int32_t> votes_;
  PatternView labels_;
  std::vector<std::int64_t>
      start_;  // rows_[start_[l] .. start_[l + 1]): the rows that store label l
  std::vector<std::int32_t> rows_;
};

// Counts for all queries, n_labels cells per row; `with` and `without` must be filled with 0.
inline void dml_counts(const DmlCounts& training, const CsrView<std::int32_t>& queries,
                       std::int32_t tolerance, std::span<std::int32_t> with,
                       std::span<std::int32_t> without, int n_threads,
                       const InterruptCheck& interrupted = never_interrupted) {
  const std::int64_t width = queries.n_columns;
  std::vector<std::vector<std::int32_t>> query_votes(std::max(n_threads, 1));
  for (auto& votes : query_votes) votes.resize(width);
  parallel_for(
      queries.n_rows(), n_threads,
      [&](std::int64_t q, int worker) {
        training.count(queries.columns(q), queries.row(q), tolerance, query_votes[worker],
                       with.subspan(q * width, width), without.subspan(q * width, width));
      },
      interrupted);
}

}  // namespace vicinal
