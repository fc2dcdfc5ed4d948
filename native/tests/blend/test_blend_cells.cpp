#include <cmath>

#include "check.hpp"
#include "vicinal/blend/blend_cells.hpp"

namespace vicinal::test_blend_cells {

// Three training rows with labels {0}, {0, 1}, {3}; two rows to be blended.
struct Example {
  std::vector<std::int64_t> indptr{0, 1, 3, 4};
  std::vector<std::int32_t> labels{0, 0, 1, 3};
  std::vector<std::int32_t> ids{1, 0, 2, -1, -1, -1};
  std::vector<double> values{0.8, 0.4, 0.2, 0, 0, 0};
  std::vector<std::int64_t> ks{2};
  std::vector<double> powers{2.0};
  std::vector<double> ridge{0.5, -0.25, 0.125, 0, 0, 0};
  std::vector<float> prior{-1, -2, -3, -4};

  BlendInput input() const {
    BlendView view;
    view.ids = ids;
    view.values = values;
    view.k = 3;
    view.vote_ks = ks;
    view.vote_powers = powers;
    view.ridge = ridge;
    view.n_ridges = 1;
    BlendInput found;
    found.views = {view};
    found.labels = {indptr, labels, 4};
    found.prior = prior;
    found.n_rows = 2;
    return found;
  }
};

static bool near(float found, double expected) { return std::abs(found - expected) < 1e-6; }

static void cells_hold_scores_and_shares_of_the_best() {
  const Example example;
  const BlendCells found = blend_cells(example.input(), {2, 1, 0, 0, 0, false}, 256, 2);
  CHECK((found.indptr == std::vector<std::int64_t>{0, 2, 2}));  // a row without neighbours: none
  CHECK((found.labels == std::vector<std::int32_t>{0, 1}));
  CHECK((found.cell == std::vector<std::int32_t>{0, 1}));
  const std::vector<float>& cells = found.cells;
  CHECK(cells.size() == 16);
  CHECK(near(cells[0], 1.0) && near(cells[1], 1.0));   // votes: both voters have label 0
  CHECK(near(cells[2], 0.25) && near(cells[3], 0.5));  // ridge: 0.5 - 0.25 of the best 0.5
  CHECK(near(cells[8], 0.8) && near(cells[10], 0.5) && near(cells[11], 1.0));  // 0.64 / 0.8
  CHECK(near(cells[4], 0.8) && near(cells[5], 0.2) && near(cells[6], 1.4 / 3));
  CHECK(near(cells[7], -1.0) && near(cells[15], -2.0));
}

static void every_label_or_none_may_be_a_candidate() {
  const Example example;
  const BlendCells every = blend_cells(example.input(), {0, 0, 0, 0, 0, true}, 256, 1);
  CHECK((every.indptr == std::vector<std::int64_t>{0, 4, 8}));
  CHECK(every.cells.size() == 64);
  const BlendCells none = blend_cells(example.input(), {0, 0, 0, 0, 0, false}, 256, 1);
  CHECK(none.labels.empty() && none.cells.empty());
}

static void tables_take_part() {
  const Example example;
  BlendInput input = example.input();
  const std::vector<double> table{0.1, 0.2, 0.9, 0.3, 0.5, 0.4, 0.3, 0.5};
  input.tables = {table};
  const BlendCells found = blend_cells(input, {0, 0, 0, 1, 0, false}, 256, 1);
  CHECK((found.labels == std::vector<std::int32_t>{2, 0}));  // of equally good ones, the lower
  CHECK(near(found.cells[4], 0.9) && near(found.cells[5], 1.0));
}

static void labels_below_the_candidates_have_no_cell() {
  const Example example;
  BlendInput input = example.input();
  const std::vector<std::int64_t> row_ends{0, 1, 2, 3};
  const std::vector<std::int32_t> features{0, 0, 0};
  const std::vector<double> ones{1.0, 1.0, 1.0};
  const LabelCentroids centroids({row_ends, features, ones, 1}, ones, input.labels, 1);
  const std::vector<std::int64_t> asked{0, 1, 2};
  const std::vector<std::int32_t> columns{0, 0};
  const std::vector<double> unit{1.0, 1.0};
  input.views[0].centroids = &centroids;
  input.views[0].rows = {asked, columns, unit, 1};
  const BlendCells found = blend_cells(input, {1, 0, 0, 0, 1, false}, 256, 1);
  CHECK((found.labels == std::vector<std::int32_t>{0, 1, 0}));
  CHECK((found.cell == std::vector<std::int32_t>{0, -1, -1}));
  CHECK(std::abs(found.similarity[1] - 1.0) < 1e-9);
}

TEST(test_blend_cells) {
  cells_hold_scores_and_shares_of_the_best();
  every_label_or_none_may_be_a_candidate();
  tables_take_part();
  labels_below_the_candidates_have_no_cell();
}

}  // namespace vicinal::test_blend_cells
