// Lists of weighted rows: sums block by block and of all rows at once, by their definition.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "check.hpp"
#include "search/stored_rows.hpp"
#include "vicinal/search/impact_lists.hpp"

namespace vicinal::test_impact_lists {

using testing::impact_rows;
using testing::StoredRows;

namespace {

constexpr std::int64_t n_rows = 1900;

// Some features in lists, rare ones among them, with weights of both signs.
struct Asked {
  std::vector<std::int32_t> features;
  QueryLists lists;

  explicit Asked(const StoredRows& stored) {
    for (std::int32_t feature = 0; feature < stored.rows.n_columns; feature += 3) {
      const std::int64_t slot = stored.lists.postings.features.find(feature);
      if (slot == FeatureTable::absent || stored.lists.postings.places[slot].is_column()) continue;
      features.push_back(feature);
      lists.terms.push_back({&stored.lists.postings.places[slot],
                             static_cast<std::int16_t>(feature % 2 == 0 ? 900 : -700)});
    }
  }
};

// What the sums of all rows should be.
std::vector<std::int16_t> expected_sums(const StoredRows& stored, const Asked& asked) {
  std::vector<std::int16_t> sums(stored.blocks.n_rows, 0);
  for (std::size_t i = 0; i < asked.features.size(); ++i) {
    const std::int64_t slot = stored.lists.postings.features.find(asked.features[i]);
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position) {
      const double value = stored.value(position, asked.features[i]);
      if (value == 0.0) continue;
      const std::int16_t payload = list_payload(value, stored.lists.peaks[slot]);
      sums[position] += list_impact(payload, asked.lists.terms[i].weight);
    }
  }
  return sums;
}

void sums_follow_the_definition(const StoredRows& stored) {
  Asked asked(stored);
  const auto is_rare = [](const QueryLists::Term& term) { return term.place->is_rare(); };
  const auto n_rare = std::count_if(asked.lists.terms.begin(), asked.lists.terms.end(), is_rare);
  CHECK(n_rare > 0 && n_rare < std::ssize(asked.lists.terms));
  const auto expected = expected_sums(stored, asked);
  std::vector<std::int16_t> all(stored.blocks.n_rows, 0);
  stored.lists.add_all(stored.blocks, asked.lists, all.data());
  CHECK(all == expected);

  const std::int64_t last = stored.blocks.count - 1;
  std::vector<ImpactLists::WeightedSpan> spans;
  std::vector<std::vector<std::int64_t>> orders{{}, {1, 0, last, 2}};
  for (std::int64_t block = last; block >= 0; --block) orders[0].push_back(block);
  CHECK(last == 3);
  for (const auto& order : orders) {
    std::vector<std::int16_t> sums(stored.blocks.n_rows, 0);
    for (const std::int64_t block : order)
      stored.lists.add(block, stored.blocks, asked.lists, spans,
                       sums.data() + stored.blocks.begin(block));
    CHECK(sums == expected);
  }
}

void rows_with_a_feature_are_visited_once(const StoredRows& stored) {
  const Asked asked(stored);
  for (std::size_t i = 0; i < asked.features.size(); ++i) {
    std::vector<std::int64_t> found, expected;
    stored.lists.visit_rows(*asked.lists.terms[i].place, stored.blocks,
                            [&](std::int64_t position) { found.push_back(position); });
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position)
      if (stored.value(position, asked.features[i]) != 0.0) expected.push_back(position);
    CHECK(found == expected);
  }
}

// Values of lists, their largest size and the longest row.
void what_is_stored_bounds_the_values(const StoredRows& stored) {
  double largest = 0.0;
  std::int64_t longest = 0;
  bool has_negative = false;
  for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position) {
    double error = 0.0;
    longest = std::max(longest, stored.rows.row_size(stored.order.ranked[position]));
    for (const std::int32_t feature : stored.rows.columns(stored.order.ranked[position])) {
      const std::int64_t slot = stored.lists.postings.features.find(feature);
      const double value = stored.value(position, feature), peak = stored.lists.peaks[slot];
      CHECK(std::abs(value) <= peak);
      if (stored.lists.postings.places[slot].is_column()) continue;
      has_negative |= value < 0.0;
      const double missed = list_payload(value, peak) * peak / list_units - value;
      error += missed * missed;
    }
    largest = std::max(largest, std::sqrt(error));
  }
  CHECK(stored.lists.error >= largest && stored.lists.error <= largest * (1.0 + 1e-6));
  CHECK(stored.lists.longest_row == longest && stored.lists.has_negative == has_negative);
}

}  // namespace

TEST(test_impact_lists) {
  for (const bool with_negative : {false, true}) {
    const StoredRows stored(impact_rows(n_rows, false, with_negative, 6), 20, false);
    sums_follow_the_definition(stored);
    rows_with_a_feature_are_visited_once(stored);
    what_is_stored_bounds_the_values(stored);
  }
}

}  // namespace vicinal::test_impact_lists
