// Bit-sliced counters: adding bitmaps for many rows at a time.
//
// A bitmap holds one bit per row. To add many bitmaps row by row, the counts themselves are kept as
// bit planes: plane p of a word holds bit p of the count of each row in the word. Three words of
// equal weight are added by a full adder (sum: a^b^c, carry: majority), so a bitmap costs about one
// adder for a whole word of rows. A tree of adders combines several bitmaps before a carry ripples
// through the upper planes.
#pragma once

#include <cstddef>

namespace vicinal {

// The number of planes needed for counts up to n.
constexpr int planes_for(std::size_t n) {
  int planes = 0;
  while ((n >> planes) > 0) ++planes;
  return planes;
}

}  // namespace vicinal
