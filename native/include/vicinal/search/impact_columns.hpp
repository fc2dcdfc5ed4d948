// Columns of weighted rows: the values of frequent features as whole numbers t_ij with a scale per
// row and one per feature (impact_kernels.hpp), 512 rows at a time.
//
// A cell is a bit if every value is about a weight of its feature times a factor of its row, else a
// byte. Where few rows of a query need their columns, cells are also kept row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/rank_one_fit.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

inline float rounded_up(double value) {
  return std::nextafter(static_cast<float>(value * (1.0 + 1e-9)),
                        std::numeric_limits<float>::infinity());
}

class ImpactColumns {
 public:
  static constexpr std::int64_t lists_only = 0;  // no feature has a column

  // Where rows have little in frequent features, only very frequent ones have a column, and cells
  // are also kept row by row, because few rows of a query need them.
  static constexpr std::int64_t lists_decide = 12;

  std::int64_t has_bytes = 0;          // whether cells are bytes, not bits
  std::int64_t is_signed = 0;          // whether a value of a row is negative
  AlignedArray<float> scales;          // by position: s_i
  Array<float> errors;                 // by position: D_i
  Array<float> norms;                  // by position: K_i
  Array<double> factors;               // by column: a_j
  AlignedArray<std::uint8_t> bitmaps;  // group by group: a bit per row for each column
  AlignedArray<std::int8_t> bytes;     // group by group: t_ij for each column, or empty
  AlignedArray<std::int8_t> cells;     // t_ij row by row, or empty
  double longest_cells = 1.0;          // largest norm of a row's t_ij

  std::int64_t n_columns() const { return std::ssize(factors); }
  double last_cell() const { return has_bytes ? last_byte : 1.0; }
  std::size_t owned_bytes() const {
    return bitmaps.owned_bytes() + factors.owned_bytes() + bytes.owned_bytes() +
           cells.owned_bytes() + scales.owned_bytes() + errors.owned_bytes() + norms.owned_bytes();
  }

  // Refuse stored arrays that a search could not read.
  void check(std::int64_t n_rows, std::int64_t n_columns) const {
    const std::int64_t n_positions = padded(n_rows), n_cells = n_positions * n_columns;
    expect_stored(has_bytes >= 0 && has_bytes <= 1 && is_signed >= 0 && is_signed <= 1,
                  "bits or bytes");
    expect_stored(std::ssize(scales) == n_positions, "a scale for every row");
    expect_stored(std::ssize(errors) == n_rows, "an error for every row");
    expect_stored(std::ssize(norms) == n_rows, "a norm for every row");
    expect_stored(std::ssize(factors) == n_columns, "a factor for every column");
    expect_stored(std::ssize(bitmaps) == (has_bytes ? 0 : n_cells / 8) &&
                      std::ssize(bytes) == (has_bytes ? n_cells : 0),
                  "columns for every group of rows");
    expect_stored(cells.empty() || std::ssize(cells) == n_cells, "a cell for every row and column");
  }

  // Decide from some rows what a cell is, and how frequent a feature with a column is: 1 of how
  // many rows has it. `counts` are the rows of each feature.
  template <class Value>
  std::int64_t choose_cells(const CsrView<Value>& rows, const RowOrder& order,
                            const FeatureTable& features, std::span<const std::uint32_t> counts) {
    constexpr std::int64_t usual = 40;
    constexpr double most_error = 0.003;
    std::vector<std::uint8_t> is_frequent(counts.size());
    for (std::size_t slot = 0; slot < counts.size(); ++slot)
      is_frequent[slot] = counts[slot] * usual >= std::ssize(order.ranked);
    for (const std::int32_t id : order.ranked) {
      const auto row = row_of(rows, id);
      for (std::size_t i = 0; i < row.size(); ++i) is_signed |= row.values[i] < Value{0};
    }
    const CellSample sample(rows, order.ranked, order.norms, features, is_frequent);
    has_bytes = is_signed || sample.error > most_error;
    if (sample.column_norm < 0.4) return lists_decide;
    return has_bytes ? 20 : 64;
  }

  // Make room for the cells of so many rows.
  void resize(std::int64_t n_rows, std::int64_t n_columns, bool row_by_row) {
    const std::int64_t n_positions = padded(n_rows);
    scales.resize(n_positions);
    errors.resize(n_rows);
    norms.resize(n_rows);
    factors.resize(n_columns);
    (has_bytes ? bytes.resize(n_positions * n_columns)
               : bitmaps.resize(n_positions / 8 * n_columns));
    if (row_by_row) cells.resize(n_positions * n_columns);
  }

  // Find the scales of rows, given by position, and of features.
  template <class Value>
  void fit(const CsrView<Value>& rows, std::span<const std::int32_t> ranked,
           std::span<const double> row_norms, const Postings& postings) {
    if (n_columns() == 0) return;
    has_bytes ? scale_bytes(rows, ranked, row_norms, postings)
              : fit_bitmaps(rows, ranked, row_norms, postings);
  }

  // Store the values of a row of length one, given as (column, value), in rising features.
  struct Entry {
    std::int32_t column;
    double value;
  };
  void set_row(std::int64_t position, std::span<const Entry> entries) {
    double error = 0.0, norm = 0.0, in_cells = 0.0;
    for (const auto& [column, value] : entries) {
      const double unit = scales[position] * factors[column];
      const std::int8_t cell = cell_of(value / unit);
      set_cell(position, column, cell);
      in_cells += static_cast<double>(cell) * cell;
      const double kept = static_cast<double>(cell) * unit;
      error += (kept - value) * (kept - value);
      norm += kept * kept;
    }
    longest_cells = std::max(longest_cells, std::sqrt(in_cells));
    errors.edit(position) = rounded_up(std::sqrt(error));
    norms.edit(position) = rounded_up(std::sqrt(norm));
  }

  // Write the sums of some columns for the rows of a group; `bits` are the columns if they hold
  // bits.
  void add(const ImpactKernels& kernels, std::size_t group, std::span<const WeightedColumn> columns,
           const PlaneSum& bits, std::int16_t share, std::int16_t* sums) const {
    const std::size_t first = group * n_columns();
    if (has_bytes)
      kernels.add_cells(columns, share, bytes.data() + first * Blocks::group, sums);
    else
      kernels.add_planes(bits, bitmaps.data() + first * bitmap_bytes, sums);
  }

  // The sum of some columns for one row, exact, where cells are kept row by row.
  std::int32_t sum_of_row(std::size_t position, std::span<const WeightedColumn> plus,
                          std::span<const WeightedColumn> minus) const {
    const std::int8_t* const own = cells.data() + position * n_columns();
    std::int32_t sum = 0;
    for (const auto& [column, weight] : plus) sum += own[column] * weight;
    for (const auto& [column, weight] : minus) sum -= own[column] * weight;
    return sum;
  }

  // Start loading bitmaps of a group that comes next. Each query needs others of them, so no
  // processor foresees which.
  void fetch(std::size_t group, std::span<const WeightedColumn> columns) const {
    if (has_bytes) return;
    const auto* const first = bitmaps.data() + group * n_columns() * bitmap_bytes;
    for (const auto& [column, weight] : columns) prefetch(first + column * bitmap_bytes);
  }

  // Start loading what is known of a row.
  void fetch_row(std::size_t position) const {
    prefetch(cells.data() + position * n_columns());
    prefetch(scales.data() + position);
    prefetch(errors.data() + position);
    prefetch(norms.data() + position);
  }

  // Call visit(position) for the rows that have a feature with a column.
  template <class Visit>
  void visit_rows(std::int64_t column, const Visit& visit) const {
    const auto n_groups = static_cast<std::int64_t>(scales.size()) / Blocks::group;
    for (std::int64_t group = 0; group < n_groups; ++group) {
      const std::int64_t at = group * n_columns() + column;
      for (std::int64_t row = 0; row < Blocks::group; ++row)
        if (has_bytes ? bytes[at * Blocks::group + row] != 0
                      : (bitmaps[at * bitmap_bytes + row / 8] >> (row % 8)) & 1)
          visit(group * Blocks::group + row);
    }
  }

 private:
  static std::int64_t padded(std::int64_t n_rows) {
    return (n_rows + Blocks::group - 1) / Blocks::group * Blocks::group;
  }

  // s_i and a_j of bitmaps: what fits best.
  template <class Value>
  void fit_bitmaps(const CsrView<Value>& rows, std::span<const std::int32_t> ranked,
                   std::span<const double> row_norms, const Postings& postings) {
    std::vector<std::uint8_t> is_frequent(postings.features.size());
    for (std::size_t slot = 0; slot < is_frequent.size(); ++slot)
      is_frequent[slot] = postings.places[slot].is_column();
    const RankOneFit fit(rows, ranked, row_norms, postings.features, is_frequent);
    for (std::size_t position = 0; position < ranked.size(); ++position) {
      const std::int32_t id = ranked[position];
      scales.edit(position) = static_cast<float>(
          fit.scale_of(row_of(rows, id), row_norms[id], postings.features, is_frequent));
    }
    for (std::size_t slot = 0; slot < is_frequent.size(); ++slot)
      if (is_frequent[slot]) factors.edit(postings.places[slot].shape) = fit.factor(slot);
  }

  // s_i of bytes, where a_j is 1: the row's largest value in columns is the last byte.
  template <class Value>
  void scale_bytes(const CsrView<Value>& rows, std::span<const std::int32_t> ranked,
                   std::span<const double> row_norms, const Postings& postings) {
    factors.assign(factors.size(), 1.0);
    for (std::size_t position = 0; position < ranked.size(); ++position) {
      const std::int32_t id = ranked[position];
      const auto row = row_of(rows, id);
      double largest = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (postings.places[postings.features.find(row.columns[i])].is_column())
          largest = std::max(largest, std::abs(row.values[i] / row_norms[id]));
      scales.edit(position) = static_cast<float>(RankOneFit::in_range(largest / last_byte));
    }
  }

  // t_ij. It is 0 only where the row lacks the feature.
  std::int8_t cell_of(double value) const {
    if (!has_bytes) return 1;
    const auto nearest =
        static_cast<std::int8_t>(std::lrint(std::clamp(value, -last_byte, last_byte)));
    return nearest != 0 ? nearest : value < 0.0 ? std::int8_t{-1} : std::int8_t{1};
  }

  void set_cell(std::int64_t position, std::int64_t column, std::int8_t cell) {
    const std::int64_t at = position / Blocks::group * n_columns() + column;
    const std::int64_t row = position % Blocks::group;
    if (has_bytes)
      bytes.edit(at * Blocks::group + row) = cell;
    else
      bitmaps.edit(at * bitmap_bytes + row / 8) |= static_cast<std::uint8_t>(1 << (row % 8));
    if (!cells.empty()) cells.edit(position * n_columns() + column) = cell;
  }
};

}  // namespace vicinal
