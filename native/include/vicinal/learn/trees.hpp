// Sums of decision trees: what gradient boosting has learned, evaluated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/parallel.hpp"

namespace vicinal {

// Nodes of all trees one after the other. A node sends a row with row[feature] <= threshold to
// `left`, any other to `right`; both lie behind the node. A leaf has feature -1 and its value in
// `threshold`.
struct Trees {
  std::span<const std::int32_t> feature;
  std::span<const double> threshold;
  std::span<const std::int32_t> left;
  std::span<const std::int32_t> right;
  std::span<const std::int32_t> roots;
};

// The sum of the leaves that each row of a row-major matrix reaches, added tree by tree.
inline std::vector<double> tree_sums(const Trees& trees, std::span<const float> cells,
                                     std::int64_t n_columns, int n_threads,
                                     const InterruptCheck& interrupted = never_interrupted) {
  constexpr std::int64_t rows_per_task = 256;  // the cells of a task stay in the cache
  const std::int64_t n_rows =
      n_columns == 0 ? 0 : static_cast<std::int64_t>(cells.size()) / n_columns;
  std::vector<double> sums(n_rows, 0.0);
  parallel_for((n_rows + rows_per_task - 1) / rows_per_task, n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t last = std::min(n_rows, (task + 1) * rows_per_task);
                 for (const std::int32_t root : trees.roots)
                   for (std::int64_t row = task * rows_per_task; row < last; ++row) {
                     const float* cell = cells.data() + row * n_columns;
                     std::int32_t node = root;
                     while (trees.feature[node] >= 0)
                       node =
                           static_cast<double>(cell[trees.feature[node]]) <= trees.threshold[node]
                               ? trees.left[node]
                               : trees.right[node];
                     sums[row] += trees.threshold[node];
                   }
               },
               interrupted);
  return sums;
}

}  // namespace vicinal
