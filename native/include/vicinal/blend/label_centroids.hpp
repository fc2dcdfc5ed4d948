// Label centroids: for each label the sum of the rows that have it, and the cosine of a row and it.
//
// Sums are whole numbers (a value x counts as the nearest multiple of 2^-32), so that they do not
// depend on the order of rows, on threads, or on rows that came and went: centroids after any
// changes have the bits of centroids built afresh.
//
// For each feature there is a list of the labels whose rows have it. Lists stand one after another
// in blocks of consecutive features, in memory or in files that are mapped. Neither a block nor an
// object ever changes: a change returns another object, in which some lists are replaced by short
// lists of differences from them.
//
// The most frequent features have a number per label as well, which vector instructions add.
//
// Memory: 8 bytes per pair of a feature and a label, 4 per feature, 24 per label; 4 per label and
// frequent feature, of which there are at most 64.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "vicinal/blend/dense_sums.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/top_k.hpp"

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

// The sums of some consecutive features: for each of them labels, rising, and a number per label.
// A number from 1 to 2^32 - 1 is the sum; 0 stands for the next of the `wide` sums.
struct CentroidBlock {
  std::int64_t first = 0;                             // feature
  std::span<const std::int64_t> starts, wide_starts;  // by feature, and the end
  std::span<const std::int32_t> labels;
  std::span<const std::uint32_t> sums;
  std::span<const std::int64_t> wide;
  std::span<const std::uint32_t> wide_places;  // in their lists
  std::shared_ptr<const void> owner;           // of what the spans refer to

  std::int64_t n_features() const { return std::ssize(starts) - 1; }
  std::int64_t bytes() const {
    return starts.size_bytes() + wide_starts.size_bytes() + labels.size_bytes() +
           sums.size_bytes() + wide.size_bytes() + wide_places.size_bytes();
  }

  // Whether arrays that come from a file can be read without harm.
  bool is_sound(std::int64_t n_labels) const {
    return is_rising(starts, labels.size()) && is_rising(wide_starts, wide.size()) &&
           starts.size() == wide_starts.size() && sums.size() == labels.size() &&
           wide_places.size() == wide.size() && has_sound_lists(n_labels);
  }

 private:
  static bool is_rising(std::span<const std::int64_t> starts, std::size_t last) {
    return !starts.empty() && starts.front() == 0 &&
           starts.back() == static_cast<std::int64_t>(last) &&
           std::is_sorted(starts.begin(), starts.end());
  }

  bool has_sound_lists(std::int64_t n_labels) const {
    for (std::int64_t f = 0; f < n_features(); ++f) {
      std::int64_t previous = -1, n_wide = 0;
      for (std::int64_t at = starts[f]; at < starts[f + 1]; ++at) {
        if (labels[at] <= previous || labels[at] >= n_labels) return false;
        previous = labels[at];
        if (sums[at] != 0) continue;
        const std::int64_t number = wide_starts[f] + n_wide++;
        if (number >= wide_starts[f + 1] || wide_places[number] != at - starts[f]) return false;
      }
      if (n_wide != wide_starts[f + 1] - wide_starts[f]) return false;
    }
    return true;
  }
};

// The arrays of a block, growing.
struct GrowingBlock {
  std::vector<std::int64_t> starts{0}, wide_starts{0}, wide;
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> sums, wide_places;

  void add(std::int32_t label, std::int64_t sum) {
    if (sum == 0) return;
    const bool fits = sum > 0 && sum <= std::numeric_limits<std::uint32_t>::max();
    labels.push_back(label);
    sums.push_back(fits ? static_cast<std::uint32_t>(sum) : 0);
    if (fits) return;
    wide.push_back(sum);
    wide_places.push_back(static_cast<std::uint32_t>(std::ssize(labels) - 1 - starts.back()));
  }

  void end_list() {
    starts.push_back(std::ssize(labels));
    wide_starts.push_back(std::ssize(wide));
  }

  // Make room for the lists of blocks.
  void reserve(std::span<const CentroidBlock> blocks) {
    std::size_t n_labels = 0;
    for (const CentroidBlock& block : blocks) n_labels += block.labels.size();
    labels.reserve(labels.size() + n_labels);
    sums.reserve(sums.size() + n_labels);
  }

  // Append the lists of another block.
  void append(const CentroidBlock& block) {
    for (std::size_t i = 1; i < block.starts.size(); ++i) {
      starts.push_back(std::ssize(labels) + block.starts[i]);
      wide_starts.push_back(std::ssize(wide) + block.wide_starts[i]);
    }
    labels.insert(labels.end(), block.labels.begin(), block.labels.end());
    sums.insert(sums.end(), block.sums.begin(), block.sums.end());
    wide.insert(wide.end(), block.wide.begin(), block.wide.end());
    wide_places.insert(wide_places.end(), block.wide_places.begin(), block.wide_places.end());
  }

  static CentroidBlock shared(GrowingBlock&& arrays, std::int64_t first) {
    arrays.labels.shrink_to_fit();
    arrays.sums.shrink_to_fit();
    const auto kept = std::make_shared<const GrowingBlock>(std::move(arrays));
    return {first,      kept->starts, kept->wide_starts, kept->labels,
            kept->sums, kept->wide,   kept->wide_places, kept};
  }
};

// The labels of a feature and their sums: a list of a block, and differences from it.
struct CentroidList {
  struct Difference {
    std::int32_t label;
    bool is_listed;    // whether the block's list has the label
    std::int64_t sum;  // instead of what the list says; 0 for none
  };

  std::span<const std::int32_t> labels;
  std::span<const std::uint32_t> sums;
  std::span<const std::int64_t> wide;
  std::span<const std::uint32_t> wide_places;
  std::vector<Difference> differences;  // rising
  std::shared_ptr<const void> owner;    // of the spans, if nothing else keeps them

  // As long as the block lives.
  static CentroidList of(const CentroidBlock& block, std::int64_t feature) {
    const std::int64_t f = feature - block.first;
    const auto size = block.starts[f + 1] - block.starts[f];
    const auto first = block.wide_starts[f], n_wide = block.wide_starts[f + 1] - first;
    return {block.labels.subspan(block.starts[f], size),
            block.sums.subspan(block.starts[f], size),
            block.wide.subspan(first, n_wide),
            block.wide_places.subspan(first, n_wide),
            {},
            nullptr};
  }

  // What the block says of a label; 0 if nothing.
  std::int64_t listed(std::int32_t label) const { return listed(label, 0, labels.size()); }

  // The same for a label that can only be among those at some places.
  std::int64_t listed(std::int32_t label, std::size_t first, std::size_t last) const {
    const auto end = labels.begin() + last;
    const auto at = std::lower_bound(labels.begin() + first, end, label);
    if (at == end || *at != label) return 0;
    const auto place = at - labels.begin();
    if (sums[place] != 0) return sums[place];
    return wide[std::lower_bound(wide_places.begin(), wide_places.end(), place) -
                wide_places.begin()];
  }

  std::int64_t sum(std::int32_t label) const {
    const auto at = std::lower_bound(
        differences.begin(), differences.end(), label,
        [](const Difference& difference, std::int32_t l) { return difference.label < l; });
    return at == differences.end() || at->label != label ? listed(label) : at->sum;
  }

  std::int64_t bytes() const {
    const std::int64_t own = owner == nullptr ? 0 : labels.size_bytes() + sums.size_bytes();
    return sizeof(CentroidList) + 16 * std::ssize(differences) + own;
  }

  // Copying so many differences now and then costs less than reading past them.
  bool has_many_differences() const { return differences.size() > 16 + labels.size() / 64; }
};

// Reads a list from lower to higher labels.
class CentroidReader {
 public:
  explicit CentroidReader(const CentroidList& list) : list_(&list) {}

  // The next label, or more than any.
  std::int32_t next() const {
    const auto none = std::numeric_limits<std::int32_t>::max();
    const auto& more = list_->differences;
    return std::min(at_ < list_->labels.size() ? list_->labels[at_] : none,
                    changed_ < more.size() ? more[changed_].label : none);
  }

  // Call `use` with each label below `end` and its sum.
  template <class Use>
  void read_below(std::int32_t end, const Use& use) {
    const auto& more = list_->differences;
    for (; changed_ < more.size() && more[changed_].label < end; ++changed_) {
      const auto& changed = more[changed_];
      read_listed(changed.label, use);
      if (changed.is_listed && list_->sums[at_++] == 0) ++wide_;
      if (changed.sum != 0) use(changed.label, static_cast<double>(changed.sum));
    }
    read_listed(end, use);
  }

  // Prefetch what is read next, of both arrays.
  void fetch() const {
    for (std::size_t at = at_; at < std::min(at_ + fetched, list_->labels.size()); at += 16) {
      prefetch(list_->labels.data() + at);
      prefetch(list_->sums.data() + at);
    }
  }

  // Add `value` times the sums of the labels below `end` to their products.
  void add_below(std::int32_t end, double value, double* products, Simd simd) {
    if (!list_->differences.empty())
      return read_below(end,
                        [=](std::int32_t label, double sum) { products[label] += value * sum; });
    at_ = add_list(list_->labels, list_->sums, at_, end, value, products, simd);
    for (; wide_ < list_->wide.size() && list_->wide_places[wide_] < at_; ++wide_)
      products[list_->labels[list_->wide_places[wide_]]] +=
          value * static_cast<double>(list_->wide[wide_]);
  }

 private:
  template <class Use>
  void read_listed(std::int32_t end, const Use& use) {
    const std::int32_t* labels = list_->labels.data();
    const std::uint32_t* sums = list_->sums.data();
    const std::size_t size = list_->labels.size();
    std::size_t at = at_;
    for (; at < size && labels[at] < end; ++at) {
      if (sums[at] != 0) [[likely]]
        use(labels[at], static_cast<double>(sums[at]));
      else
        use(labels[at], static_cast<double>(list_->wide[wide_++]));
    }
    at_ = at;
  }

  static constexpr std::size_t fetched = 64;  // labels: the processor fetches those that follow

  const CentroidList* list_;
  std::size_t at_ = 0, wide_ = 0, changed_ = 0;
};

// The rows that have each of some consecutive features, and their values there.
struct FeatureRows {
  static constexpr std::int64_t usual_at_once = 1 << 25;  // entries: 12 bytes each

  std::int64_t first = 0, last = 0;
  std::vector<std::int64_t> start;  // by feature, from `first` on, and the end
  std::vector<std::int32_t> row_of;
  std::vector<double> value_of;

  static std::vector<std::int64_t> counts(std::span<const std::int32_t> indices,
                                          std::int64_t n_features) {
    std::vector<std::int64_t> found(n_features, 0);
    for (const std::int32_t feature : indices) ++found[feature];
    return found;
  }

  // The end of the features from `first` on that have at most so many entries, at least one.
  static std::int64_t range_end(std::span<const std::int64_t> counts, std::int64_t first,
                                std::int64_t at_once) {
    std::int64_t last = first, total = 0;
    while (last < std::ssize(counts) && (last == first || total + counts[last] <= at_once))
      total += counts[last++];
    return last;
  }

  FeatureRows(std::span<const std::int64_t> counts, std::int64_t first_feature,
              std::int64_t last_feature)
      : first(first_feature), last(last_feature), start(last - first + 1, 0) {
    for (std::int64_t f = first; f < last; ++f) start[f - first + 1] = start[f - first] + counts[f];
  }

  // `value(row, at)` is called for the entries of a row, rising.
  template <class Value>
  void collect(const PatternView& rows, const Value& value, bool has_values) {
    row_of.resize(start.back());
    if (has_values) value_of.resize(start.back());
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::int64_t row = 0; row < rows.n_rows(); ++row) {
      const auto features = rows.columns(row);
      const auto begin = std::lower_bound(features.begin(), features.end(), first);
      for (auto i = begin - features.begin(); i < std::ssize(features) && features[i] < last; ++i) {
        const std::int64_t to = next[features[i] - first]++;
        row_of[to] = static_cast<std::int32_t>(row);
        if (has_values) value_of[to] = value(row, rows.indptr[row] + i);
      }
    }
  }

  // Bounds of tasks of about as many entries each.
  std::vector<std::int64_t> tasks(std::span<const std::int64_t> counts,
                                  std::int64_t entries) const {
    std::vector<std::int64_t> bounds{first};
    while (bounds.back() < last)
      bounds.push_back(std::min(last, range_end(counts, bounds.back(), entries)));
    return bounds;
  }
};

// For each feature f the Kullback-Leibler divergence of P(l|f) = (n_f(l) + s p(l)) / (N_f + s) from
// p(l), where n_f(l) rows have the feature and the label, N_f is their sum over the labels, and
// `share` is p. Labels that never occur with the feature have one logarithm and are added together.
inline std::vector<double> label_divergence(const PatternView& rows, const PatternView& labels,
                                            std::span<const double> share, double prior,
                                            int n_threads, std::int64_t at_once,
                                            const InterruptCheck& interrupted) {
  VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
  const auto counts = FeatureRows::counts(rows.indices, rows.n_columns);
  std::vector<double> found(rows.n_columns, 0.0);
  for (std::int64_t first = 0; first < rows.n_columns;) {
    FeatureRows by_feature(counts, first, FeatureRows::range_end(counts, first, at_once));
    first = by_feature.last;
    by_feature.collect(rows, [](std::int64_t, std::int64_t) { return 0.0; }, false);
    const auto bounds = by_feature.tasks(counts, 1 << 16);
    std::vector<std::vector<std::int32_t>> totals(std::max(n_threads, 1)), seen(totals.size());
    parallel_for(
        std::ssize(bounds) - 1, n_threads,
        [&](std::int64_t number, int worker) {
          auto& total = totals[worker];
          auto& touched = seen[worker];
          total.resize(labels.n_columns, 0);
          for (std::int64_t f = bounds[number]; f < bounds[number + 1]; ++f) {
            std::int64_t n = 0;
            const std::int64_t at = f - by_feature.first;
            for (std::int64_t i = by_feature.start[at]; i < by_feature.start[at + 1]; ++i)
              for (const std::int32_t label : labels.columns(by_feature.row_of[i])) {
                if (total[label]++ == 0) touched.push_back(label);
                ++n;
              }
            std::sort(touched.begin(), touched.end());
            const double weight = static_cast<double>(n) + prior, ratio = prior / weight;
            double met = 0.0, met_share = 0.0;
            for (const std::int32_t label : touched) {
              const double p = share[label], given = (total[label] + prior * p) / weight;
              met += given * std::log(given / p);
              met_share += p;
              total[label] = 0;
            }
            touched.clear();
            const double unmet = std::max(1.0 - met_share, 0.0) * ratio * std::log(ratio);
            found[f] = std::max(met + unmet, 0.0);
          }
        },
        interrupted);
  }
  return found;
}

class LabelCentroids {
 public:
  static constexpr int scale_bits = 32;
  static constexpr double one = 4294967296.0;  // 2^scale_bits
  static constexpr std::int64_t tile = tile_labels;

  // Of a value of a row of length one.
  static std::int64_t fixed(double value) { return std::llround(std::ldexp(value, scale_bits)); }

  // Built from rows, each divided by its length. Besides the result, memory for `at_once` entries
  // of the rows, 12 bytes each.
  LabelCentroids(const CsrView<double>& rows, std::span<const double> lengths,
                 const PatternView& labels, int n_threads,
                 std::int64_t at_once = FeatureRows::usual_at_once,
                 const InterruptCheck& interrupted = never_interrupted)
      : LabelCentroids(rows.n_columns, labels.n_columns) {
    const auto counts = FeatureRows::counts(rows.indices, rows.n_columns);
    for (std::int64_t first = 0; first < n_features_;) {
      const std::int64_t last = FeatureRows::range_end(counts, first, at_once);
      for (CentroidBlock& block :
           blocks_of(rows, lengths, labels, counts, first, last, n_threads, interrupted))
        adopt(std::move(block));
      first = last;
    }
    finish();
  }

  // The same from blocks of all features, in order, that were built before and are sound.
  LabelCentroids(std::int64_t n_features, std::int64_t n_labels, std::vector<CentroidBlock> blocks)
      : LabelCentroids(n_features, n_labels) {
    for (CentroidBlock& block : blocks) adopt(std::move(block));
    finish();
  }

  // The rows that have each of some features, then feature by feature the sums of their labels.
  static std::vector<CentroidBlock> blocks_of(const CsrView<double>& rows,
                                              std::span<const double> lengths,
                                              const PatternView& labels,
                                              std::span<const std::int64_t> counts,
                                              std::int64_t first, std::int64_t last, int n_threads,
                                              const InterruptCheck& interrupted) {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    VICINAL_ASSERT(std::ssize(lengths) == rows.n_rows());
    FeatureRows by_feature(counts, first, last);
    by_feature.collect(
        {rows.indptr, rows.indices, rows.n_columns},
        [&](std::int64_t row, std::int64_t at) { return rows.values[at] / lengths[row]; }, true);
    const auto& start = by_feature.start;
    const auto bounds = by_feature.tasks(counts, entries_per_block);
    std::vector<CentroidBlock> made(bounds.size() - 1);
    std::vector<std::vector<std::int64_t>> sums(std::max(n_threads, 1));
    std::vector<std::vector<std::int32_t>> touched(std::max(n_threads, 1));
    parallel_for(
        std::ssize(made), n_threads,
        [&](std::int64_t number, int worker) {
          auto& total = sums[worker];
          auto& seen = touched[worker];
          total.resize(labels.n_columns, 0);
          GrowingBlock block;
          for (std::int64_t f = bounds[number]; f < bounds[number + 1]; ++f) {
            for (std::int64_t at = start[f - first]; at < start[f - first + 1]; ++at) {
              const std::int64_t value = fixed(by_feature.value_of[at]);
              if (value == 0) continue;
              for (const std::int32_t label : labels.columns(by_feature.row_of[at])) {
                if (total[label] == 0) seen.push_back(label);
                total[label] += value;
              }
            }
            drain(total, seen, block);
          }
          made[number] = GrowingBlock::shared(std::move(block), bounds[number]);
        },
        interrupted);
    return made;
  }

  std::int64_t n_labels() const { return n_labels_; }
  std::int64_t n_features() const { return n_features_; }
  // Of the fixed-point sums.
  double norm(std::int32_t label) const { return lengths_[label / tile]->norms[label % tile]; }
  // Those of the labels from `first` on, which begins a tile.
  const double* norms(std::int64_t first) const { return lengths_[first / tile]->norms.data(); }
  const std::vector<CentroidBlock>& blocks() const { return *blocks_; }

  std::int64_t bytes() const {
    std::int64_t total = n_labels_ * 24 + std::ssize(dense_) * 4 * n_labels_;
    for (const CentroidBlock& block : *blocks_) total += block.bytes();
    for (const auto& page : pages_)
      if (page)
        for (const auto& list : *page)
          if (list) total += list->bytes();
    return total;
  }

  // The same with rows added (`sign` 1) or taken out (-1), of which it must have been built;
  // `n_labels` may be larger than before.
  LabelCentroids changed(const CsrView<double>& rows, const PatternView& labels, int sign) const {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    VICINAL_ASSERT(rows.n_columns == n_features_ && labels.n_columns >= n_labels_);
    LabelCentroids result(*this);
    result.n_labels_ = labels.n_columns;
    result.add_tiles();
    std::set<std::int64_t> touched;
    for (const std::int32_t label : labels.indices) touched.insert(label / tile);
    for (const std::int64_t number : touched)
      result.lengths_[number] = std::make_shared<Lengths>(*result.lengths_[number]);
    const std::vector<Change> changes = changes_of(rows, labels, sign);
    std::int64_t own_page = -1;
    for (std::size_t first = 0; first < changes.size();) {
      std::size_t last = first;
      while (last < changes.size() && changes[last].feature == changes[first].feature) ++last;
      result.replace(changes[first].feature, std::span(changes).subspan(first, last - first),
                     own_page);
      first = last;
    }
    for (std::int64_t row = 0; row < rows.n_rows(); ++row)
      for (const std::int32_t label : labels.columns(row)) result.update_norm(label);
    return result;
  }

  // The list of a feature if it has been changed, else nothing.
  const CentroidList* changed_list(std::int32_t feature) const {
    const auto& page = pages_[feature / page_features];
    return page == nullptr ? nullptr : (*page)[feature % page_features].get();
  }

  // The sums of a frequent feature by tile, else nothing.
  const DenseTiles* dense(std::int32_t feature) const {
    const auto at = std::lower_bound(frequent_.begin(), frequent_.end(), feature);
    if (at == frequent_.end() || *at != feature) return nullptr;
    return dense_[at - frequent_.begin()].get();
  }

  // The list of a feature before any change.
  CentroidList built_list(std::int32_t feature) const {
    const auto block =
        std::upper_bound(blocks_->begin(), blocks_->end(), feature,
                         [](std::int32_t f, const CentroidBlock& each) { return f < each.first; });
    return CentroidList::of(*(block - 1), feature);
  }

  // The value of one feature in the sum of a label.
  std::int64_t sum(std::int32_t feature, std::int32_t label) const {
    const CentroidList* changed = changed_list(feature);
    return changed == nullptr ? built_list(feature).sum(label) : changed->sum(label);
  }

  // The cosine for a row of length one, from its product with the sum of a label.
  double cosine(std::int32_t label, double product) const {
    return norm(label) > 0.0 ? product / norm(label) : 0.0;
  }

  // The same for a row that is in the sum, as if it were not; 0 if nothing else is in it.
  double cosine_without(std::int32_t label, double product, double own_product,
                        double own_square) const {
    const double square = norm(label) * norm(label) - 2.0 * product * one + own_square;
    if (square <= own_square * least_share) return 0.0;
    return (product - own_product) / std::sqrt(square);
  }

 private:
  static constexpr std::int64_t entries_per_block = 1 << 18;
  // Sums whose square is below this share of a row's are nothing but roundings.
  static constexpr double least_share = 1e-9;

  static constexpr std::int64_t page_features = 64;
  using Page = std::array<std::shared_ptr<const CentroidList>, page_features>;

  // Of sums, for the labels of a tile. Others may share it: a change copies it first.
  struct Lengths {
    std::array<Wide, tile> squares{};
    std::array<double, tile> norms{};
  };

  struct Change {
    std::int32_t feature, label;
    std::int64_t by;
  };

  LabelCentroids(std::int64_t n_features, std::int64_t n_labels)
      : n_features_(n_features),
        n_labels_(n_labels),
        blocks_(std::make_shared<std::vector<CentroidBlock>>()),
        pages_((n_features + page_features - 1) / page_features) {
    add_tiles();
  }

  // Only while it is built: later, others share the blocks.
  void adopt(CentroidBlock&& block) {
    std::size_t wide = 0;
    for (std::size_t i = 0; i < block.labels.size(); ++i)
      square(block.labels[i]) +=
          Wide::square_of(block.sums[i] != 0 ? block.sums[i] : block.wide[wide++]);
    blocks_->push_back(std::move(block));
  }

  // Once all blocks are there.
  void finish() {
    for (std::int64_t label = 0; label < n_labels_; ++label) update_norm(label);
    std::vector<std::pair<std::int64_t, std::int32_t>> found;  // numbers of labels, below 0
    for (const CentroidBlock& block : *blocks_)
      for (std::int64_t f = 0; f < block.n_features(); ++f) {
        const std::int64_t size = block.starts[f + 1] - block.starts[f];
        if (size >= std::max(least_labels, n_labels_ / least_part))
          found.emplace_back(-size, static_cast<std::int32_t>(block.first + f));
      }
    std::sort(found.begin(), found.end());
    if (found.size() > most_frequent) found.resize(most_frequent);
    for (const auto& [size, feature] : found) frequent_.push_back(feature);
    std::sort(frequent_.begin(), frequent_.end());
    for (const std::int32_t feature : frequent_) dense_.push_back(tiles_of(built_list(feature)));
  }

  std::shared_ptr<const DenseTiles> tiles_of(const CentroidList& list) const {
    auto tiles = std::make_shared<DenseTiles>((n_labels_ + tile - 1) / tile);
    CentroidReader reader(list);
    for (std::size_t number = 0; number < tiles->size(); ++number) {
      const std::int64_t first = number * tile;
      auto sums = std::make_shared<DenseTile>();
      const auto end = static_cast<std::int32_t>(std::min(first + tile, n_labels_));
      reader.read_below(end, [&](std::int32_t label, double sum) {
        sums->set(static_cast<std::int32_t>(label - first), static_cast<std::int64_t>(sum));
      });
      (*tiles)[number] = std::move(sums);
    }
    return tiles;
  }

  // The same sums of a frequent feature, but those of some labels as a list says.
  static std::shared_ptr<const DenseTiles> changed_tiles(const DenseTiles& before,
                                                         const CentroidList& list,
                                                         std::span<const Change> changes) {
    auto tiles = std::make_shared<DenseTiles>(before);
    std::shared_ptr<DenseTile> copy;
    std::size_t number = tiles->size();
    for (const Change& each : changes) {
      const auto of_label = static_cast<std::size_t>(each.label / tile);
      if (copy == nullptr || of_label != number) {
        number = of_label;
        if (number >= tiles->size()) tiles->resize(number + 1);
        const auto& known = (*tiles)[number];
        copy = known ? std::make_shared<DenseTile>(*known) : std::make_shared<DenseTile>();
        (*tiles)[number] = copy;
      }
      copy->set(static_cast<std::int32_t>(each.label % tile), list.sum(each.label));
    }
    return tiles;
  }

  void add_tiles() {
    while (std::ssize(lengths_) * tile < n_labels_) lengths_.push_back(std::make_shared<Lengths>());
  }

  Wide& square(std::int64_t label) { return lengths_[label / tile]->squares[label % tile]; }

  void update_norm(std::int64_t label) {
    lengths_[label / tile]->norms[label % tile] = std::sqrt(square(label).as_double());
  }

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

  // Replace the list of one feature by one with these changes, sorted by label. All pages but
  // `own_page` may be those of other versions too.
  void replace(std::int32_t feature, std::span<const Change> changes, std::int64_t& own_page) {
    const CentroidList* known = changed_list(feature);
    auto list = std::make_shared<CentroidList>(known ? *known : built_list(feature));
    for (std::size_t i = 0; i < changes.size();) {
      const std::int32_t label = changes[i].label;
      std::int64_t by = 0;
      for (; i < changes.size() && changes[i].label == label; ++i) by += changes[i].by;
      change(*list, label, by);
    }
    const auto at = std::lower_bound(frequent_.begin(), frequent_.end(), feature);
    if (at != frequent_.end() && *at == feature) {
      auto& tiles = dense_[at - frequent_.begin()];
      tiles = changed_tiles(*tiles, *list, changes);
    }
    if (list->has_many_differences()) list = copied(*list);
    auto& page = pages_[feature / page_features];
    if (feature / page_features != own_page)
      page = page ? std::make_shared<Page>(*page) : std::make_shared<Page>();
    own_page = feature / page_features;
    (*page)[feature % page_features] = std::move(list);
  }

  void change(CentroidList& list, std::int32_t label, std::int64_t by) {
    auto& known = list.differences;
    auto at = std::lower_bound(
        known.begin(), known.end(), label,
        [](const CentroidList::Difference& each, std::int32_t l) { return each.label < l; });
    if (at == known.end() || at->label != label) {
      const std::int64_t listed = list.listed(label);
      at = known.insert(at, {label, listed != 0, listed});
    }
    square(label) -= Wide::square_of(at->sum);
    at->sum += by;
    square(label) += Wide::square_of(at->sum);
  }

  // The same list without differences, in memory of its own.
  static std::shared_ptr<CentroidList> copied(const CentroidList& list) {
    GrowingBlock block;
    CentroidReader reader(list);
    reader.read_below(
        std::numeric_limits<std::int32_t>::max(),
        [&](std::int32_t label, double sum) { block.add(label, static_cast<std::int64_t>(sum)); });
    block.end_list();
    const CentroidBlock kept = GrowingBlock::shared(std::move(block), 0);
    auto whole = std::make_shared<CentroidList>(CentroidList::of(kept, 0));
    whole->owner = kept.owner;
    return whole;
  }

  // A sum that returned to 0 may be seen twice, or be 0 in the end.
  static void drain(std::vector<std::int64_t>& total, std::vector<std::int32_t>& seen,
                    GrowingBlock& block) {
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int32_t label : seen) {
      block.add(label, total[label]);
      total[label] = 0;
    }
    seen.clear();
    block.end_list();
  }

  // A feature is frequent if its list has so many labels, and this part of all; only so many are.
  static constexpr std::int64_t least_labels = 256, least_part = 8;
  static constexpr std::size_t most_frequent = 64;

  std::int64_t n_features_ = 0, n_labels_ = 0;
  std::vector<std::int32_t> frequent_;                    // features, rising
  std::vector<std::shared_ptr<const DenseTiles>> dense_;  // of these
  std::shared_ptr<std::vector<CentroidBlock>> blocks_;
  std::vector<std::shared_ptr<Page>> pages_;       // of changed lists
  std::vector<std::shared_ptr<Lengths>> lengths_;  // of the labels of each tile
};

// The best labels of a row; of equally good ones, the lower. They come in any order.
class BestLabels {
 public:
  void start(std::size_t count) {
    count_ = std::max<std::size_t>(count, 1);
    least_ = -std::numeric_limits<double>::infinity();
    labels_.clear();
  }

  // What a label must score at least to be one of them, so far.
  double least() const { return least_; }

  // Labels that may be among the best are kept until the next cut.
  void offer(std::int32_t label, double score) {
    if (score < least_) return;
    labels_.push_back({-score, label});
    if (labels_.size() >= 2 * count_ + 64) cut();
  }

  // Keep as many as asked for, at least one, in any order.
  void cut() {
    if (labels_.size() <= count_) return;
    std::nth_element(labels_.begin(), labels_.begin() + (count_ - 1), labels_.end(), before);
    labels_.resize(count_);
    least_ = -labels_.back().key;
  }

  // The same, best first.
  void sort() {
    cut();
    std::sort(labels_.begin(), labels_.end(), before);
  }

  // The negated scores and labels that are kept.
  const std::vector<Neighbor>& labels() const { return labels_; }

 private:
  std::size_t count_ = 1;
  double least_ = 0.0;
  std::vector<Neighbor> labels_;
};

// The cosines of some rows and all centroids: the best labels of each row, and any that are wanted.
//
// Labels are taken tile by tile, and in each tile row by row, so that what rows have in common is
// read from memory once. Products are added in the order of the features.
class CentroidCosines {
 public:
  explicit CentroidCosines(Simd simd) : simd_(simd) {}

  struct Row {
    std::span<const std::int32_t> features;
    std::span<const double> values;        // of length one
    std::span<const std::int32_t> own;     // labels of a training row that is left out
    std::span<const std::int32_t> wanted;  // labels, rising
    std::size_t count = 0;                 // of best labels
    bool is_left_out = false;
  };

  // `pause` is called between rows, and between the tiles of a row.
  template <class Pause>
  void compare(const LabelCentroids& centroids, std::span<const Row> rows, const Pause& pause) {
    centroids_ = &centroids;
    if (states_.size() < rows.size()) states_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      start(states_[i], rows[i]);
      pause();
    }
    for (;;) {
      std::int32_t label = no_label;
      for (std::size_t i = 0; i < rows.size(); ++i) label = std::min(label, states_[i].next);
      if (label == no_label) break;
      const std::int64_t first = label / LabelCentroids::tile * LabelCentroids::tile;
      const std::int64_t last = std::min(first + LabelCentroids::tile, centroids.n_labels());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (states_[i].next >= last) continue;
        visit(states_[i], first, last);
        pause();
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) finish(states_[i]);
  }

  // The best labels of a row with a cosine above 0, best first; of equally good ones, the lower.
  const std::vector<Neighbor>& best(std::size_t row) const { return states_[row].best.labels(); }

  double largest(std::size_t row) const {  // 0 if none is above it
    return best(row).empty() ? 0.0 : -best(row)[0].key;
  }

  double cosine(std::size_t row, std::int32_t label) const {
    const State& state = states_[row];
    const auto at = std::lower_bound(
        state.found.begin(), state.found.end(), label,
        [](const std::pair<std::int32_t, double>& each, std::int32_t l) { return each.first < l; });
    return at != state.found.end() && at->first == label ? at->second : computed(state, label);
  }

 private:
  static constexpr std::int32_t no_label = std::numeric_limits<std::int32_t>::max();

  // The sums of one feature, those of a frequent one or a list, and the next label they are of.
  struct Term {
    double value;
    const DenseTiles* dense;
    std::int32_t next;
    CentroidReader reader;
  };

  struct State {
    Row row;
    std::vector<CentroidList> lists;
    std::vector<Term> terms;
    std::int32_t next = no_label;  // label
    BestLabels best;
    std::vector<std::pair<std::int32_t, double>> found;  // cosines, rising by label
    std::size_t n_wanted = 0;                            // how many of those wanted were seen
    double own_product = 0.0, own_square = 0.0;
  };

  void start(State& state, const Row& row) const {
    state.row = row;
    state.lists.clear();
    state.terms.clear();
    state.lists.reserve(row.features.size());  // so that none of them moves
    state.next = no_label;
    for (std::size_t i = 0; i < row.features.size(); ++i) {
      if (const DenseTiles* dense = centroids_->dense(row.features[i])) {
        state.terms.push_back({row.values[i], dense, 0, CentroidReader(nothing_)});
        state.next = 0;
        continue;
      }
      const CentroidList* list = centroids_->changed_list(row.features[i]);
      if (list == nullptr)
        list = &state.lists.emplace_back(centroids_->built_list(row.features[i]));
      const CentroidReader reader(*list);
      state.terms.push_back({row.values[i], nullptr, reader.next(), reader});
      state.next = std::min(state.next, reader.next());
    }
    state.best.start(row.count);
    state.found.clear();
    state.n_wanted = 0;
    state.own_product = state.own_square = 0.0;
    if (!row.is_left_out) return;
    for (const double value : row.values) {
      const auto fixed = static_cast<double>(LabelCentroids::fixed(value));
      state.own_product += value * fixed;
      state.own_square += fixed * fixed;
    }
  }

  // The labels of one tile.
  void visit(State& state, std::int64_t first, std::int64_t last) {
    std::fill(products_.begin(), products_.end(), 0.0);
    double* products = products_.data() - first;
    state.next = no_label;
    const auto number = static_cast<std::size_t>(first / LabelCentroids::tile);
    std::array<const DenseTile*, tiles_at_once> tiles;
    std::array<double, tiles_at_once> values;
    std::size_t n_tiles = 0;
    const auto add_waiting = [&] {
      if (n_tiles > 0)
        add_tiles({tiles.data(), n_tiles}, {values.data(), n_tiles}, products_.data(), simd_);
      n_tiles = 0;
    };
    constexpr std::size_t ahead = 2;  // lists
    for (std::size_t i = 0; i < state.terms.size(); ++i) {
      Term& term = state.terms[i];
      if (i + ahead < state.terms.size() && state.terms[i + ahead].next < last)
        state.terms[i + ahead].reader.fetch();
      if (term.next < last && term.dense != nullptr) {
        if (const DenseTile* tile = (*term.dense)[number].get()) {
          tiles[n_tiles] = tile;
          values[n_tiles++] = term.value;
          if (n_tiles == tiles_at_once) add_waiting();
        }
        term.next = number + 1 < term.dense->size() ? end_of(first) : no_label;
      } else if (term.next < last) {
        add_waiting();
        term.reader.add_below(static_cast<std::int32_t>(last), term.value, products, simd_);
        term.next = term.reader.next();
      }
      state.next = std::min(state.next, term.next);
    }
    add_waiting();
    const auto& wanted = state.row.wanted;
    while (state.n_wanted < wanted.size() && wanted[state.n_wanted] < first) ++state.n_wanted;
    for (; state.n_wanted < wanted.size() && wanted[state.n_wanted] < last; ++state.n_wanted) {
      const std::int32_t label = wanted[state.n_wanted];
      state.found.emplace_back(label, from_product(state, label, products[label]));
    }
    for (const std::int32_t label : state.row.own)  // compared apart
      if (label >= first && label < last) {
        keep(state, label, from_product(state, label, products[label]));
        products[label] = 0.0;
      }
    const double* norms = centroids_->norms(first);
    constexpr std::int64_t step = dense_detail::step;
    for (std::int64_t at = 0; at < last - first; at += step) {
      const double bound = std::max(state.best.least(), 0.0) * nearly_one;
      at = first_above(products_.data(), norms, bound, at, simd_);
      for (std::int64_t i = at; i < std::min(at + step, last - first); ++i)
        if (products_[i] > bound * norms[i]) {
          const auto label = static_cast<std::int32_t>(first + i);
          keep(state, label, centroids_->cosine(label, products_[i]));
        }
    }
  }

  static std::int32_t end_of(std::int64_t first) {
    return static_cast<std::int32_t>(first + LabelCentroids::tile);
  }

  // Labels whose rows share nothing with the row have no place among the best.
  static void keep(State& state, std::int32_t label, double cosine) {
    if (cosine > 0.0) state.best.offer(label, cosine);
  }

  void finish(State& state) const {
    state.best.sort();
    for (const Neighbor& each : state.best.labels()) state.found.emplace_back(each.id, -each.key);
    std::sort(state.found.begin(), state.found.end());
  }

  double from_product(const State& state, std::int32_t label, double product) const {
    const auto& own = state.row.own;
    if (state.row.is_left_out && std::binary_search(own.begin(), own.end(), label))
      return centroids_->cosine_without(label, product, state.own_product, state.own_square);
    return centroids_->cosine(label, product);
  }

  // For a label that was not wanted.
  double computed(const State& state, std::int32_t label) const {
    if (label >= centroids_->n_labels()) return 0.0;
    double product = 0.0;
    bool shares = false;
    for (std::size_t i = 0; i < state.row.features.size(); ++i) {
      const std::int64_t sum = centroids_->sum(state.row.features[i], label);
      shares |= sum != 0;
      product += state.row.values[i] * static_cast<double>(sum);
    }
    return shares ? from_product(state, label, product) : 0.0;
  }

  static constexpr double nearly_one =
      1.0 - 1e-12;  // products are compared before they are divided
  Simd simd_;
  CentroidList nothing_;
  const LabelCentroids* centroids_ = nullptr;
  std::vector<State> states_;
  std::vector<double> products_ = std::vector<double>(LabelCentroids::tile, 0.0);
};

}  // namespace vicinal
