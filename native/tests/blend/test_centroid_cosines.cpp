// Cosines of rows and label centroids against the sums, after changes too, and the best labels.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "blend/labelled_rows.hpp"
#include "check.hpp"
#include "vicinal/blend/centroid_cosines.hpp"

namespace vicinal::test_centroid_cosines {

using testing::built;
using testing::joined;
using testing::LabelledRows;
using testing::many_labels;
using testing::n_features;
using testing::same;
using testing::words;

namespace {

void cosines_follow_the_sums(const LabelledRows& rows, const LabelCentroids& centroids, Simd simd) {
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
void cosines_follow_the_sums(const LabelledRows& rows, const LabelCentroids& centroids) {
  int n_dense = 0;
  for (std::int32_t feature = 0; feature < n_features; ++feature)
    n_dense += centroids.dense(feature) != nullptr;
  CHECK(n_dense > 0 && n_dense < n_features);
  for (const std::string& level : simd_levels())
    cosines_follow_the_sums(rows, centroids, simd_level(level));
}

void lists_with_differences_give_the_cosines_of_a_new_build() {
  const int n = 5'000;
  LabelledRows all = many_labels(30, 6, n);
  LabelCentroids centroids = built(all, n);
  for (unsigned seed = 7; seed < 60; ++seed) {
    const LabelledRows more = many_labels(3, seed, n);
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

// Scores with many ties, offered in any order.
void the_best_labels_are_kept() {
  std::mt19937 random(3);
  for (const std::size_t count : {0, 1, 5, 64, 1000}) {
    BestLabels best;
    for (int round = 0; round < 2; ++round) {  // nothing is left of the first
      std::vector<Neighbor> all;
      best.start(count);
      for (std::int32_t label = 0; label < 700; ++label) {
        const double score = (random() % 20) / 7.0;
        all.push_back({-score, (label * 13) % 700});
        CHECK(score >= best.least() || all.size() > count);
        best.offer(all.back().id, score);
      }
      best.sort();
      std::sort(all.begin(), all.end(), before);
      all.resize(std::clamp<std::size_t>(count, 1, all.size()));
      CHECK(std::equal(
          all.begin(), all.end(), best.labels().begin(), best.labels().end(),
          [](const Neighbor& a, const Neighbor& b) { return a.id == b.id && a.key == b.key; }));
    }
  }
}

}  // namespace

TEST(test_centroid_cosines) {
  const LabelledRows mixed = many_labels(700, 5, 10'000), positive = words(800, 9, 10'000);
  cosines_follow_the_sums(mixed, built(mixed, 10'000, 2, 300));
  const LabelCentroids whole = built(positive, 10'000);
  cosines_follow_the_sums(positive, whole);
  // After changes: lists that changed, labels that are new.
  const LabelledRows more = words(5, 10, 12'500);
  const LabelCentroids grown = whole.changed(more.features(n_features), more.label_sets(12'500), 1);
  cosines_follow_the_sums(positive, grown);
  const LabelCentroids fewer =
      grown.changed(more.features(n_features), more.label_sets(12'500), -1);
  cosines_follow_the_sums(positive, fewer);
  lists_with_differences_give_the_cosines_of_a_new_build();
  the_best_labels_are_kept();
}

}  // namespace vicinal::test_centroid_cosines
