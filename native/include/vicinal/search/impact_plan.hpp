// A query as whole numbers that multiply columns and lists, and what its sums can be wrong by
// (impact_kernels.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/exact.hpp"
#include "vicinal/search/impact_columns.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/impact_lists.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

// What determines the error of some rows' sums.
struct ImpactRange {
  double error = 0.0;                                                // largest D_i
  double column_norm = 0.0;                                          // largest K_i
  double scale = 0.0;                                                // largest s_i
  double low = std::numeric_limits<double>::infinity(), high = 0.0;  // norms of the rows
  std::int64_t longest_row = 0;

  void include(const ImpactRange& other) {
    error = std::max(error, other.error);
    column_norm = std::max(column_norm, other.column_norm);
    scale = std::max(scale, other.scale);
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    longest_row = std::max(longest_row, other.longest_row);
  }
};

class ImpactPlan {
 public:
  bool usable;
  QueryLists lists;
  std::vector<WeightedColumn> plus, minus;
  PlaneSum plus_bits, minus_bits;  // the same as bitmaps, where columns are
  std::int16_t share = 0;          // what products of bytes are multiplied by, in units of 2^-15
  double column_norm = 0.0;        // |q_C|
  double column_unit = 0.0;        // of sums: 1 / W, or that of rounded products of bytes
  double cell_unit = 0.0;          // 1 / W
  bool has_negative = false;       // whether any value is
  bool has_bound = false;          // from rows that are likely to be near
  bool done = false;               // all rows have been searched
  Shortlist shortlist;

  ImpactPlan(const QueryState& query, const ImpactLists& stored, const ImpactColumns& columns)
      : list_error_(stored.error) {
    std::vector<Found> in_lists, in_columns;
    for (std::size_t i = 0; i < query.row.size(); ++i) {
      const std::int64_t slot = stored.postings.features.find(query.row.columns[i]);
      if (slot == FeatureTable::absent) continue;
      const Postings::Place& place = stored.postings.places[slot];
      if (place.count == 0) continue;
      const double value = query.row.values[i] / query.norm;
      (place.is_column() ? in_columns : in_lists).push_back({slot, &place, value});
      has_negative |= value < 0.0;
    }
    scale_ = impact_scale(std::ssize(in_lists), stored.longest_row, stored.error);
    usable = scale_.usable;
    for (const auto& [slot, place, value] : in_lists)
      lists.terms.push_back({place, list_weight(value, stored.peaks[slot], scale_.unit)});
    weigh_columns(in_columns, columns);
  }

  // Of sums of lists: S.
  double list_unit() const { return scale_.unit; }

  // What columns can be wrong by for a row with this D, K and s: what the cells miss; what rounding
  // the query's weights changes, by Cauchy and Schwarz or with every rounding at its worst;
  // float32.
  double column_error(double error, double norm, double scale) const {
    const double weights = std::min(weight_error_ * norm, rounding_ * scale * cell_unit) +
                           pair_error_ * scale * column_unit;
    return column_norm * error + weights + 4e-7 * (column_norm * norm + weights);
  }

  // What does not depend on a row's columns.
  double other_error(const QueryState& query, const ImpactRange& rows) const {
    return list_error_ +
           impact_error(std::ssize(lists.terms), query.row.size(), rows.longest_row, scale_.unit);
  }

  // The smallest computed cosine with which one of these rows could have a key of at most `bound`.
  double least_similarity(Metric metric, const QueryState& query, double bound,
                          const ImpactRange& rows) const {
    const double error =
        column_error(rows.error, rows.column_norm, rows.scale) + other_error(query, rows);
    return least_cosine(metric, bound, query.norm, rows.low, rows.high,
                        query.row.size() + rows.longest_row) -
           error;
  }

  // The same for the bound so far, as a float that is not larger. Except for distances, only
  // positive sums are examined.
  float threshold(Metric metric, const QueryState& query, const ImpactRange& rows) const {
    const double least =
        std::clamp(least_similarity(metric, query, shortlist.bound(), rows), -1e30, 2.0);
    const auto below =
        std::nextafter(static_cast<float>(least), -std::numeric_limits<float>::infinity());
    return metric == Metric::euclidean ? below : std::max(below, std::numeric_limits<float>::min());
  }

  // Without what columns can give, one of these rows needs at least this sum of lists for a cosine
  // of `least`.
  double least_in_lists(float least, const ImpactRange& rows) const {
    return (least - most_in_columns(rows)) * scale_.unit - 1.0;
  }

 private:
  struct Found {
    std::int64_t slot;
    const Postings::Place* place;
    double value;
  };

  static constexpr double largest_weight = 255.0;  // of a bitmap
  static constexpr double largest_unit = 1e30;     // of W, so that 1 / W is not zero in float32

  // None of these rows gets more than this from its columns.
  double most_in_columns(const ImpactRange& rows) const {
    return (column_norm + weight_error_) * rows.column_norm * (1.0 + 1e-6) + 1e-5;
  }

  void weigh_columns(std::span<const Found> entries, const ImpactColumns& columns) {
    double most = 0.0, total = 0.0, square = 0.0, squares = 0.0;
    for (const auto& [slot, place, value] : entries) {
      const double weight = std::abs(value) * columns.factors[place->shape];
      most = std::max(most, weight);
      total += weight;
      square += weight * weight;
      squares += value * value;
    }
    if (most == 0.0) return;
    const auto n_columns = static_cast<double>(entries.size());
    const double unit = std::min({(columns.has_bytes ? last_byte : largest_weight) / most,
                                  columns.has_bytes ? largest_unit : (32767.0 - n_columns) / total,
                                  largest_unit});  // W
    if (!(unit > 0.0)) {
      usable = false;
      return;
    }
    cell_unit = column_unit = 1.0 / unit;
    column_norm = std::sqrt(squares) * (1.0 + 1e-9);
    round_weights(entries, columns, unit);
    if (columns.has_bytes) {
      const double longest = std::sqrt(square) * unit + std::sqrt(n_columns);
      const double room = 32766.0 - n_columns;
      share = static_cast<std::int16_t>(
          std::min(32767.0, std::floor(32768.0 * room / (longest * columns.longest_cells))));
      if (share < 1) usable = false;
      column_unit *= 32768.0 / std::max<double>(share, 1.0);
      pair_error_ = static_cast<double>(plus.size() + minus.size() + 2) / 4.0;
    } else {
      plus_bits = PlaneSum(plus);
      minus_bits = PlaneSum(minus);
    }
  }

  // Weights as whole numbers in units of 1 / W, and what they are wrong by.
  void round_weights(std::span<const Found> entries, const ImpactColumns& columns, double unit) {
    double errors = 0.0, below = 0.0, above = 0.0;
    for (const auto& [slot, place, value] : entries) {
      const std::int32_t column = place->shape;
      const double factor = columns.factors[column];
      const auto weight = static_cast<std::int32_t>(std::lrint(std::abs(value) * factor * unit));
      const double difference = std::abs(value) * factor * unit - weight;
      (value * difference > 0.0 ? below : above) += std::abs(difference);
      errors += (difference / (factor * unit)) * (difference / (factor * unit));
      if (weight > 0) (value > 0.0 ? plus : minus).push_back({column, weight});
    }
    weight_error_ = std::sqrt(errors) * (1.0 + 1e-9) + 1e-12;
    rounding_ = (columns.is_signed ? below + above : std::max(below, above)) * columns.last_cell();
  }

  ImpactScale scale_;
  double list_error_;          // D_L
  double weight_error_ = 0.0;  // E
  double rounding_ = 0.0;      // R
  double pair_error_ = 0.0;    // of products of bytes, in units of sums
};

}  // namespace vicinal
