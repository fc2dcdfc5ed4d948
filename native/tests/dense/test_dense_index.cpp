#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "vicinal/dense/dense_index.hpp"

namespace vicinal::test_dense_index {

namespace {

struct Found {
  std::vector<std::int32_t> ids;
  std::vector<double> values;
  bool operator==(const Found&) const = default;
};

// Few different values, so that there are many ties, and zeros, so that some rows share no feature.
template <class Value>
std::vector<Value> random_matrix(std::int64_t n_rows, std::int64_t n_columns, unsigned seed) {
  const std::vector<Value> palette{0, 0, 0, 1, 1, static_cast<Value>(0.3), -2};
  std::mt19937 random(seed);
  std::vector<Value> cells(n_rows * n_columns);
  for (Value& cell : cells) cell = palette[random() % palette.size()];
  return cells;
}

template <class Value>
struct Case {
  std::vector<Value> rows;
  std::vector<double> queries;
  std::int64_t n_rows, n_queries, n_columns, k;
  Metric metric;
  std::vector<std::int32_t> excluded = {};
  std::vector<std::uint8_t> removed = {};

  DenseRows<Value> row_view() const { return {rows, n_rows, n_columns}; }
  DenseRows<double> query_view() const { return {queries, n_queries, n_columns}; }
  bool admits(std::int64_t q, std::int64_t i) const {
    return (excluded.empty() || excluded[q] != i) && (removed.empty() || !removed[i]);
  }
};

template <class Value>
Found brute_force(const Case<Value>& c) {
  Found found{std::vector<std::int32_t>(c.n_queries * c.k, -1),
              std::vector<double>(c.n_queries * c.k, 0.0)};
  for (std::int64_t q = 0; q < c.n_queries; ++q) {
    std::vector<Neighbor> all;
    for (std::int64_t i = 0; i < c.n_rows; ++i) {
      if (!c.admits(q, i)) continue;
      double dot = 0, distance = 0, left = 0, right = 0;
      bool shares = false;
      for (std::int64_t j = 0; j < c.n_columns; ++j) {
        const double a = c.queries[q * c.n_columns + j];
        const auto b = static_cast<double>(c.rows[i * c.n_columns + j]);
        dot += a * b;
        distance += (a - b) * (a - b);
        left += a * a;
        right += b * b;
        shares = shares || (a != 0 && b != 0);
      }
      const auto id = static_cast<std::int32_t>(i);
      if (c.metric == Metric::euclidean)
        all.push_back({distance, id});
      else if (shares)
        all.push_back(
            {c.metric == Metric::dot ? -dot : -dot / (std::sqrt(left) * std::sqrt(right)), id});
    }
    std::sort(all.begin(), all.end(), before);
    for (std::int64_t place = 0; place < std::min<std::int64_t>(c.k, std::ssize(all)); ++place) {
      found.ids[q * c.k + place] = all[place].id;
      found.values[q * c.k + place] =
          c.metric == Metric::euclidean ? std::sqrt(all[place].key) : -all[place].key;
    }
  }
  return found;
}

// Products as a matrix multiplication in float32 makes them, here with an error of its own.
struct Products {
  std::vector<float> products, sizes, biases, errors, constants;
};

template <class Value>
Products products_of(const Case<Value>& c, std::int64_t begin, std::int64_t end, float noise) {
  const auto norms = dense_norms(c.row_view());
  const auto query_norms = dense_norms(c.query_view());
  std::mt19937 random(9);
  Products p;
  for (std::int64_t i = begin; i < end; ++i) {
    const bool scaled = c.metric == Metric::cosine;
    p.sizes.push_back(scaled ? 1.0f : static_cast<float>(norms[i]));
    p.biases.push_back(c.metric == Metric::euclidean ? static_cast<float>(norms[i] * norms[i] / 2)
                                                     : 0.0f);
  }
  for (std::int64_t q = 0; q < c.n_queries; ++q) {
    p.errors.push_back(noise);
    p.constants.push_back(noise + 1e-4f);
    for (std::int64_t i = begin; i < end; ++i) {
      double dot = 0;
      for (std::int64_t j = 0; j < c.n_columns; ++j)
        dot += c.queries[q * c.n_columns + j] * static_cast<double>(c.rows[i * c.n_columns + j]);
      const double size = norms[i] * query_norms[q];
      if (c.metric == Metric::cosine) dot = size == 0 ? 0 : dot / size;
      const float wrong = noise * (static_cast<float>(random() % 201) / 100.0f - 1.0f);
      p.products.push_back(static_cast<float>(dot) + wrong);
    }
  }
  return p;
}

template <class Value>
Found search(const Case<Value>& c, Simd simd, std::int64_t block, float noise, int n_threads) {
  Found found{std::vector<std::int32_t>(c.n_queries * c.k, -1),
              std::vector<double>(c.n_queries * c.k, 0.0)};
  const DenseAnswers answers{found.ids, found.values, c.k};
  const auto norms = dense_norms(c.row_view());
  const DenseIndex<Value> index(c.row_view(), norms, c.metric);
  DenseBatch batch(c.n_queries, c.k, c.excluded, c.removed, simd);
  for (std::int64_t begin = 0; begin < c.n_rows; begin += block) {
    const Products p = products_of(c, begin, std::min(begin + block, c.n_rows), noise);
    batch.collect({p.products, p.sizes, p.biases, p.errors, p.constants},
                  static_cast<std::int32_t>(begin));
  }
  const auto uncertain = index.finish(batch, c.query_view(), answers);
  index.compare_with_all(batch, c.query_view(), uncertain, answers, n_threads);
  return found;
}

template <class Value>
void every_metric_k_and_block_is_exact() {
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot})
    for (const std::int64_t k : {1, 5, 300}) {
      const Case<Value> c{
          random_matrix<Value>(230, 7, 1), random_matrix<double>(12, 7, 2), 230, 12, 7, k, metric};
      const Found expected = brute_force(c);
      for (const std::string& level : simd_levels())
        for (const std::int64_t block : {64, 100, 1000})
          for (const float noise : {1e-5f, 0.4f})
            CHECK(search(c, simd_level(level), block, noise, 3) == expected);
    }
}

void excluded_and_removed_rows_are_not_found() {
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
    Case<double> c{
        random_matrix<double>(90, 5, 3), random_matrix<double>(90, 5, 3), 90, 90, 5, 4, metric};
    for (std::int32_t i = 0; i < 90; ++i) {
      c.excluded.push_back(i);
      c.removed.push_back(i % 7 == 0);
    }
    CHECK(search(c, Simd::plain, 64, 1e-5f, 2) == brute_force(c));
  }
}

void an_interrupt_stops_the_comparison_with_all_rows() {
  const Case<double> c{random_matrix<double>(4000, 40, 5),
                       random_matrix<double>(2000, 40, 6),
                       4000,
                       2000,
                       40,
                       3,
                       Metric::dot};
  Found found{std::vector<std::int32_t>(c.n_queries * c.k, -1),
              std::vector<double>(c.n_queries * c.k, 0.0)};
  const auto norms = dense_norms(c.row_view());
  const DenseIndex<double> index(c.row_view(), norms, c.metric);
  const DenseBatch batch(c.n_queries, c.k, {}, {}, Simd::plain);
  std::vector<std::int64_t> all(c.n_queries);
  for (std::int64_t q = 0; q < c.n_queries; ++q) all[q] = q;
  CHECK_THROWS(Interrupted,
               index.compare_with_all(batch, c.query_view(), all, {found.ids, found.values, c.k}, 1,
                                      [] { return true; }));
}

void no_row_and_no_query_are_fine() {
  const Case<float> no_rows{{}, random_matrix<double>(3, 4, 7), 0, 3, 4, 2, Metric::euclidean};
  CHECK(search(no_rows, Simd::plain, 64, 0.0f, 1) == brute_force(no_rows));
  const Case<float> no_queries{random_matrix<float>(5, 4, 8), {}, 5, 0, 4, 2, Metric::cosine};
  CHECK(search(no_queries, Simd::plain, 64, 0.0f, 1) == brute_force(no_queries));
}

}  // namespace

TEST(test_dense_index) {
  every_metric_k_and_block_is_exact<float>();
  every_metric_k_and_block_is_exact<double>();
  excluded_and_removed_rows_are_not_found();
  an_interrupt_stops_the_comparison_with_all_rows();
  no_row_and_no_query_are_fine();
}

}  // namespace vicinal::test_dense_index
