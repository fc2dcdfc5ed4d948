// The two loops over all rows of a block: add whole columns, and pick the accumulators that pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vicinal/impact.hpp"

namespace vicinal {

struct ImpactColumn {
  const std::int8_t* bytes;
  std::int16_t weight;
};

inline void add_columns(std::int16_t* sums, std::int64_t n_rows, const ImpactColumn* columns,
                        std::size_t n_columns) {
  for (std::size_t c = 0; c < n_columns; ++c) {
    const std::int8_t* bytes = columns[c].bytes;
    const std::int16_t weight = columns[c].weight;
    for (std::int64_t i = 0; i < n_rows; ++i)
      sums[i] = static_cast<std::int16_t>(sums[i] + impact_of(bytes[i], weight));
  }
}

struct Survivor {
  std::uint16_t local;
  std::int16_t sum;
};

// Write the rows of [0, n_rows) whose sum is at least `threshold`, set all sums to zero, and return
// how many were written.
inline std::size_t take_survivors(std::int16_t* sums, std::int64_t n_rows, std::int64_t first_row,
                                  std::int16_t threshold, Survivor* out) {
  std::size_t count = 0;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    out[count] = {static_cast<std::uint16_t>(first_row + i), sums[i]};
    count += sums[i] >= threshold;
    sums[i] = 0;
  }
  return count;
}

}  // namespace vicinal
