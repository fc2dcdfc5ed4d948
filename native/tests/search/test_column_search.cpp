#include <cmath>
#include <vector>

#include "check.hpp"
#include "vicinal/search/column_search.hpp"

namespace vicinal::test_column_search {

namespace {

// Three rows over three columns: (1, 1, ·), (1, ·, ·), (·, 2, ·). The last column is empty.
const std::vector<std::int64_t> indptr{0, 2, 3, 4};
const std::vector<std::int32_t> indices{0, 1, 0, 1};
const std::vector<double> values{1, 1, 1, 2};
const CsrView<double> others{indptr, indices, values, 3};

struct Found {
  std::vector<std::int32_t> ids;
  std::vector<double> similarities;
};

Found search(const std::vector<std::int64_t>& item_indptr, const std::vector<std::int32_t>& rows,
             const std::vector<double>& weights, std::int64_t k, int n_threads) {
  const std::size_t cells = (item_indptr.size() - 1) * static_cast<std::size_t>(k);
  Found found{std::vector<std::int32_t>(cells, -1), std::vector<double>(cells, 0.0)};
  column_search({item_indptr, rows, weights, 3}, others, {found.ids, found.similarities, k},
                n_threads);
  return found;
}

}  // namespace

static void the_most_similar_come_first() {
  // Items that occur in rows {0, 1}, {2}, and nowhere.
  const Found found = search({0, 2, 3, 3}, {0, 1, 2}, {1, 1, 1}, 2, 2);
  CHECK(found.ids == std::vector<std::int32_t>{0, 1, 1, -1, -1, -1});
  const double root_two = std::sqrt(2.0), root_five = std::sqrt(5.0);
  CHECK(found.similarities[0] == 2.0 / (root_two * root_two));
  CHECK(found.similarities[1] == 1.0 / (root_two * root_five));
  CHECK(found.similarities[2] == 2.0 / (1.0 * root_five));
  CHECK(found.similarities[3] == 0.0);
}

static void ties_go_to_the_lower_column() {
  const std::vector<std::int64_t> same_indptr{0, 3};
  const std::vector<std::int32_t> same_indices{0, 1, 2};
  const std::vector<double> ones{1, 1, 1};
  std::vector<std::int32_t> ids(2, -1);
  std::vector<double> similarities(2, 0.0);
  const std::vector<std::int64_t> item{0, 1};
  const std::vector<std::int32_t> row{0};
  const std::vector<double> one{1};
  column_search({item, row, one, 1}, {same_indptr, same_indices, ones, 3}, {ids, similarities, 2},
                1);
  CHECK(ids == std::vector<std::int32_t>{0, 1});
}

static void threads_agree() {
  std::vector<std::int64_t> item_indptr{0};
  std::vector<std::int32_t> rows;
  for (int item = 0; item < 500; ++item) {
    for (std::int32_t row = 0; row < 3; ++row)
      if ((item >> row) & 1) rows.push_back(row);
    item_indptr.push_back(static_cast<std::int64_t>(rows.size()));
  }
  const std::vector<double> weights(rows.size(), 0.3);
  const Found one = search(item_indptr, rows, weights, 3, 1);
  const Found many = search(item_indptr, rows, weights, 3, 5);
  CHECK(one.ids == many.ids);
  CHECK(one.similarities == many.similarities);
}

TEST(test_column_search) {
  the_most_similar_come_first();
  ties_go_to_the_lower_column();
  threads_agree();
}

}  // namespace vicinal::test_column_search
