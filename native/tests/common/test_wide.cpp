// Sums of squares: exact, however large, and whatever was added and taken away.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/common/wide.hpp"

namespace vicinal::test_wide {

namespace {

void squares_are_exact() {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1} << 31,
                                   (std::int64_t{1} << 40) + 12345, -(std::int64_t{1} << 52) - 1}) {
    const double expected = static_cast<double>(value) * static_cast<double>(value);
    CHECK(std::abs(Wide::square_of(value).as_double() - expected) <= 1e-15 * expected);
  }
  Wide sum = Wide::square_of(std::int64_t{1} << 52);
  sum += Wide::square_of(3);
  sum -= Wide::square_of(std::int64_t{1} << 52);
  CHECK(sum.high == 0 && sum.low == 9);
}

void the_largest_square_fits() {
  const Wide square = Wide::square_of(std::numeric_limits<std::int64_t>::min());
  CHECK(square.high == std::uint64_t{1} << 62 && square.low == 0);
}

// The sum of all values, taken away in another order, leaves exactly what was not taken.
void sums_do_not_depend_on_the_order() {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> values(1000);
  for (auto& value : values) value = static_cast<std::int64_t>(random()) >> (4 + random() % 50);
  Wide sum;
  for (const std::int64_t value : values) sum += Wide::square_of(value);
  for (std::size_t i = values.size(); i-- > 1;) sum -= Wide::square_of(values[i]);
  const Wide first = Wide::square_of(values[0]);
  CHECK(sum.high == first.high && sum.low == first.low);
}

}  // namespace

TEST(test_wide) {
  squares_are_exact();
  the_largest_square_fits();
  sums_do_not_depend_on_the_order();
}

}  // namespace vicinal::test_wide
