#include <vector>

#include "check.hpp"
#include "vicinal/votes/row_sums.hpp"

namespace vicinal::test_row_sums {

namespace {

// Rows (1, 2, ·), (·, 4, ·), (·, ·, 8).
const std::vector<std::int64_t> indptr{0, 2, 3, 4};
const std::vector<std::int32_t> indices{0, 1, 1, 2};
const std::vector<double> values{1, 2, 4, 8};
const CsrView<double> matrix{indptr, indices, values, 3};
const CsrView<double> nothing{};

RowSums sums_of(const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end,
                const std::vector<std::int32_t>& ids, const std::vector<double>& weights,
                Aggregate aggregate) {
  return row_sums({begin, end, ids, weights}, matrix, aggregate, nothing, {}, 2);
}

}  // namespace

static void sums_and_maxima() {
  const std::vector<std::int64_t> begin{0, 2, 2}, end{2, 2, 3};
  const std::vector<std::int32_t> ids{1, 0, 2};
  const std::vector<double> weights{0.5, 2.0, 1.0};
  const RowSums sums = sums_of(begin, end, ids, weights, Aggregate::sum);
  CHECK(sums.indptr == std::vector<std::int64_t>{0, 2, 2, 3});
  CHECK(sums.indices == std::vector<std::int32_t>{0, 1, 2});
  CHECK(sums.values == std::vector<double>{2, 6, 8});
  CHECK(sums.totals == std::vector<double>{2.5, 0, 1});
  const RowSums largest = sums_of(begin, end, ids, weights, Aggregate::max);
  CHECK(largest.values == std::vector<double>{1, 4, 8});
}

static void weights_that_are_not_positive_count_for_nothing() {
  const RowSums sums = sums_of({0}, {3}, {0, 1, 2}, {0.0, -1.0, 3.0}, Aggregate::sum);
  CHECK(sums.indices == std::vector<std::int32_t>{2});
  CHECK(sums.values == std::vector<double>{24});
  CHECK(sums.totals == std::vector<double>{3});
}

static void signed_sums_subtract() {
  const RowSums sums = sums_of({0}, {3}, {0, 1, 2}, {0.5, -1.0, 0.0}, Aggregate::signed_sum);
  CHECK(sums.indices == std::vector<std::int32_t>{0, 1});
  CHECK(sums.values == std::vector<double>{0.5, -3});
  CHECK(sums.totals == std::vector<double>{-0.5});
  const std::vector<std::int64_t> begin{0}, end{2};
  const std::vector<std::int32_t> ids{0, 1};
  const std::vector<double> weights{0.5, -0.75};
  const PatternView labels{indptr, indices, 3};
  const RowSums of_labels =
      row_sums({begin, end, ids, weights}, labels, Aggregate::signed_sum, nothing, {}, 1);
  CHECK(of_labels.indices == std::vector<std::int32_t>{0, 1});
  CHECK(of_labels.values == std::vector<double>{0.5, -0.25});
}

static void kept_means_divide_by_the_rows_that_have_the_column() {
  const std::vector<double> weights{0.5, 2.0, 1.0};
  const RowSums sums = sums_of({0, 0}, {3, 1}, {0, 1, 2}, weights, Aggregate::kept_mean);
  CHECK(sums.indices == std::vector<std::int32_t>{0, 1, 2, 0, 1});
  CHECK(sums.values == std::vector<double>{1, 9 / 2.5, 8, 1, 2});
  CHECK(sums.totals == std::vector<double>{3.5, 0.5});
}

static void a_sum_continued_is_the_whole_sum() {
  const std::vector<std::int32_t> ids{0, 1, 2};
  const std::vector<double> weights{0.1, 0.2, 0.3};
  const RowSums whole = sums_of({0}, {3}, ids, weights, Aggregate::sum);
  const RowSums part = sums_of({0}, {1}, ids, weights, Aggregate::sum);
  const std::vector<std::int64_t> begin{1}, end{3};
  const RowSums rest = row_sums({begin, end, ids, weights}, matrix, Aggregate::sum,
                                {part.indptr, part.indices, part.values, 3}, part.totals, 1);
  CHECK(rest.indices == whole.indices);
  CHECK(rest.values == whole.values);
  CHECK(rest.totals == whole.totals);
}

// More rows than one task holds, and a row so full that its columns are walked instead of sorted.
static void many_rows_keep_their_order() {
  const std::int64_t n = 1000;
  std::vector<std::int64_t> begin(n), end(n);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i) {
    begin[i] = static_cast<std::int64_t>(ids.size());
    for (std::int32_t row = 0; row < i % 4; ++row) ids.push_back(2 - row);
    end[i] = static_cast<std::int64_t>(ids.size());
  }
  const std::vector<double> weights(ids.size(), 1.0);
  const RowSums sums = sums_of(begin, end, ids, weights, Aggregate::sum);
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t expected = std::vector<std::int64_t>{0, 1, 2, 3}[i % 4];
    right = right && sums.indptr[i + 1] - sums.indptr[i] == expected &&
            sums.totals[i] == static_cast<double>(i % 4);
    for (std::int64_t at = sums.indptr[i]; at + 1 < sums.indptr[i + 1]; ++at)
      right = right && sums.indices[at] < sums.indices[at + 1];
  }
  CHECK(right);
}

static void a_sparse_row_of_many_columns_is_sorted() {
  SparseAccumulator row;
  row.resize(1000);
  for (const std::int32_t column : {900, 3, 77}) row.add(column, column);
  row.add(3, 1.0);
  std::vector<std::int32_t> columns;
  std::vector<double> sums;
  CHECK(row.drain(columns, sums) == 3);
  CHECK(columns == std::vector<std::int32_t>{3, 77, 900});
  CHECK(sums == std::vector<double>{4, 77, 900});
  CHECK(row.drain(columns, sums) == 0);
}

TEST(test_row_sums) {
  sums_and_maxima();
  weights_that_are_not_positive_count_for_nothing();
  signed_sums_subtract();
  kept_means_divide_by_the_rows_that_have_the_column();
  a_sum_continued_is_the_whole_sum();
  many_rows_keep_their_order();
  a_sparse_row_of_many_columns_is_sorted();
}

}  // namespace vicinal::test_row_sums
