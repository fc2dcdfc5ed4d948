// A scorer for weighted rows: whole numbers from columns and posting lists, with an error bound.
//
// The cosines of all rows of a block are computed approximately (impact_kernels.hpp derives their
// error bound). Rows that cannot reach the k-th best are dropped; the others go on a shortlist
// (shortlist.hpp), and what remains of it in the end is compared by the exact definition. Rows that
// share no feature have the sum zero. For cosine and dot product, sums of zero and less are never
// examined: where such rows could belong to the result, finish() returns false and the search
// compares the query with every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/search/impact_columns.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/impact_lists.hpp"
#include "vicinal/search/impact_plan.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

class ImpactIndex {
 public:
  using Plan = ImpactPlan;

  // Reads `rows` only while building.
  template <class Value>
  ImpactIndex(const CsrView<Value>& rows, const RowOrder& order, Metric metric,
              std::int64_t block_rows, Simd simd, std::int64_t fewest_for_columns)
      : order_(&order),
        kernels_(impact_kernels(simd)),
        groups_((order.ranked.size() + Blocks::group - 1) / Blocks::group),
        ranked_(std::vector<std::int32_t>(order.ranked.begin(), order.ranked.end())) {
    const bool row_by_row = choose_shapes(rows, block_rows, fewest_for_columns);
    const std::int64_t n_columns = lists_.postings.n_columns;
    if (metric == Metric::cosine && n_columns > 0) order_by_columns(rows);
    columns_.resize(blocks_.n_rows, n_columns, row_by_row);
    columns_.fit(rows, ranked_, order.norms, lists_.postings);
    std::vector<ImpactColumns::Entry> in_columns;
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position)
      fill_row(rows, position, in_columns);
    lists_.postings.finish();
    find_worst();
  }

  // Working memory of one thread.
  struct Scratch {
    AlignedVector<std::int16_t> sums;      // of lists, by row of the block; zero between blocks
    AlignedVector<std::int16_t> all_sums;  // the same by position, once a query needs them
    AlignedVector<std::int16_t> plus, minus;
    AlignedVector<float> cosines;  // of a group, or of the window
    std::vector<float> maxima, passing;
    std::vector<std::int16_t> list_maxima, largest;  // of classes of rows, of groups
    std::vector<std::int32_t> found;
    std::vector<ImpactLists::WeightedSpan> spans;
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
    return lists_.owned_bytes() + columns_.owned_bytes() + ranked_.owned_bytes() +
           groups_.owned_bytes();
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
    lists_.check(n_features, blocks_);
    const std::int64_t n_groups = (n_rows + Blocks::group - 1) / Blocks::group;
    expect_stored(std::ssize(groups_) == n_groups, "norms for every group of rows");
    expect_stored(std::ssize(ranked_) == n_rows, "a place for every row");
    for (const std::int32_t id : ranked_)
      expect_stored(id >= 0 && id < std::ssize(order.norms), "row ids below n_rows");
    columns_.check(n_rows, lists_.postings.n_columns);
    find_worst();
  }

  static void stored(auto& self, auto& archive) {
    auto& columns = self.columns_;
    auto& lists = self.lists_;
    archive(self.block_rows_, columns.has_bytes, columns.is_signed, self.groups_, self.ranked_,
            columns.scales, columns.errors, columns.norms, lists.error, lists.longest_row,
            lists.has_negative, lists.postings, lists.peaks, columns.factors, columns.bitmaps,
            columns.bytes, columns.cells, columns.longest_cells);
  }

  Plan plan(const QueryState& query) const { return {query, lists_, columns_}; }

  // Call visit(row) once for every row of the blocks that shares a feature with the query.
  template <class Visit>
  void visit_sharing(const SparseRow<double>& query, const Visit& visit) const {
    std::vector<bool> shares(groups_.size() * Blocks::group);  // by position
    const auto mark = [&](std::int64_t position) { shares[position] = true; };
    for (const std::int32_t feature : query.columns) {
      const std::int64_t slot = lists_.postings.features.find(feature);
      if (slot == FeatureTable::absent) continue;
      const Postings::Place& place = lists_.postings.places[slot];
      if (place.count == 0) continue;
      if (place.is_column())
        columns_.visit_rows(place.shape, mark);
      else
        lists_.visit_rows(place, blocks_, mark);
    }
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position)
      if (shares[position]) visit(ranked_[position]);
  }

  // Where lists decide, add those of all rows at once: they give a bound near the final one, and
  // few rows need their columns. Other queries go through the blocks.
  template <class Value>
  void begin_query(const Collection<Value>& collection, Plan& plan, QueryState& query,
                   Scratch& scratch) const {
    plan.shortlist.reset(query);
    plan.has_bound = plan.shortlist.bound() != std::numeric_limits<double>::infinity();
    scratch.window = EstimateWindow();  // that of another query's last block
    if (groups_.empty() || plan.lists.terms.empty() || plan.column_norm > most_in_lists_only ||
        !is_never_negative(collection.metric, plan))
      return;
    scratch.all_sums.resize(groups_.size() * Blocks::group);
    lists_.add_all(blocks_, plan.lists, scratch.all_sums.data());
    bound_by_lists(0, blocks_.n_rows, scratch.all_sums.data(), collection, plan, query, scratch);
    const ImpactRange& typical = groups_[groups_.size() * 3 / 4];
    const float least = plan.threshold(collection.metric, query, typical);
    if (plan.least_in_lists(least, typical) >= 1.0) {
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
    lists_.add(block, blocks_, plan.lists, scratch.spans, scratch.sums.data());
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
    const auto is_certain = [&](const ImpactRange& group) {
      return plan.least_similarity(collection.metric, query, query.best.worst_key(), group) > 0.0;
    };
    return std::all_of(worst_.begin(), worst_.end(), is_certain) ||
           std::all_of(groups_.begin(), groups_.end(), is_certain);
  }

 private:
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
      const ImpactRange& group = groups_[number];
      if (!largest.empty()) {
        if (number % together == 0) {
          const ImpactRange& any = worst_[number / together];
          least_of_any = plan.least_in_lists(plan.threshold(collection.metric, query, any), any);
        }
        if (least_of_any >= 1.0 && largest[number] < least_of_any) continue;
      }
      const float least = plan.threshold(collection.metric, query, group);
      const double in_lists = plan.least_in_lists(least, group);
      if (in_lists >= 1.0) {  // a row without lists cannot be near
        const std::size_t count =
            kernels_.reach(sums + first, static_cast<std::int16_t>(std::min(in_lists, 32767.0)),
                           scratch.found.data());
        if (count == 0) continue;
        if (!columns_.cells.empty() && static_cast<std::int64_t>(count) <= few_rows) {
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

  // Whether no feature can make a row less similar, and only directions matter.
  bool is_never_negative(Metric metric, const Plan& plan) const {
    return metric == Metric::cosine && !columns_.is_signed && !lists_.has_negative &&
           !plan.has_negative;
  }

  static constexpr double most_in_lists_only = 0.45;  // |q_C| of queries that lists may decide
  static constexpr std::size_t together = 8;          // groups that are passed over together
  static constexpr std::int64_t few_rows = 24;        // cost less one by one than their whole group
  static constexpr std::int64_t most_block_rows = 8192;

  // Choose which features get a column, and what a cell is. Return whether cells are also kept row
  // by row.
  template <class Value>
  bool choose_shapes(const CsrView<Value>& rows, std::int64_t block_rows,
                     std::int64_t fewest_for_columns) {
    const std::int64_t n_rows = std::ssize(order_->ranked);
    const std::vector<std::uint32_t> counts = lists_.count(rows, *order_);
    Postings& postings = lists_.postings;
    const std::int64_t sparsest =
        n_rows < fewest_for_columns
            ? ImpactColumns::lists_only
            : columns_.choose_cells(rows, *order_, postings.features, counts);
    const bool has_columns = sparsest != ImpactColumns::lists_only;
    blocks_ = Blocks(n_rows, has_columns ? std::min(block_rows, most_block_rows) : block_rows);
    block_rows_ = blocks_.rows_per_block;
    std::int64_t most_columns = 0;
    if (has_columns) {
      std::int64_t n_entries = 0;
      for (const std::int32_t id : order_->ranked) n_entries += rows.row_size(id);
      const std::int64_t bits = columns_.has_bytes ? 8 : 1;
      most_columns =
          8 * n_entries / std::max<std::int64_t>(std::ssize(groups_) * bitmap_bytes * bits, 1);
    }
    postings.choose_shapes(counts, blocks_, std::max<std::int64_t>(sparsest, 1), most_columns,
                           true);
    return sparsest == ImpactColumns::lists_decide;
  }

  // Rows by their norm in columns, so that the rows of a group get equally much from columns.
  template <class Value>
  void order_by_columns(const CsrView<Value>& rows) {
    std::vector<float> in_columns(order_->norms.size(), 0.0f);
    for (const std::int32_t id : ranked_) {
      const auto row = row_of(rows, id);
      double square = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (lists_.postings.places[lists_.postings.features.find(row.columns[i])].is_column()) {
          const double value = row.values[i] / order_->norms[id];
          square += value * value;
        }
      in_columns[id] = static_cast<float>(square);
    }
    const std::span<std::int32_t> ranked = ranked_.edit_all();
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::int32_t a, std::int32_t b) { return in_columns[a] < in_columns[b]; });
  }

  // Store a row. `in_columns` is working memory.
  template <class Value>
  void fill_row(const CsrView<Value>& rows, std::int64_t position,
                std::vector<ImpactColumns::Entry>& in_columns) {
    const std::int32_t id = ranked_[position];
    const auto row = row_of(rows, id);
    in_columns.clear();
    double list_error = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int64_t slot = lists_.postings.features.find(row.columns[i]);
      const double value = row.values[i] / order_->norms[id];
      const Postings::Place& place = lists_.postings.places[slot];
      if (place.is_column()) {
        in_columns.push_back({place.shape, value});
      } else {
        const double difference = lists_.append(slot, position, blocks_, value) - value;
        list_error += difference * difference;
      }
    }
    columns_.set_row(position, in_columns);
    lists_.error = std::max<double>(lists_.error, rounded_up(std::sqrt(list_error)));
    const double norm = order_->norms[id];
    groups_.edit(position / Blocks::group)
        .include({columns_.errors[position], columns_.norms[position], columns_.scales[position],
                  norm, norm, static_cast<std::int64_t>(row.size())});
  }

  void find_worst() {
    worst_.resize((groups_.size() + together - 1) / together);
    for (std::size_t i = 0; i < groups_.size(); ++i) worst_[i / together].include(groups_[i]);
  }

  void fetch_bitmaps(std::size_t group, const Plan& plan) const {
    columns_.fetch(group, plan.plus);
    columns_.fetch(group, plan.minus);
  }

  // The cosines of a group, given the sums of its lists.
  void compute(std::size_t group, const std::int16_t* lists, const Plan& plan, Scratch& scratch,
               float* out) const {
    const bool has_columns = !plan.plus.empty() || !plan.minus.empty();
    if (has_columns)
      columns_.add(kernels_, group, plan.plus, plan.plus_bits, plan.share, scratch.plus.data());
    if (!plan.minus.empty()) {
      columns_.add(kernels_, group, plan.minus, plan.minus_bits, plan.share, scratch.minus.data());
      for (std::int64_t i = 0; i < Blocks::group; ++i) scratch.plus[i] -= scratch.minus[i];
    }
    kernels_.cosines(
        {has_columns ? scratch.plus.data() : nullptr, lists,
         columns_.scales.data() + group * Blocks::group, static_cast<float>(plan.column_unit),
         static_cast<float>(1.0 / plan.list_unit())},
        out);
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
      columns_.fetch_row(position);
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
    const auto list_unit = static_cast<float>(1.0 / plan.list_unit());
    const auto cell_unit = static_cast<float>(plan.cell_unit);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t position = group * Blocks::group + rows[i];
      const auto sum = static_cast<float>(columns_.sum_of_row(position, plan.plus, plan.minus));
      out[i] = sum * columns_.scales[position] * cell_unit +
               static_cast<float>(lists[rows[i]]) * list_unit;
    }
  }

  // The group whose rows are most likely to be near: those with norms like the query's, or, where
  // only directions matter, those with as much in their columns.
  std::size_t nearest_group(Metric metric, const Plan& plan, const QueryState& query) const {
    const auto at =
        std::partition_point(groups_.begin(), groups_.end(), [&](const ImpactRange& group) {
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
      const ImpactRange& group = groups_[(begin + first) / Blocks::group];
      error = std::max(error, plan.other_error(query, group));
    }
    if (count >= k) plan.shortlist.tighten(error - least / plan.list_unit());
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
        const float least = plan.threshold(collection.metric, query, groups_[group]);
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
    const double others = plan.other_error(query, groups_[group]);
    const std::int64_t n_terms = query.row.size() + groups_[group].longest_row;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int64_t position = begin + found[i];
      if (position >= blocks_.n_rows) break;  // padding of the last group
      if (cosines[i] < least) continue;
      const std::int32_t row = ranked_[position];
      const double cosine = cosines[i];
      const double error = plan.column_error(columns_.errors[position], columns_.norms[position],
                                             columns_.scales[position]) +
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
  const RowOrder* order_;
  ImpactKernels kernels_;
  Array<ImpactRange> groups_;
  std::vector<ImpactRange> worst_;  // of each `together` groups
  Array<std::int32_t> ranked_;      // by position: the row
  ImpactLists lists_;
  ImpactColumns columns_;
};

}  // namespace vicinal
