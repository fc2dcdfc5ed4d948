// Quadratic forms of sparse rows: x' M x for each row x of a sparse matrix and a symmetric M.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace vicinal
