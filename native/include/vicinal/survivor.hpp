// A row of a block that passed a threshold.
#pragma once

#include <cstdint>

namespace vicinal {

struct Survivor {
  std::int32_t local;  // its place in the block
  std::int32_t sum;
};

}  // namespace vicinal
