#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/search/count_index.hpp"
#include "vicinal/search/impact_index.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal::test_threshold_estimate {

static_assert(Scorer<CountIndex, float>);
static_assert(Scorer<ImpactIndex, double>);
static_assert(!Scorer<Blocks, float>);

namespace {

void at_least_k_numbers_reach_the_estimate() {
  std::mt19937 random(1);
  std::vector<std::int16_t> maxima;
  for (const std::int64_t size : {1, 2, 127, 128, 129, 1000, 5000})
    for (const std::int64_t k : {1, 2, 30, 127, 400}) {
      std::vector<std::int16_t> numbers(size);
      for (auto& number : numbers) number = static_cast<std::int16_t>(random() % 100) - 50;
      const auto estimate = threshold_estimate(numbers.data(), size, k, maxima);
      const auto reached = std::count_if(numbers.begin(), numbers.end(),
                                         [&](std::int16_t number) { return number >= estimate; });
      CHECK(reached >= std::min(k, size));
    }
}

void a_window_lies_in_its_block_and_has_room_for_k() {
  for (const std::int64_t size : {1, 511, 512, 5000, 65536})
    for (const std::int64_t k : {1, 1000, 40000})
      for (const std::int64_t center : {std::int64_t{0}, size / 2, size}) {
        const EstimateWindow window(center, size, k);
        CHECK(window.begin >= 0 && window.begin % Blocks::group == 0);
        CHECK(window.end % Blocks::group == 0 && window.end < size + Blocks::group);
        CHECK(std::min(window.end, size) - window.begin >= std::min(size, k));
        CHECK(!window.empty() && window.contains(window.begin) && !window.contains(window.end));
      }
  CHECK(EstimateWindow().empty() && !EstimateWindow().contains(0));
}

}  // namespace

TEST(test_threshold_estimate) {
  at_least_k_numbers_reach_the_estimate();
  a_window_lies_in_its_block_and_has_room_for_k();
}

}  // namespace vicinal::test_threshold_estimate
