// Label centroids: for each label the sum of the rows that have it, and the cosine of a row and it.
//
// Sums are whole numbers (a value x counts as the nearest multiple of 2^-32), so that they do not
// depend on the order of rows, on threads, or on rows that came and went: centroids after any
// changes have the bits of centroids built afresh.
//
// An object never changes. A change returns another one, which shares the lists of all features
// that the changed rows do not have.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/sparse_accumulator.hpp"

namespace vicinal {

// A whole number modulo 2^128, for exact sums of squares.
struct Wide {
  std::uint64_t high = 0, low = 0;

  static Wide square_of(std::int64_t value) {
    const std::uint64_t size =
        value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
    const std::uint64_t h = size >> 32, l = size & 0xffffffffu, middle = h * l;
    Wide square{h * h + (middle >> 31), l * l};
    square.low += middle << 33;
    if (square.low < (middle << 33)) ++square.high;
    return square;
  }

  Wide& operator+=(const Wide& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
    return *this;
  }

  Wide& operator-=(const Wide& other) {
    high -= other.high + (low < other.low ? 1 : 0);
    low -= other.low;
    return *this;
  }

  double as_double() const {
    return std::ldexp(static_cast<double>(high), 64) + static_cast<double>(low);
  }
};

class LabelCentroids {
 public:
  static constexpr int scale_bits = 32;

  // Of a value of a row of length one.
  static std::int64_t fixed(double value) { return std::llround(std::ldexp(value, scale_bits)); }

  // The labels of the rows that have a feature, and the sum of its values in the rows of each.
  struct Posting {
    std::vector<std::int32_t> labels;  // rising
    std::vector<std::int64_t> sums;    // not 0
  };

  LabelCentroids(const CsrView<double>& rows, const PatternView& labels, int n_threads,
                 const InterruptCheck& interrupted = never_interrupted)
      : n_features_(rows.n_columns),
        n_labels_(labels.n_columns),
        squares_(labels.n_columns),
        norms_(labels.n_columns, 0.0) {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    build(rows, labels, n_threads, interrupted);
    for (std::int64_t label = 0; label < n_labels_; ++label) update_norm(label);
  }

  std::int64_t n_labels() const { return n_labels_; }
  std::int64_t n_features() const { return n_features_; }
  double norm(std::int32_t label) const { return norms_[label]; }  // of the fixed-point sums

  std::int64_t bytes() const {
    std::int64_t total = n_labels_ * 24 + std::ssize(pages_) * sizeof(Page);
    for (const auto& page : pages_)
      for (const auto& posting : *page)
        if (posting) total += sizeof(Posting) + 12 * posting->labels.size();
    return total;
  }

  // The same with rows added (`sign` 1) or taken out (-1), of which it must have been built;
  // `n_labels` may be larger than before.
  LabelCentroids changed(const CsrView<double>& rows, const PatternView& labels, int sign) const {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    VICINAL_ASSERT(rows.n_columns == n_features_ && labels.n_columns >= n_labels_);
    LabelCentroids result(*this);
    result.n_labels_ = labels.n_columns;
    result.squares_.resize(result.n_labels_);
    result.norms_.resize(result.n_labels_, 0.0);
    const std::vector<Change> changes = changes_of(rows, labels, sign);
    for (std::size_t first = 0; first < changes.size();) {
      std::size_t last = first;
      while (last < changes.size() && changes[last].feature == changes[first].feature) ++last;
      result.replace(changes[first].feature, std::span(changes).subspan(first, last - first));
      first = last;
    }
    for (std::int64_t row = 0; row < rows.n_rows(); ++row)
      for (const std::int32_t label : labels.columns(row)) result.update_norm(label);
    return result;
  }

  // Add to `sums` the product of a row and the sum of each label that shares a feature with it.
  void add_products(std::span<const std::int32_t> features, std::span<const double> values,
                    SparseAccumulator& sums) const {
    for (std::size_t i = 0; i < features.size(); ++i) {
      const Posting* posting = posting_of(features[i]);
      if (posting == nullptr) continue;
      const double value = values[i];
      const std::int32_t* labels = posting->labels.data();
      const std::int64_t* counts = posting->sums.data();
      for (std::size_t j = 0; j < posting->labels.size(); ++j)
        sums.add(labels[j], value * static_cast<double>(counts[j]));
    }
  }

  // The value of one feature in the sum of a label.
  std::int64_t sum(std::int32_t feature, std::int32_t label) const {
    const Posting* posting = posting_of(feature);
    if (posting == nullptr) return 0;
    const auto& labels = posting->labels;
    const auto at = std::lower_bound(labels.begin(), labels.end(), label);
    return at == labels.end() || *at != label ? 0 : posting->sums[at - labels.begin()];
  }

  // The cosine for a row of length one, from its product with the sum of a label.
  double cosine(std::int32_t label, double product) const {
    return norms_[label] > 0.0 ? product / norms_[label] : 0.0;
  }

  // The same for a row that is in the sum, as if it were not; 0 if nothing else is in it.
  double cosine_without(std::int32_t label, double product, double own_product,
                        double own_square) const {
    const double square = norms_[label] * norms_[label] - 2.0 * product * one + own_square;
    if (square <= own_square * least_share) return 0.0;
    return (product - own_product) / std::sqrt(square);
  }

  static constexpr double one = 4294967296.0;  // 2^scale_bits

 private:
  static constexpr std::int64_t page_features = 64;
  // Sums whose square is below this share of a row's are nothing but roundings.
  static constexpr double least_share = 1e-9;
  using Page = std::array<std::shared_ptr<const Posting>, page_features>;

  struct Change {
    std::int32_t feature, label;
    std::int64_t by;
  };

  const Posting* posting_of(std::int32_t feature) const {
    return (*pages_[feature / page_features])[feature % page_features].get();
  }

  void update_norm(std::int64_t label) { norms_[label] = std::sqrt(squares_[label].as_double()); }

  static std::vector<Change> changes_of(const CsrView<double>& rows, const PatternView& labels,
                                        int sign) {
    std::vector<Change> changes;
    for (std::int64_t row = 0; row < rows.n_rows(); ++row) {
      const auto features = rows.columns(row);
      const auto values = rows.row(row);
      for (std::size_t i = 0; i < features.size(); ++i)
        for (const std::int32_t label : labels.columns(row))
          changes.push_back({features[i], label, sign * fixed(values[i])});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.feature, a.label) < std::pair(b.feature, b.label);
    });
    return changes;
  }

  // Replace the list of one feature by one with these changes, sorted by label.
  void replace(std::int32_t feature, std::span<const Change> changes) {
    auto& page = pages_[feature / page_features];
    auto copy = std::make_shared<Page>(*page);
    auto& slot = (*copy)[feature % page_features];
    static const Posting nothing;
    slot = merged(slot ? *slot : nothing, changes);
    page = std::move(copy);
  }

  std::shared_ptr<const Posting> merged(const Posting& old, std::span<const Change> changes) {
    auto next = std::make_shared<Posting>();
    next->labels.reserve(old.labels.size() + changes.size());
    next->sums.reserve(old.labels.size() + changes.size());
    std::size_t at = 0;
    const auto keep = [&](std::int32_t label, std::int64_t sum) {
      if (sum == 0) return;
      next->labels.push_back(label);
      next->sums.push_back(sum);
    };
    for (std::size_t i = 0; i < changes.size();) {
      const std::int32_t label = changes[i].label;
      std::int64_t by = 0;
      for (; i < changes.size() && changes[i].label == label; ++i) by += changes[i].by;
      for (; at < old.labels.size() && old.labels[at] < label; ++at)
        keep(old.labels[at], old.sums[at]);
      std::int64_t before = 0;
      if (at < old.labels.size() && old.labels[at] == label) before = old.sums[at++];
      squares_[label] += Wide::square_of(before + by);
      squares_[label] -= Wide::square_of(before);
      keep(label, before + by);
    }
    for (; at < old.labels.size(); ++at) keep(old.labels[at], old.sums[at]);
    if (next->labels.empty()) return nullptr;
    return next;
  }

  // The rows that have each feature, then feature by feature the sums of their labels.
  void build(const CsrView<double>& rows, const PatternView& labels, int n_threads,
             const InterruptCheck& interrupted) {
    std::vector<std::int64_t> start(n_features_ + 1, 0);
    for (const std::int32_t feature : rows.indices) ++start[feature + 1];
    for (std::int64_t f = 0; f < n_features_; ++f) start[f + 1] += start[f];
    std::vector<std::int32_t> row_of(rows.indices.size());
    std::vector<double> value_of(rows.indices.size());
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::int64_t row = 0; row < rows.n_rows(); ++row)
      for (std::int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
        const std::int64_t to = next[rows.indices[at]]++;
        row_of[to] = static_cast<std::int32_t>(row);
        value_of[to] = rows.values[at];
      }
    const std::int64_t n_pages = (n_features_ + page_features - 1) / page_features;
    std::vector<std::shared_ptr<Page>> made(n_pages);
    std::vector<std::vector<std::int64_t>> sums(std::max(n_threads, 1));
    std::vector<std::vector<std::int32_t>> touched(std::max(n_threads, 1));
    parallel_for(
        n_pages, n_threads,
        [&](std::int64_t number, int worker) {
          auto& total = sums[worker];
          auto& seen = touched[worker];
          total.resize(n_labels_, 0);
          auto page = std::make_shared<Page>();
          const std::int64_t last = std::min(n_features_, (number + 1) * page_features);
          for (std::int64_t f = number * page_features; f < last; ++f) {
            for (std::int64_t at = start[f]; at < start[f + 1]; ++at) {
              const std::int64_t value = fixed(value_of[at]);
              if (value == 0) continue;
              for (const std::int32_t label : labels.columns(row_of[at])) {
                if (total[label] == 0) seen.push_back(label);
                total[label] += value;
              }
            }
            (*page)[f % page_features] = drained(total, seen);
          }
          made[number] = std::move(page);
        },
        interrupted);
    pages_.assign(made.begin(), made.end());
    for (const auto& page : pages_)
      for (const auto& posting : *page)
        if (posting)
          for (std::size_t j = 0; j < posting->labels.size(); ++j)
            squares_[posting->labels[j]] += Wide::square_of(posting->sums[j]);
  }

  // A sum that returned to 0 may be seen twice, or be 0 in the end.
  static std::shared_ptr<const Posting> drained(std::vector<std::int64_t>& total,
                                                std::vector<std::int32_t>& seen) {
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    auto posting = std::make_shared<Posting>();
    posting->labels.reserve(seen.size());
    posting->sums.reserve(seen.size());
    for (const std::int32_t label : seen) {
      if (total[label] != 0) {
        posting->labels.push_back(label);
        posting->sums.push_back(total[label]);
      }
      total[label] = 0;
    }
    seen.clear();
    if (posting->labels.empty()) return nullptr;
    return posting;
  }

  std::int64_t n_features_ = 0, n_labels_ = 0;
  std::vector<std::shared_ptr<const Page>> pages_;
  std::vector<Wide> squares_;
  std::vector<double> norms_;
};

}  // namespace vicinal
