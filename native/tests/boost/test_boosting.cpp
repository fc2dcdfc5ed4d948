#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "vicinal/boost/boosting.hpp"

namespace vicinal::test_boosting {

namespace {

using Table = std::vector<std::vector<double>>;

struct Problem {
  Table X;                      // row by row
  std::vector<double> weights;  // signed, n x L
  std::vector<std::uint8_t> members;
  std::size_t n_labels;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> rows;
  std::vector<double> values;

  void sort_columns() {
    for (std::size_t f = 0; f < X[0].size(); ++f) {
      std::vector<std::pair<double, std::int32_t>> stored;
      for (std::size_t i = 0; i < X.size(); ++i)
        if (X[i][f] != 0) stored.emplace_back(X[i][f], static_cast<std::int32_t>(i));
      std::sort(stored.begin(), stored.end());
      for (const auto& [value, row] : stored) {
        rows.push_back(row);
        values.push_back(value);
      }
      indptr.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }

  vicinal::SplitSearch search() const {
    return {{indptr, rows, values},
            static_cast<std::int64_t>(X.size()),
            static_cast<std::int64_t>(n_labels)};
  }
};

// The definition: 2 sum of sqrt(W+ W-), from the rows themselves.
double z_of(const Problem& p, std::size_t feature, double threshold) {
  double z = 0;
  for (std::size_t l = 0; l < p.n_labels; ++l)
    for (const bool above : {false, true}) {
      double plus = 0, minus = 0;
      for (std::size_t i = 0; i < p.X.size(); ++i) {
        if (!p.members[i] || (p.X[i][feature] > threshold) != above) continue;
        const double w = p.weights[i * p.n_labels + l];
        (w > 0 ? plus : minus) += std::abs(w);
      }
      z += 2 * std::sqrt(plus * minus);
    }
  return z;
}

// The lowest Z of all thresholds that put members on both sides; infinity if there is none.
double lowest(const Problem& p) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t f = 0; f < p.X[0].size(); ++f) {
    std::set<double> seen;
    for (std::size_t i = 0; i < p.X.size(); ++i)
      if (p.members[i]) seen.insert(p.X[i][f]);
    if (!seen.empty()) seen.erase(std::prev(seen.end()));
    for (const double value : seen) best = std::min(best, z_of(p, f, value));
  }
  return best;
}

Problem random_problem(std::mt19937& random, std::size_t n, std::size_t m, std::size_t labels,
                       int low, int high) {
  Problem p;
  p.n_labels = labels;
  std::uniform_int_distribution<int> value(low, high), coin(0, 1), grains(1, 1 << 20);
  p.X.assign(n, std::vector<double>(m));
  for (auto& row : p.X)
    for (auto& cell : row) cell = value(random);
  for (std::size_t c = 0; c < n * labels; ++c)
    p.weights.push_back((coin(random) ? 1 : -1) * std::ldexp(grains(random), -30));
  for (std::size_t i = 0; i < n; ++i) p.members.push_back(coin(random) || coin(random));
  p.sort_columns();
  return p;
}

void agrees_with_the_definition(const Problem& p) {
  const auto one = p.search().best(p.weights, p.members, 1);
  const auto three = p.search().best(p.weights, p.members, 3);
  const double expected = lowest(p);
  CHECK(one.z == three.z && one.feature == three.feature && one.below == three.below);
  if (std::isinf(expected)) {
    CHECK(one.feature == -1);
    return;
  }
  CHECK(std::abs(one.z - expected) <= 1e-12 * (1 + expected));
  CHECK(one.below < one.above);
  const auto feature = static_cast<std::size_t>(one.feature);
  CHECK(std::abs(z_of(p, feature, one.below) - expected) <= 1e-12 * (1 + expected));
  bool between = false, at_below = false, at_above = false;
  for (std::size_t i = 0; i < p.X.size(); ++i) {
    if (!p.members[i]) continue;
    const double x = p.X[i][feature];
    between = between || (one.below < x && x < one.above);
    at_below = at_below || x == one.below;
    at_above = at_above || x == one.above;
  }
  CHECK(!between && at_below && at_above);
}

void equal_features_give_the_first_and_a_pure_split_is_exactly_0() {
  Problem p;
  p.n_labels = 1;
  // Features 1 and 2 split alike, 2 with the sides exchanged; feature 0 is constant.
  p.X = {{1, 0, 0}, {1, 0, 0.5}, {1, 3, -1}, {1, 7, -2}};
  p.weights = {0.1, 0.2, -0.3, -0.4};
  for (auto& w : p.weights) w = std::ldexp(std::rint(std::ldexp(w, 51)), -51);
  p.members = {1, 1, 1, 1};
  p.sort_columns();
  const auto split = p.search().best(p.weights, p.members, 2);
  CHECK(split.feature == 1 && split.z == 0 && split.below == 0 && split.above == 3);
}

}  // namespace

TEST(test_boosting) {
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 40; ++repeat)
    for (const auto& [low, high] : {std::pair{0, 2}, {-2, 2}, {-3, -1}, {1, 3}, {0, 0}, {-9, 9}})
      for (const std::size_t labels : {1, 3})
        agrees_with_the_definition(
            random_problem(random, 1 + repeat % 12, 1 + repeat % 4, labels, low, high));
  equal_features_give_the_first_and_a_pure_split_is_exactly_0();
}

}  // namespace vicinal::test_boosting
