// Columns of weighted rows: what is stored, and their sums in every way in which they are added.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "search/stored_rows.hpp"
#include "vicinal/search/impact_columns.hpp"

namespace vicinal::test_impact_columns {

using testing::impact_rows;
using testing::StoredRows;

namespace {

constexpr std::int64_t n_rows = 1300;

// The features that have a column, by column.
std::vector<std::int32_t> features_of(const StoredRows& stored) {
  std::vector<std::int32_t> features(stored.columns.n_columns(), -1);
  for (std::int32_t feature = 0; feature < stored.rows.n_columns; ++feature) {
    const std::int64_t slot = stored.lists.postings.features.find(feature);
    if (slot == FeatureTable::absent) continue;
    const Postings::Place& place = stored.lists.postings.places[slot];
    if (place.is_column()) features[place.shape] = feature;
  }
  return features;
}

// t_ij, as the sum of one column with weight 1.
std::int32_t cell(const StoredRows& stored, std::int64_t position, std::int32_t column) {
  return stored.columns.sum_of_row(position, std::vector<WeightedColumn>{{column, 1}}, {});
}

void cells_stand_for_values(const StoredRows& stored) {
  const ImpactColumns& columns = stored.columns;
  const auto features = features_of(stored);
  for (std::int64_t position = 0; position < stored.blocks.n_rows; position += 7) {
    double error = 0.0, norm = 0.0, length = 0.0;
    bool lacks_none = true;
    for (std::int32_t column = 0; column < columns.n_columns(); ++column) {
      const std::int32_t t = cell(stored, position, column);
      const double value = stored.value(position, features[column]);
      const double kept = columns.scales[position] * columns.factors[column] * t;
      lacks_none = lacks_none && (t != 0) == (value != 0.0);
      error += (kept - value) * (kept - value);
      norm += kept * kept;
      length += static_cast<double>(t) * t;
    }
    CHECK(lacks_none);
    CHECK(columns.errors[position] >= std::sqrt(error));
    CHECK(columns.errors[position] <= std::sqrt(error) * (1.0 + 1e-6) + 1e-30);
    CHECK(columns.norms[position] >= std::sqrt(norm));
    CHECK(columns.longest_cells >= std::sqrt(length) * (1.0 - 1e-12));
  }
}

// Sums of a group in vectors against sums of its rows one by one.
void groups_and_rows_have_equal_sums(const StoredRows& stored) {
  std::mt19937 random(4);
  std::vector<WeightedColumn> chosen;
  for (std::int32_t column = 0; column < stored.columns.n_columns(); column += 2)
    chosen.push_back({column, static_cast<std::int32_t>(1 + random() % 120)});
  const PlaneSum bits(chosen);
  const std::int16_t share = stored.columns.has_bytes ? 32 : 0;
  for (const std::string& level : simd_levels())
    for (std::int64_t group = 0; group * Blocks::group < stored.blocks.n_rows; ++group) {
      std::vector<std::int16_t> sums(Blocks::group);
      stored.columns.add(impact_kernels(simd_level(level)), group, chosen, bits, share,
                         sums.data());
      bool equal = true;
      for (std::int64_t row = 0; row < Blocks::group; ++row) {
        double sum = stored.columns.sum_of_row(group * Blocks::group + row, chosen, {});
        const double pairs = (static_cast<double>(chosen.size()) + 1.0) / 2.0;
        if (stored.columns.has_bytes) sum *= share / 32768.0;
        equal =
            equal && std::abs(sum - sums[row]) <= (stored.columns.has_bytes ? pairs / 2.0 : 0.0);
      }
      CHECK(equal);
    }
}

void minus_is_subtracted(const StoredRows& stored) {
  const std::vector<WeightedColumn> plus{{0, 5}, {2, 3}}, minus{{1, 4}};
  for (std::int64_t position = 0; position < stored.blocks.n_rows; position += 100)
    CHECK(stored.columns.sum_of_row(position, plus, minus) == 5 * cell(stored, position, 0) +
                                                                  3 * cell(stored, position, 2) -
                                                                  4 * cell(stored, position, 1));
}

void rows_with_a_feature_are_visited_once(const StoredRows& stored) {
  const auto features = features_of(stored);
  for (const std::int32_t column : {0, 5}) {
    std::vector<std::int64_t> found, expected;
    stored.columns.visit_rows(column, [&](std::int64_t position) { found.push_back(position); });
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position)
      if (stored.value(position, features[column]) != 0.0) expected.push_back(position);
    CHECK(found == expected && !found.empty());
  }
}

void arrays_of_other_sizes_are_refused(StoredRows stored) {
  const std::int64_t n = stored.blocks.n_rows, n_columns = stored.columns.n_columns();
  stored.columns.check(n, n_columns);
  CHECK_THROWS(ArchiveError, stored.columns.check(n + Blocks::group, n_columns));
  CHECK_THROWS(ArchiveError, stored.columns.check(n, n_columns + 1));
  stored.columns.has_bytes = 1 - stored.columns.has_bytes;
  CHECK_THROWS(ArchiveError, stored.columns.check(n, n_columns));
  stored.columns.has_bytes = 2;
  CHECK_THROWS(ArchiveError, stored.columns.check(n, n_columns));
}

}  // namespace

TEST(test_impact_columns) {
  for (const bool products : {true, false})
    for (const bool with_negative : {false, true}) {
      StoredRows stored(impact_rows(n_rows, products, with_negative, 3), 40, true);
      CHECK(stored.columns.has_bytes == !(products && !with_negative));
      CHECK(stored.columns.is_signed == with_negative);
      CHECK(stored.columns.n_columns() > 5);
      cells_stand_for_values(stored);
      groups_and_rows_have_equal_sums(stored);
      minus_is_subtracted(stored);
      rows_with_a_feature_are_visited_once(stored);
      arrays_of_other_sizes_are_refused(std::move(stored));
    }
}

}  // namespace vicinal::test_impact_columns
