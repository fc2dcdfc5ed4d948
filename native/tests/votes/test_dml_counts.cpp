#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/votes/dml_counts.hpp"

namespace vicinal::test_dml_counts {

namespace {

using Table = std::vector<std::vector<std::int32_t>>;

// A matrix in compressed rows that stores what is not 0.
struct Csr {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices, values;
  std::int64_t n_columns;

  Csr(const Table& rows, std::int64_t columns) : n_columns(columns) {
    for (const auto& row : rows) {
      for (std::size_t l = 0; l < row.size(); ++l)
        if (row[l] != 0) {
          indices.push_back(static_cast<std::int32_t>(l));
          values.push_back(row[l]);
        }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }
  vicinal::CsrView<std::int32_t> view() const { return {indptr, indices, values, n_columns}; }
  vicinal::PatternView pattern() const { return {indptr, indices, n_columns}; }
};

// The definition, label by label.
std::int32_t matching(const Table& votes, const Table& labels, const std::vector<std::int32_t>& x,
                      std::size_t l, int tolerance, bool carries) {
  std::int32_t count = 0;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    bool matches = votes[i][l] == x[l] && (labels[i][l] == 1) == carries;
    for (std::size_t other = 0; other < x.size(); ++other)
      if (other != l) matches = matches && std::abs(votes[i][other] - x[other]) <= tolerance;
    count += matches;
  }
  return count;
}

Table random_table(std::mt19937& random, std::size_t n_rows, std::size_t n_labels, int most) {
  std::uniform_int_distribution<std::int32_t> value(-most, most);  // half of them and more are 0
  Table table(n_rows, std::vector<std::int32_t>(n_labels));
  for (auto& row : table)
    for (auto& cell : row) cell = std::max(0, value(random));
  return table;
}

void agrees_with_the_definition(std::size_t n_rows, std::size_t n_labels, int most, int tolerance,
                                int n_threads) {
  std::mt19937 random(static_cast<unsigned>(n_rows * 7 + n_labels * 3 + most));
  const Table votes = random_table(random, n_rows, n_labels, most);
  const Table labels = random_table(random, n_rows, n_labels, 1);
  const Table queries = random_table(random, 9, n_labels, most);
  const auto width = static_cast<std::int64_t>(n_labels);
  const Csr v(votes, width), y(labels, width), q(queries, width);
  std::vector<std::int32_t> with(9 * n_labels), without(9 * n_labels);
  const vicinal::DmlCounts training(v.view(), y.pattern());
  vicinal::dml_counts(training, q.view(), tolerance, with, without, n_threads);
  bool same = true;
  for (std::size_t x = 0; x < queries.size(); ++x)
    for (std::size_t l = 0; l < n_labels; ++l) {
      const auto at = x * n_labels + l;
      same = same && with[at] == matching(votes, labels, queries[x], l, tolerance, true);
      same = same && without[at] == matching(votes, labels, queries[x], l, tolerance, false);
    }
  CHECK(same);
}

}  // namespace

TEST(test_dml_counts) {
  for (const int n_threads : {1, 3})
    for (const int tolerance : {0, 1, 2, 5})
      for (const int most : {1, 3})
        for (const std::size_t n_labels : {1, 2, 4})
          for (const std::size_t n_rows : {0, 1, 40})
            agrees_with_the_definition(n_rows, n_labels, most, tolerance, n_threads);
}

}  // namespace vicinal::test_dml_counts
