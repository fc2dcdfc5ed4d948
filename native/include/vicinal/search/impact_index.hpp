// A scorer for weighted rows: integer accumulators over postings, with an error bound.
//
// The sums of all rows of a block are computed at once (impact.hpp derives their error bound). Rows
// that cannot reach the k-th best are dropped; the others go on a shortlist (shortlist.hpp), and
// what remains of it in the end is compared by the exact definition. Rows that share no feature
// have the sum zero. For cosine and dot product, sums of zero and less are never examined: where
// such rows could belong to the result, finish() returns false and the search compares the query
// with every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

class ImpactIndex {
 public:
  // Reads `rows` only while building.
  template <class Value>
  ImpactIndex(const CsrView<Value>& rows, const RowOrder& order, std::int64_t block_rows, Simd simd)
      : blocks_(static_cast<std::int64_t>(order.ranked.size()), block_rows),
        order_(&order),
        kernels_(impact_kernels(simd)),
        group_norms_(norm_ranges(order, Blocks::group)),
        groups_(group_norms_.size()),
        errors_(order.ranked.size()),
        column_norms_(order.ranked.size()) {
    postings_.features = FeatureTable(distinct(rows.indices, rows.n_columns), rows.n_columns);
    choose_shapes(rows);
    set_tiles();
    columns_.resize(tiles_.count * postings_.n_columns * tiles_.rows_per_block);
    fill(rows);
  }

  // A query's features as they occur in this index.
  struct Plan {
    struct Term {
      const Postings::Place* place;
      std::int16_t weight;
    };
    bool usable;
    ImpactScale scale;
    double column_norm;  // |q_C|
    std::vector<Term> terms;
  };

  // Working memory of one query during a search.
  struct Scratch {
    AlignedVector<std::int16_t> sums;
    std::vector<std::int16_t> maxima;
    std::vector<ImpactColumn> columns;
    std::vector<Candidate> candidates;
    EstimateWindow window;  // rows whose sums are completed first
    Shortlist shortlist;
    Scratch(const ImpactIndex& index, ScatteredQuery& scattered)
        : sums(index.blocks_.rows_per_block), candidates(Blocks::group), shortlist(scattered) {}
  };

  const Blocks& blocks() const { return blocks_; }
  std::size_t bytes() const {
    return postings_.bytes() + columns_.owned_bytes() + peaks_.owned_bytes() +
           group_norms_.owned_bytes() + groups_.owned_bytes() + errors_.owned_bytes() +
           column_norms_.owned_bytes();
  }

  // The index of the same rows as it was stored.
  ImpactIndex(std::int64_t n_features, const RowOrder& order, std::int64_t block_rows, Simd simd,
              ArchiveReader& archive)
      : blocks_(static_cast<std::int64_t>(order.ranked.size()), block_rows),
        order_(&order),
        kernels_(impact_kernels(simd)) {
    stored(*this, archive);
    postings_.check(n_features, blocks_, true);
    set_tiles();
    const std::int64_t n_groups = (blocks_.n_rows + Blocks::group - 1) / Blocks::group;
    expect_stored(std::ssize(group_norms_) == n_groups && std::ssize(groups_) == n_groups,
                  "norms for every group of rows");
    expect_stored(std::ssize(errors_) == blocks_.n_rows, "an error for every row");
    expect_stored(std::ssize(column_norms_) == blocks_.n_rows, "a norm for every row");
    expect_stored(std::ssize(peaks_) == postings_.features.size(), "a peak for every feature");
    expect_stored(
        std::ssize(columns_) == tiles_.count * postings_.n_columns * tiles_.rows_per_block,
        "a cell for every row and column");
  }

  static void stored(auto& self, auto& archive) {
    archive(self.group_norms_, self.groups_, self.errors_, self.column_norms_, self.worst_error_,
            self.list_error_, self.longest_row_, self.postings_, self.peaks_, self.columns_);
  }

  Plan plan(const QueryState& query) const {
    Plan plan{
        false, impact_scale(query.row.size(), longest_row_, worst_error_ + list_error_), 0.0, {}};
    double in_columns = 0.0;
    plan.usable = plan.scale.usable;
    for (std::size_t i = 0; i < query.row.size(); ++i) {
      const std::int64_t slot = postings_.features.find(query.row.columns[i]);
      if (slot == FeatureTable::absent || postings_.places[slot].count == 0) continue;
      const double value = query.row.values[i] / query.norm;
      plan.terms.push_back(
          {&postings_.places[slot], impact_weight(value, peaks_[slot], plan.scale.unit)});
      if (postings_.places[slot].is_column()) in_columns += value * value;
    }
    plan.column_norm = std::sqrt(in_columns) * (1.0 + 1e-9);
    return plan;
  }

  // Queries of a batch scan the same rows before any of them moves on. The columns of that many
  // rows fit a core's cache, so that they are loaded once per batch.
  std::int64_t rows_per_scan() const { return tiles_.rows_per_block; }

  void begin_query(const QueryState& query, Scratch& scratch) const {
    scratch.shortlist.reset(query);
  }

  // Add the lists, and choose rows for a first bound if there is none yet.
  template <class Value>
  void begin_block(std::int64_t block, const Collection<Value>&, const Plan& plan,
                   QueryState& query, Scratch& scratch) const {
    add_lists(block, plan, scratch);
    scratch.window = EstimateWindow();
    if (scratch.shortlist.bound() == std::numeric_limits<double>::infinity())
      scratch.window = EstimateWindow(nearest_norm_in(block, query.norm), blocks_.size(block),
                                      static_cast<std::int64_t>(query.best.capacity()));
  }

  // Complete the sums of the rows of the window that lie in [begin, end).
  void fill_window(std::int64_t block, std::int64_t begin, std::int64_t end,
                   Scratch& scratch) const {
    end = std::min(end, scratch.window.end);
    for (std::int64_t first = std::max(begin, scratch.window.begin); first < end;
         first += Blocks::group)
      add_columns(block, first, scratch);
  }

  // Shortlist rows of the window with large sums, so that few other rows pass afterwards, and mark
  // their sums as listed.
  template <class Value>
  void estimate_threshold(std::int64_t block, const Collection<Value>& collection, const Plan& plan,
                          QueryState& query, Scratch& scratch) const {
    const EstimateWindow& window = scratch.window;
    if (window.empty()) return;
    std::int32_t least =
        threshold_estimate(scratch.sums.data() + window.begin,
                           std::min(window.end, blocks_.size(block)) - window.begin,
                           static_cast<std::int64_t>(query.best.capacity()), scratch.maxima);
    if (collection.metric != Metric::euclidean) least = std::max(least, 1);
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group) {
      const std::size_t count = kernels_.find(scratch.sums.data() + first, first,
                                              std::max(least, -32767), scratch.candidates.data());
      shortlist_rows({scratch.candidates.data(), count}, block, first, collection, plan, query,
                     scratch);
      for (std::size_t s = 0; s < count; ++s) scratch.sums[scratch.candidates[s].local] = listed;
    }
    scratch.shortlist.prune(query.best.capacity());
  }

  template <class Value>
  void scan(std::int64_t block, std::int64_t begin, std::int64_t end,
            const Collection<Value>& collection, const Plan& plan, QueryState& query,
            Scratch& scratch) const {
    for (std::int64_t first = begin; first < end; first += Blocks::group) {
      if (!scratch.window.contains(first)) add_columns(block, first, scratch);
      select(block, first, collection, plan, query, scratch);
    }
  }

  // Compare the shortlisted rows. True if all other rows are known to be farther than those kept.
  template <class Value>
  bool finish(const Collection<Value>& collection, const Plan& plan, QueryState& query,
              Scratch& scratch) const {
    scratch.shortlist.compare(collection, query);
    if (collection.metric == Metric::euclidean) return true;
    if (!query.best.full()) return false;
    for (std::size_t group = 0; group < groups_.size(); ++group)
      if (threshold(collection.metric, plan, query, query.best.worst_key(), group) < 1)
        return false;
    return true;
  }

 private:
  friend class ImpactPairs;  // scores pairs of rows by the same lists and columns

  // What determines the error of a group's sums.
  struct Group {
    double error = 0.0;  // D_C: largest norm of the rounding error of a row in its columns
    std::int64_t longest_row = 0;
  };

  static constexpr std::int16_t listed = std::numeric_limits<std::int16_t>::min();
  static constexpr std::int64_t sparsest_column = 40;
  static constexpr std::int64_t tile_bytes = 1 << 19;

  void set_tiles() {
    tiles_ = Blocks(blocks_.n_rows, tile_bytes / std::max<std::int64_t>(postings_.n_columns, 1));
  }

  template <class Value>
  void choose_shapes(const CsrView<Value>& rows) {
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
    const std::int64_t padded = std::max<std::int64_t>(blocks_.count * blocks_.rows_per_block, 1);
    postings_.choose_shapes(counts, blocks_, sparsest_column, 8 * n_entries / padded, true);
  }

  template <class Value>
  void fill(const CsrView<Value>& rows) {
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position) {
      const std::int32_t id = order_->ranked[position];
      const auto row = row_of(rows, id);
      double column_error = 0.0, list_error = 0.0, in_columns = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::int64_t slot = postings_.features.find(row.columns[i]);
        const double value = row.values[i] / order_->norms[id], peak = peaks_[slot];
        const bool is_column = postings_.places[slot].is_column();
        const std::int16_t kept = is_column ? impact_byte(value, peak) : fine_byte(value, peak);
        const double difference = kept * peak / (is_column ? 127.0 : 127.0 * 256.0) - value;
        (is_column ? column_error : list_error) += difference * difference;
        in_columns += is_column ? value * value : 0.0;
        postings_.append(slot, position, blocks_, kept,
                         [&](std::int64_t column, std::int64_t, std::int64_t, std::int16_t cell) {
                           columns_.edit(cell_of(position) + column * tiles_.rows_per_block) =
                               static_cast<std::int8_t>(cell);
                         });
      }
      errors_.edit(position) = rounded_up(std::sqrt(column_error));
      column_norms_.edit(position) = rounded_up(std::sqrt(in_columns));
      list_error_ = std::max<double>(list_error_, rounded_up(std::sqrt(list_error)));
      Group& group = groups_.edit(position / Blocks::group);
      group.error = std::max<double>(group.error, errors_[position]);
      group.longest_row = std::max<std::int64_t>(group.longest_row, row.size());
    }
    postings_.finish();
    for (const Group& group : groups_) worst_error_ = std::max(worst_error_, group.error);
  }

  static float rounded_up(double value) {
    return std::nextafter(static_cast<float>(value * (1.0 + 1e-9)),
                          std::numeric_limits<float>::infinity());
  }

  // The index of a position's byte in the first column. Columns are laid out tile by tile.
  std::int64_t cell_of(std::int64_t position) const {
    const std::int64_t tile = position / tiles_.rows_per_block;
    return tiles_.begin(tile) * postings_.n_columns + (position - tiles_.begin(tile));
  }

  void add_lists(std::int64_t block, const Plan& plan, Scratch& scratch) const {
    std::int16_t* sums = scratch.sums.data();
    const std::int64_t begin = blocks_.begin(block), size = blocks_.size(block);
    scratch.columns.clear();
    for (const auto [place, weight] : plan.terms) {  // copied: a write to a sum cannot change them
      if (place->is_column()) {
        scratch.columns.push_back({place->shape * tiles_.rows_per_block, weight});
      } else if (place->is_rare()) {
        const auto span = postings_.rare(*place, begin, size);
        for (std::int64_t i = 0; i < span.size; ++i)
          sums[span.ids[i] - begin] += fine_impact_of(span.weights[i], weight);
      } else {
        const auto span = postings_.common(*place, block);
        for (std::int64_t i = 0; i < span.size; ++i)
          sums[span.ids[i]] += fine_impact_of(span.weights[i], weight);
      }
    }
  }

  void add_columns(std::int64_t block, std::int64_t first, Scratch& scratch) const {
    kernels_.add(scratch.sums.data() + first, scratch.columns.data(), scratch.columns.size(),
                 columns_.data() + cell_of(blocks_.begin(block) + first));
  }

  double error_of(const Plan& plan, const QueryState& query, std::size_t group) const {
    return impact_error(query.row.size(), groups_[group].longest_row,
                        plan.column_norm * groups_[group].error + list_error_, plan.scale.unit);
  }

  // The smallest sum with which a row of the group could have a key of at most `bound`.
  std::int32_t threshold(Metric metric, const Plan& plan, const QueryState& query, double bound,
                         std::size_t group) const {
    const NormRange& norms = group_norms_[group];
    const double cosine = least_cosine(metric, bound, query.norm, norms.low, norms.high);
    const double error = error_of(plan, query, group);
    // Rounded down instead of up: a threshold one too low does no harm.
    return static_cast<std::int32_t>(
        std::clamp((cosine - error) * plan.scale.unit - 1.0, -32767.0, 32767.0));
  }

  // The first row of the block's group whose norms are nearest to the query's.
  std::int64_t nearest_norm_in(std::int64_t block, double norm) const {
    const auto first = group_norms_.begin() + blocks_.begin(block) / Blocks::group;
    const auto last =
        group_norms_.begin() +
        (blocks_.begin(block) + blocks_.size(block) + Blocks::group - 1) / Blocks::group;
    const auto at = std::lower_bound(
        first, last, norm, [](const NormRange& range, double value) { return range.high < value; });
    return (at - first) * Blocks::group;
  }

  template <class Value>
  void select(std::int64_t block, std::int64_t first, const Collection<Value>& collection,
              const Plan& plan, QueryState& query, Scratch& scratch) const {
    auto least = threshold(collection.metric, plan, query, scratch.shortlist.bound(),
                           (blocks_.begin(block) + first) / Blocks::group);
    if (collection.metric != Metric::euclidean) least = std::max(least, 1);
    const std::size_t count =
        kernels_.take(scratch.sums.data() + first, first, least, scratch.candidates.data());
    shortlist_rows({scratch.candidates.data(), count}, block, first, collection, plan, query,
                   scratch);
  }

  // Put candidates of one group on the shortlist.
  template <class Value>
  void shortlist_rows(std::span<const Candidate> candidates, std::int64_t block, std::int64_t first,
                      const Collection<Value>& collection, const Plan& plan, QueryState& query,
                      Scratch& scratch) const {
    if (candidates.empty()) return;
    const std::int64_t begin = blocks_.begin(block);
    const std::size_t group = (begin + first) / Blocks::group;
    const double others = error_of(plan, query, group) - plan.column_norm * groups_[group].error;
    const std::int64_t n_terms = query.row.size() + groups_[group].longest_row;
    for (const Candidate& candidate : candidates) {
      if (candidate.local >= blocks_.size(block)) break;  // padding of the last group
      const std::int64_t position = begin + candidate.local;
      const std::int32_t row = order_->ranked[position];
      const double cosine = candidate.sum / plan.scale.unit;
      const double error = plan.column_norm * errors_[position] + others;
      scratch.shortlist.add(collection, query, row,
                            collection.metric == Metric::cosine
                                ? KeyRange{-cosine - error, error - cosine}
                                : impact_keys(collection.metric, cosine, error, query.norm,
                                              order_->norms[row], n_terms));
    }
  }

  Blocks blocks_;
  Blocks tiles_;  // rows whose columns are stored together
  const RowOrder* order_;
  ImpactKernels kernels_;
  Array<NormRange> group_norms_;
  Array<Group> groups_;
  Array<float> errors_;        // by position: norm of the rounding error of a row in its columns
  Array<float> column_norms_;  // by position: norm of the scaled row in its columns
  double worst_error_ = 0.0;   // largest of errors_
  double list_error_ = 0.0;    // D_L
  std::int64_t longest_row_ = 0;
  Postings postings_;
  Array<float> peaks_;                 // by feature: largest |value| of rows scaled to length one
  AlignedArray<std::int8_t> columns_;  // of frequent features, tile by tile
};

}  // namespace vicinal
