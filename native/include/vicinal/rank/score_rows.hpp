// Scores of rows for labels: one type for dense and sparse scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"

namespace vicinal {

// The ranking of all labels by their base scores, computed once and shared by all rows.

// Labels by (base score falling, label id rising). A row that stores s labels has this ranking with
// those s labels moved, so its ranks can be computed without visiting the other labels.
struct BaseOrder {
  std::vector<std::int32_t> label;     // by position
  std::vector<std::int32_t> position;  // by label
  std::vector<double> score;           // by position: falling

  explicit BaseOrder(std::span<const double> base) : BaseOrder(base, std::ssize(base)) {
    position.resize(base.size());
    for (std::size_t place = 0; place < label.size(); ++place)
      position[label[place]] = static_cast<std::int32_t>(place);
  }

  // The best ones only, without positions.
  BaseOrder(std::span<const double> base, std::int64_t count) : score(count) {
    if (count == 0) return;
    label.resize(base.size());
    std::iota(label.begin(), label.end(), 0);
    const auto before = [&](std::int32_t a, std::int32_t b) {
      return base[a] != base[b] ? base[a] > base[b] : a < b;
    };
    if (count < std::ssize(base))
      std::nth_element(label.begin(), label.begin() + count, label.end(), before);
    label.resize(count);
    std::sort(label.begin(), label.end(), before);
    for (std::size_t place = 0; place < label.size(); ++place) score[place] = base[label[place]];
  }
};

// Row i stores rising label ids and their scores; a label it does not store has base[label]. Dense
// scores are rows that store every label: `indptr` and `base` are empty, and all rows share one
// list of ids 0 .. n_labels - 1.
struct ScoreRows {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::span<const double> values;
  std::span<const double> base;
  std::int64_t n_rows = 0;
  std::int64_t n_labels = 0;

  ScoreRows(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
            std::span<const double> values, std::span<const double> base, std::int64_t n_rows,
            std::int64_t n_labels)
      : indptr(indptr),
        indices(indices),
        values(values),
        base(base),
        n_rows(n_rows),
        n_labels(n_labels) {
    if (is_dense()) {
      VICINAL_ASSERT(std::ssize(values) == n_rows * n_labels);
      VICINAL_ASSERT(std::ssize(indices) == n_labels && base.empty());
    } else {
      VICINAL_ASSERT(std::ssize(indptr) == n_rows + 1 && std::ssize(base) == n_labels);
      VICINAL_ASSERT(is_csr(indptr, indices, n_labels) && values.size() == indices.size());
    }
  }

  bool is_dense() const { return indptr.empty(); }
  std::span<const std::int32_t> labels(std::int64_t i) const {
    return is_dense() ? indices : indices.subspan(indptr[i], indptr[i + 1] - indptr[i]);
  }
  std::span<const double> row(std::int64_t i) const {
    return is_dense() ? values.subspan(i * n_labels, n_labels)
                      : values.subspan(indptr[i], indptr[i + 1] - indptr[i]);
  }
  double score(std::int64_t i, std::int32_t label) const {
    if (is_dense()) return values[i * n_labels + label];
    const auto stored = labels(i);
    const auto found = std::lower_bound(stored.begin(), stored.end(), label);
    return found != stored.end() && *found == label ? row(i)[found - stored.begin()] : base[label];
  }
};

// Rows per task: enough work for one task, few enough to share them evenly.
inline constexpr std::int64_t rows_per_task = 64;

inline std::int64_t tasks_for(std::int64_t n_rows) {
  return (n_rows + rows_per_task - 1) / rows_per_task;
}

}  // namespace vicinal
