// Counts of cells by label and score, merged, are what a map counts.

#include <limits>
#include <map>
#include <random>
#include <utility>

#include "check.hpp"
#include "vicinal/rank/score_counts.hpp"

namespace vicinal::test_score_counts {

namespace {

ScoreCounts random_counts(std::mt19937& random, std::int64_t n_labels, std::size_t n_columns) {
  ScoreCounts counts;
  const double values[] = {-1.5,
                           -0.0,
                           0.0,
                           0.25,
                           1e-310,
                           1e308,
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::infinity()};
  for (std::size_t j = 0; j < n_columns; ++j) {
    counts.labels.push_back(static_cast<std::int32_t>(random() % n_labels));
    counts.values.push_back(values[random() % std::size(values)]);
    counts.n_true.push_back(random() % 3);
    counts.n_all.push_back(random() % 5);
  }
  return counts;
}

ScoreCountsView view(const ScoreCounts& counts) {
  return {counts.labels, counts.values, counts.n_true, counts.n_all};
}

void merged_counts_are_those_of_a_map() {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t n_labels = 1 + random() % 700;
    const auto counts = random_counts(random, n_labels, random() % 2000);
    std::map<std::pair<std::int32_t, double>, std::pair<std::int64_t, std::int64_t>> expected;
    for (std::size_t j = 0; j < counts.labels.size(); ++j) {
      auto& [n_true, n_all] = expected[{counts.labels[j], counts.values[j]}];
      n_true += counts.n_true[j];
      n_all += counts.n_all[j];
    }
    const auto merged = merged_counts(view(counts), n_labels, 1 + round % 3);
    CHECK(merged.labels.size() == expected.size());
    std::size_t j = 0;
    for (const auto& [key, numbers] : expected) {
      CHECK(merged.labels[j] == key.first && merged.values[j] == key.second);
      CHECK(merged.n_true[j] == numbers.first && merged.n_all[j] == numbers.second);
      ++j;
    }
  }
}

void a_score_that_is_no_number_has_a_place() {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const ScoreCounts counts{{0, 0, 0, 0}, {none, 2.0, none, -1.0}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  const auto merged = merged_counts(view(counts), 1, 1);
  CHECK(merged.values.size() == 3);
  CHECK(merged.n_all == std::vector<std::int64_t>{1, 1, 2});
}

}  // namespace

TEST(test_score_counts) {
  merged_counts_are_those_of_a_map();
  a_score_that_is_no_number_has_a_place();
}

}  // namespace vicinal::test_score_counts
