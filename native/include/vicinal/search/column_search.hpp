// The columns of one matrix most similar to each column of another, both over the same rows.
//
// The first matrix comes transposed: row i of `items` lists the rows of `others` in which item i
// occurs. Adding up those rows gives the products with every column that shares a row with the
// item, and with no other; the sums run over rising rows, as in the definition of the cosine. The
// work is the number of (item, row, column) triples; nothing is as large as items × columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/sparse_accumulator.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

inline std::vector<double> column_norms(const CsrView<double>& matrix) {
  std::vector<double> norms(matrix.n_columns, 0.0);
  for (std::size_t at = 0; at < matrix.indices.size(); ++at)
    norms[matrix.indices[at]] += matrix.values[at] * matrix.values[at];
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

// Where results go: `k` cells per item, most similar first, ties to the lower column. Cells without
// a result keep what the caller put there.
struct ColumnAnswers {
  std::span<std::int32_t> ids;
  std::span<double> similarities;
  std::int64_t k;
};

namespace column_search_detail {

inline constexpr std::int64_t items_per_task = 64;

// Add up the products of one item with every column it shares a row with; return its length.
inline double add_up(const CsrView<double>& items, std::int64_t item, const CsrView<double>& others,
                     SparseAccumulator& dots) {
  double square = 0.0;
  for (std::int64_t at = items.indptr[item]; at < items.indptr[item + 1]; ++at) {
    const double value = items.values[at];
    square += value * value;
    const std::int32_t row = items.indices[at];
    for (std::int64_t cell = others.indptr[row]; cell < others.indptr[row + 1]; ++cell)
      dots.add(others.indices[cell], value * others.values[cell]);
  }
  return std::sqrt(square);
}

}  // namespace column_search_detail

inline void column_search(const CsrView<double>& items, const CsrView<double>& others,
                          const ColumnAnswers& answers, int n_threads,
                          const InterruptCheck& interrupted = never_interrupted) {
  using column_search_detail::items_per_task;
  const std::vector<double> norms = column_norms(others);
  const std::int64_t n = items.n_rows();
  std::vector<SparseAccumulator> scratch(std::max(n_threads, 1));
  parallel_for((n + items_per_task - 1) / items_per_task, n_threads,
               [&](std::int64_t task, int worker) {
                 SparseAccumulator& dots = scratch[worker];
                 dots.resize(others.n_columns);
                 TopK best(static_cast<std::size_t>(answers.k));
                 for (std::int64_t item = task * items_per_task;
                      item < std::min(n, (task + 1) * items_per_task); ++item) {
                   const double norm = column_search_detail::add_up(items, item, others, dots);
                   best.clear();
                   for (const std::int32_t column : dots.columns())
                     best.push({key_of(Metric::cosine, dots[column], norm, norms[column]), column});
                   dots.clear();
                   std::int64_t place = item * answers.k;
                   for (const Neighbor& neighbor : best.sort()) {
                     answers.ids[place] = neighbor.id;
                     answers.similarities[place++] = -neighbor.key;
                   }
                 }
               },
               interrupted);
}

}  // namespace vicinal
