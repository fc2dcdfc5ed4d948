// What a search of an index in itself (self_search.hpp) needs to score pairs of rows.
//
// ImpactPairs scores one row, the query, against a tile: consecutive positions of one
// block. Sums serve both rows of a pair. Positions are those of RowOrder::ranked.
//
//   n_queries()            rows at positions below this can be queries;
//   tiles()                runs of rows whose columns fit a core's cache;
//   prepare(...)           a query's features as they occur among rows [from, to);
//   enter_block(...)       before the first tile of a block that the query is scored against;
//   add_lists(...)         add the posting lists for the rows of a tile;
//   add_columns(...)       complete the sums of a group of rows;
//   find(...)              write the rows of a group whose sum reaches a threshold, by their
//                          numbers within the block;
//   take(...)              complete the sums of a group, write the rows that reach the query's
//                          threshold or their own, and set all sums to zero;
//   range_of(query)        the range that contains the query alone;
//   query_threshold(...)   the smallest sum with which a row of a group could have a key of at most
//                          `bound` for the query;
//   row_thresholds(...)    the same for each row of a tile and its own bound, for every query of a
//                          batch;
//   key_range(...)         the interval that contains the key of a pair;
//   certain(...)           whether rows whose sum was too small to be examined are farther from a
//                          row than `worst`.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/search/impact_index.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

// The positions of an index in runs that fit a core's cache; a tile never crosses a block.

struct Tile {
  std::int64_t block;
  std::int64_t begin, end;  // positions
};

class Tiles {
 public:
  // `wanted` rows per tile, rounded to whole groups and kept within reasonable limits.
  Tiles(const Blocks& blocks, std::int64_t wanted) : blocks_(blocks) {
    wanted = std::clamp<std::int64_t>(wanted, 2048, 8192) / Blocks::group * Blocks::group;
    rows_per_tile_ = std::min(wanted, blocks.rows_per_block);
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      const std::int64_t end = blocks.begin(block) + blocks.size(block);
      for (std::int64_t begin = blocks.begin(block); begin < end; begin += rows_per_tile_) {
        const std::int64_t stop = std::min(begin + rows_per_tile_, end);
        for (std::int64_t first = begin; first < stop; first += Blocks::group)
          tile_of_group_.push_back(static_cast<std::uint32_t>(tiles_.size()));
        tiles_.push_back({block, begin, stop});
      }
    }
  }

  const Blocks& blocks() const { return blocks_; }
  std::int64_t rows_per_tile() const { return rows_per_tile_; }
  std::size_t size() const { return tiles_.size(); }
  const Tile& operator[](std::size_t tile) const { return tiles_[tile]; }

  std::size_t of(std::int64_t position) const { return tile_of_group_[position / Blocks::group]; }
  std::int64_t block_of(std::int64_t position) const { return tiles_[of(position)].block; }

 private:
  Blocks blocks_;
  std::int64_t rows_per_tile_;
  std::vector<Tile> tiles_;
  std::vector<std::uint32_t> tile_of_group_;
};

// The posting lists of one row, read tile by tile by a search that moves through an index in rising
// order.
//
// A long list is read where the last tile ended, so that a tile costs no search of its own. Of
// short lists most have no entry in a tile, and asking each of them would cost more than reading
// them; so their entries are sorted by tile once.

// An entry of a short list: where it is, and what it adds to the sum there.
struct LooseEntry {
  std::uint32_t position;
  std::int16_t value;
};

// The ranks of a row's features, whose places and lists are being loaded meanwhile: they lie far
// apart, and waiting for one after the other would cost more than all the rest.
inline void find_slots(const Postings& postings, std::span<const std::int32_t> features,
                       std::vector<std::int64_t>& slots) {
  slots.clear();
  for (const std::int32_t feature : features) {
    slots.push_back(postings.features.find(feature));
    prefetch(postings.places.data() + slots.back());
  }
  for (const std::int64_t slot : slots) postings.prefetch_list(postings.places[slot]);
}

// Memory that the preparation of one row after another shares.
struct PrepareScratch {
  std::vector<std::int64_t> slots;
  std::vector<LooseEntry> loose;
};

template <bool Weighted>
class PostingCursors {
 public:
  // Start a row whose lists are to be read in [from, to). `loose` is memory shared by many rows.
  void begin(std::int64_t from, std::int64_t to, std::vector<LooseEntry>& loose) {
    from_ = from;
    to_ = to;
    long_.clear();
    loose.clear();
  }

  void add(const Postings& postings, const Postings::Place& place, std::int16_t weight,
           const Tiles& tiles, std::vector<LooseEntry>& loose) {
    if (place.is_rare()) {
      gather(postings.rare(place), weight, 0, loose);
    } else if (place.count < short_per_tile * tiles.size()) {
      for (std::int64_t block = tiles.block_of(from_); block <= tiles.block_of(to_ - 1); ++block)
        gather(postings.common(place, block), weight, tiles.blocks().begin(block), loose);
    } else {
      long_.push_back({nullptr, nullptr, nullptr, weight, &place});
    }
  }

  // After the last list: sort the entries of the short ones by tile.
  void finish(const Tiles& tiles, const std::vector<LooseEntry>& loose) {
    starts_.assign(tiles.size() + 1, 0);
    for (const LooseEntry& entry : loose) ++starts_[tiles.of(entry.position) + 1];
    for (std::size_t t = 1; t < starts_.size(); ++t) starts_[t] += starts_[t - 1];
    sorted_.resize(loose.size());
    for (const LooseEntry& entry : loose) {
      const std::size_t tile = tiles.of(entry.position);
      sorted_[starts_[tile]++] = {static_cast<std::uint16_t>(entry.position - tiles[tile].begin),
                                  entry.value};
    }
    std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
    starts_[0] = 0;
  }

  // Turn the long lists to a block's rows from position `from` on.
  void enter_block(const Postings& postings, const Tiles& tiles, const Tile& tile) {
    const std::int64_t from = tile.begin - tiles.blocks().begin(tile.block);
    for (Cursor& cursor : long_) {
      const auto span = postings.common(*cursor.place, tile.block);
      const auto* const end = span.ids + span.size;
      const auto* const at = from == 0 ? span.ids : std::lower_bound(span.ids, end, from);
      cursor.at = at;
      cursor.end = end;
      if constexpr (Weighted) cursor.payloads = span.weights + (at - span.ids);
    }
  }

  // Call add(row number within the tile, value) for the entries in a tile. Tiles must come in
  // rising order.
  template <class Add>
  void read(const Tiles& tiles, std::size_t t, const Add& add) {
    const std::int64_t origin = tiles[t].begin - tiles.blocks().begin(tiles[t].block);
    const std::int64_t to = origin + tiles[t].end - tiles[t].begin;
    for (Cursor& cursor : long_) {
      const std::uint16_t* at = cursor.at;
      const std::uint16_t* const end = cursor.end;
      const std::int16_t weight = cursor.weight;  // copied: a write to a sum cannot change them
      const std::int16_t* payload = cursor.payloads;
      for (; at != end && *at < to; ++at)
        add(*at - origin, value_of(Weighted ? *payload++ : std::int16_t{1}, weight));
      cursor.at = at;
      cursor.payloads = payload;
    }
    for (std::uint32_t i = starts_[t]; i < starts_[t + 1]; ++i)
      add(sorted_[i].row, sorted_[i].value);
  }

 private:
  static constexpr std::uint64_t short_per_tile = 8;

  struct Cursor {
    const std::uint16_t* at;
    const std::uint16_t* end;
    const std::int16_t* payloads;
    std::int16_t weight;
    const Postings::Place* place;
  };
  struct TileEntry {
    std::uint16_t row;
    std::int16_t value;
  };

  static std::int16_t value_of(std::int16_t payload, std::int16_t weight) {
    return Weighted ? fine_impact_of(payload, weight) : std::int16_t{1};
  }

  template <class Id>
  void gather(const PostingSpan<Id>& span, std::int16_t weight, std::int64_t origin,
              std::vector<LooseEntry>& loose) const {
    for (std::int64_t i = span.size; i-- > 0;) {  // from the end, where most of what is wanted is
      const std::int64_t position = origin + span.ids[i];
      if (position < from_) break;
      if (position >= to_) continue;
      loose.push_back({static_cast<std::uint32_t>(position),
                       value_of(Weighted ? span.weights[i] : std::int16_t{1}, weight)});
    }
  }

  std::int64_t from_ = 0, to_ = 0;
  std::vector<Cursor> long_;
  std::vector<TileEntry> sorted_;      // entries of short lists, by tile
  std::vector<std::uint32_t> starts_;  // by tile: its first entry
};

// The ranges of lengths and norms in a batch of queries.
struct QueryRange {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  double low_norm = std::numeric_limits<double>::infinity();
  double high_norm = 0.0;
  double column_norm = 0.0;  // the largest norm in features with a column, where values matter

  void include(const QueryRange& other) {
    shortest = std::min(shortest, other.shortest);
    longest = std::max(longest, other.longest);
    low_norm = std::min(low_norm, other.low_norm);
    high_norm = std::max(high_norm, other.high_norm);
    column_norm = std::max(column_norm, other.column_norm);
  }
};

// A pair as one of its rows sees it: the other row, the sum, and which of them was the query.
struct PairSum {
  std::int32_t position;
  std::int16_t sum;
  bool other_was_query;
};

template <class S, class Value>
concept PairScorer =
    requires(const S& scorer, const SparseRow<Value>& row, typename S::Query& query,
             typename S::Sum* sums, const double* bounds, std::int32_t sum, std::int64_t at,
             const Tile& tile, const QueryRange& range, Candidate* out, PrepareScratch& scratch) {
      { scorer.n_queries() } -> std::same_as<std::int64_t>;
      { scorer.tiles() } -> std::same_as<const Tiles&>;
      scorer.prepare(query, row, at, at, at, scratch);
      scorer.enter_block(query, tile);
      scorer.add_lists(query, std::size_t{}, sums);
      scorer.add_columns(query, at, sums);
      { scorer.find(query, at, sums, sum, out) } -> std::same_as<std::size_t>;
      { scorer.take(query, at, sums, sum, sums, out) } -> std::same_as<std::size_t>;
      { scorer.range_of(query) } -> std::same_as<QueryRange>;
      { scorer.query_threshold(query, *bounds, at) } -> std::same_as<std::int32_t>;
      scorer.row_thresholds(range, bounds, tile, sums);
      { scorer.key_range(at, PairSum{}) } -> std::same_as<KeyRange>;
      { scorer.certain(at, *bounds) } -> std::same_as<bool>;
    };

// Scores pairs of weighted rows by 16-bit sums with an error bound (see pair_scorer.hpp,
// impact.hpp).
//
// All queries have the same scale, so that a row's threshold on the sums holds for all of them.

class ImpactPairs {
 public:
  using Sum = std::int16_t;

  struct Query {
    std::int64_t position = 0;
    std::int64_t length = 0;
    double norm = 0.0;
    PostingCursors<true> lists;
    std::vector<ImpactColumn> columns;
  };

  template <class Value>
  ImpactPairs(const ImpactIndex& index, const CsrView<Value>& rows, Metric metric)
      : index_(&index),
        metric_(metric),
        tiles_(index.blocks_, cached_bytes / std::max<std::int64_t>(index.postings_.n_columns, 1)),
        scale_(impact_scale(index.longest_row_, index.longest_row_,
                            index.worst_error_ + index.list_error_)) {
    for (const std::int32_t id : index.order_->ranked) {
      lengths_.push_back(static_cast<std::int32_t>(rows.row_size(id)));
      norms_.push_back(index.order_->norms[id]);
    }
  }

  const Tiles& tiles() const { return tiles_; }

  std::int64_t n_queries() const { return scale_.usable ? index_->blocks_.n_rows : 0; }

  template <class Value>
  void prepare(Query& query, const SparseRow<Value>& row, std::int64_t position, std::int64_t from,
               std::int64_t to, PrepareScratch& scratch) const {
    query.position = position;
    query.length = static_cast<std::int64_t>(row.size());
    query.norm = norms_[position];
    query.lists.begin(from, to, scratch.loose);
    query.columns.clear();
    const Postings& postings = index_->postings_;
    find_slots(postings, row.columns, scratch.slots);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int64_t slot = scratch.slots[i];
      const Postings::Place& place = postings.places[slot];
      const std::int16_t weight =
          impact_weight(row.values[i] / query.norm, index_->peaks_[slot], scale_.unit);
      if (place.is_column())
        query.columns.push_back({place.shape * index_->tiles_.rows_per_block, weight});
      else
        query.lists.add(postings, place, weight, tiles_, scratch.loose);
    }
    query.lists.finish(tiles_, scratch.loose);
  }

  void enter_block(Query& query, const Tile& tile) const {
    query.lists.enter_block(index_->postings_, tiles_, tile);
  }

  void add_lists(Query& query, std::size_t tile, Sum* sums) const {
    query.lists.read(tiles_, tile, [=](std::int64_t row, std::int16_t value) {
      sums[row] = static_cast<Sum>(sums[row] + value);
    });
  }

  void add_columns(const Query& query, std::int64_t first, Sum* sums) const {
    index_->kernels_.add(sums, query.columns.data(), query.columns.size(),
                         index_->columns_.data() + index_->cell_of(first));
  }

  std::size_t find(const Query&, std::int64_t first, Sum* sums, std::int32_t threshold,
                   Candidate* out) const {
    return index_->kernels_.find(sums, in_block(first), threshold, out);
  }

  std::size_t take(const Query& query, std::int64_t first, Sum* sums, std::int32_t threshold,
                   const Sum* row_thresholds, Candidate* out) const {
    add_columns(query, first, sums);
    return index_->kernels_.take_rows(sums, in_block(first), threshold, row_thresholds, out);
  }

  QueryRange range_of(const Query& query) const {
    return {query.length, query.length, query.norm, query.norm,
            index_->column_norms_[query.position]};
  }

  std::int32_t query_threshold(const Query& query, double bound, std::int64_t first) const {
    const std::int64_t group = first / Blocks::group;
    const NormRange& norms = index_->group_norms_[group];
    const double cosine = least_cosine(metric_, bound, query.norm, norms.low, norms.high);
    const double error = index_->column_norms_[query.position] * index_->groups_[group].error +
                         rounding(query.length, index_->groups_[group].longest_row);
    return as_sum(cosine - error);
  }

  void row_thresholds(const QueryRange& range, const double* bounds, const Tile& tile,
                      Sum* thresholds) const {
    for (std::int64_t i = tile.begin; i < tile.end; ++i) {
      const double cosine =
          metric_ == Metric::cosine
              ? -bounds[i]
              : least_cosine(metric_, bounds[i], norms_[i], range.low_norm, range.high_norm);
      const double error =
          range.column_norm * index_->errors_[i] + rounding(range.longest, lengths_[i]);
      thresholds[i - tile.begin] = static_cast<Sum>(as_sum(cosine - error));
    }
  }

  KeyRange key_range(std::int64_t row, const PairSum& pair) const {
    const std::int64_t a = row, b = pair.position;
    const double cosine = pair.sum * inverse_unit_;
    const std::int64_t query = pair.other_was_query ? b : a;
    const double error = index_->column_norms_[query] * index_->errors_[query == a ? b : a] +
                         rounding(lengths_[a], lengths_[b]);
    if (metric_ == Metric::cosine) return {-cosine - error, error - cosine};
    return impact_keys(metric_, cosine, error, norms_[a], norms_[b], lengths_[a] + lengths_[b]);
  }

  // Sums of zero and less are never examined where only rows that share a feature are neighbours.
  bool certain(std::int64_t position, double worst) const {
    if (metric_ == Metric::euclidean) return true;
    const double norm = norms_[position];
    const double cosine = least_cosine(metric_, worst, norm, norms_.front(), norms_.back());
    const double error = index_->worst_error_ + rounding(lengths_[position], index_->longest_row_);
    return (cosine - error) * scale_.unit - 1.0 >= 1.0;
  }

 private:
  static constexpr std::int64_t cached_bytes = 1 << 19;

  std::int64_t in_block(std::int64_t position) const {
    return position % index_->blocks_.rows_per_block;
  }

  // The part of impact_error() that does not come from columns.
  double rounding(std::int64_t a, std::int64_t b) const {
    return index_->list_error_ + static_cast<double>(std::min(a, b)) * inverse_unit_ + 1e-9 +
           4e-16 * static_cast<double>(a + b);
  }

  // The smallest sum of a cosine; rounded down, because a threshold one too low does no harm.
  std::int32_t as_sum(double cosine) const {
    const double lowest = metric_ == Metric::euclidean ? -32767.0 : 1.0;
    return static_cast<std::int32_t>(
        std::min(std::max(cosine * scale_.unit - 1.0, lowest), 32767.0));
  }

  const ImpactIndex* index_;
  Metric metric_;
  Tiles tiles_;
  ImpactScale scale_;
  double inverse_unit_ = 1.0 / scale_.unit;
  std::vector<std::int32_t> lengths_;  // by position
  std::vector<double> norms_;          // by position
};

}  // namespace vicinal
