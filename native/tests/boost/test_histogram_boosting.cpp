#include <cmath>
#include <vector>

#include "check.hpp"
#include "vicinal/boost/histogram_boosting.hpp"

namespace vicinal::test_histogram_boosting {

static std::vector<float> edges(std::vector<float> first, std::int64_t n_columns) {
  std::vector<float> all(n_columns * (most_bins - 1), std::numeric_limits<float>::infinity());
  std::copy(first.begin(), first.end(), all.begin());
  return all;
}

static void values_lie_up_to_their_threshold() {
  const std::vector<float> cells{-1, 0, 0.5, 1, 7};
  const auto found = binned(cells, edges({0, 1}, 1), 1, 2);
  CHECK(found.bins == std::vector<std::uint8_t>({0, 0, 1, 1, 2}));
}

static void packed_sums_are_those_of_their_parts() {
  const PackedSums sums(1000);
  std::int64_t packed = 0;
  double gradient = 0, curvature = 0;
  for (int i = 0; i < 1000; ++i) {
    const double p = (i + 0.5) / 1000, g = p - (i % 3 == 0);
    packed += sums.pack(g, p * (1 - p));
    gradient += g;
    curvature += p * (1 - p);
  }
  CHECK(std::abs(sums.gradient(packed) - gradient) < 1e-4);
  CHECK(std::abs(sums.curvature(packed) - curvature) < 1e-2);
  CHECK(sums.gradient(1000 * sums.pack(-1.0, 0.25)) == -1000.0);
  CHECK(sums.curvature(1000 * sums.pack(-1.0, 0.25)) <= 250.0);
}

// Above 0 true, else false: every model finds the threshold, whatever the number of threads.
static void a_threshold_is_found() {
  std::vector<float> cells;
  std::vector<std::uint8_t> is_true, folds;
  for (int i = 0; i < 300; ++i) {
    cells.push_back(static_cast<float>(i % 7 - 3));
    is_true.push_back(i % 7 - 3 > 0);
    folds.push_back(static_cast<std::uint8_t>(i % 3));
  }
  const auto in_bins = binned(cells, edges({-3, -2, -1, 0, 1, 2}, 1), 1, 1);
  for (const int n_threads : {1, 3}) {
    const auto models = boosted_models(in_bins, is_true, folds, 3, {}, n_threads);
    CHECK(models.size() == 3);
    for (const BoostedModel& model : models) {
      CHECK(model.trees().front().front().bin == 3);
      for (std::size_t place = 0; place < model.held_out().size(); ++place)
        CHECK((model.held_out_log_odds()[place] > 0) == (is_true[model.held_out()[place]] == 1));
    }
  }
}

static void cells_of_one_kind_have_no_split() {
  const std::vector<float> cells(30, 1.0f);
  const std::vector<std::uint8_t> is_true(30, 0);
  std::vector<std::uint8_t> folds(30, 0);
  std::fill(folds.begin(), folds.begin() + 10, std::uint8_t{1});
  const auto in_bins = binned(cells, edges({}, 1), 1, 1);
  for (const BoostedModel& model : boosted_models(in_bins, is_true, folds, 2, {}, 2))
    for (const BinnedTree& tree : model.trees()) CHECK(tree.size() == 1);
  CHECK(boosted_models(binned({}, edges({}, 1), 1, 1), {}, {}, 2, {}, 2).empty());
}

TEST(test_histogram_boosting) {
  values_lie_up_to_their_threshold();
  packed_sums_are_those_of_their_parts();
  a_threshold_is_found();
  cells_of_one_kind_have_no_split();
}

}  // namespace vicinal::test_histogram_boosting
