// A value that at least k of many numbers reach, found without sorting them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace vicinal {

// The numbers are dealt into classes by remainder, and the k-th largest of the classes' maxima is
// returned: k different numbers are at least that large, and few more, as the largest seldom meet
// in one class. Where there are fewer than k numbers, the least of them.
template <class Number>
Number reached_by(const Number* __restrict numbers, std::int64_t size, std::int64_t k,
                  std::vector<Number>& maxima) {
  const std::int64_t classes = std::min(size, std::max<std::int64_t>(128, 4 * k));
  maxima.assign(numbers, numbers + classes);
  Number* const __restrict largest = maxima.data();
  for (std::int64_t first = classes; first < size; first += classes) {
    const std::int64_t count = std::min(classes, size - first);
    for (std::int64_t i = 0; i < count; ++i) largest[i] = std::max(largest[i], numbers[first + i]);
  }
  const auto kth = maxima.begin() + std::min(k, classes) - 1;
  std::nth_element(maxima.begin(), kth, maxima.end(), std::greater<>());
  return *kth;
}

}  // namespace vicinal
