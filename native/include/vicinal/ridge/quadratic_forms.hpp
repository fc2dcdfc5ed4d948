// Quadratic forms of sparse rows: x' M x for each row x of a sparse matrix and a symmetric M.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

// `matrix` is square and row-major, with as many columns as the rows have; only the entries on and
// below the diagonal are read. Sums run in double, in rising order of columns.
template <class Number>
std::vector<double> quadratic_forms(const CsrView<double>& rows, std::span<const Number> matrix,
                                    int n_threads,
                                    const InterruptCheck& interrupted = never_interrupted) {
  constexpr std::int64_t rows_per_task = 64;
  const std::int64_t n_rows = rows.n_rows();
  const auto size = static_cast<std::size_t>(rows.n_columns);
  std::vector<double> forms(n_rows, 0.0);
  parallel_for(
      (n_rows + rows_per_task - 1) / rows_per_task, n_threads,
      [&](std::int64_t task, int) {
        const std::int64_t last = std::min(n_rows, (task + 1) * rows_per_task);
        for (std::int64_t row = task * rows_per_task; row < last; ++row) {
          const auto columns = rows.columns(row);
          const auto values = rows.row(row);
          double form = 0.0;
          for (std::size_t i = 0; i < columns.size(); ++i) {
            const Number* line = matrix.data() + static_cast<std::size_t>(columns[i]) * size;
            double below = 0.0;
            for (std::size_t j = 0; j < i; ++j)
              below += values[j] * static_cast<double>(line[columns[j]]);
            form += values[i] * (2.0 * below + values[i] * static_cast<double>(line[columns[i]]));
          }
          forms[row] = form;
        }
      },
      interrupted);
  return forms;
}

// Products of all pairs of columns of a sparse matrix: X'X, dense.

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
