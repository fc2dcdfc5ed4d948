// A row of a block whose accumulated sum reached a threshold.
#pragma once

#include <cstdint>

namespace vicinal {

struct Candidate {
  std::int32_t local;  // row number within the block
  std::int32_t sum;
};

}  // namespace vicinal
