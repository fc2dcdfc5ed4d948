#include <cmath>
#include <random>
#include <set>

#include "check.hpp"
#include "vicinal/blend/label_centroids.hpp"

namespace vicinal::test_label_centroids {

struct Rows {
  std::vector<std::int64_t> indptr{0}, label_indptr{0};
  std::vector<std::int32_t> indices, labels;
  std::vector<double> values;

  CsrView<double> features(std::int64_t n) const { return {indptr, indices, values, n}; }
  PatternView label_sets(std::int64_t n) const { return {label_indptr, labels, n}; }
};

static constexpr int n_features = 150, n_labels = 9;

static Rows random(int n_rows, unsigned seed) {
  std::mt19937 random(seed);
  Rows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features, labels;
    for (unsigned i = random() % 8; i > 0; --i) features.insert(random() % n_features);
    for (unsigned i = random() % 4; i > 0; --i) labels.insert(random() % n_labels);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((static_cast<int>(random() % 2001) - 1000) / 1000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

static Rows joined(const Rows& a, const Rows& b) {
  Rows both = a;
  for (std::size_t i = 1; i < b.indptr.size(); ++i) {
    both.indptr.push_back(std::ssize(a.indices) + b.indptr[i]);
    both.label_indptr.push_back(std::ssize(a.labels) + b.label_indptr[i]);
  }
  both.indices.insert(both.indices.end(), b.indices.begin(), b.indices.end());
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  both.labels.insert(both.labels.end(), b.labels.begin(), b.labels.end());
  return both;
}

static LabelCentroids built(const Rows& rows, int n = n_labels, int n_threads = 2) {
  return {rows.features(n_features), rows.label_sets(n), n_threads};
}

static bool same(const LabelCentroids& a, const LabelCentroids& b) {
  for (std::int32_t label = 0; label < a.n_labels(); ++label) {
    if (a.norm(label) != b.norm(label)) return false;
    for (std::int32_t feature = 0; feature < n_features; ++feature)
      if (a.sum(feature, label) != b.sum(feature, label)) return false;
  }
  return a.n_labels() == b.n_labels();
}

static void sums_follow_the_definition() {
  const Rows rows = random(60, 1);
  const LabelCentroids centroids = built(rows);
  for (std::int32_t label = 0; label < n_labels; ++label) {
    std::vector<double> sums(n_features, 0.0);
    for (std::size_t row = 0; row + 1 < rows.indptr.size(); ++row) {
      const auto own = rows.label_sets(n_labels).columns(row);
      if (std::find(own.begin(), own.end(), label) == own.end()) continue;
      for (auto at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at)
        sums[rows.indices[at]] += rows.values[at];
    }
    double square = 0.0;
    for (std::int32_t feature = 0; feature < n_features; ++feature) {
      const auto sum = static_cast<double>(centroids.sum(feature, label)) / LabelCentroids::one;
      CHECK(std::abs(sum - sums[feature]) < 1e-8);
      square += sums[feature] * sums[feature];
    }
    CHECK(std::abs(centroids.norm(label) / LabelCentroids::one - std::sqrt(square)) < 1e-7);
  }
}

static void changes_have_the_bits_of_a_new_build() {
  const Rows first = random(40, 2), more = random(15, 3);
  const LabelCentroids start = built(first);
  const LabelCentroids both =
      start.changed(more.features(n_features), more.label_sets(n_labels), 1);
  CHECK(same(both, built(joined(first, more))));
  CHECK(same(both, built(joined(more, first), n_labels, 1)));
  CHECK(same(start, built(first)));  // unchanged
  const LabelCentroids back =
      both.changed(more.features(n_features), more.label_sets(n_labels), -1);
  CHECK(same(back, start));
  const LabelCentroids nothing =
      start.changed(first.features(n_features), first.label_sets(n_labels), -1);
  CHECK(same(nothing, built(Rows{})));
  const Rows wider = random(3, 4);
  CHECK(same(start.changed(wider.features(n_features), wider.label_sets(n_labels + 2), 1),
             built(joined(first, wider), n_labels + 2)));
}

static void squares_are_exact() {
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

static void a_left_out_row_is_not_in_its_own_sum() {
  const Rows rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 0, 1}, {2, 2, 2}, {0.6, 1.0, 1.0}};
  const LabelCentroids centroids = built(rows, 3);
  const double fixed = 0.6 * LabelCentroids::one;
  SparseAccumulator products;
  products.resize(3);
  const std::vector<std::int32_t> features{0};
  const std::vector<double> values{0.6};
  centroids.add_products(features, values, products);
  // The others are (1, 0) and (0, 1): the cosine of (0.6, 0) and (1, 1) less its length.
  const double found = centroids.cosine_without(2, products[2], 0.6 * fixed, fixed * fixed);
  CHECK(std::abs(found - 0.6 / std::sqrt(2.0)) < 1e-8);
  const Rows alone{{0, 1}, {0, 1}, {0}, {0}, {1.0}};
  const double all = LabelCentroids::one;
  CHECK(built(alone, 1).cosine_without(0, all, all, all * all) == 0.0);
}

TEST(test_label_centroids) {
  sums_follow_the_definition();
  changes_have_the_bits_of_a_new_build();
  squares_are_exact();
  a_left_out_row_is_not_in_its_own_sum();
}

}  // namespace vicinal::test_label_centroids
