// The posting lists of one row, read tile by tile by a search that moves through an index in rising
// order.
//
// A long list is read where the last tile ended, so that a tile costs no search of its own. Of
// short lists most have no entry in a tile, and asking each of them would cost more than reading
// them; so their entries are sorted by tile once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/search/impact.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/tiles.hpp"

namespace vicinal {

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

}  // namespace vicinal
