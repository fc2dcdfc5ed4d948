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

static LabelCentroids built(const Rows& rows, int n = n_labels, int n_threads = 2,
                            std::int64_t at_once = 1000) {
  const std::vector<double> lengths(rows.indptr.size() - 1, 1.0);
  return {rows.features(n_features), lengths, rows.label_sets(n), n_threads, at_once};
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
  double product = 0.0;
  product += 0.6 * static_cast<double>(centroids.sum(0, 2));
  // The others are (1, 0) and (0, 1): the cosine of (0.6, 0) and (1, 1) less its length.
  const double found = centroids.cosine_without(2, product, 0.6 * fixed, fixed * fixed);
  CHECK(std::abs(found - 0.6 / std::sqrt(2.0)) < 1e-8);
  const Rows alone{{0, 1}, {0, 1}, {0}, {0}, {1.0}};
  const double all = LabelCentroids::one;
  CHECK(built(alone, 1).cosine_without(0, all, all, all * all) == 0.0);
}

// Some features are in many rows and say little, others are in few rows and say much.
static Rows words(int n_rows, unsigned seed, int n) {
  std::mt19937 random(seed);
  Rows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features{static_cast<int>(20 + random() % 120)}, labels;
    for (unsigned i = random() % 9; i > 0; --i) features.insert(random() % 12);
    for (unsigned i = random() % 30; i > 0; --i) labels.insert(random() % n);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((feature < 20 ? 0.05 : 0.9) + (random() % 100) / 2000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

// Labels in several tiles; sums above one and below zero; rows without features.
static Rows many_labels(int n_rows, unsigned seed, int n) {
  std::mt19937 random(seed);
  Rows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features, labels{static_cast<int>(random() % 3)};
    for (unsigned i = random() % 6; i > 0; --i) features.insert(random() % 12);
    for (unsigned i = random() % 30; i > 0; --i) labels.insert(random() % n);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((static_cast<int>(random() % 1201) - 200) / 1000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

static void cosines_follow_the_sums(const Rows& rows, const LabelCentroids& centroids, Simd simd) {
  const int n = static_cast<int>(centroids.n_labels());
  CentroidCosines batch(simd);
  std::vector<CentroidCosines::Row> asked;
  std::vector<std::vector<std::int32_t>> wanted(20);
  for (int row = 0; row < 20; ++row)
    for (std::int32_t label = 0; label < n; label += 1 + row) wanted[row].push_back(label);
  const std::vector<std::size_t> counts{0, 1, 7, 300, 100'000};
  for (int row = 0; row < 20; ++row)
    asked.push_back(
        {rows.features(n_features).columns(row), rows.features(n_features).row(row),
         row % 2 == 1 ? rows.label_sets(n).columns(row) : std::span<const std::int32_t>(),
         wanted[row], counts[row % 5], row % 2 == 1});
  batch.compare(centroids, asked, [] {});
  batch.compare(centroids, asked, [] {});  // nothing is left of the first time
  for (int row = 0; row < 20; ++row) {
    const auto features = rows.features(n_features).columns(row);
    const auto values = rows.features(n_features).row(row);
    const auto own = rows.label_sets(n).columns(row);
    const bool leaves_out = row % 2 == 1;
    double own_product = 0.0, own_square = 0.0;
    for (const double value : values) {
      const auto fixed = static_cast<double>(LabelCentroids::fixed(value));
      own_product += value * fixed;
      own_square += fixed * fixed;
    }
    std::vector<Neighbor> expected;
    double largest = 0.0;
    for (std::int32_t label = 0; label < n; ++label) {
      double product = 0.0;
      for (std::size_t i = 0; i < features.size(); ++i)
        product += values[i] * static_cast<double>(centroids.sum(features[i], label));
      double cosine = centroids.cosine(label, product);
      if (leaves_out && !features.empty() && std::binary_search(own.begin(), own.end(), label))
        cosine = centroids.cosine_without(label, product, own_product, own_square);
      CHECK(batch.cosine(row, label) == cosine);
      largest = std::max(largest, cosine);
      if (cosine > 0.0) expected.push_back({-cosine, label});
    }
    CHECK(batch.largest(row) == largest);
    std::sort(expected.begin(), expected.end(), before);
    const auto& found = batch.best(row);
    CHECK(found.size() == std::min(std::max<std::size_t>(counts[row % 5], 1), expected.size()));
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].id == expected[i].id);
  }
}

// Some features are so frequent that they have a number per label.
static void cosines_follow_the_sums(const Rows& rows, const LabelCentroids& centroids) {
  int n_dense = 0;
  for (std::int32_t feature = 0; feature < n_features; ++feature)
    n_dense += centroids.dense(feature) != nullptr;
  CHECK(n_dense > 0 && n_dense < n_features);
  for (const std::string& level : simd_levels())
    cosines_follow_the_sums(rows, centroids, simd_level(level));
}

static void many_changes_of_one_list_have_the_bits_of_a_new_build() {
  const int n = 5'000;
  Rows all = many_labels(30, 6, n);
  LabelCentroids centroids = built(all, n);
  for (unsigned seed = 7; seed < 60; ++seed) {
    const Rows more = many_labels(3, seed, n);
    centroids = centroids.changed(more.features(n_features), more.label_sets(n), 1);
    all = joined(all, more);
  }
  const LabelCentroids fresh = built(all, n);
  CHECK(same(centroids, fresh));
  CentroidCosines changed(simd_level("auto")), expected(simd_level("auto"));
  std::vector<CentroidCosines::Row> asked;
  for (int row = 0; row < 10; ++row)
    asked.push_back({all.features(n_features).columns(row),
                     all.features(n_features).row(row),
                     {},
                     {},
                     40,
                     false});
  changed.compare(centroids, asked, [] {});
  expected.compare(fresh, asked, [] {});
  for (int row = 0; row < 10; ++row)
    for (std::int32_t label = 0; label < n; ++label)
      CHECK(changed.cosine(row, label) == expected.cosine(row, label));
}

static void blocks_can_be_read_again_and_are_checked() {
  const Rows rows = many_labels(200, 8, 500);
  const LabelCentroids centroids = built(rows, 500, 1, 50);
  CHECK(std::ssize(centroids.blocks()) > 1);
  CHECK(same(LabelCentroids(n_features, 500, centroids.blocks()), centroids));
  for (const CentroidBlock& block : centroids.blocks()) {
    CHECK(block.is_sound(500));
    if (!block.labels.empty()) CHECK(!block.is_sound(block.labels[0]));
    CentroidBlock shorter = block;
    shorter.starts = block.starts.first(block.starts.size() - 1);
    CHECK(!shorter.is_sound(500));
    CentroidBlock moved = block;
    const std::vector<std::uint32_t> elsewhere(block.wide.size(), 1'000'000);
    moved.wide_places = elsewhere;
    CHECK(block.wide.empty() || !moved.is_sound(500));
    shorter = block;
    if (!block.wide.empty()) shorter.wide = block.wide.first(block.wide.size() - 1);
    CHECK(block.wide.empty() || !shorter.is_sound(500));
  }
}

TEST(test_label_centroids) {
  const Rows mixed = many_labels(700, 5, 10'000), positive = words(800, 9, 10'000);
  cosines_follow_the_sums(mixed, built(mixed, 10'000, 2, 300));
  const LabelCentroids whole = built(positive, 10'000);
  cosines_follow_the_sums(positive, whole);
  // After changes: lists that changed, labels that are new.
  const Rows more = words(5, 10, 12'500);
  const LabelCentroids grown = whole.changed(more.features(n_features), more.label_sets(12'500), 1);
  cosines_follow_the_sums(positive, grown);
  const LabelCentroids fewer =
      grown.changed(more.features(n_features), more.label_sets(12'500), -1);
  cosines_follow_the_sums(positive, fewer);
  many_changes_of_one_list_have_the_bits_of_a_new_build();
  blocks_can_be_read_again_and_are_checked();
  sums_follow_the_definition();
  changes_have_the_bits_of_a_new_build();
  squares_are_exact();
  a_left_out_row_is_not_in_its_own_sum();
}

}  // namespace vicinal::test_label_centroids
