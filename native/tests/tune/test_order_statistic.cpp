#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "vicinal/tune/cardinality_threshold.hpp"

namespace vicinal::test_order_statistic {

namespace {

using Numbers = std::vector<double>;

// `levels` distinct values, all about equally often; 0 for none that is the same.
Numbers random_numbers(std::mt19937& random, std::int64_t n, int levels) {
  Numbers numbers(n);
  std::uniform_real_distribution<double> real(0.0, 1.0);
  for (double& each : numbers)
    each = levels == 0 ? real(random) : static_cast<double>(random() % levels) / levels;
  return numbers;
}

auto reader(const Numbers& numbers) {
  return [&numbers](std::int64_t i) { return numbers[i]; };
}

bool right_tail(const Numbers& numbers, std::int64_t rank, Numbers& scratch) {
  Numbers sorted = numbers;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const Tail tail =
      tail_at(static_cast<std::int64_t>(numbers.size()), reader(numbers), rank, scratch);
  const auto above = std::count_if(numbers.begin(), numbers.end(),
                                   [&](double each) { return each > sorted[rank]; });
  const double below =
      next_below(static_cast<std::int64_t>(numbers.size()), reader(numbers), sorted[rank]);
  return tail.value == sorted[rank] && tail.above == above &&
         (std::isinf(tail.below) || tail.below == below) &&
         tail.equal == std::count(numbers.begin(), numbers.end(), sorted[rank]);
}

}  // namespace

static void every_rank_of_few_numbers() {
  std::mt19937 random(1);
  Numbers scratch;
  bool right = true;
  for (const std::int64_t n : {1, 2, 3, 10, 50})
    for (const int levels : {0, 1, 2, 5}) {
      const Numbers numbers = random_numbers(random, n, levels);
      for (std::int64_t rank = 0; rank < n; ++rank)
        right = right && right_tail(numbers, rank, scratch);
    }
  CHECK(right);
}

// Enough numbers for a sample; ranks at both ends, where the band is open.
static void ranks_of_many_numbers() {
  std::mt19937 random(2);
  Numbers scratch;
  bool right = true;
  for (const std::int64_t n : {2047, 2048, 5000, 40000})
    for (const int levels : {0, 1, 3, 100}) {
      const Numbers numbers = random_numbers(random, n, levels);
      for (const std::int64_t rank :
           {std::int64_t{0}, std::int64_t{1}, n / 50, n / 2, n - 2, n - 1})
        right = right && right_tail(numbers, rank, scratch);
    }
  CHECK(right);
}

// The sample takes every sixteenth number: here it sees nothing but lies.
static void a_sample_that_misleads() {
  Numbers numbers(8192);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = i % 16 == 0 ? 1e6 + static_cast<double>(i) : static_cast<double>(i % 977);
  Numbers scratch;
  bool right = true;
  for (const std::int64_t rank : {0, 400, 600, 4000, 8191})
    right = right && right_tail(numbers, rank, scratch);
  for (std::size_t i = 0; i < numbers.size(); i += 16) numbers[i] = -1.0;
  for (const std::int64_t rank : {0, 400, 4000, 7600, 8191})
    right = right && right_tail(numbers, rank, scratch);
  CHECK(right);
}

static void the_next_lower_number() {
  const Numbers numbers{0.5, 0.25, 0.5, 0.125};
  CHECK(next_below(4, reader(numbers), 0.5) == 0.25);
  CHECK(next_below(4, reader(numbers), 1.0) == 0.5);
  CHECK(next_below(4, reader(numbers), 0.125) == -std::numeric_limits<double>::infinity());
}

// The rule as it is defined: try every score of a cell, and "all pass".
static double defined_threshold(Numbers cells, std::int64_t wanted) {
  const std::set<double, std::greater<>> candidates(cells.begin(), cells.end());
  const auto above = [&](double t) {
    return std::count_if(cells.begin(), cells.end(), [&](double each) { return each > t; });
  };
  double best = std::nextafter(*candidates.rbegin(), -1.0);
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const double t : candidates)
    if (std::abs(above(t) - wanted) < least) least = std::abs(above(t) - wanted), best = t;
  return std::abs(above(std::nextafter(*candidates.rbegin(), -1.0)) - wanted) < least
             ? std::nextafter(*candidates.rbegin(), -1.0)
             : best;
}

static void the_exact_threshold_for_every_number_of_labels() {
  std::mt19937 random(3);
  Numbers scratch;
  bool right = true;
  for (int trial = 0; trial < 60; ++trial) {
    const Numbers stored = random_numbers(random, trial % 13, trial % 4);
    const auto n = static_cast<std::int64_t>(stored.size());
    for (const std::int64_t zeros : {0, 1, 7}) {
      Numbers all = stored;
      all.insert(all.end(), zeros, 0.0);
      if (all.empty()) continue;
      for (std::int64_t wanted = 0; wanted <= n + zeros; ++wanted) {
        const auto found =
            exact_threshold(Cells{n, reader(stored), n + zeros, 0.0}, wanted, scratch);
        right = right && found && *found == defined_threshold(all, wanted);
      }
    }
  }
  CHECK(right);
  CHECK(exact_threshold(Cells{0, reader(scratch), 0, 0.0}, 0, scratch) == 0.0);
}

static double defined_two_pass(const Numbers& cells, std::int64_t wanted) {
  const auto miss = [&](int h) {
    const auto above =
        std::count_if(cells.begin(), cells.end(), [&](double each) { return each > h / 100.0; });
    return std::abs(above - wanted);
  };
  int coarse = 0;
  for (int h = 10; h <= 100; h += 10)
    if (miss(h) < miss(coarse)) coarse = h;
  int best = coarse - 5;
  for (int h = coarse - 4; h <= coarse + 5; ++h)
    if (miss(h) < miss(best)) best = h;
  return best / 100.0;
}

static void the_two_passes_of_the_paper() {
  std::mt19937 random(5);
  bool right = true;
  for (int trial = 0; trial < 60; ++trial) {
    // 100 levels: scores that are thresholds too, some of them one step beside.
    Numbers stored = random_numbers(random, 40, trial % 2 ? 100 : 0);
    for (std::size_t i = 0; i < stored.size(); i += 3)
      stored[i] = std::nextafter(stored[i], i % 2 ? 2.0 : 0.0);
    if (trial % 5 == 0) stored[0] = 1.3;
    Numbers all = stored;
    all.insert(all.end(), 10, 0.0);
    for (std::int64_t wanted = 0; wanted <= 50; ++wanted)
      right = right && two_pass_threshold(Cells{40, reader(stored), 50, 0.0}, wanted) ==
                           defined_two_pass(all, wanted);
  }
  CHECK(right);
}

// With the low cells left out the answer is the same, or there is none.
template <class Find, class Define>
static void check_floors(std::int64_t n_stored, Find find, Define defined) {
  std::mt19937 random(4);
  bool right = true;
  int answers = 0, refusals = 0;
  for (int trial = 0; trial < 170; ++trial) {
    const Numbers all = random_numbers(random, n_stored, trial % 3 * 4);
    const double floor = 0.03 + 0.037 * (trial % 17);
    Numbers high;
    for (std::size_t i = 0; i < all.size(); ++i)  // and some of the low ones
      if (all[i] >= floor || i % 3 == 0) high.push_back(all[i]);
    for (std::int64_t wanted = 0; wanted <= n_stored + 2; ++wanted) {
      const auto n = static_cast<std::int64_t>(high.size());
      const auto found = find(Cells{n, reader(high), n_stored + 2, floor}, wanted);
      Numbers cells = all;
      cells.insert(cells.end(), 2, 0.0);
      if (found) right = right && *found == defined(cells, wanted);
      ++(found ? answers : refusals);
    }
  }
  CHECK(right);
  CHECK(answers > 1000);
  CHECK(refusals > 1000);
}

static void cells_below_a_floor_are_not_needed() {
  Numbers scratch;
  check_floors(
      30, [&](const auto& cells, std::int64_t n) { return exact_threshold(cells, n, scratch); },
      defined_threshold);
  check_floors(
      200, [&](const auto& cells, std::int64_t n) { return two_pass_threshold(cells, n); },
      defined_two_pass);
}

TEST(test_order_statistic) {
  every_rank_of_few_numbers();
  ranks_of_many_numbers();
  a_sample_that_misleads();
  the_next_lower_number();
  the_exact_threshold_for_every_number_of_labels();
  cells_below_a_floor_are_not_needed();
  the_two_passes_of_the_paper();
}

}  // namespace vicinal::test_order_statistic
