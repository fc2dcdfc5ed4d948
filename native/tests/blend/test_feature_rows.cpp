// The rows of features, read in parts, and what features say about labels, by definition.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "blend/labelled_rows.hpp"
#include "check.hpp"
#include "vicinal/blend/feature_rows.hpp"
#include "vicinal/blend/label_divergence.hpp"

namespace vicinal::test_feature_rows {

using testing::labelled_rows;
using testing::LabelledRows;
using testing::n_features;
using testing::n_labels;

namespace {

void parts_hold_every_entry_once() {
  const LabelledRows rows = labelled_rows(80, 1);
  const PatternView pattern{rows.indptr, rows.indices, n_features};
  const auto counts = FeatureRows::counts(rows.indices, n_features);
  for (const std::int64_t at_once : {1, 7, 1000}) {
    std::int64_t first = 0, n_entries = 0;
    while (first < n_features) {
      FeatureRows part(counts, first, FeatureRows::range_end(counts, first, at_once));
      CHECK(part.last == first + 1 || part.start.back() <= at_once);
      part.collect(pattern, [&](std::int64_t, std::int64_t at) { return rows.values[at]; }, true);
      for (std::int64_t f = part.first; f < part.last; ++f)
        for (std::int64_t i = part.start[f - first]; i < part.start[f - first + 1]; ++i) {
          const auto features = pattern.columns(part.row_of[i]);
          const auto at = std::find(features.begin(), features.end(), f) - features.begin();
          CHECK(at < std::ssize(features));
          CHECK(part.value_of[i] == rows.values[rows.indptr[part.row_of[i]] + at]);
          CHECK(i == part.start[f - first] || part.row_of[i - 1] < part.row_of[i]);
          ++n_entries;
        }
      const auto bounds = part.tasks(counts, 3);
      CHECK(bounds.front() == part.first && bounds.back() == part.last);
      CHECK(std::is_sorted(bounds.begin(), bounds.end()));
      first = part.last;
    }
    CHECK(n_entries == std::ssize(rows.indices));
  }
}

// Divergence of the smoothed shares of labels among the rows with a feature, label by label.
void divergence_follows_its_definition() {
  const LabelledRows rows = labelled_rows(80, 2);
  const PatternView pattern{rows.indptr, rows.indices, n_features};
  const PatternView labels = rows.label_sets(n_labels);
  std::vector<double> share(n_labels);
  for (int label = 0; label < n_labels; ++label) share[label] = (1.0 + label) / 45.0;
  const double prior = 2.5;
  for (const std::int64_t at_once : {5, 1000}) {
    const auto found =
        label_divergence(pattern, labels, share, prior, 2, at_once, never_interrupted);
    for (std::int32_t feature = 0; feature < n_features; ++feature) {
      std::vector<double> having(n_labels, 0.0);
      double total = 0.0;
      for (std::int64_t row = 0; row < pattern.n_rows(); ++row) {
        const auto own = pattern.columns(row);
        if (!std::binary_search(own.begin(), own.end(), feature)) continue;
        for (const std::int32_t label : labels.columns(row)) {
          having[label] += 1.0;
          total += 1.0;
        }
      }
      double expected = 0.0;
      for (int label = 0; label < n_labels; ++label) {
        const double given = (having[label] + prior * share[label]) / (total + prior);
        expected += given * std::log(given / share[label]);
      }
      CHECK(std::abs(found[feature] - expected) < 1e-12);
    }
  }
}

}  // namespace

TEST(test_feature_rows) {
  parts_hold_every_entry_once();
  divergence_follows_its_definition();
}

}  // namespace vicinal::test_feature_rows
