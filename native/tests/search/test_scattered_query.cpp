#include "check.hpp"
#include "random_rows.hpp"
#include "vicinal/common/array.hpp"
#include "vicinal/search/query_state.hpp"

namespace vicinal::test_scattered_query {

using testing::random_rows;

namespace {

using Some = std::array<ScatteredQuery::Comparison<float>, ScatteredQuery::rows_at_once>;

double plain_dot(const CsrView<double>& queries, std::int64_t q, const SparseRow<float>& row) {
  double sum = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < queries.columns(q).size(); ++j)
      if (queries.columns(q)[j] == row.columns[i])
        sum += queries.row(q)[j] * static_cast<double>(row.values[i]);
  return sum;
}

// Rows of all lengths, some empty, and one query after the other over the same memory.
void sums_are_those_of_each_row_alone() {
  const auto rows = random_rows<float>(80, 50, 3.0, {0.1f, 0.7f, -1.3f, 1e20f}, 1);
  const auto queries = random_rows<double>(10, 50, 4.0, {0.3, -0.9, 1.7}, 2);
  ScatteredQuery scattered;
  for (std::int64_t q = 0; q < 10; ++q) {
    const auto query = row_of(queries.view(), q);
    scattered.load(query, 50);
    for (std::int32_t first = 0; first < 80; first += 4) {
      Some some;
      for (std::int32_t i = 0; i < 4; ++i)
        some[i] = {row_of(rows.view(), first + i), first + i, 0.0};
      if (first % 8 == 0) some[2] = {{}, -1, 0.0};
      scattered.add(some);
      for (const auto& [row, id, dot] : some)
        CHECK(dot == (id < 0 ? 0.0 : plain_dot(queries.view(), q, row)));
    }
    scattered.clear(query);
  }
}

void arrays_begin_at_a_line() {
  for (const std::size_t size : {1, 63, 64, 65, 100'000}) {
    const AlignedVector<std::int8_t> bytes(size, 1);
    CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line == 0);
  }
}

}  // namespace

TEST(test_scattered_query) {
  sums_are_those_of_each_row_alone();
  arrays_begin_at_a_line();
}

}  // namespace vicinal::test_scattered_query
