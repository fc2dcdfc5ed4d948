#include <vector>

#include "check.hpp"
#include "vicinal/boost/histogram_boosting.hpp"

namespace vicinal::test_trees {

// x0 <= 1 ? 10 : (x1 <= 2 ? 20 : 30), and a tree that is a leaf of 5.
static void rows_reach_their_leaves() {
  const std::vector<std::int32_t> feature{0, -1, 1, -1, -1, -1}, left{1, 0, 3, 0, 0, 0},
      right{2, 0, 4, 0, 0, 0}, roots{0, 5};
  const std::vector<double> threshold{1, 10, 2, 20, 30, 5};
  const std::vector<float> cells{1, 9, 2, 2, 2, 3};
  for (const int n_threads : {1, 3})
    CHECK(tree_sums({feature, threshold, left, right, roots}, cells, 2, n_threads) ==
          std::vector<double>({15, 25, 35}));
}

static void no_rows_and_no_trees() {
  const std::vector<float> cells(600, 1.0f);
  CHECK(tree_sums({}, {}, 2, 2).empty());
  CHECK(tree_sums({}, cells, 2, 2) == std::vector<double>(300, 0.0));
}

TEST(test_trees) {
  rows_reach_their_leaves();
  no_rows_and_no_trees();
}

}  // namespace vicinal::test_trees
