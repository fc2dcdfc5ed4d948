// Scores pairs of binary rows by the number of features they share (see pair_scorer.hpp).
//
// A row is a query only against rows that are at least as long, so that one-byte counters suffice
// for queries of up to 255 features.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "vicinal/search/count_index.hpp"
#include "vicinal/search/pair_scorer.hpp"
#include "vicinal/search/posting_cursors.hpp"

namespace vicinal {

class CountPairs {
 public:
  using Sum = std::uint8_t;

  struct Query {
    std::int64_t position = 0;
    std::int64_t length = 0;
    PostingCursors<false> lists;
    std::vector<std::int32_t> columns;
    std::vector<const std::uint8_t*> bitmaps;  // of these columns, in the block entered last
    CountKernelsOf<Sum> kernels{};
  };

  CountPairs(const CountIndex& index, Metric metric)
      : index_(&index),
        metric_(metric),
        tiles_(index.blocks_,
               8 * cached_bytes / std::max<std::int64_t>(index.postings_.n_columns, 1)) {
    for (std::int64_t length = 0; length <= index.longest_row(); ++length)
      roots_.push_back(std::sqrt(static_cast<double>(length)));
  }

  const Tiles& tiles() const { return tiles_; }

  std::int64_t n_queries() const {
    const auto& lengths = index_->lengths_;
    const std::int64_t short_rows =
        std::upper_bound(lengths.begin(), lengths.end(), 255) - lengths.begin();
    const auto all = static_cast<std::int64_t>(lengths.size());
    return short_rows == all ? all : short_rows / Blocks::group * Blocks::group;
  }

  template <class Value>
  void prepare(Query& query, const SparseRow<Value>& row, std::int64_t position, std::int64_t from,
               std::int64_t to, PrepareScratch& scratch) const {
    query.position = position;
    query.length = static_cast<std::int64_t>(row.size());
    query.lists.begin(from, to, scratch.loose);
    query.columns.clear();
    const Postings& postings = index_->postings_;
    find_slots(postings, row.columns, scratch.slots);
    for (const std::int64_t slot : scratch.slots) {
      const Postings::Place& place = postings.places[slot];
      if (place.is_column())
        query.columns.push_back(place.shape);
      else
        query.lists.add(postings, place, 1, tiles_, scratch.loose);
    }
    query.lists.finish(tiles_, scratch.loose);
    query.kernels = count_kernels(index_->simd_, query.columns.size()).narrow;
  }

  void enter_block(Query& query, const Tile& tile) const {
    query.lists.enter_block(index_->postings_, tiles_, tile);
    query.bitmaps.clear();
    for (const std::int32_t column : query.columns)
      query.bitmaps.push_back(index_->bitmaps_.data() + index_->bitmap(tile.block, column));
  }

  void add_lists(Query& query, std::size_t tile, Sum* sums) const {
    query.lists.read(tiles_, tile, [=](std::int64_t row, std::int16_t) { ++sums[row]; });
  }

  void add_columns(const Query& query, std::int64_t first, Sum* sums) const {
    query.kernels.add(sums, bitmaps_of(query), in_block(first));
  }

  std::size_t find(const Query& query, std::int64_t first, const Sum* sums, std::int32_t threshold,
                   Candidate* out) const {
    return query.kernels.find(sums, in_block(first), threshold, out);
  }

  std::size_t take(const Query& query, std::int64_t first, Sum* sums, std::int32_t threshold,
                   const Sum* row_thresholds, Candidate* out) const {
    return query.kernels.add_and_take_rows(sums, bitmaps_of(query), in_block(first), threshold,
                                           row_thresholds, out);
  }

  QueryRange range_of(const Query& query) const { return {query.length, query.length}; }

  std::int32_t query_threshold(const Query& query, double bound, std::int64_t first) const {
    return least_count(bound, query.length, index_->lengths_[first]);
  }

  void row_thresholds(const QueryRange& range, const double* bounds, const Tile& tile,
                      Sum* thresholds) const {
    for (std::int64_t i = tile.begin; i < tile.end; ++i)
      thresholds[i - tile.begin] =
          static_cast<Sum>(least_count(bounds[i], range.shortest, index_->lengths_[i]));
  }

  KeyRange key_range(std::int64_t row, const PairSum& pair) const {
    const auto& lengths = index_->lengths_;
    const double key = key_of_lengths(lengths[row], lengths[pair.position], pair.sum);
    const double rounding = index_->binary_ ? 0.0 : 1e-9;
    return {key - rounding, key + rounding};
  }

  bool key_is_exact() const { return index_->binary_; }

  // All counts above zero are examined.
  bool certain(std::int64_t, double) const { return true; }

 private:
  static constexpr std::int64_t cached_bytes = 1 << 19;

  Bitmaps bitmaps_of(const Query& query) const {
    return {query.bitmaps.data(), query.bitmaps.size()};
  }
  std::int64_t in_block(std::int64_t position) const {
    return position % tiles_.blocks().rows_per_block;
  }

  double key_of_lengths(std::int64_t a, std::int64_t b, std::int32_t shared) const {
    if (metric_ == Metric::euclidean) return static_cast<double>(a + b - 2 * std::int64_t{shared});
    return key_of(metric_, shared, roots_[a], roots_[b]);
  }

  // As CountIndex::least_count, in the range of a counter.
  std::int32_t least_count(double bound, std::int64_t a, std::int64_t b) const {
    const double least = metric_ == Metric::cosine
                             ? (-bound - 1e-9) * (roots_[a] * roots_[b]) - 1e-9
                         : metric_ == Metric::dot ? -bound
                                                  : (static_cast<double>(a + b) - bound) / 2.0;
    const double lowest = metric_ == Metric::euclidean ? 0.0 : 1.0;
    const double bounded = std::min(std::max(least, lowest), 255.0);
    const auto whole = static_cast<std::int32_t>(bounded);
    return whole + (whole < bounded);
  }

  const CountIndex* index_;
  Metric metric_;
  Tiles tiles_;
  std::vector<double> roots_;  // by length
};

}  // namespace vicinal
