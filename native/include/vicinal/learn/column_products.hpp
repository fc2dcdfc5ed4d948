// Products of all pairs of columns of a sparse matrix: X'X, dense.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

// Write the entries on and below the diagonal of X'X to `products`, a row-major square matrix.
// Sums run in double, in rising order of rows. Memory beside it: where the entries of each column
// stand, and a column of doubles for each thread.
template <class Number>
void column_products(const CsrView<double>& rows, std::span<Number> products, int n_threads,
                     const InterruptCheck& interrupted = never_interrupted) {
  constexpr std::int64_t columns_per_task = 16;
  const auto size = static_cast<std::size_t>(rows.n_columns);
  VICINAL_ASSERT(products.size() == size * size);
  struct Entry {
    std::int64_t row, place;
  };
  std::vector<std::int64_t> start(size + 1, 0);
  for (const std::int32_t column : rows.indices) ++start[column + 1];
  for (std::size_t column = 0; column < size; ++column) start[column + 1] += start[column];
  std::vector<Entry> entries(rows.indices.size());
  std::vector<std::int64_t> next(start.begin(), start.end() - 1);
  for (std::int64_t row = 0; row < rows.n_rows(); ++row)
    for (std::int64_t place = rows.indptr[row]; place < rows.indptr[row + 1]; ++place)
      entries[next[rows.indices[place]]++] = {row, place};

  std::vector<std::vector<double>> sums(std::max(n_threads, 1), std::vector<double>(size));
  const auto n_columns = static_cast<std::int64_t>(size);
  parallel_for((n_columns + columns_per_task - 1) / columns_per_task, n_threads,
               [&](std::int64_t task, int worker) {
                 double* sum = sums[worker].data();
                 const std::int64_t last = std::min(n_columns, (task + 1) * columns_per_task);
                 for (std::int64_t column = task * columns_per_task; column < last; ++column) {
                   std::fill_n(sum, column + 1, 0.0);
                   for (std::int64_t at = start[column]; at < start[column + 1]; ++at) {
                     const double value = rows.values[entries[at].place];
                     for (std::int64_t place = rows.indptr[entries[at].row];
                          place <= entries[at].place; ++place)
                       sum[rows.indices[place]] += value * rows.values[place];
                   }
                   std::transform(sum, sum + column + 1, products.data() + column * n_columns,
                                  [](double each) { return static_cast<Number>(each); });
                 }
               },
               interrupted);
}

}  // namespace vicinal
