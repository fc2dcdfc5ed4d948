// Weighted rows: bit planes against plain sums, and searches of all kinds of values against the
// definition.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "random_rows.hpp"
#include "search/definition.hpp"
#include "vicinal/search/impact_index.hpp"
#include "vicinal/search/inverted_index.hpp"

namespace vicinal::test_impact_index {

using testing::nearest_first;
using testing::OwnedRows;

namespace {

// Bitmaps with any weights, added up row by row.
void planes_add_up() {
  std::mt19937 random(1);
  for (const std::size_t n_bitmaps : {1, 2, 7, 8, 9, 40, 170}) {
    AlignedVector<std::uint8_t> group(n_bitmaps * bitmap_bytes);
    for (auto& byte : group) byte = static_cast<std::uint8_t>(random() & random());
    group[0] = 0xFF;  // rows that are in the first bitmap
    std::vector<WeightedColumn> columns;
    std::vector<std::int64_t> expected(Blocks::group, 0);
    for (std::int32_t column = 0; column < static_cast<std::int32_t>(n_bitmaps); ++column) {
      columns.push_back({column, static_cast<std::int32_t>(1 + random() % 190)});
      for (std::int64_t row = 0; row < Blocks::group; ++row)
        expected[row] +=
            columns.back().weight * ((group[column * bitmap_bytes + row / 8] >> (row % 8)) & 1);
    }
    const PlaneSum sum(columns);
    for (const std::string& level : simd_levels()) {
      std::vector<std::int16_t> sums(Blocks::group, -1);
      impact_kernels(simd_level(level)).add_planes(sum, group.data(), sums.data());
      CHECK(std::equal(sums.begin(), sums.end(), expected.begin()));
    }
  }
}

void the_largest_sum_fits() {
  AlignedVector<std::uint8_t> group(bitmap_bytes, 0xFF);
  const std::vector<WeightedColumn> columns{{0, 32767}};
  const PlaneSum sum(columns);
  CHECK(sum.total() == 32767 && sum.n_planes() == PlaneSum::most_planes);
  for (const std::string& level : simd_levels()) {
    std::vector<std::int16_t> sums(Blocks::group);
    impact_kernels(simd_level(level)).add_planes(sum, group.data(), sums.data());
    CHECK(std::all_of(sums.begin(), sums.end(), [](std::int16_t each) { return each == 32767; }));
  }
}

// Columns of bytes, an even or odd number, with products as large as they can be among them.
void bytes_add_up() {
  std::mt19937 random(3);
  for (const std::int32_t n_columns : {1, 2, 3, 8, 31}) {
    AlignedVector<std::int8_t> group(2 * n_columns * Blocks::group);
    for (auto& cell : group)
      cell = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
    std::vector<WeightedColumn> columns;
    for (std::int32_t c = 0; c < n_columns; ++c) {
      columns.push_back({2 * c, static_cast<std::int32_t>(c < 2 ? 127 : random() % 128)});
      group[2 * c * Blocks::group] = 127;
      group[2 * c * Blocks::group + 1] = -127;
    }
    for (const std::int16_t share : {1, 700, 2000, n_columns < 3 ? 32767 : 3000}) {
      std::vector<std::int16_t> expected(Blocks::group, 0);
      for (std::int64_t row = 0; row < Blocks::group; ++row)
        for (std::int32_t c = 0; c < n_columns; c += 2) {
          double product = 0.0;
          for (std::int32_t each = c; each < std::min(c + 2, n_columns); ++each)
            product += columns[each].weight *
                       static_cast<double>(group[columns[each].column * Blocks::group + row]);
          expected[row] += static_cast<std::int16_t>(std::floor(product * share / 32768.0 + 0.5));
        }
      for (const std::string& level : simd_levels()) {
        std::vector<std::int16_t> sums(Blocks::group, -1);
        impact_kernels(simd_level(level)).add_cells(columns, share, group.data(), sums.data());
        CHECK(sums == expected);
      }
    }
  }
}

void kernels_find_what_reaches_a_threshold() {
  std::mt19937 random(2);
  std::vector<std::int16_t> lists(Blocks::group), columns(Blocks::group);
  std::vector<float> scales(Blocks::group);
  for (std::int64_t i = 0; i < Blocks::group; ++i) {
    lists[i] = static_cast<std::int16_t>(random() % 2000) - 1000;
    columns[i] = static_cast<std::int16_t>(random() % 3000);
    scales[i] = static_cast<float>(random() % 100) / 50.0f;
  }
  for (const std::string& level : simd_levels()) {
    const ImpactKernels kernels = impact_kernels(simd_level(level));
    std::vector<float> cosines(Blocks::group);
    kernels.cosines({columns.data(), lists.data(), scales.data(), 1e-4f, 1e-3f}, cosines.data());
    bool near = true;
    std::vector<std::int32_t> expected, by_list;
    for (std::int32_t i = 0; i < Blocks::group; ++i) {
      near =
          near && std::abs(cosines[i] - (columns[i] * scales[i] * 1e-4 + lists[i] * 1e-3)) < 1e-6;
      if (cosines[i] >= 0.25f) expected.push_back(i);
      if (lists[i] >= 17) by_list.push_back(i);
    }
    CHECK(near);
    std::vector<std::int32_t> found(Blocks::group);
    found.resize(kernels.find(cosines.data(), 0.25f, found.data()));
    CHECK(found == expected);
    found.resize(Blocks::group);
    found.resize(kernels.reach(lists.data(), 17, found.data()));
    CHECK(found == by_list);
    kernels.cosines({nullptr, lists.data(), nullptr, 0.0f, 1e-3f}, cosines.data());
    CHECK(cosines[5] == static_cast<float>(lists[5]) * 1e-3f);
  }
}

enum class Kind { products, counts, any, negative, tiny_steps };

// Rows of Zipf's kind: feature j is in about 1 of (1 + j / steepness) rows.
OwnedRows<double> texts(std::int64_t n_rows, std::int32_t n_features, double steepness, Kind kind,
                        unsigned seed) {
  std::mt19937 random(seed);
  const auto share = [&] { return static_cast<double>(random() % 100000) / 100000.0; };
  OwnedRows<double> rows{{0}, {}, {}, n_features};
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double scale = 0.2 + share();
    for (std::int32_t j = 0; j < n_features; ++j) {
      if (share() * (1.0 + j / steepness) > 0.6) continue;
      const double weight = std::log(2.0 + j);
      double value = scale * weight;
      if (kind == Kind::counts) value *= 1.0 + std::floor(-std::log(1.0 - share()));
      if (kind == Kind::any || kind == Kind::negative) value = 1.0 - share();
      if (kind == Kind::negative && random() % 4 == 0) value = -value;
      if (kind == Kind::tiny_steps) value = 1.0 + 1e-9 * static_cast<double>(random() % 5);
      rows.indices.push_back(j);
      rows.values.push_back(value);
    }
    rows.indptr.push_back(std::ssize(rows.indices));
  }
  return rows;
}

bool agrees(const OwnedRows<double>& rows, const OwnedRows<double>& queries, Metric metric,
            std::int64_t k, const std::vector<std::uint8_t>& removed, const IndexOptions& options,
            const SearchOptions& search = {2, 5}) {
  const InvertedIndex<double> index(rows.view(), options);
  const std::int64_t n = queries.view().n_rows();
  std::vector<std::int32_t> ids(n * k, -1);
  std::vector<double> keys(n * k, 0.0);
  index.search(queries.view(), {}, removed, 0, {ids, keys, k, rows.view().n_rows()}, search);
  for (std::int64_t q = 0; q < n; ++q) {
    auto all = nearest_first(rows.view(), queries.view(), q, metric, -1);
    std::erase_if(all, [&](const Neighbor& each) { return !removed.empty() && removed[each.id]; });
    for (std::int64_t place = 0; place < k; ++place) {
      const bool there = place < std::ssize(all);
      if (ids[q * k + place] != (there ? all[place].id : -1)) return false;
      if (there && keys[q * k + place] != all[place].key) return false;
    }
  }
  return true;
}

// Few frequent features (lists decide) and many (columns do), with values of every kind.
void every_kind_of_values_is_exact() {
  for (const Kind kind :
       {Kind::products, Kind::counts, Kind::any, Kind::negative, Kind::tiny_steps})
    for (const double steepness : {0.5, 30.0}) {
      const auto rows = texts(1500, 250, steepness, kind, 3);
      const auto queries = texts(12, 250, steepness, kind, 4);
      std::vector<std::uint8_t> removed(1500, 0);
      for (std::size_t i = 0; i < removed.size(); i += 3) removed[i] = 1;
      for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
        for (const std::string& level : simd_levels())
          for (const std::int64_t k : {1, 20}) {
            const IndexOptions options{metric, k == 1 ? 512 : 65536, simd_level(level), false, 0};
            CHECK(agrees(rows, queries, metric, k, {}, options));
            CHECK(agrees(rows, queries, metric, k, removed, options));
          }
    }
}

// Queries with other signs and weights than the rows, and with features that no row has.
void queries_may_differ_from_rows() {
  const auto rows = texts(1500, 250, 5.0, Kind::products, 5);
  auto queries = texts(12, 250, 5.0, Kind::negative, 6);
  for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
    CHECK(agrees(rows, queries, metric, 9, {}, {metric, 65536, simd_level("auto"), true, 0}));
  queries = OwnedRows<double>{{0, 1, 2, 4}, {249, 248, 0, 249}, {1.0, -2.0, 1e-7, 1.0}, 250};
  for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
    CHECK(agrees(rows, queries, metric, 60, {}, {metric, 65536, simd_level("auto"), true, 0}));
}

// A thousand equal rows: ties by row id, whatever the order of rows in the index.
void ties_are_told_apart_by_id() {
  auto rows = texts(700, 60, 3.0, Kind::products, 7);
  for (int i = 0; i < 1000; ++i) {
    for (const std::int32_t feature : {0, 7, 50}) {
      rows.indices.push_back(feature);
      rows.values.push_back(feature == 0 ? 0.4 : 0.7);
    }
    rows.indptr.push_back(std::ssize(rows.indices));
  }
  const OwnedRows<double> query{{0, 3}, {0, 7, 50}, {0.1, 0.9, 0.3}, 60};
  for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
    CHECK(agrees(rows, query, metric, 30, {}, {metric, 65536, simd_level("auto"), true, 0}));
}

void add_row(OwnedRows<double>& rows, std::vector<std::pair<std::int32_t, double>> entries) {
  for (const auto& [feature, value] : entries) {
    rows.indices.push_back(feature);
    rows.values.push_back(value);
  }
  rows.indptr.push_back(std::ssize(rows.indices));
}

// Queries one after another on one thread, those with negative values between the others: they find
// their first bound in another way, and must leave nothing behind.
void queries_leave_nothing_to_the_next() {
  const auto rows = texts(9000, 250, 0.5, Kind::products, 10);
  const auto positive = texts(12, 250, 0.5, Kind::products, 11);
  OwnedRows<double> queries{{0}, {}, {}, 250};
  for (std::int64_t i = 0; i < 12; ++i) {
    std::vector<std::pair<std::int32_t, double>> entries;
    double square = 0.0;
    for (const double value : positive.view().row(i)) square += value * value;
    for (std::int64_t e = positive.indptr[i]; e < positive.indptr[i + 1]; ++e)
      entries.push_back({positive.indices[e],
                         positive.values[e] * static_cast<double>(i + 1) / std::sqrt(square)});
    if (i % 2 == 0 && !entries.empty()) entries.back().second *= -1.0;
    add_row(queries, entries);
  }
  CHECK(agrees(rows, queries, Metric::cosine, 7, {},
               {Metric::cosine, 65536, simd_level("auto"), false, 0}, {1, 1}));
}

// The same rows, each with one feature more that no other row has.
OwnedRows<double> with_own_feature(const OwnedRows<double>& rows,
                                   const std::vector<double>& values) {
  OwnedRows<double> longer{{0}, {}, {}, rows.n_columns + 30};
  for (std::int64_t i = 0; i < 30; ++i) {
    std::vector<std::pair<std::int32_t, double>> entries;
    for (std::int64_t e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e)
      entries.push_back({rows.indices[e], rows.values[e]});
    const double value = values[i % values.size()];
    entries.push_back({static_cast<std::int32_t>(rows.n_columns + i), 4.0 * value});
    add_row(longer, entries);
  }
  return longer;
}

// Values of one row that differ by more than float32 can hold: no scale may become 0 or infinite.
void values_of_any_size_have_a_scale() {
  const std::vector<std::vector<double>> palettes = {
      {1e30, 1e-30, 1.0, -1e30}, {1e30, 1e-30, 1.0}, {1.0, 1e-140}, {1.0, 1e-45, 1e-40}};
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto& palette = palettes[seed % palettes.size()];
    const auto n_features = static_cast<std::int64_t>(4 + seed % 13);
    auto rows = testing::random_rows<double>(30, n_features, 2.5, palette, seed);
    if (seed % 3 > 0) rows = with_own_feature(rows, palette);  // most of a row is in lists
    auto queries = testing::random_rows<double>(6, n_features, 2.5, palette, seed + 1000);
    queries.n_columns = rows.n_columns;
    for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
      CHECK(agrees(rows, queries, metric, 3, {}, {metric, 65536, simd_level("auto"), false, 0}));
  }
}

// A negative value of the query whose weight is rounded to 0 still makes rows less similar than
// their lists say: here twelve rows with feature 1, all farther than one row without it.
void a_small_negative_value_counts() {
  OwnedRows<double> rows{{0}, {}, {}, 2000};
  for (int i = 0; i < 12; ++i) add_row(rows, {{1, 0.6}, {2, 0.8}});
  add_row(rows, {{2, 0.799}, {3, std::sqrt(1.0 - 0.799 * 0.799)}});
  for (int i = 0; i < 600; ++i) add_row(rows, {{i % 2, 0.1 + 0.0001 * i}, {10 + i, 1.0}});
  const OwnedRows<double> query{{0, 3}, {0, 1, 2}, {0.7, -0.005, 0.7}, 2000};
  CHECK(agrees(rows, query, Metric::cosine, 5, {},
               {Metric::cosine, 65536, simd_level("auto"), false, 0}));
}

// A row unlike all others spoils the scale of feature 1, so that computed cosines leave [-1, 1].
void a_row_with_a_large_error_is_found() {
  OwnedRows<double> rows{{0}, {}, {}, 400};
  for (int i = 0; i < 300; ++i)
    add_row(rows, {{0, 1.0}, {1, -1e-5 * (1.0 + 0.01 * i)}, {10 + i, 6.0}});
  add_row(rows, {{0, 1e-6}, {1, -0.5}, {2, 1.0}});
  const OwnedRows<double> queries{{0, 2, 3}, {0, 1, 1}, {0.1, 1.0, 1.0}, 400};
  for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean})
    CHECK(agrees(rows, queries, metric, 9, {}, {metric, 65536, simd_level("auto"), false, 0}));
}

}  // namespace

TEST(test_impact_index) {
  planes_add_up();
  bytes_add_up();
  the_largest_sum_fits();
  kernels_find_what_reaches_a_threshold();
  every_kind_of_values_is_exact();
  queries_may_differ_from_rows();
  ties_are_told_apart_by_id();
  queries_leave_nothing_to_the_next();
  values_of_any_size_have_a_scale();
  a_small_negative_value_counts();
  a_row_with_a_large_error_is_found();
}

}  // namespace vicinal::test_impact_index
