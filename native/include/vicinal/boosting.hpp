// AdaBoost.MH: the split of rows by one feature that leaves the labels purest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/parallel.hpp"

namespace vicinal {

// Feature j's values other than 0: values[indptr[j] .. indptr[j + 1]), rising, with their rows.
struct SortedColumns {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> rows;
  std::span<const double> values;

  std::int64_t n_columns() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
};

// Rows with a value up to `below` on one side, from `above` on the other; none lies between.
struct Split {
  double z = std::numeric_limits<double>::infinity();
  std::int64_t feature = -1;  // -1: no feature tells two rows apart
  double below = 0, above = 0;

  // The purest; of equals the first feature, then the lowest values.
  bool better_than(const Split& other) const {
    if (z != other.z) return z < other.z;
    return feature != other.feature ? feature < other.feature : below < other.below;
  }
};

// Twice the weight of the cells with a label (`with`) and without it, label by label.
struct LabelWeights {
  std::vector<double> with, without;

  explicit LabelWeights(std::size_t n_labels) : with(n_labels), without(n_labels) {}

  void clear() {
    std::fill(with.begin(), with.end(), 0.0);
    std::fill(without.begin(), without.end(), 0.0);
  }

  // Signed weights of one row: positive where it has the label.
  void add(const double* signed_weights) {
    const std::size_t n_labels = with.size();
    double* plus = with.data();
    double* minus = without.data();
    for (std::size_t l = 0; l < n_labels; ++l) {
      plus[l] += std::abs(signed_weights[l]) + signed_weights[l];
      minus[l] += std::abs(signed_weights[l]) - signed_weights[l];
    }
  }
};

// Searches all splits of the given rows, one feature after the other.
//
// Z = 2 sum over the two sides and the labels of sqrt(W+ W-). A walk over the sorted rows of a
// feature adds their weights to one side; the other side is the total less that. Negative values
// are walked upwards and positive ones downwards, so the rows with value 0 are never visited: they
// are part of the other side.
//
// The caller gives weights that are multiples of 2^-51 and add up to about 1, so every sum and
// difference here is exact: Z depends on which rows lie together and on nothing else, neither on
// the order of rows nor on the thread, and a side that is pure counts as exactly pure.
class SplitSearch {
 public:
  SplitSearch(const SortedColumns& columns, std::int64_t n_rows, std::int64_t n_labels)
      : columns_(columns), n_rows_(n_rows), n_labels_(static_cast<std::size_t>(n_labels)) {}

  // The best split of the rows marked in `members`; weights are n_rows x n_labels, signed.
  Split best(std::span<const double> weights, std::span<const std::uint8_t> members, int n_threads,
             const InterruptCheck& interrupted = never_interrupted) const {
    LabelWeights total(n_labels_);
    std::int64_t n_members = 0;
    for (std::int64_t i = 0; i < n_rows_; ++i)
      if (members[i]) {
        total.add(weights.data() + i * n_labels_);
        ++n_members;
      }
    std::vector<Walk> walks;
    for (int t = 0; t < std::max(n_threads, 1); ++t)
      walks.emplace_back(weights, members, total, n_members);
    parallel_for(
        columns_.n_columns(), n_threads,
        [&](std::int64_t feature, int worker) { walk(feature, walks[worker]); }, interrupted);
    Split best;
    for (const auto& walk : walks)
      if (walk.best.better_than(best)) best = walk.best;
    return best;
  }

 private:
  // What a thread needs while it walks: the task, the side that grows, the best split so far.
  struct Walk {
    std::span<const double> weights;
    std::span<const std::uint8_t> members;
    const LabelWeights& total;
    std::int64_t n_members;
    LabelWeights side;
    std::vector<double> terms;
    std::vector<std::int64_t> kept;  // places of the members in the feature
    Split best;

    Walk(std::span<const double> weights, std::span<const std::uint8_t> members,
         const LabelWeights& total, std::int64_t n_members)
        : weights(weights),
          members(members),
          total(total),
          n_members(n_members),
          side(total.with.size()),
          terms(total.with.size()) {}

    void offer(std::int64_t feature, double below, double above) {
      const Split split{z(), feature, below, above};
      if (split.better_than(best)) best = split;
    }

    // The sum is by label, so that it does not matter which of the two sides has grown.
    double z() {
      const std::size_t n_labels = terms.size();
      const double *all_plus = total.with.data(), *all_minus = total.without.data();
      const double *plus = side.with.data(), *minus = side.without.data();
      double* term = terms.data();
      for (std::size_t l = 0; l < n_labels; ++l)
        term[l] = std::sqrt(plus[l] * minus[l]) +
                  std::sqrt((all_plus[l] - plus[l]) * (all_minus[l] - minus[l]));
      double sum = 0;
      for (std::size_t l = 0; l < n_labels; ++l) sum += term[l];
      return sum;
    }
  };

  void walk(std::int64_t feature, Walk& walk) const {
    auto& kept = walk.kept;
    kept.clear();
    for (auto at = columns_.indptr[feature]; at < columns_.indptr[feature + 1]; ++at)
      if (walk.members[columns_.rows[at]]) kept.push_back(at);
    const auto n_kept = static_cast<std::int64_t>(kept.size());
    const auto first_positive =
        std::partition_point(kept.begin(), kept.end(),
                             [&](std::int64_t at) { return columns_.values[at] < 0; }) -
        kept.begin();
    const bool has_zeros = n_kept < walk.n_members;
    const auto value = [&](std::int64_t k) { return columns_.values[kept[k]]; };
    const auto add = [&](std::int64_t k) {
      walk.side.add(walk.weights.data() + columns_.rows[kept[k]] * n_labels_);
    };

    walk.side.clear();
    for (std::int64_t k = 0; k < first_positive; ++k) {
      add(k);
      const bool is_last = k + 1 == first_positive;
      if (is_last && !has_zeros) break;  // the walk from the other end comes by here
      const double next = is_last ? 0.0 : value(k + 1);
      if (value(k) < next) walk.offer(feature, value(k), next);
    }
    // Without zeros and positives the walk above stopped before the last value: nothing is above.
    walk.side.clear();
    for (std::int64_t k = n_kept - 1; k >= first_positive; --k) {
      add(k);
      const bool is_first = k == first_positive;
      if (is_first && !has_zeros && k == 0) break;  // nothing is below
      const double next = is_first && has_zeros ? 0.0 : value(k - 1);
      if (next < value(k)) walk.offer(feature, next, value(k));
    }
  }

  SortedColumns columns_;
  std::int64_t n_rows_;
  std::size_t n_labels_;
};

}  // namespace vicinal
