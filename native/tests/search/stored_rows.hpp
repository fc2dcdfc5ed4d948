// Columns and lists of random rows for the tests, as an index stores them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "random_rows.hpp"
#include "vicinal/search/impact_columns.hpp"
#include "vicinal/search/impact_lists.hpp"
#include "vicinal/search/impact_plan.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal::testing {

struct StoredRows {
  OwnedRows<double> owned;
  CsrView<double> rows;
  RowOrder order;
  Blocks blocks;
  ImpactLists lists;
  ImpactColumns columns;
  ImpactRange range;  // of all rows

  // Features that at least one of `sparsest` rows has get a column.
  StoredRows(OwnedRows<double> given, std::int64_t sparsest, bool row_by_row)
      : owned(std::move(given)),
        rows(owned.view()),
        order(order_rows(rows, Layout::by_norm)),
        blocks(std::ssize(order.ranked), 512) {
    const auto counts = lists.count(rows, order);
    columns.choose_cells(rows, order, lists.postings.features, counts);
    lists.postings.choose_shapes(counts, blocks, sparsest, 1000, true);
    columns.resize(blocks.n_rows, lists.postings.n_columns, row_by_row);
    columns.fit(rows, order.ranked, order.norms, lists.postings);
    for (std::int64_t position = 0; position < blocks.n_rows; ++position) store(position);
    lists.postings.finish();
  }

  // The value of a stored row of length one, 0 without the feature.
  double value(std::int64_t position, std::int32_t feature) const {
    const std::int32_t id = order.ranked[position];
    const auto features = rows.columns(id);
    const auto at = std::lower_bound(features.begin(), features.end(), feature);
    if (at == features.end() || *at != feature) return 0.0;
    return rows.row(id)[at - features.begin()] / order.norms[id];
  }

 private:
  void store(std::int64_t position) {
    const std::int32_t id = order.ranked[position];
    std::vector<ImpactColumns::Entry> in_columns;
    double error = 0.0;
    for (const std::int32_t feature : rows.columns(id)) {
      const std::int64_t slot = lists.postings.features.find(feature);
      const Postings::Place& place = lists.postings.places[slot];
      if (place.is_column()) {
        in_columns.push_back({place.shape, value(position, feature)});
        continue;
      }
      const double missed =
          lists.append(slot, position, blocks, value(position, feature)) - value(position, feature);
      error += missed * missed;
    }
    columns.set_row(position, in_columns);
    lists.error = std::max<double>(lists.error, rounded_up(std::sqrt(error)));
    range.include({columns.errors[position], columns.norms[position], columns.scales[position],
                   order.norms[id], order.norms[id], rows.row_size(id)});
  }
};

// Values that are products of a factor of the row and one of the feature, or any values.
inline OwnedRows<double> impact_rows(std::int64_t n_rows, bool products, bool with_negative,
                                     unsigned seed) {
  std::vector<double> palette{1.0};
  if (!products) palette = {0.1, 0.3, 0.55, 1.0, 2.3, 3.1};
  if (with_negative) palette.push_back(-1.7);
  return random_rows<double>(n_rows, 400, 4.0, palette, seed);
}

}  // namespace vicinal::testing
