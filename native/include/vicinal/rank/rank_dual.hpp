// Rank-SVM: coordinate ascent on its dual problem, one row after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"

namespace vicinal {

// A row i with labels Y and others N has a variable a(p, q) in [0, C / (|Y| |N|)] for each pair of
// p in Y and q in N, "p should score more than q by 1". They enter the scores only by
//     b(i, k) = sum of a(k, q) - sum of a(p, k),       f_k(x) = sum over i of b(i, k) K(x_i, x),
// and the dual is  sum of all a - 1/2 sum over k of b_k' K b_k,  to be maximised. Its slope
// along a(p, q) of row i is 1 - (f_p(x_i) - f_q(x_i)) and its curvature 2 K(x_i, x_i), so the best
// step in one variable is known, and it is clipped at the bounds. A row's pairs change its own
// scores only by K(x_i, x_i), so they are updated several times before the scores of all rows are,
// which is the expensive part (n per label that changed).
class RankDual {
 public:
  // `kernel` is n x n, row by row. Rows with no label or with all of them have no pairs.
  RankDual(std::span<const double> kernel, const PatternView& labels, double cost)
      : kernel_(kernel),
        labels_(labels),
        n_rows_(labels.n_rows()),
        n_labels_(labels.n_columns),
        cost_(cost),
        start_(n_rows_ + 1),
        weights_(n_rows_ * n_labels_),
        scores_(n_rows_ * n_labels_),
        own_(n_labels_),
        step_(n_labels_) {
    VICINAL_ASSERT(std::ssize(kernel) == n_rows_ * n_rows_);
    for (std::int64_t i = 0; i < n_rows_; ++i) start_[i + 1] = start_[i] + n_pairs(i);
    variables_.resize(start_.back());
  }

  // Visit the rows in this order.
  void sweep(std::span<const std::int64_t> order) {
    for (const auto i : order)
      if (n_pairs(i) > 0) visit(i);
  }

  // b, row by row.
  const std::vector<double>& weights() const { return weights_; }

  // Sum of all variables.
  double total() const {
    double sum = 0;
    for (const auto a : variables_) sum += a;
    return sum;
  }

 private:
  static constexpr int kInnerSweeps = 4;

  std::int64_t n_pairs(std::int64_t i) const {
    const auto n_true = static_cast<std::int64_t>(labels_.columns(i).size());
    return n_true * (n_labels_ - n_true);
  }

  void visit(std::int64_t i) {
    const double diagonal = kernel_[i * n_rows_ + i];
    const double bound = cost_ / static_cast<double>(n_pairs(i));
    for (std::int64_t k = 0; k < n_labels_; ++k) own_[k] = scores_[k * n_rows_ + i];
    std::fill(step_.begin(), step_.end(), 0.0);
    for (int sweep = 0; sweep < kInnerSweeps; ++sweep)
      if (!ascend(i, diagonal, bound)) break;
    for (std::int64_t k = 0; k < n_labels_; ++k)
      if (step_[k] != 0) update_scores(i, k);
  }

  // Move each pair of row i to its optimum; true if any moved.
  bool ascend(std::int64_t i, double diagonal, double bound) {
    const auto labels = labels_.columns(i);
    double* a = variables_.data() + start_[i];
    bool moved = false;
    for (const auto p : labels) {
      std::size_t next = 0;
      for (std::int32_t q = 0; q < n_labels_; ++q) {
        if (next < labels.size() && labels[next] == q) {
          ++next;
          continue;
        }
        const double change = best_step(*a, 1 - (own_[p] - own_[q]), diagonal, bound);
        if (change != 0) {
          moved = true;
          *a = std::clamp(*a + change, 0.0, bound);
          own_[p] += change * diagonal;
          own_[q] -= change * diagonal;
          step_[p] += change;
          step_[q] -= change;
        }
        ++a;
      }
    }
    return moved;
  }

  // Without curvature (a row at the origin of the kernel's space) the slope alone decides.
  static double best_step(double a, double slope, double diagonal, double bound) {
    if (diagonal > 0) return std::clamp(a + slope / (2 * diagonal), 0.0, bound) - a;
    return slope > 0 ? bound - a : slope < 0 ? -a : 0.0;
  }

  void update_scores(std::int64_t i, std::int64_t label) {
    const double step = step_[label];
    weights_[i * n_labels_ + label] += step;
    const double* column = kernel_.data() + i * n_rows_;  // the kernel is symmetric
    double* scores = scores_.data() + label * n_rows_;
    for (std::int64_t j = 0; j < n_rows_; ++j) scores[j] += step * column[j];
  }

  std::span<const double> kernel_;
  PatternView labels_;
  std::int64_t n_rows_, n_labels_;
  double cost_;
  std::vector<std::int64_t> start_;  // variables_[start_[i] .. start_[i + 1]): the pairs of row i
  std::vector<double> variables_;
  std::vector<double> weights_;     // row by row
  std::vector<double> scores_;      // f, label by label
  std::vector<double> own_, step_;  // of the current row: its scores, the change of its weights
};

}  // namespace vicinal
