// AdaBoost.MH: the split of rows by one feature that minimises label impurity.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

// Feature j's non-zero values: values[indptr[j] .. indptr[j + 1]), rising, with their rows.
struct SortedColumns {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> rows;
  std::span<const double> values;

  std::int64_t n_columns() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
};

// Whether `columns` is a matrix of `n_rows` rows in compressed columns.
inline bool is_valid(const SortedColumns& columns, std::int64_t n_rows) {
  const auto& indptr = columns.indptr;
  return !indptr.empty() && indptr.front() == 0 && std::is_sorted(indptr.begin(), indptr.end()) &&
         indptr.back() == std::ssize(columns.rows) &&
         columns.values.size() == columns.rows.size() &&
         std::all_of(columns.rows.begin(), columns.rows.end(),
                     [&](std::int32_t row) { return row >= 0 && row < n_rows; });
}

// Rows with a value up to `below` on one side, from `above` on the other; none lies between.
struct Split {
  double z = std::numeric_limits<double>::infinity();
  std::int64_t feature = -1;  // -1: no feature separates two rows
  double below = 0, above = 0;

  // Lowest impurity first; of equals the first feature, then the lowest values.
  bool better_than(const Split& other) const {
    if (z != other.z) return z < other.z;
    return feature != other.feature ? feature < other.feature : below < other.below;
  }
};

// Labels are processed four at a time; labels of weight 0 pad the last four.
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
// square roots taken in `Real`. It adds each label's two terms first, so that the result does not
// depend on which of the two sides is given.
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
// Z = 2 sum over the two sides and the labels of sqrt(W+ W-). A scan over the sorted rows of a
// feature adds their weights to one side; the other side is the total minus that. Negative values
// are scanned upwards and positive ones downwards, so rows with value 0 are never visited: they
// belong to the other side.
//
// The caller gives weights that are multiples of 2^-51 and add up to about 1, so every sum and
// difference here is exact: Z depends only on which rows are on the same side, not on the order of
// rows or on threads, and a pure side counts as exactly pure. Square roots take most of the time,
// so they are first computed in single precision, four times faster, and again in double only if
// the split may be the best.
class SplitSearch {
 public:
  SplitSearch(const SortedColumns& columns, std::int64_t n_rows, std::int64_t n_labels)
      : columns_(columns),
        n_rows_(n_rows),
        n_labels_(static_cast<std::size_t>(n_labels)),
        width_(whole_lanes(n_labels_)) {
    VICINAL_ASSERT(is_valid(columns, n_rows));
  }

  // The best split of the rows marked in `members`; weights are n_rows x n_labels, signed.
  Split best(std::span<const double> weights, std::span<const std::uint8_t> members, int n_threads,
             const InterruptCheck& interrupted = never_interrupted) const {
    VICINAL_ASSERT(weights.size() == n_rows_ * n_labels_ && std::ssize(members) == n_rows_);
    const auto padded = whole_rows(weights);
    LabelWeights total(width_);
    std::int64_t n_members = 0;
    for (std::int64_t i = 0; i < n_rows_; ++i)
      if (members[i]) {
        total.add(padded.data() + i * width_);
        ++n_members;
      }
    std::vector<Scan> scans;
    for (int t = 0; t < std::max(n_threads, 1); ++t)
      scans.emplace_back(padded, members, total, n_members);
    parallel_for(
        columns_.n_columns(), n_threads,
        [&](std::int64_t feature, int worker) { scan(feature, scans[worker]); }, interrupted);
    Split best;
    for (const auto& scan : scans)
      if (scan.best.better_than(best)) best = scan.best;
    return best;
  }

 private:
  // State of a thread during a scan: the task, the growing side, the best split so far.
  struct Scan {
    std::span<const double> weights;
    std::span<const std::uint8_t> members;
    const LabelWeights& total;
    std::int64_t n_members;
    LabelWeights side;
    float slack;                     // 1 minus the relative error of single precision
    std::vector<std::int64_t> kept;  // positions of the members in the feature
    Split best;

    Scan(std::span<const double> weights, std::span<const std::uint8_t> members,
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

  void scan(std::int64_t feature, Scan& scan) const {
    auto& kept = scan.kept;
    kept.clear();
    for (auto at = columns_.indptr[feature]; at < columns_.indptr[feature + 1]; ++at)
      if (scan.members[columns_.rows[at]]) kept.push_back(at);
    const auto is_negative = [&](std::int64_t at) { return columns_.values[at] < 0; };
    const auto first_positive =
        std::partition_point(kept.begin(), kept.end(), is_negative) - kept.begin();
    const bool has_zeros = static_cast<std::int64_t>(kept.size()) < scan.n_members;
    scan_up(feature, first_positive, has_zeros, scan);
    scan_down(feature, first_positive, has_zeros, scan);
  }

  // From the lowest value to the last one below 0.
  void scan_up(std::int64_t feature, std::int64_t first_positive, bool has_zeros,
               Scan& scan) const {
    scan.side.clear();
    for (std::int64_t k = 0; k < first_positive; ++k) {
      add(k, scan);
      const bool is_last = k + 1 == first_positive;
      if (is_last && !has_zeros) break;  // scan_down covers this split, if anything is above
      const double next = is_last ? 0.0 : value(k + 1, scan);
      if (value(k, scan) < next) scan.offer(feature, value(k, scan), next);
    }
  }

  // From the highest value to the first one above 0.
  void scan_down(std::int64_t feature, std::int64_t first_positive, bool has_zeros,
                 Scan& scan) const {
    scan.side.clear();
    for (auto k = static_cast<std::int64_t>(scan.kept.size()) - 1; k >= first_positive; --k) {
      add(k, scan);
      if (k == 0 && !has_zeros) break;  // nothing is below
      const double next = k == first_positive && has_zeros ? 0.0 : value(k - 1, scan);
      if (next < value(k, scan)) scan.offer(feature, next, value(k, scan));
    }
  }

  double value(std::int64_t k, const Scan& scan) const { return columns_.values[scan.kept[k]]; }

  void add(std::int64_t k, Scan& scan) const {
    scan.side.add(scan.weights.data() + columns_.rows[scan.kept[k]] * width_);
  }

  SortedColumns columns_;
  std::int64_t n_rows_;
  std::size_t n_labels_, width_;
};

}  // namespace vicinal
