// A scorer for weighted rows: whole numbers from bitmaps and posting lists, with an error bound.
//
// The cosines of all rows of a block are computed approximately (impact_kernels.hpp derives their
// error bound). Rows that cannot reach the k-th best are dropped; the others go on a shortlist
// (shortlist.hpp), and what remains of it in the end is compared by the exact definition. Rows that
// share no feature have the sum zero. For cosine and dot product, sums of zero and less are never
// examined: where such rows could belong to the result, finish() returns false and the search
// compares the query with every row.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/rank_one_fit.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

class ImpactIndex {
 public:
  // Reads `rows` only while building.
  template <class Value>
  ImpactIndex(const CsrView<Value>& rows, const RowOrder& order, Metric metric,
              std::int64_t block_rows, Simd simd, std::int64_t fewest_for_columns)
      : order_(&order),
        kernels_(impact_kernels(simd)),
        groups_((order.ranked.size() + Blocks::group - 1) / Blocks::group),
        ranked_(std::vector<std::int32_t>(order.ranked.begin(), order.ranked.end())),
        scales_(groups_.size() * Blocks::group),
        errors_(order.ranked.size()),
        column_norms_(order.ranked.size()) {
    postings_.features = FeatureTable(distinct(rows.indices, rows.n_columns), rows.n_columns);
    choose_shapes(rows, block_rows, fewest_for_columns);
    if (metric == Metric::cosine && postings_.n_columns > 0) order_by_columns(rows);
    (has_bytes_ ? columns_.resize(groups_.size() * postings_.n_columns * Blocks::group)
                : bitmaps_.resize(groups_.size() * postings_.n_columns * bitmap_bytes));
    fill(rows);
  }

  // A query's features as they occur in this index.
  struct Plan {
    struct Term {
      const Postings::Place* place;
      std::int16_t weight;
      std::int64_t end = 0;  // of the entries of a rare list in the next block
    };
    std::int64_t next_block = -1;  // for which `end` holds
    bool usable;
    ImpactScale scale;
    double column_norm = 0.0;   // |q_C|
    double column_unit = 0.0;   // of sums: 1 / W, or that of rounded products of bytes
    double cell_unit = 0.0;     // 1 / W
    double pair_error = 0.0;    // of those roundings, in units of sums
    double weight_error = 0.0;  // E
    double rounding = 0.0;      // R
    bool has_negative = false;  // whether any value is
    std::vector<Term> lists = {};
    std::vector<WeightedColumn> plus = {}, minus = {};
    std::int16_t share = 0;  // what products of bytes are multiplied by, in units of 2^-15
    PlaneSum plus_bits = {}, minus_bits = {};  // the same as bitmaps, where columns are
    bool has_bound = false;                    // from rows that are likely to be near
    bool done = false;                         // all rows have been searched
    Shortlist shortlist = {};
  };

  // Working memory of one thread.
  struct Scratch {
    AlignedVector<std::int16_t> sums;      // of lists, by row of the block; zero between blocks
    AlignedVector<std::int16_t> all_sums;  // the same by position, once a query needs them
    AlignedVector<std::int16_t> plus, minus;
    AlignedVector<float> cosines;  // of a group, or of the window
    std::vector<float> maxima, passing;
    std::vector<std::int16_t> list_maxima, largest;  // of classes of rows, of groups
    std::vector<std::int32_t> found;
    struct WeightedSpan {
      PostingSpan<std::uint16_t> span;
      std::int16_t weight;
    };
    std::vector<WeightedSpan> spans;
    EstimateWindow window;  // rows whose cosines are computed first
    struct Waiting {        // rows of a group whose cells are being loaded
      std::size_t group = 0;
      std::vector<std::int32_t> rows;
      const std::int16_t* lists = nullptr;
      float least = 0.0f;
    } waiting;
    ScatteredQuery* scattered;
    Scratch(const ImpactIndex& index, ScatteredQuery& scattered)
        : sums(index.blocks_.rows_per_block),
          plus(Blocks::group),
          minus(Blocks::group),
          passing(Blocks::group),
          found(Blocks::group),
          scattered(&scattered) {}
  };

  const Blocks& blocks() const { return blocks_; }
  // With cosines, the last rows have most in columns.
  std::int64_t first_block(Metric metric, double norm) const {
    return metric == Metric::cosine ? blocks_.count - 1 : nearest_block(*order_, blocks_, norm);
  }
  std::size_t bytes() const {
    return postings_.bytes() + bitmaps_.owned_bytes() + peaks_.owned_bytes() +
           factors_.owned_bytes() + ranked_.owned_bytes() + groups_.owned_bytes() +
           columns_.owned_bytes() + cells_.owned_bytes() + scales_.owned_bytes() +
           errors_.owned_bytes() + column_norms_.owned_bytes();
  }

  // The index of the same rows as it was stored.
  ImpactIndex(std::int64_t n_features, const RowOrder& order, Simd simd, ArchiveReader& archive)
      : order_(&order), kernels_(impact_kernels(simd)) {
    stored(*this, archive);
    const std::int64_t n_rows = std::ssize(order.ranked);
    expect_stored(block_rows_ >= Blocks::group && block_rows_ <= Blocks::largest &&
                      block_rows_ % Blocks::group == 0,
                  "whole groups of rows in a block");
    blocks_ = Blocks::of_size(n_rows, block_rows_);
    postings_.check(n_features, blocks_, true);
    expect_stored(has_bytes_ >= 0 && has_bytes_ <= 1 && is_signed_ >= 0 && is_signed_ <= 1,
                  "bits or bytes");
    const std::int64_t n_groups = (n_rows + Blocks::group - 1) / Blocks::group;
    expect_stored(std::ssize(groups_) == n_groups, "norms for every group of rows");
    expect_stored(std::ssize(ranked_) == n_rows, "a place for every row");
    for (const std::int32_t id : ranked_)
      expect_stored(id >= 0 && id < std::ssize(order.norms), "row ids below n_rows");
    expect_stored(std::ssize(scales_) == n_groups * Blocks::group, "a scale for every row");
    expect_stored(std::ssize(errors_) == n_rows, "an error for every row");
    expect_stored(std::ssize(column_norms_) == n_rows, "a norm for every row");
    expect_stored(std::ssize(peaks_) == postings_.features.size(), "a peak for every feature");
    expect_stored(std::ssize(factors_) == postings_.n_columns, "a factor for every column");
    const std::int64_t n_cells = n_groups * Blocks::group * postings_.n_columns;
    expect_stored(std::ssize(bitmaps_) == (has_bytes_ ? 0 : n_cells / 8) &&
                      std::ssize(columns_) == (has_bytes_ ? n_cells : 0),
                  "columns for every group of rows");
    expect_stored(cells_.empty() || std::ssize(cells_) == n_cells,
                  "a cell for every row and column");
    find_worst();
  }

  static void stored(auto& self, auto& archive) {
    archive(self.block_rows_, self.has_bytes_, self.is_signed_, self.groups_, self.ranked_,
            self.scales_, self.errors_, self.column_norms_, self.list_error_, self.longest_row_,
            self.has_negative_lists_, self.postings_, self.peaks_, self.factors_, self.bitmaps_,
            self.columns_, self.cells_, self.longest_cells_);
  }

  Plan plan(const QueryState& query) const {
    struct Found {
      std::int64_t slot;
      double value;
    };
    std::vector<Found> in_lists, in_columns;
    for (std::size_t i = 0; i < query.row.size(); ++i) {
      const std::int64_t slot = postings_.features.find(query.row.columns[i]);
      if (slot == FeatureTable::absent || postings_.places[slot].count == 0) continue;
      const bool is_column = postings_.places[slot].is_column();
      (is_column ? in_columns : in_lists).push_back({slot, query.row.values[i] / query.norm});
    }
    const ImpactScale scale = impact_scale(std::ssize(in_lists), longest_row_, list_error_);
    Plan plan{.usable = scale.usable, .scale = scale};
    for (const auto& [slot, value] : in_lists) {
      plan.lists.push_back({&postings_.places[slot], list_weight(value, peaks_[slot], scale.unit)});
      plan.has_negative |= value < 0.0;
    }
    double most = 0.0, total = 0.0, square = 0.0, squares = 0.0;
    double errors = 0.0, below = 0.0, above = 0.0;
    for (const auto& [slot, value] : in_columns) {
      const double weight = std::abs(value) * factors_[postings_.places[slot].shape];
      most = std::max(most, weight);
      total += weight;
      square += weight * weight;
      squares += value * value;
      plan.has_negative |= value < 0.0;
    }
    if (most == 0.0) return plan;
    const auto n_columns = static_cast<double>(in_columns.size());
    const double unit =
        std::min({(has_bytes_ ? last_byte : largest_weight) / most,
                  has_bytes_ ? largest_unit : (32767.0 - n_columns) / total, largest_unit});  // W
    if (!(unit > 0.0)) {
      plan.usable = false;
      return plan;
    }
    for (const auto& [slot, value] : in_columns) {
      const std::int32_t column = postings_.places[slot].shape;
      const double factor = factors_[column];
      const auto weight = static_cast<std::int32_t>(std::lrint(std::abs(value) * factor * unit));
      const double difference = std::abs(value) * factor * unit - weight;
      (value * difference > 0.0 ? below : above) += std::abs(difference);
      errors += (difference / (factor * unit)) * (difference / (factor * unit));
      if (weight > 0) (value > 0.0 ? plan.plus : plan.minus).push_back({column, weight});
    }
    plan.cell_unit = plan.column_unit = 1.0 / unit;
    if (has_bytes_) {
      const double longest = std::sqrt(square) * unit + std::sqrt(n_columns);
      const double room = 32766.0 - n_columns;
      plan.share = static_cast<std::int16_t>(
          std::min(32767.0, std::floor(32768.0 * room / (longest * longest_cells_))));
      if (plan.share < 1) plan.usable = false;
      plan.column_unit *= 32768.0 / std::max<double>(plan.share, 1.0);
      plan.pair_error = static_cast<double>(plan.plus.size() + plan.minus.size() + 2) / 4.0;
    } else {
      plan.plus_bits = PlaneSum(plan.plus);
      plan.minus_bits = PlaneSum(plan.minus);
    }
    plan.column_norm = std::sqrt(squares) * (1.0 + 1e-9);
    plan.weight_error = std::sqrt(errors) * (1.0 + 1e-9) + 1e-12;
    plan.rounding = (is_signed_ ? below + above : std::max(below, above)) * last_cell();
    return plan;
  }

  // Call visit(row) once for every row of the blocks that shares a feature with the query.
  template <class Visit>
  void visit_sharing(const SparseRow<double>& query, const Visit& visit) const {
    std::vector<std::uint8_t> shares(groups_.size() * bitmap_bytes, 0);  // a bit per position
    for (const std::int32_t feature : query.columns) {
      const std::int64_t slot = postings_.features.find(feature);
      if (slot == FeatureTable::absent || postings_.places[slot].count == 0) continue;
      mark_rows(postings_.places[slot], shares);
    }
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position)
      if ((shares[position / 8] >> (position % 8)) & 1) visit(ranked_[position]);
  }

  // Where lists decide, add those of all rows at once: they give a bound near the final one, and
  // few rows need their columns. Other queries go through the blocks.
  template <class Value>
  void begin_query(const Collection<Value>& collection, Plan& plan, QueryState& query,
                   Scratch& scratch) const {
    plan.shortlist.reset(query);
    plan.has_bound = plan.shortlist.bound() != std::numeric_limits<double>::infinity();
    scratch.window = EstimateWindow();  // that of another query's last block
    if (groups_.empty() || plan.lists.empty() || plan.column_norm > most_in_lists_only ||
        !is_never_negative(collection.metric, plan))
      return;
    scratch.all_sums.resize(groups_.size() * Blocks::group);
    add_all_lists(plan, scratch.all_sums.data());
    bound_by_lists(0, blocks_.n_rows, scratch.all_sums.data(), collection, plan, query, scratch);
    const Group& typical = groups_[groups_.size() * 3 / 4];
    const float least = threshold(collection.metric, plan, query, plan.shortlist.bound(), typical);
    if (least_in_lists(plan, least, typical) >= 1.0) {
      scan_groups(0, blocks_.n_rows, scratch.all_sums.data(), collection, plan, query, scratch,
                  scratch.largest);
      plan.done = true;
    }
    std::fill(scratch.all_sums.begin(), scratch.all_sums.end(), std::int16_t{0});
  }

  // Add the lists. In its first block, a query finds a bound from the rows most likely to be near.
  template <class Value>
  void begin_block(std::int64_t block, const Collection<Value>& collection, Plan& plan,
                   QueryState& query, Scratch& scratch) const {
    scratch.window = EstimateWindow();
    if (plan.done) return;
    fetch_bitmaps(blocks_.begin(block) / Blocks::group, plan);
    add_lists(block, plan, scratch, scratch.sums.data());
    if (plan.has_bound) return;
    plan.has_bound = true;
    if (!plan.plus.empty() || !is_never_negative(collection.metric, plan))
      search_window(block, collection, plan, query, scratch);
    else
      bound_by_lists(blocks_.begin(block), blocks_.size(block), scratch.sums.data(), collection,
                     plan, query, scratch);
  }

  template <class Value>
  void scan(std::int64_t block, const Collection<Value>& collection, Plan& plan, QueryState& query,
            Scratch& scratch) const {
    if (plan.done) return;
    scan_groups(blocks_.begin(block), blocks_.size(block), scratch.sums.data(), collection, plan,
                query, scratch);
    std::fill(scratch.sums.begin(), scratch.sums.end(), std::int16_t{0});
  }

  // Compare the shortlisted rows. True if all other rows are known to be farther than those kept.
  template <class Value>
  bool finish(const Collection<Value>& collection, Plan& plan, QueryState& query,
              Scratch& scratch) const {
    plan.shortlist.compare(collection, query, *scratch.scattered);
    if (collection.metric == Metric::euclidean) return true;
    if (!query.best.full()) return false;
    const auto is_certain = [&](const Group& group) {
      return least_similarity(collection.metric, plan, query, query.best.worst_key(), group) > 0.0;
    };
    return std::all_of(worst_.begin(), worst_.end(), is_certain) ||
           std::all_of(groups_.begin(), groups_.end(), is_certain);
  }

 private:
  // What determines the error of a group's sums.
  struct Group {
    double error = 0.0;                                                // largest D_i
    double column_norm = 0.0;                                          // largest K_i
    double scale = 0.0;                                                // largest s_i
    double low = std::numeric_limits<double>::infinity(), high = 0.0;  // norms of the rows
    std::int64_t longest_row = 0;
  };

  // Shortlist rows of `size` positions from `begin` on, given the sums of their lists, and where
  // they are known the largest sums of groups.
  template <class Value>
  void scan_groups(std::int64_t begin, std::int64_t size, const std::int16_t* sums,
                   const Collection<Value>& collection, Plan& plan, QueryState& query,
                   Scratch& scratch, std::span<const std::int16_t> largest = {}) const {
    scratch.cosines.resize(std::max<std::size_t>(scratch.cosines.size(), Blocks::group));
    float* const cosines = scratch.cosines.data();
    double least_of_any = 0.0;
    for (std::int64_t first = 0; first < size; first += Blocks::group) {
      if (scratch.window.contains(first)) continue;
      const std::size_t number = (begin + first) / Blocks::group;
      const Group& group = groups_[number];
      if (!largest.empty()) {
        if (number % together == 0) {
          const Group& any = worst_[number / together];
          least_of_any = least_in_lists(
              plan, threshold(collection.metric, plan, query, plan.shortlist.bound(), any), any);
        }
        if (least_of_any >= 1.0 && largest[number] < least_of_any) continue;
      }
      const float least = threshold(collection.metric, plan, query, plan.shortlist.bound(), group);
      const double in_lists = least_in_lists(plan, least, group);
      if (in_lists >= 1.0) {  // a row without lists cannot be near
        const std::size_t count =
            kernels_.reach(sums + first, static_cast<std::int16_t>(std::min(in_lists, 32767.0)),
                           scratch.found.data());
        if (count == 0) continue;
        if (!cells_.empty() && static_cast<std::int64_t>(count) <= few_rows) {
          list_waiting(collection, plan, query, scratch);
          let_wait(number, count, sums + first, least, scratch);
          continue;
        }
      }
      if (first + Blocks::group < size) fetch_bitmaps(number + 1, plan);
      compute(number, sums + first, plan, scratch, cosines);
      shortlist_rows(number, cosines, least, collection, plan, query, scratch);
    }
    list_waiting(collection, plan, query, scratch);
  }

  // Without what columns can give, a row of the group needs at least this sum.
  double least_in_lists(const Plan& plan, float least, const Group& group) const {
    return (least - most_in_columns(plan, group)) * plan.scale.unit - 1.0;
  }

  // Whether no feature can make a row less similar, and only directions matter.
  bool is_never_negative(Metric metric, const Plan& plan) const {
    return metric == Metric::cosine && !is_signed_ && !has_negative_lists_ && !plan.has_negative;
  }

  static constexpr double largest_weight = 255.0;     // of a bitmap
  static constexpr double largest_unit = 1e30;        // of W, so that 1 / W is not zero in float32
  static constexpr double most_in_lists_only = 0.45;  // |q_C| of queries that lists may decide
  static constexpr std::size_t together = 8;          // groups that are passed over together
  static constexpr std::int64_t few_rows = 24;        // cost less one by one than their whole group

  double last_cell() const { return has_bytes_ ? last_byte : 1.0; }

  // Choose which features get a column, and what a cell is.
  template <class Value>
  void choose_shapes(const CsrView<Value>& rows, std::int64_t block_rows,
                     std::int64_t fewest_for_columns) {
    std::vector<std::uint32_t> counts(postings_.features.size(), 0);
    peaks_.assign(postings_.features.size(), 0.0f);
    std::int64_t n_entries = 0;
    for (const std::int32_t id : order_->ranked) {
      const auto row = row_of(rows, id);
      longest_row_ = std::max<std::int64_t>(longest_row_, row.size());
      n_entries += row.size();
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::int64_t slot = postings_.features.find(row.columns[i]);
        ++counts[slot];
        const auto size = static_cast<float>(std::abs(row.values[i] / order_->norms[id]));
        if (size >= peaks_[slot])
          peaks_.edit(slot) = std::nextafter(size, std::numeric_limits<float>::infinity());
      }
    }
    const std::int64_t sparsest =
        std::ssize(order_->ranked) < fewest_for_columns ? lists_only : choose_cells(rows, counts);
    if (sparsest == lists_only) {
      blocks_ = Blocks(std::ssize(order_->ranked), block_rows);
      block_rows_ = blocks_.rows_per_block;
      return postings_.choose_shapes(counts, blocks_, 1, 0, true);
    }
    blocks_ = Blocks(std::ssize(order_->ranked), std::min(block_rows, most_block_rows));
    block_rows_ = blocks_.rows_per_block;
    const std::int64_t bits = has_bytes_ ? 8 : 1;
    const std::int64_t each = std::max<std::int64_t>(std::ssize(groups_) * bitmap_bytes * bits, 1);
    postings_.choose_shapes(counts, blocks_, sparsest, 8 * n_entries / each, true);
    factors_.resize(postings_.n_columns);
    if (sparsest == lists_decide)
      cells_.resize(std::ssize(groups_) * Blocks::group * postings_.n_columns);
  }

  // Rows by their norm in columns, so that the rows of a group get equally much from columns.
  template <class Value>
  void order_by_columns(const CsrView<Value>& rows) {
    std::vector<float> in_columns(order_->norms.size(), 0.0f);
    for (const std::int32_t id : ranked_) {
      const auto row = row_of(rows, id);
      double square = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (postings_.places[postings_.features.find(row.columns[i])].is_column()) {
          const double value = row.values[i] / order_->norms[id];
          square += value * value;
        }
      in_columns[id] = static_cast<float>(square);
    }
    const std::span<std::int32_t> ranked = ranked_.edit_all();
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::int32_t a, std::int32_t b) { return in_columns[a] < in_columns[b]; });
  }

  static constexpr std::int64_t most_block_rows = 8192;

  // Where rows have little in frequent features, only very frequent ones have a column, and cells
  // are also kept row by row, because few rows of a query need them.
  static constexpr std::int64_t lists_decide = 12;

  static constexpr std::int64_t lists_only = 0;

  // Decide from some rows what a cell is, and how frequent a feature with a column is: 1 of how
  // many rows has it.
  template <class Value>
  std::int64_t choose_cells(const CsrView<Value>& rows, std::span<const std::uint32_t> counts) {
    constexpr std::int64_t usual = 40;
    constexpr double most_error = 0.003;
    std::vector<std::uint8_t> is_frequent(counts.size());
    for (std::size_t slot = 0; slot < counts.size(); ++slot)
      is_frequent[slot] = counts[slot] * usual >= std::ssize(order_->ranked);
    for (const std::int32_t id : order_->ranked) {
      const auto row = row_of(rows, id);
      for (std::size_t i = 0; i < row.size(); ++i) is_signed_ |= row.values[i] < Value{0};
    }
    const CellSample sample(rows, order_->ranked, order_->norms, postings_.features, is_frequent);
    has_bytes_ = is_signed_ || sample.error > most_error;
    if (sample.column_norm < 0.4) return lists_decide;
    return has_bytes_ ? 20 : 64;
  }

  template <class Value>
  void fill(const CsrView<Value>& rows) {
    if (postings_.n_columns > 0) has_bytes_ ? scale_bytes(rows) : fit_bitmaps(rows);
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position) fill_row(rows, position);
    postings_.finish();
    find_worst();
  }

  void find_worst() {
    worst_.resize((groups_.size() + together - 1) / together);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& worst = worst_[i / together];
      worst.error = std::max(worst.error, groups_[i].error);
      worst.column_norm = std::max(worst.column_norm, groups_[i].column_norm);
      worst.scale = std::max(worst.scale, groups_[i].scale);
      worst.low = std::min(worst.low, groups_[i].low);
      worst.high = std::max(worst.high, groups_[i].high);
      worst.longest_row = std::max(worst.longest_row, groups_[i].longest_row);
    }
  }

  // s_i and a_j of bitmaps: what fits best.
  template <class Value>
  void fit_bitmaps(const CsrView<Value>& rows) {
    std::vector<std::uint8_t> is_frequent(postings_.features.size());
    for (std::size_t slot = 0; slot < is_frequent.size(); ++slot)
      is_frequent[slot] = postings_.places[slot].is_column();
    const RankOneFit fit(rows, ranked_, order_->norms, postings_.features, is_frequent);
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position) {
      const std::int32_t id = ranked_[position];
      scales_.edit(position) = static_cast<float>(
          fit.scale_of(row_of(rows, id), order_->norms[id], postings_.features, is_frequent));
    }
    for (std::size_t slot = 0; slot < is_frequent.size(); ++slot)
      if (is_frequent[slot]) factors_.edit(postings_.places[slot].shape) = fit.factor(slot);
  }

  // s_i of bytes, where a_j is 1: the row's largest value in columns is the last byte.
  template <class Value>
  void scale_bytes(const CsrView<Value>& rows) {
    factors_.assign(factors_.size(), 1.0);
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position) {
      const std::int32_t id = ranked_[position];
      const auto row = row_of(rows, id);
      double largest = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (postings_.places[postings_.features.find(row.columns[i])].is_column())
          largest = std::max(largest, std::abs(row.values[i] / order_->norms[id]));
      scales_.edit(position) = static_cast<float>(RankOneFit::in_range(largest / last_byte));
    }
  }

  template <class Value>
  void fill_row(const CsrView<Value>& rows, std::int64_t position) {
    const std::int32_t id = ranked_[position];
    const auto row = row_of(rows, id);
    double column_error = 0.0, list_error = 0.0, in_columns = 0.0, in_cells = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int64_t slot = postings_.features.find(row.columns[i]);
      const double value = row.values[i] / order_->norms[id];
      const Postings::Place& place = postings_.places[slot];
      if (place.is_column()) {
        const double unit = scales_[position] * factors_[place.shape];
        const std::int8_t cell = cell_of(value / unit);
        set_cell(position, place.shape, cell);
        if (!cells_.empty()) cells_.edit(position * postings_.n_columns + place.shape) = cell;
        in_cells += static_cast<double>(cell) * cell;
        const double kept = static_cast<double>(cell) * unit;
        column_error += (kept - value) * (kept - value);
        in_columns += kept * kept;
      } else {
        const std::int16_t payload = list_payload(value, peaks_[slot]);
        const double difference = payload * static_cast<double>(peaks_[slot]) / list_units - value;
        list_error += difference * difference;
        has_negative_lists_ |= value < 0.0;
        postings_.append(slot, position, blocks_, payload,
                         [](std::int64_t, std::int64_t, std::int64_t, std::int16_t) {});
      }
    }
    longest_cells_ = std::max(longest_cells_, std::sqrt(in_cells));
    errors_.edit(position) = rounded_up(std::sqrt(column_error));
    column_norms_.edit(position) = rounded_up(std::sqrt(in_columns));
    list_error_ = std::max<double>(list_error_, rounded_up(std::sqrt(list_error)));
    Group& group = groups_.edit(position / Blocks::group);
    group.error = std::max<double>(group.error, errors_[position]);
    group.column_norm = std::max<double>(group.column_norm, column_norms_[position]);
    group.low = std::min(group.low, order_->norms[id]);
    group.high = std::max(group.high, order_->norms[id]);
    group.scale = std::max<double>(group.scale, scales_[position]);
    group.longest_row = std::max<std::int64_t>(group.longest_row, row.size());
  }

  // t_ij. It is 0 only where the row lacks the feature.
  std::int8_t cell_of(double value) const {
    if (!has_bytes_) return 1;
    const auto nearest =
        static_cast<std::int8_t>(std::lrint(std::clamp(value, -last_byte, last_byte)));
    return nearest != 0 ? nearest : value < 0.0 ? std::int8_t{-1} : std::int8_t{1};
  }

  void set_cell(std::int64_t position, std::int64_t column, std::int8_t cell) {
    const std::int64_t at = position / Blocks::group * postings_.n_columns + column;
    const std::int64_t row = position % Blocks::group;
    if (has_bytes_)
      columns_.edit(at * Blocks::group + row) = cell;
    else
      bitmaps_.edit(at * bitmap_bytes + row / 8) |= static_cast<std::uint8_t>(1 << (row % 8));
  }

  static float rounded_up(double value) {
    return std::nextafter(static_cast<float>(value * (1.0 + 1e-9)),
                          std::numeric_limits<float>::infinity());
  }

  // Add the lists of a block to the sums of its rows.
  void add_lists(std::int64_t block, Plan& plan, Scratch& scratch, std::int16_t* sums) const {
    const std::int64_t begin = blocks_.begin(block), size = blocks_.size(block);
    scratch.spans.clear();
    for (auto& [place, weight, end] : plan.lists) {
      if (place->is_rare()) {
        const auto span = postings_.rare(*place);
        if (plan.next_block != block)
          end = std::lower_bound(span.ids, span.ids + span.size, begin + size) - span.ids;
        for (; end > 0 && span.ids[end - 1] >= begin; --end)
          sums[span.ids[end - 1] - begin] += list_impact(span.weights[end - 1], weight);
      } else {
        const auto span = postings_.common(*place, block);
        if (span.size == 0) continue;
        scratch.spans.push_back({span, weight});
        prefetch(span.ids);
        prefetch(span.weights);
      }
    }
    plan.next_block = block - 1;
    for (const auto [span, weight] : scratch.spans)  // copied: a write to a sum cannot change them
      for (std::int64_t i = 0; i < span.size; ++i)
        sums[span.ids[i]] += list_impact(span.weights[i], weight);
  }

  // Add the lists of all blocks, to sums by position.
  void add_all_lists(const Plan& plan, std::int16_t* sums) const {
    for (const auto [place, weight, next] :
         plan.lists) {  // copied: a write to a sum cannot change them
      if (!place->is_rare()) continue;
      const auto span = postings_.rare(*place);
      for (std::int64_t i = 0; i < span.size; ++i)
        sums[span.ids[i]] += list_impact(span.weights[i], weight);
    }
    for (std::int64_t block = 0; block < blocks_.count; ++block) {
      std::int16_t* const first = sums + blocks_.begin(block);
      for (const auto [place, weight, end] : plan.lists) {
        if (place->is_rare()) continue;
        const auto span = postings_.common(*place, block);
        for (std::int64_t i = 0; i < span.size; ++i)
          first[span.ids[i]] += list_impact(span.weights[i], weight);
      }
    }
  }

  void mark_rows(const Postings::Place& place, std::vector<std::uint8_t>& shares) const {
    const auto mark = [&](std::int64_t position) {
      shares[position / 8] |= static_cast<std::uint8_t>(1 << (position % 8));
    };
    if (place.is_rare()) {
      const auto span = postings_.rare(place);
      for (std::int64_t i = 0; i < span.size; ++i) mark(span.ids[i]);
    } else if (!place.is_column()) {
      for (std::int64_t block = 0; block < blocks_.count; ++block) {
        const auto span = postings_.common(place, block);
        for (std::int64_t i = 0; i < span.size; ++i) mark(blocks_.begin(block) + span.ids[i]);
      }
    } else {
      for (std::size_t group = 0; group < groups_.size(); ++group) {
        const std::int64_t at = group * postings_.n_columns + place.shape;
        for (std::int64_t row = 0; row < Blocks::group; ++row)
          if (has_bytes_ ? columns_[at * Blocks::group + row] != 0
                         : (bitmaps_[at * bitmap_bytes + row / 8] >> (row % 8)) & 1)
            mark(group * Blocks::group + row);
      }
    }
  }

  // Start loading the bitmaps of a group that comes next. Each query needs others of them, so no
  // processor foresees which.
  void fetch_bitmaps(std::size_t group, const Plan& plan) const {
    if (has_bytes_) return;
    const auto* const first = bitmaps_.data() + group * postings_.n_columns * bitmap_bytes;
    for (const auto* columns : {&plan.plus, &plan.minus})
      for (const auto [column, weight] : *columns) prefetch(first + column * bitmap_bytes);
  }

  // The cosines of a group, given the sums of its lists.
  void compute(std::size_t group, const std::int16_t* lists, const Plan& plan, Scratch& scratch,
               float* out) const {
    const bool has_columns = !plan.plus.empty() || !plan.minus.empty();
    if (has_columns) add_columns(group, plan.plus, plan.plus_bits, plan.share, scratch.plus.data());
    if (!plan.minus.empty()) {
      add_columns(group, plan.minus, plan.minus_bits, plan.share, scratch.minus.data());
      for (std::int64_t i = 0; i < Blocks::group; ++i) scratch.plus[i] -= scratch.minus[i];
    }
    kernels_.cosines(
        {has_columns ? scratch.plus.data() : nullptr, lists, scales_.data() + group * Blocks::group,
         static_cast<float>(plan.column_unit), static_cast<float>(1.0 / plan.scale.unit)},
        out);
  }

  void add_columns(std::size_t group, std::span<const WeightedColumn> columns, const PlaneSum& bits,
                   std::int16_t share, std::int16_t* sums) const {
    const std::size_t first = group * postings_.n_columns;
    if (has_bytes_)
      kernels_.add_cells(columns, share, columns_.data() + first * Blocks::group, sums);
    else
      kernels_.add_planes(bits, bitmaps_.data() + first * bitmap_bytes, sums);
  }

  // Begin to load what is known of the rows that were found in a group. They are listed when the
  // next ones have been found.
  void let_wait(std::size_t group, std::size_t count, const std::int16_t* lists, float least,
                Scratch& scratch) const {
    auto& waiting = scratch.waiting;
    waiting.group = group;
    waiting.rows.assign(scratch.found.begin(), scratch.found.begin() + count);
    waiting.lists = lists;
    waiting.least = least;
    for (const std::int32_t row : waiting.rows) {
      const std::size_t position = group * Blocks::group + row;
      prefetch(cells_.data() + position * postings_.n_columns);
      prefetch(scales_.data() + position);
      prefetch(errors_.data() + position);
      prefetch(column_norms_.data() + position);
      prefetch(ranked_.data() + position);
    }
  }

  template <class Value>
  void list_waiting(const Collection<Value>& collection, Plan& plan, QueryState& query,
                    Scratch& scratch) const {
    auto& [group, rows, lists, least] = scratch.waiting;
    cosines_of_rows(group, rows, lists, plan, scratch.passing.data());
    list_found(group, rows, scratch.passing.data(), least, collection, plan, query, scratch);
    rows.clear();
  }

  // What compute() gives for some rows of a group.
  void cosines_of_rows(std::size_t group, std::span<const std::int32_t> rows,
                       const std::int16_t* lists, const Plan& plan, float* out) const {
    const auto list_unit = static_cast<float>(1.0 / plan.scale.unit);
    const auto cell_unit = static_cast<float>(plan.cell_unit);
    const std::int8_t* const cells =
        cells_.data() + group * Blocks::group * static_cast<std::size_t>(postings_.n_columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int8_t* const own = cells + rows[i] * postings_.n_columns;
      std::int32_t sum = 0;
      for (const auto& [column, weight] : plan.plus) sum += own[column] * weight;
      for (const auto& [column, weight] : plan.minus) sum -= own[column] * weight;
      out[i] = static_cast<float>(sum) * scales_[group * Blocks::group + rows[i]] * cell_unit +
               static_cast<float>(lists[rows[i]]) * list_unit;
    }
  }

  // No row of the group gets more than this from its columns.
  double most_in_columns(const Plan& plan, const Group& group) const {
    return (plan.column_norm + plan.weight_error) * group.column_norm * (1.0 + 1e-6) + 1e-5;
  }

  double error_of(const Plan& plan, const QueryState& query, const Group& group) const {
    return column_error(plan, group.error, group.column_norm, group.scale) +
           other_error(plan, query, group);
  }

  // What columns can be wrong by for a row with this D, K and s: what the cells miss; what rounding
  // the query's weights changes, by Cauchy and Schwarz or with every rounding at its worst;
  // float32.
  static double column_error(const Plan& plan, double error, double column_norm, double scale) {
    const double weights =
        std::min(plan.weight_error * column_norm, plan.rounding * scale * plan.cell_unit) +
        plan.pair_error * scale * plan.column_unit;
    return plan.column_norm * error + weights + 4e-7 * (plan.column_norm * column_norm + weights);
  }

  // What does not depend on a row's columns.
  double other_error(const Plan& plan, const QueryState& query, const Group& group) const {
    return list_error_ + impact_error(std::ssize(plan.lists), query.row.size(), group.longest_row,
                                      plan.scale.unit);
  }

  // The smallest computed cosine with which a row of the group could have a key of at most `bound`.
  double least_similarity(Metric metric, const Plan& plan, const QueryState& query, double bound,
                          const Group& group) const {
    return least_cosine(metric, bound, query.norm, group.low, group.high,
                        query.row.size() + group.longest_row) -
           error_of(plan, query, group);
  }

  // The same as a float that is not larger. Except for distances, only positive sums are examined.
  float threshold(Metric metric, const Plan& plan, const QueryState& query, double bound,
                  const Group& group) const {
    const double least =
        std::clamp(least_similarity(metric, plan, query, bound, group), -1e30, 2.0);
    const auto below =
        std::nextafter(static_cast<float>(least), -std::numeric_limits<float>::infinity());
    return metric == Metric::euclidean ? below : std::max(below, std::numeric_limits<float>::min());
  }

  // The group whose rows are most likely to be near: those with norms like the query's, or, where
  // only directions matter, those with as much in their columns.
  std::size_t nearest_group(Metric metric, const Plan& plan, const QueryState& query) const {
    const auto at = std::partition_point(groups_.begin(), groups_.end(), [&](const Group& group) {
      return metric == Metric::cosine ? group.column_norm < plan.column_norm
                                      : group.high < query.norm;
    });
    return std::min<std::size_t>(at - groups_.begin(), groups_.size() - 1);
  }

  // A first bound without comparing a row: where nothing is negative, a row is at least as near as
  // its lists make it.
  template <class Value>
  void bound_by_lists(std::int64_t begin, std::int64_t size, const std::int16_t* sums,
                      const Collection<Value>& collection, Plan& plan, const QueryState& query,
                      Scratch& scratch) const {
    const auto k = static_cast<std::int64_t>(query.best.capacity());
    if (k > size / 4) return;
    const std::int16_t least = std::max<std::int16_t>(list_estimate(sums, size, k + 1, scratch), 1);
    double error = 0.0;
    std::int64_t count = 0;
    for (std::int64_t first = 0; first < size && count < k; first += Blocks::group) {
      if (scratch.largest[first / Blocks::group] < least) continue;
      const std::size_t found = kernels_.reach(sums + first, least, scratch.found.data());
      for (std::size_t i = 0; i < found; ++i)
        count += collection.admits(query, ranked_[begin + first + scratch.found[i]]);
      const Group& group = groups_[(begin + first) / Blocks::group];
      error = std::max(error, other_error(plan, query, group));
    }
    if (count >= k) plan.shortlist.tighten(error - least / plan.scale.unit);
  }

  // Find the largest sum of each group, and an estimate of the k-th largest of all: the rows are
  // divided into classes, and this is the k-th largest of their maxima.
  std::int16_t list_estimate(const std::int16_t* sums, std::int64_t size, std::int64_t k,
                             Scratch& scratch) const {
    const std::int64_t n_groups = (size + Blocks::group - 1) / Blocks::group;
    const std::int64_t n_parts = std::clamp<std::int64_t>(4 * k / largest_lanes, 4, n_groups);
    scratch.largest.resize(n_groups);
    scratch.list_maxima.assign(n_parts * largest_lanes, std::numeric_limits<std::int16_t>::min());
    for (std::int64_t group = 0; group < n_groups; ++group)
      scratch.largest[group] =
          kernels_.largest(sums + group * Blocks::group,
                           scratch.list_maxima.data() + group % n_parts * largest_lanes);
    const auto kth = scratch.list_maxima.begin() + std::min(k, n_parts * largest_lanes) - 1;
    std::nth_element(scratch.list_maxima.begin(), kth, scratch.list_maxima.end(), std::greater<>());
    return *kth;
  }

  // Shortlist the rows of a window with large cosines first, so that few other rows pass.
  template <class Value>
  void search_window(std::int64_t block, const Collection<Value>& collection, Plan& plan,
                     QueryState& query, Scratch& scratch) const {
    const auto k = static_cast<std::int64_t>(query.best.capacity());
    const std::int64_t center =
        static_cast<std::int64_t>(nearest_group(collection.metric, plan, query)) * Blocks::group -
        blocks_.begin(block);
    const EstimateWindow window(std::clamp<std::int64_t>(center, 0, blocks_.size(block)),
                                blocks_.size(block), k);
    const std::int64_t rows = window.end - window.begin;
    scratch.cosines.resize(std::max<std::size_t>(scratch.cosines.size(), rows));
    float* const cosines = scratch.cosines.data();
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group)
      compute((blocks_.begin(block) + first) / Blocks::group, scratch.sums.data() + first, plan,
              scratch, cosines + (first - window.begin));
    const float estimate = threshold_estimate(
        cosines, std::min(window.end, blocks_.size(block)) - window.begin, k, scratch.maxima);
    for (const bool is_first : {true, false}) {
      for (std::int64_t first = window.begin; first < window.end; first += Blocks::group) {
        float* const at = cosines + (first - window.begin);
        const std::size_t group = (blocks_.begin(block) + first) / Blocks::group;
        const float least =
            threshold(collection.metric, plan, query, plan.shortlist.bound(), groups_[group]);
        const std::size_t count =
            shortlist_rows(group, at, is_first ? std::max(estimate, least) : least, collection,
                           plan, query, scratch);
        for (std::size_t i = 0; is_first && i < count; ++i)
          at[scratch.found[i]] = -std::numeric_limits<float>::infinity();  // listed
      }
      plan.shortlist.prune(k);
    }
    scratch.window = window;
  }

  // Put rows of a group with at least this cosine on the shortlist; return their number.
  template <class Value>
  std::size_t shortlist_rows(std::size_t group, const float* cosines, float least,
                             const Collection<Value>& collection, Plan& plan, QueryState& query,
                             Scratch& scratch) const {
    const std::size_t count = kernels_.find(cosines, least, scratch.found.data());
    for (std::size_t i = 0; i < count; ++i) scratch.passing[i] = cosines[scratch.found[i]];
    list_found(group, {scratch.found.data(), count}, scratch.passing.data(), least, collection,
               plan, query, scratch);
    return count;
  }

  // Put the rows that were found in a group on the shortlist, given their cosines.
  template <class Value>
  void list_found(std::size_t group, std::span<const std::int32_t> found, const float* cosines,
                  float least, const Collection<Value>& collection, Plan& plan, QueryState& query,
                  Scratch& scratch) const {
    if (found.empty()) return;
    const auto begin = static_cast<std::int64_t>(group) * Blocks::group;
    const double others = other_error(plan, query, groups_[group]);
    const std::int64_t n_terms = query.row.size() + groups_[group].longest_row;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int64_t position = begin + found[i];
      if (position >= blocks_.n_rows) break;  // padding of the last group
      if (cosines[i] < least) continue;
      const std::int32_t row = ranked_[position];
      const double cosine = cosines[i];
      const double error =
          column_error(plan, errors_[position], column_norms_[position], scales_[position]) +
          others;
      plan.shortlist.add(collection, query, row,
                         collection.metric == Metric::cosine
                             ? KeyRange{-cosine - error, error - cosine}
                             : impact_keys(collection.metric, cosine, error, query.norm,
                                           order_->norms[row], n_terms),
                         *scratch.scattered);
    }
  }

  Blocks blocks_;
  std::int64_t block_rows_ = 0;
  std::int64_t has_bytes_ = 0;  // whether columns hold bytes, not bits
  std::int64_t is_signed_ = 0;  // whether a value of a row is negative
  bool has_negative_lists_ = false;
  const RowOrder* order_;
  ImpactKernels kernels_;
  Array<Group> groups_;
  std::vector<Group> worst_;  // of each `together` groups: larger errors and a wider range of norms
  Array<std::int32_t> ranked_;  // by position: the row
  AlignedArray<float> scales_;  // by position: s_i
  Array<float> errors_;         // by position: D_i
  Array<float> column_norms_;   // by position: K_i
  double list_error_ = 0.0;     // D_L
  std::int64_t longest_row_ = 0;
  Postings postings_;
  Array<float> peaks_;                  // by feature: largest |value| of rows scaled to length one
  Array<double> factors_;               // by column: a_j
  AlignedArray<std::uint8_t> bitmaps_;  // group by group: a bit per row for each column
  AlignedArray<std::int8_t> columns_;   // group by group: t_ij for each column, or empty
  double longest_cells_ = 1.0;          // largest norm of a row's t_ij
  AlignedArray<std::int8_t> cells_;     // t_ij row by row, or empty
};

}  // namespace vicinal
