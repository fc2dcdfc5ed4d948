// The positions of an index in runs that fit a core's cache; a tile never crosses a block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vicinal/search/row_order.hpp"

namespace vicinal {

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

}  // namespace vicinal
