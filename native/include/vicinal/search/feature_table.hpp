// Maps a feature to its rank among the features that occur, without an array as long as the feature
// space: the sorted features, and the first rank of each run of features with equal high bits.
// There are about as many runs as features, so that a run holds one or two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/common/archive.hpp"
#include "vicinal/common/array.hpp"
#include "vicinal/common/assert.hpp"

namespace vicinal {

class FeatureTable {
 public:
  static constexpr std::int64_t absent = -1;

  FeatureTable() = default;

  // `features` must rise without repeats and be below n_features.
  FeatureTable(std::vector<std::int32_t> features, std::int64_t n_features)
      : features_(std::move(features)) {
    VICINAL_ASSERT(std::adjacent_find(features_.begin(), features_.end(), std::greater_equal<>()) ==
                   features_.end());
    VICINAL_ASSERT(features_.empty() || (features_.front() >= 0 && features_.back() < n_features));
    const std::int64_t count = size();
    set_shift(n_features);
    first_.assign((n_features >> shift_) + 2, static_cast<std::uint32_t>(count));
    for (std::int64_t place = count - 1; place >= 0; --place)
      first_.edit(features_[place] >> shift_) = static_cast<std::uint32_t>(place);
    for (auto run = static_cast<std::int64_t>(first_.size()) - 2; run >= 0; --run)
      first_.edit(run) = std::min(first_[run], first_[run + 1]);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(features_.size()); }

  std::int64_t find(std::int32_t feature) const {
    if (features_.empty()) return absent;
    const std::int64_t run = feature >> shift_;
    std::int64_t place = first_[run];
    const std::int64_t end = first_[run + 1];
    while (place < end && features_[place] < feature) ++place;
    return place < end && features_[place] == feature ? place : absent;
  }

  std::size_t bytes() const { return features_.owned_bytes() + first_.owned_bytes(); }

  static void stored(auto& self, auto& archive) { archive(self.features_, self.first_); }

  // Refuse stored arrays that find() could not read. `n_features` as for the constructor.
  void check(std::int64_t n_features) {
    set_shift(n_features);
    expect_stored(std::ssize(first_) == (n_features >> shift_) + 2, "a run for every feature");
    expect_stored(std::all_of(first_.begin(), first_.end(),
                              [&](std::uint32_t place) { return place <= features_.size(); }),
                  "runs of features that exist");
  }

 private:
  void set_shift(std::int64_t n_features) {
    while ((n_features >> shift_) > std::max<std::int64_t>(2 * size(), 16)) ++shift_;
  }

  Array<std::int32_t> features_;
  Array<std::uint32_t> first_;
  int shift_ = 0;
};

// The distinct column ids of a matrix, rising. Allocates no array longer than the ids.
inline std::vector<std::int32_t> distinct(std::span<const std::int32_t> ids,
                                          std::int64_t n_columns) {
  std::vector<std::int32_t> found;
  if (n_columns <= static_cast<std::int64_t>(ids.size())) {
    std::vector<bool> seen(n_columns);
    for (const std::int32_t id : ids) seen[id] = true;
    for (std::int64_t column = 0; column < n_columns; ++column)
      if (seen[column]) found.push_back(static_cast<std::int32_t>(column));
    return found;
  }
  found.assign(ids.begin(), ids.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace vicinal
