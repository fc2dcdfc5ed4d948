// Products of two factors: found where there are any, and missed where there are none.
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "random_rows.hpp"
#include "vicinal/search/rank_one_fit.hpp"

namespace vicinal::test_rank_one_fit {

using testing::OwnedRows;

namespace {

constexpr std::int32_t n_rows = 600, n_features = 80;

// Rows with a quarter of the features, whose values are `value(row, feature)`.
template <class Value>
OwnedRows<double> rows_of(const Value& value) {
  std::mt19937 random(5);
  OwnedRows<double> rows{{0}, {}, {}, n_features};
  for (std::int32_t row = 0; row < n_rows; ++row) {
    for (std::int32_t feature = 0; feature < n_features; ++feature)
      if (random() % 4 == 0) {
        rows.indices.push_back(feature);
        rows.values.push_back(value(row, feature));
      }
    rows.indptr.push_back(std::ssize(rows.indices));
  }
  return rows;
}

// Rows, their ids and lengths, and features that are all frequent.
struct Setting {
  explicit Setting(const OwnedRows<double>& owned)
      : rows(owned.view()),
        ids(n_rows),
        norms(n_rows),
        features(distinct(rows.indices, n_features), n_features) {
    std::iota(ids.begin(), ids.end(), 0);
    for (const std::int32_t id : ids) norms[id] = std::sqrt(squared_norm(rows.row(id)));
    is_frequent.assign(features.size(), 1);
  }

  CsrView<double> rows;
  std::vector<std::int32_t> ids;
  std::vector<double> norms;
  FeatureTable features;
  std::vector<std::uint8_t> is_frequent;
};

double product(std::int32_t row, std::int32_t feature) {
  return (1.0 + row % 7) * (0.5 + feature % 11);
}

void products_have_their_factors() {
  const OwnedRows<double> owned = rows_of(product);
  const Setting s(owned);
  const RankOneFit fit(s.rows, s.ids, s.norms, s.features, s.is_frequent);
  double largest = 0.0;
  for (const std::int32_t id : s.ids) {
    const auto row = row_of(s.rows, id);
    const double scale = fit.scale_of(row, s.norms[id], s.features, s.is_frequent);
    for (std::size_t e = 0; e < row.size(); ++e) {
      const double value = row.values[e] / s.norms[id];
      const double found = scale * fit.factor(s.features.find(row.columns[e]));
      largest = std::max(largest, std::abs(found / value - 1.0));
    }
  }
  CHECK(largest < 0.01);
}

void a_sample_tells_products_from_other_values() {
  const OwnedRows<double> products = rows_of(product);
  const Setting of_products(products);
  const CellSample sample(of_products.rows, of_products.ids, of_products.norms,
                          of_products.features, of_products.is_frequent);
  CHECK(sample.error < 0.002);
  CHECK(std::abs(sample.column_norm - 1.0) < 1e-9);  // all features are frequent

  std::mt19937 random(9);
  const OwnedRows<double> others =
      rows_of([&](auto, auto) { return 0.05 + 1e-3 * static_cast<double>(random() % 1000); });
  const Setting of_others(others);
  const CellSample any(of_others.rows, of_others.ids, of_others.norms, of_others.features,
                       of_others.is_frequent);
  CHECK(any.error > 0.1);
}

void factors_stay_within_limits() {
  CHECK(RankOneFit::in_range(0.0) == 1e-6);
  CHECK(RankOneFit::in_range(1e300) == 1e6);
  CHECK(RankOneFit::in_range(3.0) == 3.0);
}

}  // namespace

TEST(test_rank_one_fit) {
  products_have_their_factors();
  a_sample_tells_products_from_other_values();
  factors_stay_within_limits();
}

}  // namespace vicinal::test_rank_one_fit
