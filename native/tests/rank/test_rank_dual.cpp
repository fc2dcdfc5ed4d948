#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/rank/rank_dual.hpp"

namespace vicinal::test_rank_dual {

namespace {

struct Problem {
  std::vector<double> kernel;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> labels;
  std::int64_t n_labels;

  std::int64_t n() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  vicinal::PatternView pattern() const { return {indptr, labels, n_labels}; }
};

Problem random_problem(std::mt19937& random, std::int64_t n, std::int64_t n_labels) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> coin(0, 1);
  Problem p;
  p.n_labels = n_labels;
  std::vector<double> x(n * 2);
  for (auto& value : x) value = normal(random);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      p.kernel.push_back(x[2 * i] * x[2 * j] + x[2 * i + 1] * x[2 * j + 1]);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int32_t l = 0; l < n_labels; ++l)
      if (coin(random)) p.labels.push_back(l);
    p.indptr.push_back(static_cast<std::int64_t>(p.labels.size()));
  }
  return p;
}

// Primal less dual objective, by their definitions.
double gap(const Problem& p, const vicinal::RankDual& dual, double cost) {
  const auto& b = dual.weights();
  double norms = 0, losses = 0;
  for (std::int64_t i = 0; i < p.n(); ++i) {
    std::vector<double> f(p.n_labels);
    for (std::int64_t j = 0; j < p.n(); ++j)
      for (std::int64_t k = 0; k < p.n_labels; ++k)
        f[k] += p.kernel[i * p.n() + j] * b[j * p.n_labels + k];
    for (std::int64_t k = 0; k < p.n_labels; ++k) norms += b[i * p.n_labels + k] * f[k];
    std::vector<bool> has(p.n_labels);
    for (const auto l : p.pattern().columns(i)) has[l] = true;
    double loss = 0;
    int pairs = 0;
    for (std::int64_t s = 0; s < p.n_labels; ++s)
      for (std::int64_t t = 0; t < p.n_labels; ++t)
        if (has[s] && !has[t]) {
          loss += std::max(0.0, 1 - (f[s] - f[t]));
          ++pairs;
        }
    if (pairs > 0) losses += loss / pairs;
  }
  return norms / 2 + cost * losses - (dual.total() - norms / 2);
}

void closes_the_gap(std::int64_t n, std::int64_t n_labels, double cost) {
  std::mt19937 random(static_cast<unsigned>(n * 10 + n_labels));
  const Problem p = random_problem(random, n, n_labels);
  vicinal::RankDual dual(p.kernel, p.pattern(), cost);
  std::vector<std::int64_t> order(n);
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  const double before = gap(p, dual, cost);
  for (int sweep = 0; sweep < 4000; ++sweep) dual.sweep(order);
  const double after = gap(p, dual, cost);
  CHECK(after >= -1e-9 * (1 + before));
  CHECK(after <= 1e-6 * (1 + before));
}

// One row at the origin of the kernel's space: nothing it does changes a score.
void a_row_without_length_takes_the_bound() {
  const Problem p{{0.0}, {0, 1}, {0}, 3};
  vicinal::RankDual dual(p.kernel, p.pattern(), 5.0);
  const std::vector<std::int64_t> order{0};
  dual.sweep(order);
  CHECK(dual.total() == 5.0);
  CHECK(gap(p, dual, 5.0) == 0.0);
}

// Two labels, one row, K = 4: the pair's variable goes to 1 / (2 K), or to its bound C.
void one_pair_by_hand() {
  const Problem p{{4.0}, {0, 1}, {1}, 2};
  const std::vector<std::int64_t> order{0};
  vicinal::RankDual free(p.kernel, p.pattern(), 1.0), bounded(p.kernel, p.pattern(), 0.0625);
  free.sweep(order);
  bounded.sweep(order);
  CHECK(free.weights() == std::vector<double>{-0.125, 0.125});
  CHECK(bounded.weights() == std::vector<double>{-0.0625, 0.0625});
}

}  // namespace

TEST(test_rank_dual) {
  for (const double cost : {0.1, 1.0, 10.0})
    for (const std::int64_t n : {1, 6, 15})
      for (const std::int64_t n_labels : {1, 2, 4}) closes_the_gap(n, n_labels, cost);
  a_row_without_length_takes_the_bound();
  one_pair_by_hand();
}

}  // namespace vicinal::test_rank_dual
