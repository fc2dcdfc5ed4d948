// Weighted sums, or maxima, of rows of a sparse matrix.
//
// Examples are the labels of neighbours weighted by similarity, and the labels near a row's
// features. One worker computes each output row and adds in the given order, so the bits of the
// result do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/sparse_accumulator.hpp"

namespace vicinal {

// For output row i, the matrix rows ids[begin[i] .. end[i]) and their weights. Rows whose weight is
// not positive are ignored, except by signed sums, which ignore those whose weight is 0.
struct RowChoice {
  std::span<const std::int64_t> begin;
  std::span<const std::int64_t> end;
  std::span<const std::int32_t> ids;
  std::span<const double> weights;

  std::int64_t n_rows() const { return static_cast<std::int64_t>(begin.size()); }
};

// A kept mean divides the sum of a column by the weights of the rows that have the column.
enum class Aggregate { sum, max, signed_sum, kept_mean };

struct RowSums {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;  // rising in each row
  std::vector<double> values;
  std::vector<double> totals;  // sum of the weights of each row, without those that are ignored
};

namespace row_sums_detail {

inline constexpr std::int64_t rows_per_task = 128;

struct Piece {
  std::vector<std::int32_t> indices;
  std::vector<double> values;
};

// The labels of a row: every stored entry is 1.
inline void add_row(SparseAccumulator& sums, const PatternView& labels, std::int64_t row,
                    double weight, Aggregate) {
  for (const std::int32_t label : labels.columns(row)) sums.add(label, weight);
}

inline void add_row(SparseAccumulator& sums, const CsrView<double>& matrix, std::int64_t row,
                    double weight, Aggregate aggregate) {
  const auto columns = matrix.columns(row);
  const auto values = matrix.row(row);
  if (aggregate != Aggregate::max)
    for (std::size_t j = 0; j < columns.size(); ++j) sums.add(columns[j], weight * values[j]);
  else
    for (std::size_t j = 0; j < columns.size(); ++j) sums.keep_max(columns[j], values[j]);
}

// Divide the values from `first` on by the weights of their columns, which become 0 again.
inline void divide(Piece& piece, std::size_t first, std::vector<double>& weights) {
  for (std::size_t at = first; at < piece.values.size(); ++at) {
    double& weight = weights[piece.indices[at]];
    piece.values[at] /= weight;
    weight = 0.0;
  }
}

// Concatenate the pieces of all tasks, freeing each after it is copied.
inline void join(std::vector<Piece>& pieces, RowSums& out, int n_threads) {
  out.indices.resize(out.indptr.back());
  out.values.resize(out.indptr.back());
  parallel_for(static_cast<std::int64_t>(pieces.size()), n_threads, [&](std::int64_t task, int) {
    Piece piece = std::move(pieces[task]);
    const std::int64_t at = out.indptr[task * rows_per_task];
    std::copy(piece.indices.begin(), piece.indices.end(), out.indices.begin() + at);
    std::copy(piece.values.begin(), piece.values.end(), out.values.begin() + at);
  });
}

}  // namespace row_sums_detail

// Adds to `start` (same shape, with its totals), or to zero if `start_totals` is empty. A sum
// continued this way has the same bits as one computed in a single call.
template <class Matrix>
RowSums row_sums(const RowChoice& choice, const Matrix& matrix, Aggregate aggregate,
                 const CsrView<double>& start, std::span<const double> start_totals, int n_threads,
                 const InterruptCheck& interrupted = never_interrupted) {
  using row_sums_detail::Piece, row_sums_detail::rows_per_task;
  VICINAL_ASSERT(choice.end.size() == choice.begin.size());
  VICINAL_ASSERT(choice.weights.size() == choice.ids.size());
  VICINAL_ASSERT(start_totals.empty() || start.n_rows() == choice.n_rows());
  const std::int64_t n = choice.n_rows();
  const std::int64_t n_tasks = (n + rows_per_task - 1) / rows_per_task;
  const bool continued = !start_totals.empty(), kept_mean = aggregate == Aggregate::kept_mean;
  VICINAL_ASSERT(!(continued && kept_mean));
  RowSums out{std::vector<std::int64_t>(n + 1, 0), {}, {}, std::vector<double>(n, 0.0)};
  std::vector<Piece> pieces(n_tasks);
  std::vector<SparseAccumulator> scratch(std::max(n_threads, 1));
  std::vector<std::vector<double>> column_weights(scratch.size());
  parallel_for(
      n_tasks, n_threads,
      [&](std::int64_t task, int worker) {
        SparseAccumulator& sums = scratch[worker];
        sums.resize(matrix.n_columns);
        std::vector<double>& of_column = column_weights[worker];
        if (kept_mean) of_column.resize(matrix.n_columns, 0.0);
        Piece& piece = pieces[task];
        for (std::int64_t i = task * rows_per_task; i < std::min(n, (task + 1) * rows_per_task);
             ++i) {
          double total = 0.0;
          if (continued) {
            total = start_totals[i];
            for (std::int64_t at = start.indptr[i]; at < start.indptr[i + 1]; ++at)
              sums.add(start.indices[at], start.values[at]);
          }
          for (std::int64_t at = choice.begin[i]; at < choice.end[i]; ++at) {
            const double weight = choice.weights[at];
            if (!(weight > 0.0 || (weight < 0.0 && aggregate == Aggregate::signed_sum))) continue;
            total += weight;
            row_sums_detail::add_row(sums, matrix, choice.ids[at], weight, aggregate);
            if (kept_mean)
              for (const std::int32_t column : matrix.columns(choice.ids[at]))
                of_column[column] += weight;
          }
          out.totals[i] = total;
          const std::size_t first = piece.values.size();
          out.indptr[i + 1] = sums.drain(piece.indices, piece.values);
          if (kept_mean) row_sums_detail::divide(piece, first, of_column);
        }
      },
      interrupted);
  for (std::int64_t i = 0; i < n; ++i) out.indptr[i + 1] += out.indptr[i];
  row_sums_detail::join(pieces, out, n_threads);
  return out;
}

}  // namespace vicinal
