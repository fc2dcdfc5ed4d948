// Counting bits in columns, many rows at a time.
//
// A bitmap holds one bit a row. To add many bitmaps row by row, the counts themselves are kept as
// bit planes: plane p of a word holds bit p of the count of each row in the word. Three words of
// equal weight are added by a full adder (sum: a^b^c, carry: majority), so a bitmap costs about one
// adder for a whole word of rows. Several bitmaps go through a tree of adders before a carry has to
// ripple through the upper planes.
#pragma once

#include <cstddef>

namespace vicinal {

// Planes needed for counts up to n.
constexpr int planes_for(std::size_t n) {
  int planes = 0;
  while ((n >> planes) > 0) ++planes;
  return planes;
}

}  // namespace vicinal
