// The ranking of all labels by their base scores, computed once and shared by all rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace vicinal {

// Labels by (base score falling, label id rising). A row that stores s labels has this ranking with
// those s labels moved, so its ranks can be computed without visiting the other labels.
struct BaseOrder {
  std::vector<std::int32_t> label;     // by position
  std::vector<std::int32_t> position;  // by label
  std::vector<double> score;           // by position: falling

  explicit BaseOrder(std::span<const double> base)
      : label(base.size()), position(base.size()), score(base.size()) {
    std::iota(label.begin(), label.end(), 0);
    std::sort(label.begin(), label.end(), [&](std::int32_t a, std::int32_t b) {
      return base[a] != base[b] ? base[a] > base[b] : a < b;
    });
    for (std::size_t place = 0; place < label.size(); ++place) {
      position[label[place]] = static_cast<std::int32_t>(place);
      score[place] = base[label[place]];
    }
  }
};

}  // namespace vicinal
