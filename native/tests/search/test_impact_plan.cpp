// Queries as whole numbers: computed cosines against exact ones, which lie within the stated error.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "search/stored_rows.hpp"
#include "vicinal/search/impact_plan.hpp"

namespace vicinal::test_impact_plan {

using testing::impact_rows;
using testing::OwnedRows;
using testing::StoredRows;

namespace {

constexpr std::int64_t n_rows = 1100;

QueryState state_of(const CsrView<double>& queries, std::int64_t query) {
  const double square = squared_norm(queries.row(query));
  return {row_of(queries, query), square, std::sqrt(square), -1, TopK(5)};
}

// The cosines of all rows by the sums of columns and lists, and by definition.
struct Cosines {
  std::vector<float> computed;
  std::vector<double> exact;

  Cosines(const StoredRows& stored, const QueryState& query, const ImpactPlan& plan) {
    const std::int64_t n_groups = std::ssize(stored.columns.scales) / Blocks::group;
    computed.resize(n_groups * Blocks::group);
    std::vector<std::int16_t> lists(computed.size(), 0), plus(Blocks::group), minus(Blocks::group);
    stored.lists.add_all(stored.blocks, plan.lists, lists.data());
    const ImpactKernels kernels = impact_kernels(simd_level("auto"));
    for (std::int64_t group = 0; group < n_groups; ++group) {
      stored.columns.add(kernels, group, plan.plus, plan.plus_bits, plan.share, plus.data());
      stored.columns.add(kernels, group, plan.minus, plan.minus_bits, plan.share, minus.data());
      for (std::int64_t i = 0; i < Blocks::group; ++i) plus[i] -= minus[i];
      const std::int64_t first = group * Blocks::group;
      kernels.cosines(
          {plus.data(), lists.data() + first, stored.columns.scales.data() + first,
           static_cast<float>(plan.column_unit), static_cast<float>(1.0 / plan.list_unit())},
          computed.data() + first);
    }
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position) {
      double product = 0.0;
      for (std::size_t i = 0; i < query.row.size(); ++i)
        product += query.row.values[i] / query.norm * stored.value(position, query.row.columns[i]);
      exact.push_back(product);
    }
  }
};

void computed_cosines_lie_within_their_error(const StoredRows& stored,
                                             const OwnedRows<double>& asked) {
  const CsrView<double> queries = asked.view();
  for (std::int64_t q = 0; q < queries.n_rows(); ++q) {
    const QueryState query = state_of(queries, q);
    if (query.row.size() == 0) continue;
    const ImpactPlan plan(query, stored.lists, stored.columns);
    CHECK(plan.usable);
    const Cosines cosines(stored, query, plan);
    const double others = plan.other_error(query, stored.range);
    double largest = 0.0;  // error by bound
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position) {
      const double bound =
          plan.column_error(stored.columns.errors[position], stored.columns.norms[position],
                            stored.columns.scales[position]) +
          others;
      largest =
          std::max(largest, std::abs(cosines.computed[position] - cosines.exact[position]) / bound);
    }
    CHECK(largest <= 1.0);
    CHECK(largest > 0.005);  // the bound says something
  }
}

// Every row whose key reaches a bound reaches the threshold, by sums and by lists alone.
void near_rows_reach_the_threshold(const StoredRows& stored, const OwnedRows<double>& asked,
                                   bool is_never_negative) {
  const CsrView<double> queries = asked.view();
  for (std::int64_t q = 0; q < queries.n_rows(); ++q) {
    const QueryState query = state_of(queries, q);
    if (query.row.size() == 0) continue;
    ImpactPlan plan(query, stored.lists, stored.columns);
    const Cosines cosines(stored, query, plan);
    std::vector<std::int16_t> lists(stored.columns.scales.size(), 0);
    stored.lists.add_all(stored.blocks, plan.lists, lists.data());
    std::vector<double> sorted = cosines.exact;
    std::sort(sorted.rbegin(), sorted.rend());
    const double kth = sorted[20];
    plan.shortlist.tighten(-kth);
    const float least = plan.threshold(Metric::cosine, query, stored.range);
    const double in_lists = plan.least_in_lists(least, stored.range);
    bool reach = true;
    for (std::int64_t position = 0; position < stored.blocks.n_rows; ++position)
      if (cosines.exact[position] >= kth && kth > 0.0)
        reach = reach && cosines.computed[position] >= least &&
                (!is_never_negative || lists[position] >= in_lists);
    CHECK(reach);
  }
}

void a_range_includes_others() {
  ImpactRange range;
  range.include({0.1, 0.5, 2.0, 3.0, 4.0, 7});
  range.include({0.3, 0.2, 1.0, 1.0, 2.0, 9});
  CHECK(range.error == 0.3 && range.column_norm == 0.5 && range.scale == 2.0);
  CHECK(range.low == 1.0 && range.high == 4.0 && range.longest_row == 9);
}

}  // namespace

TEST(test_impact_plan) {
  for (const bool products : {true, false})
    for (const bool with_negative : {false, true}) {
      const StoredRows stored(impact_rows(n_rows, products, with_negative, 8), 25, true);
      for (const bool negative_query : {false, true}) {
        const auto asked = impact_rows(12, false, negative_query, 9);
        computed_cosines_lie_within_their_error(stored, asked);
        near_rows_reach_the_threshold(stored, asked, !with_negative && !negative_query);
      }
    }
  a_range_includes_others();
}

}  // namespace vicinal::test_impact_plan
