// Lists of label centroids: for each feature the labels whose rows have it, and the sum of each.
//
// Lists stand one after another in blocks of consecutive features, in memory or in files that are
// mapped. A block never changes: a changed list is a short list of differences from that of its
// block, until it is copied. Memory: 8 bytes per label in a list, 16 per difference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/blend/dense_sums.hpp"
#include "vicinal/common/simd.hpp"

namespace vicinal {

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

}  // namespace vicinal
