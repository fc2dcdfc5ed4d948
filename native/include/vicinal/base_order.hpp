// The ranking of all labels by their base scores, made once and shared by every row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace vicinal {

// Labels by (base score falling, label id rising). A row that stores s labels ranks as this order
// with those s taken out and put elsewhere, so its ranks need no look at the other labels.
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
