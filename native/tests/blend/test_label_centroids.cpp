// Sums of labels: against their definition, after changes, and from stored lists.
#include <cmath>
#include <vector>

#include "blend/labelled_rows.hpp"
#include "check.hpp"
#include "vicinal/blend/label_centroids.hpp"

namespace vicinal::test_label_centroids {

using testing::built;
using testing::joined;
using testing::labelled_rows;
using testing::LabelledRows;
using testing::many_labels;
using testing::n_features;
using testing::n_labels;
using testing::same;

namespace {

void sums_follow_the_definition() {
  const LabelledRows rows = labelled_rows(60, 1);
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

void changes_have_the_bits_of_a_new_build() {
  const LabelledRows first = labelled_rows(40, 2), more = labelled_rows(15, 3);
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
  CHECK(same(nothing, built(LabelledRows{})));
  const LabelledRows wider = labelled_rows(3, 4);
  CHECK(same(start.changed(wider.features(n_features), wider.label_sets(n_labels + 2), 1),
             built(joined(first, wider), n_labels + 2)));
}

void a_left_out_row_is_not_in_its_own_sum() {
  const LabelledRows rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 0, 1}, {2, 2, 2}, {0.6, 1.0, 1.0}};
  const LabelCentroids centroids = built(rows, 3);
  const double fixed = 0.6 * LabelCentroids::one;
  double product = 0.0;
  product += 0.6 * static_cast<double>(centroids.sum(0, 2));
  // The others are (1, 0) and (0, 1): the cosine of (0.6, 0) and (1, 1) less its length.
  const double found = centroids.cosine_without(2, product, 0.6 * fixed, fixed * fixed);
  CHECK(std::abs(found - 0.6 / std::sqrt(2.0)) < 1e-8);
  const LabelledRows alone{{0, 1}, {0, 1}, {0}, {0}, {1.0}};
  const double all = LabelCentroids::one;
  CHECK(built(alone, 1).cosine_without(0, all, all, all * all) == 0.0);
}

void blocks_can_be_read_again() {
  const LabelledRows rows = many_labels(200, 8, 500);
  const LabelCentroids centroids = built(rows, 500, 1, 50);
  CHECK(std::ssize(centroids.blocks()) > 1);
  CHECK(same(LabelCentroids(n_features, 500, centroids.blocks()), centroids));
  for (const CentroidBlock& block : centroids.blocks()) CHECK(block.is_sound(500));
}

// So many that differences of lists are copied now and then.
void many_changes_of_one_list_have_the_bits_of_a_new_build() {
  const int n = 5'000;
  LabelledRows all = many_labels(30, 6, n);
  LabelCentroids centroids = built(all, n);
  for (unsigned seed = 7; seed < 60; ++seed) {
    const LabelledRows more = many_labels(3, seed, n);
    centroids = centroids.changed(more.features(n_features), more.label_sets(n), 1);
    all = joined(all, more);
  }
  CHECK(same(centroids, built(all, n)));
}

}  // namespace

TEST(test_label_centroids) {
  sums_follow_the_definition();
  changes_have_the_bits_of_a_new_build();
  a_left_out_row_is_not_in_its_own_sum();
  blocks_can_be_read_again();
  many_changes_of_one_list_have_the_bits_of_a_new_build();
}

}  // namespace vicinal::test_label_centroids
