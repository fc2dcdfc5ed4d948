#include <cmath>
#include <vector>

#include "check.hpp"
#include "random_rows.hpp"
#include "vicinal/ridge/local_ridge.hpp"

namespace vicinal::test_local_ridge {

using testing::OwnedRows;
using testing::random_rows;

template <class Value>
static std::vector<double> dense_of(const OwnedRows<Value>& rows) {
  std::vector<double> dense((rows.indptr.size() - 1) * rows.n_columns, 0.0);
  for (std::size_t i = 0; i + 1 < rows.indptr.size(); ++i)
    for (std::int64_t at = rows.indptr[i]; at < rows.indptr[i + 1]; ++at)
      dense[i * rows.n_columns + rows.indices[at]] = rows.values[at];
  return dense;
}

static double kernel(const double* a, const double* b, std::int64_t m, Metric metric,
                     double width) {
  double dot = 0, own_a = 0, own_b = 0, distance = 0;
  for (std::int64_t j = 0; j < m; ++j) {
    dot += a[j] * b[j];
    own_a += a[j] * a[j];
    own_b += b[j] * b[j];
    distance += (a[j] - b[j]) * (a[j] - b[j]);
  }
  if (metric == Metric::dot) return dot;
  if (metric == Metric::cosine) return own_a * own_b == 0 ? 0 : dot / std::sqrt(own_a * own_b);
  return distance == 0 ? 1 : std::exp(-distance / (2 * width * width));
}

// How far weights are from solving (K + alpha I) w = s, with K from the definition.
static double residual(const std::vector<double>& dense, std::int64_t m,
                       std::span<const std::int32_t> ids, std::span<const double> near,
                       std::span<const double> w, Metric metric, double alpha) {
  const std::size_t n = ids.size();
  const double width = n == 0 ? 0 : 0.5 * (near[(n - 1) / 2] + near[n / 2]);
  double worst = 0;
  for (std::size_t a = 0; a < n; ++a) {
    double sum = alpha * w[a];
    for (std::size_t b = 0; b < n; ++b)
      sum += w[b] * kernel(&dense[ids[a] * m], &dense[ids[b] * m], m, metric, width);
    const double squared = near[a] * near[a];
    const double right = metric != Metric::euclidean ? near[a]
                         : squared == 0              ? 1
                                                     : std::exp(-squared / (2 * width * width));
    worst = std::max(worst, std::abs(sum - right));
  }
  return worst;
}

// Queries with all, some, one and no neighbours; rows repeat, and some are empty.
template <class Value>
static void solves_the_equations(std::int64_t k, std::int64_t m) {
  const auto rows = random_rows<Value>(2 * k + 3, m, 4.0, {1, 2, -0.5, 3}, 7);
  const std::vector<double> dense = dense_of(rows);
  const std::vector<std::int64_t> found{k, k / 2, 1, 0, k};
  std::vector<std::int32_t> ids;
  std::vector<double> near;
  for (std::size_t q = 0; q < found.size(); ++q)
    for (std::int64_t a = 0; a < k; ++a) {
      ids.push_back(a < found[q] ? static_cast<std::int32_t>((a + q) * 2 % (2 * k + 3)) : -1);
      near.push_back(0.25 * static_cast<double>(a + static_cast<std::int64_t>(q)));
    }
  const std::vector<std::int64_t> ks{(k + 1) / 2, k};
  const std::vector<double> alphas{0.01, 1.0, 1e6};
  const NeighborTable table{ids, near, k};
  for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean}) {
    const RidgeSettings settings{metric, ks, alphas};
    const auto sparse = local_ridge_weights(rows.view(), table, settings, simd_level("auto"), 1);
    const auto full =
        local_ridge_weights(DenseView<double>{dense, m}, table, settings, simd_level("auto"), 2);
    for (const auto& level : simd_levels())
      for (const int n_threads : {1, 3}) {
        CHECK(local_ridge_weights(rows.view(), table, settings, simd_level(level), n_threads) ==
              sparse);
        CHECK(local_ridge_weights(DenseView<double>{dense, m}, table, settings, simd_level(level),
                                  n_threads) == full);
      }
    for (std::size_t i = 0; i < ks.size(); ++i)
      for (std::size_t a = 0; a < alphas.size(); ++a) {
        const std::vector<std::int64_t> one_k{ks[i]};
        const std::vector<double> one_alpha{alphas[a]};
        const auto alone = local_ridge_weights(rows.view(), table, {metric, one_k, one_alpha},
                                               simd_level("auto"), 1);
        const std::size_t at = (i * alphas.size() + a) * ids.size();
        CHECK(std::equal(alone.begin(), alone.end(), sparse.begin() + at));
        for (std::size_t q = 0; q < found.size(); ++q) {
          const auto n = static_cast<std::size_t>(std::min(found[q], ks[i]));
          const auto own = [&](const auto& all) { return std::span(all).subspan(q * k, n); };
          for (const auto* weights : {&sparse, &full}) {
            const std::span w = std::span(*weights).subspan(at + q * k, k);
            CHECK(residual(dense, m, own(ids), own(near), w.first(n), metric, alphas[a]) < 1e-9);
            CHECK(std::all_of(w.begin() + n, w.end(), [](double each) { return each == 0; }));
          }
        }
      }
  }
}

// Two equal rows share the weight of one: with alpha = 1 and s = (1, 1), w = (1/3, 1/3).
static void equal_rows_share_their_weight() {
  const std::vector<double> rows{3, 4, 3, 4};
  const std::vector<std::int32_t> ids{0, 1};
  const std::vector<double> near{1, 1};
  const std::vector<std::int64_t> ks{2};
  const std::vector<double> alphas{1.0, 1e-300};
  const auto weights = local_ridge_weights(DenseView<double>{rows, 2}, {ids, near, 2},
                                           {Metric::cosine, ks, alphas}, simd_level("plain"), 1);
  for (const double w : std::span(weights).first(2)) CHECK(std::abs(w - 1.0 / 3.0) < 1e-15);
  for (const double w : std::span(weights).last(2)) CHECK(std::abs(w - 0.5) < 1e-4);
}

// All neighbours at distance 0: the width of the Gaussian is 0, and equal rows have kernel 1.
static void a_width_of_zero() {
  const std::vector<double> rows{3, 4, 3, 4, 0, 0};
  const std::vector<std::int32_t> ids{0, 1, 2};
  const std::vector<double> near{0, 0, 5};
  const std::vector<std::int64_t> ks{3};
  const std::vector<double> alphas{1.0};
  const auto weights = local_ridge_weights(DenseView<double>{rows, 2}, {ids, near, 3},
                                           {Metric::euclidean, ks, alphas}, simd_level("auto"), 1);
  CHECK(std::abs(weights[0] - 1.0 / 3.0) < 1e-15 && std::abs(weights[1] - 1.0 / 3.0) < 1e-15);
  CHECK(weights[2] == 0.0);
}

TEST(test_local_ridge) {
  for (const std::int64_t k : {1, 2, 7, 8, 9, 33, 50}) {
    solves_the_equations<double>(k, 20);
    solves_the_equations<float>(k, 90);
  }
  equal_rows_share_their_weight();
  a_width_of_zero();
}

}  // namespace vicinal::test_local_ridge
