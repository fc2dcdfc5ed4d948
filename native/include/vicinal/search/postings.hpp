// Posting lists (feature -> rows) in three shapes, chosen by the number of rows with the feature.
//
//  - frequent: one cell per row of a block, so that a whole column is added at once;
//  - common: one list of 16-bit row numbers per block, found through a line of offsets;
//  - rare: one list of 32-bit positions for all blocks, too short to be worth offsets.
//
// Memory: n cells per column; 2 bytes per row and 4 per block for a common feature; 4 bytes per row
// for a rare one. Where values matter, each id has a payload of two bytes (see impact_lists.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// Maps a feature to its rank among the features that occur, without an array as long as the feature
// space: the sorted features, and the first rank of each run of features with equal high bits.
// There are about as many runs as features, so that a run holds one or two.

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

// Rows of one block that have a feature: their numbers and, where values matter, their payload.
template <class Id>
struct PostingSpan {
  const Id* ids = nullptr;
  const std::int16_t* weights = nullptr;
  std::int64_t size = 0;
};

class Postings {
 public:
  struct Place {
    std::uint64_t start = 0;  // in the array of its shape
    std::uint32_t count = 0;  // rows that have the feature
    std::int32_t shape = -1;  // >= 0: column; -1: rare; <= -2: line -2 - shape of block offsets
    bool is_column() const { return shape >= 0; }
    bool is_rare() const { return shape == -1; }
  };

  FeatureTable features;
  Array<Place> places;  // by rank in `features`
  std::int64_t n_columns = 0;

  PostingSpan<std::uint16_t> common(const Place& place, std::int64_t block) const {
    const auto line = offsets_.begin() + (-2 - place.shape) * (n_blocks_ + 1);
    const std::uint64_t begin = place.start + line[block];
    return {common_ids_.data() + begin, weights_of(common_weights_, begin),
            static_cast<std::int64_t>(line[block + 1] - line[block])};
  }

  // Ids are positions among all rows; `begin` is where the block starts.
  PostingSpan<std::uint32_t> rare(const Place& place, std::int64_t begin, std::int64_t size) const {
    const std::uint32_t* first = rare_ids_.data() + place.start;
    const std::uint32_t* last = first + place.count;
    const std::uint32_t* low = std::lower_bound(first, last, begin);
    const std::uint32_t* high = std::lower_bound(low, last, begin + size);
    return {low, weights_of(rare_weights_, place.start + (low - first)), high - low};
  }

  // All rows of a rare feature.
  PostingSpan<std::uint32_t> rare(const Place& place) const {
    return {rare_ids_.data() + place.start, weights_of(rare_weights_, place.start), place.count};
  }

  // Start loading the last entries of a list.
  void prefetch_list(const Place& place) const {
    if (place.is_rare()) {
      prefetch(rare_ids_.data() + place.start + place.count - 1);
    } else if (!place.is_column()) {
      prefetch(offsets_.data() + (-2 - place.shape) * (n_blocks_ + 1));
      prefetch(common_ids_.data() + place.start + place.count - 1);
    }
  }

  std::size_t bytes() const {
    return features.bytes() + places.owned_bytes() + offsets_.owned_bytes() +
           common_ids_.owned_bytes() + common_weights_.owned_bytes() + rare_ids_.owned_bytes() +
           rare_weights_.owned_bytes();
  }

  static void stored(auto& self, auto& archive) {
    archive(self.features, self.places, self.n_columns, self.offsets_, self.common_ids_,
            self.common_weights_, self.rare_ids_, self.rare_weights_);
  }

  // Refuse stored lists that a search of `blocks` could not read.
  void check(std::int64_t n_features, const Blocks& blocks, bool with_weights);

  // Choose each feature's shape from its number of rows. A feature becomes a column if at least one
  // row in `sparsest_column` has it; of those, the `most_columns` most frequent ones.
  void choose_shapes(std::span<const std::uint32_t> row_counts, const Blocks& blocks,
                     std::int64_t sparsest_column, std::int64_t most_columns, bool with_weights);

  // Append one entry of a row. Rows must come in rising position; `column` receives the entries of
  // frequent features as (column, block, row number, payload).
  template <class ColumnSink>
  void append(std::int64_t slot, std::int64_t position, const Blocks& blocks, std::int16_t weight,
              ColumnSink&& column) {
    const Place& place = places[slot];
    const std::int64_t block = position / blocks.rows_per_block;
    const std::int64_t local = position - blocks.begin(block);
    if (place.is_column()) {
      column(place.shape, block, local, weight);
    } else if (place.is_rare()) {
      const std::uint64_t at = place.start + filled_[slot]++;
      rare_ids_.edit(at) = static_cast<std::uint32_t>(position);
      if (with_weights_) rare_weights_.edit(at) = weight;
    } else {
      const std::uint64_t at = place.start + filled_[slot]++;
      common_ids_.edit(at) = static_cast<std::uint16_t>(local);
      if (with_weights_) common_weights_.edit(at) = weight;
      offsets_.edit((-2 - place.shape) * (n_blocks_ + 1) + block + 1) = filled_[slot];
    }
  }

  // Call after the last append. The list of a block without rows ends where the one before ends.
  void finish() {
    for (std::size_t line = 0; line < offsets_.size(); line += n_blocks_ + 1)
      for (std::int64_t block = 1; block <= n_blocks_; ++block)
        offsets_.edit(line + block) = std::max(offsets_[line + block], offsets_[line + block - 1]);
    filled_ = {};
  }

 private:
  static const std::int16_t* weights_of(const Array<std::int16_t>& pool, std::uint64_t at) {
    return pool.empty() ? nullptr : pool.data() + at;
  }

  std::int64_t n_blocks_ = 0;
  bool with_weights_ = false;
  Array<std::uint32_t> offsets_;
  Array<std::uint16_t> common_ids_;
  Array<std::int16_t> common_weights_;
  Array<std::uint32_t> rare_ids_;
  Array<std::int16_t> rare_weights_;
  std::vector<std::uint32_t> filled_;
};

inline void Postings::check(std::int64_t n_features, const Blocks& blocks, bool with_weights) {
  n_blocks_ = blocks.count;
  with_weights_ = with_weights;
  features.check(n_features);
  const std::int64_t width = n_blocks_ + 1;
  expect_stored(std::ssize(places) == features.size() && std::ssize(offsets_) % width == 0,
                "a place for every feature");
  expect_stored(n_columns >= 0 && n_columns <= features.size(), "as many columns as features");
  expect_stored(common_weights_.size() == (with_weights ? common_ids_.size() : 0) &&
                    rare_weights_.size() == (with_weights ? rare_ids_.size() : 0),
                "a weight for every id");
  const std::int64_t n_lines = std::ssize(offsets_) / width;
  for (const Place& place : places) {
    if (place.is_column()) {
      expect_stored(place.shape < n_columns, "a column that exists");
    } else if (place.is_rare()) {
      expect_stored(
          place.start <= rare_ids_.size() && place.count <= rare_ids_.size() - place.start,
          "a list within the ids");
      const std::uint32_t* first = rare_ids_.data() + place.start;
      std::int64_t previous = -1;
      for (const std::uint32_t id : std::span(first, place.count)) {
        expect_stored(id > previous && id < blocks.n_rows, "rising positions of rows");
        previous = id;
      }
    } else {
      const std::int64_t at = -2 - static_cast<std::int64_t>(place.shape);
      expect_stored(at < n_lines, "offsets for every list");
      const std::uint32_t* line = offsets_.data() + at * width;
      expect_stored(std::is_sorted(line, line + width), "rising offsets");
      expect_stored(
          place.start <= common_ids_.size() && line[n_blocks_] <= common_ids_.size() - place.start,
          "a list within the ids");
    }
  }
  expect_stored(std::all_of(common_ids_.begin(), common_ids_.end(),
                            [&](std::uint16_t id) { return id < blocks.rows_per_block; }),
                "rows of a block");
}

inline void Postings::choose_shapes(std::span<const std::uint32_t> row_counts, const Blocks& blocks,
                                    std::int64_t sparsest_column, std::int64_t most_columns,
                                    bool with_weights) {
  const auto n_features = static_cast<std::int64_t>(row_counts.size());
  n_blocks_ = blocks.count;
  with_weights_ = with_weights;
  places.assign(n_features, {});
  filled_.assign(n_features, 0);

  std::vector<std::int64_t> frequent;
  for (std::int64_t slot = 0; slot < n_features; ++slot)
    if (row_counts[slot] > 0 && row_counts[slot] * sparsest_column >= blocks.n_rows)
      frequent.push_back(slot);
  std::stable_sort(frequent.begin(), frequent.end(),
                   [&](std::int64_t a, std::int64_t b) { return row_counts[a] > row_counts[b]; });
  if (static_cast<std::int64_t>(frequent.size()) > most_columns) frequent.resize(most_columns);
  for (const std::int64_t slot : frequent)
    places.edit(slot).shape = static_cast<std::int32_t>(n_columns++);

  std::uint64_t common = 0, rare = 0;
  std::int32_t n_lines = 0;
  for (std::int64_t slot = 0; slot < n_features; ++slot) {
    Place& place = places.edit(slot);
    place.count = row_counts[slot];
    if (place.is_column()) continue;
    const bool is_rare = place.count < 8 * static_cast<std::uint64_t>(n_blocks_);
    std::uint64_t& pool = is_rare ? rare : common;
    place.start = std::exchange(pool, pool + place.count);
    if (!is_rare) place.shape = -2 - n_lines++;
  }
  offsets_.assign(n_lines * (n_blocks_ + 1), 0);
  common_ids_.resize(common);
  rare_ids_.resize(rare);
  if (with_weights) {
    common_weights_.resize(common);
    rare_weights_.resize(rare);
  }
}

}  // namespace vicinal
