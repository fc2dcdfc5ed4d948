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

// Labels are worked on four at a time, with labels of weight 0 added to fill the last four.
constexpr std::size_t kLanes = 4;

inline std::size_t whole_lanes(std::size_t n_labels) {
  return (n_labels + kLanes - 1) / kLanes * kLanes;
}

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
    for (std::size_t l = 0; l < n_labels; l += kLanes)
      for (std::size_t j = l; j < l + kLanes; ++j) {
        plus[j] += std::abs(signed_weights[j]) + signed_weights[j];
        minus[j] += std::abs(signed_weights[j]) - signed_weights[j];
      }
  }
};

// 2 sum over labels and the two sides of sqrt(W+ W-), of one side and the total of both, with the
// square roots taken in `Real`. It adds up each label's two terms first, so that it does not matter
// which of the two sides is given.
template <class Real>
Real impurity(const LabelWeights& side, const LabelWeights& total) {
  const double *all_plus = total.with.data(), *all_minus = total.without.data();
  const double *plus = side.with.data(), *minus = side.without.data();
  Real sums[kLanes] = {};
  for (std::size_t l = 0; l < side.with.size(); l += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) {
      const auto here = static_cast<Real>(plus[l + j] * minus[l + j]);
      const auto there =
          static_cast<Real>((all_plus[l + j] - plus[l + j]) * (all_minus[l + j] - minus[l + j]));
      sums[j] += std::sqrt(here) + std::sqrt(there);
    }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Searches all splits of the given rows, one feature after the other.
//
// Z = 2 sum over the two sides and the labels of sqrt(W+ W-). A walk over the sorted rows of a
// feature adds their weights to one side; the other side is the total less that. Negative values
// are walked upwards and positive ones downwards, so the rows with value 0 are never visited: they
// are part of the other side.
//
// The caller gives weights that are multiples of 2^-51 and add up to about 1, so every sum and
// difference here is exact: Z depends on which rows lie together and on nothing else, neither on
// the order of rows nor on the thread, and a side that is pure counts as exactly pure. Square roots
// take most of the time, so they are first taken in single precision, four times faster, and again
// in double only where the split may be the best.
class SplitSearch {
 public:
  SplitSearch(const SortedColumns& columns, std::int64_t n_rows, std::int64_t n_labels)
      : columns_(columns),
        n_rows_(n_rows),
        n_labels_(static_cast<std::size_t>(n_labels)),
        width_(whole_lanes(n_labels_)) {}

  // The best split of the rows marked in `members`; weights are n_rows x n_labels, signed.
  Split best(std::span<const double> weights, std::span<const std::uint8_t> members, int n_threads,
             const InterruptCheck& interrupted = never_interrupted) const {
    const auto padded = whole_rows(weights);
    LabelWeights total(width_);
    std::int64_t n_members = 0;
    for (std::int64_t i = 0; i < n_rows_; ++i)
      if (members[i]) {
        total.add(padded.data() + i * width_);
        ++n_members;
      }
    std::vector<Walk> walks;
    for (int t = 0; t < std::max(n_threads, 1); ++t)
      walks.emplace_back(padded, members, total, n_members);
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
    float slack;                     // 1 less what single precision may be wrong by
    std::vector<std::int64_t> kept;  // places of the members in the feature
    Split best;

    Walk(std::span<const double> weights, std::span<const std::uint8_t> members,
         const LabelWeights& total, std::int64_t n_members)
        : weights(weights),
          members(members),
          total(total),
          n_members(n_members),
          side(total.with.size()),
          slack(1 - static_cast<float>(total.with.size() + 8) *
                        std::numeric_limits<float>::epsilon()) {}

    void offer(std::int64_t feature, double below, double above) {
      if (impurity<float>(side, total) * slack > best.z) return;
      const Split split{impurity<double>(side, total), feature, below, above};
      if (split.better_than(best)) best = split;
    }
  };

  // The weights with labels of weight 0 added.
  std::vector<double> whole_rows(std::span<const double> weights) const {
    std::vector<double> padded(n_rows_ * width_);
    for (std::int64_t i = 0; i < n_rows_; ++i)
      std::copy_n(weights.begin() + i * n_labels_, n_labels_, padded.begin() + i * width_);
    return padded;
  }

  void walk(std::int64_t feature, Walk& walk) const {
    auto& kept = walk.kept;
    kept.clear();
    for (auto at = columns_.indptr[feature]; at < columns_.indptr[feature + 1]; ++at)
      if (walk.members[columns_.rows[at]]) kept.push_back(at);
    const auto is_negative = [&](std::int64_t at) { return columns_.values[at] < 0; };
    const auto first_positive =
        std::partition_point(kept.begin(), kept.end(), is_negative) - kept.begin();
    const bool has_zeros = static_cast<std::int64_t>(kept.size()) < walk.n_members;
    walk_up(feature, first_positive, has_zeros, walk);
    walk_down(feature, first_positive, has_zeros, walk);
  }

  // From the lowest value to the last one below 0.
  void walk_up(std::int64_t feature, std::int64_t first_positive, bool has_zeros,
               Walk& walk) const {
    walk.side.clear();
    for (std::int64_t k = 0; k < first_positive; ++k) {
      add(k, walk);
      const bool is_last = k + 1 == first_positive;
      if (is_last && !has_zeros) break;  // the walk down comes by here, if anything is above
      const double next = is_last ? 0.0 : value(k + 1, walk);
      if (value(k, walk) < next) walk.offer(feature, value(k, walk), next);
    }
  }

  // From the highest value to the first one above 0.
  void walk_down(std::int64_t feature, std::int64_t first_positive, bool has_zeros,
                 Walk& walk) const {
    walk.side.clear();
    for (auto k = static_cast<std::int64_t>(walk.kept.size()) - 1; k >= first_positive; --k) {
      add(k, walk);
      if (k == 0 && !has_zeros) break;  // nothing is below
      const double next = k == first_positive && has_zeros ? 0.0 : value(k - 1, walk);
      if (next < value(k, walk)) walk.offer(feature, next, value(k, walk));
    }
  }

  double value(std::int64_t k, const Walk& walk) const { return columns_.values[walk.kept[k]]; }

  void add(std::int64_t k, Walk& walk) const {
    walk.side.add(walk.weights.data() + columns_.rows[walk.kept[k]] * width_);
  }

  SortedColumns columns_;
  std::int64_t n_rows_;
  std::size_t n_labels_, width_;
};

}  // namespace vicinal
