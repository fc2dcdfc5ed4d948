// A first threshold for a search: a value that at least k of many numbers reach, without sorting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "vicinal/common/compiler.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// The rows of a block from which a query's first threshold is estimated, in whole groups.
struct EstimateWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  EstimateWindow() = default;

  // Around row `center` of a block of `size` rows, with room for at least k candidates.
  EstimateWindow(std::int64_t center, std::int64_t size, std::int64_t k) {
    const std::int64_t padded = (size + Blocks::group - 1) / Blocks::group * Blocks::group;
    const std::int64_t rows =
        (std::max(fewest_rows, 4 * k) + Blocks::group - 1) / Blocks::group * Blocks::group;
    begin =
        std::clamp<std::int64_t>(center - rows / 2, 0, std::max<std::int64_t>(padded - rows, 0));
    begin -= begin % Blocks::group;
    end = std::min(begin + rows, padded);
  }

  bool empty() const { return begin == end; }
  bool contains(std::int64_t row) const { return row >= begin && row < end; }

 private:
  static constexpr std::int64_t fewest_rows = 8 * Blocks::group;
};

// Numbers are assigned to classes by index modulo the number of classes; the result is the k-th
// largest of the class maxima. At least k different numbers reach it, and few more do, because the
// largest numbers rarely share a class. If there are fewer than k numbers, it is the smallest
// class maximum.
template <class Number>
Number threshold_estimate(const Number* VICINAL_RESTRICT numbers, std::int64_t size, std::int64_t k,
                          std::vector<Number>& maxima) {
  const std::int64_t classes = std::min(size, std::max<std::int64_t>(128, 4 * k));
  maxima.assign(numbers, numbers + classes);
  Number* const VICINAL_RESTRICT largest = maxima.data();
  for (std::int64_t first = classes; first < size; first += classes) {
    const std::int64_t count = std::min(classes, size - first);
    for (std::int64_t i = 0; i < count; ++i) largest[i] = std::max(largest[i], numbers[first + i]);
  }
  const auto kth = maxima.begin() + std::min(k, classes) - 1;
  std::nth_element(maxima.begin(), kth, maxima.end(), std::greater<>());
  return *kth;
}

}  // namespace vicinal
