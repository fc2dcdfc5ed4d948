// Sums of squares that are exact, and differences of such sums.
#pragma once

#include <cmath>
#include <cstdint>

namespace vicinal {

// A whole number modulo 2^128, for exact sums of squares.
struct Wide {
  std::uint64_t high = 0, low = 0;

  static Wide square_of(std::int64_t value) {
    const std::uint64_t size =
        value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
    const std::uint64_t h = size >> 32, l = size & 0xffffffffu, middle = h * l;
    Wide square{h * h + (middle >> 31), l * l};
    square.low += middle << 33;
    if (square.low < (middle << 33)) ++square.high;
    return square;
  }

  Wide& operator+=(const Wide& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
    return *this;
  }

  Wide& operator-=(const Wide& other) {
    high -= other.high + (low < other.low ? 1 : 0);
    low -= other.low;
    return *this;
  }

  double as_double() const {
    return std::ldexp(static_cast<double>(high), 64) + static_cast<double>(low);
  }
};

}  // namespace vicinal
