// The weighted road: integer accumulators over postings, survivors compared by the definition.
//
// For each block the sums of all its rows are made at once (impact.hpp says how wrong they can be).
// A row whose sum cannot reach the worst of the k best kept so far is dropped; the others are
// offered to the query, which compares them by the definition. Rows that share no feature have sum
// zero. For cosine and dot product, sums of zero and less are never looked at: where such rows
// could belong to the answer, finish() says so and the caller compares the query with every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/impact.hpp"
#include "vicinal/impact_kernels.hpp"
#include "vicinal/postings.hpp"
#include "vicinal/prime.hpp"
#include "vicinal/query_state.hpp"
#include "vicinal/row_order.hpp"

namespace vicinal {

class ImpactIndex {
 public:
  // Reads `rows` while building only.
  template <class Value>
  ImpactIndex(const CsrView<Value>& rows, const RowOrder& order, std::int64_t block_rows, Simd simd)
      : blocks_(static_cast<std::int64_t>(order.ranked.size()), block_rows),
        order_(&order),
        kernels_(impact_kernels(simd)),
        group_norms_(norm_ranges(order, Blocks::group)),
        groups_(group_norms_.size()) {
    postings_.features = FeatureTable(distinct(rows.indices, rows.n_columns), rows.n_columns);
    choose_shapes(rows);
    columns_.resize(blocks_.count * postings_.n_columns * blocks_.rows_per_block);
    fill(rows);
  }

  // A query's features as they meet this index.
  struct Plan {
    struct Term {
      const Postings::Place* place;
      std::int16_t weight;
    };
    bool usable;
    ImpactScale scale;
    std::vector<Term> terms;
  };

  // Memory a query works in while it is in a block.
  struct Scratch {
    std::vector<std::int16_t> sums;
    std::vector<std::int16_t> maxima;
    std::vector<ImpactColumn> columns;
    std::vector<Survivor> survivors;
    PrimeWindow primed;
    explicit Scratch(const ImpactIndex& index)
        : sums(index.blocks_.rows_per_block), survivors(Blocks::group) {}
  };

  const Blocks& blocks() const { return blocks_; }
  std::size_t bytes() const {
    return postings_.bytes() + columns_.size() + 4 * peaks_.size() + 32 * group_norms_.size();
  }

  Plan plan(const QueryState& query) const {
    Plan plan{false, impact_scale(query.row.size(), longest_row_, worst_error_), {}};
    plan.usable = plan.scale.usable;
    for (std::size_t i = 0; i < query.row.size(); ++i) {
      const std::int64_t slot = postings_.features.find(query.row.columns[i]);
      if (slot == FeatureTable::absent || postings_.places[slot].count == 0) continue;
      const double value = query.row.values[i] / query.norm;
      plan.terms.push_back(
          {&postings_.places[slot], impact_weight(value, peaks_[slot], plan.scale.unit)});
    }
    return plan;
  }

  // Rows swept at a time by each query of a batch, while their columns are in the cache.
  static constexpr std::int64_t sweep_rows = 4 * Blocks::group;

  // Begin a block: add the lists, and fill a query that has room.
  template <class Value>
  void enter(std::int64_t block, const Collection<Value>& collection, const Plan& plan,
             QueryState& query, Scratch& scratch) const {
    add_lists(block, plan, scratch);
    scratch.primed = PrimeWindow();
    if (!query.best.full()) scratch.primed = prime(block, collection, query, scratch);
  }

  // Go on with rows [begin, end) of the block.
  template <class Value>
  void sweep(std::int64_t block, std::int64_t begin, std::int64_t end,
             const Collection<Value>& collection, const Plan& plan, QueryState& query,
             Scratch& scratch) const {
    for (std::int64_t first = begin; first < end; first += Blocks::group) {
      if (!scratch.primed.holds(first)) add_columns(first, scratch);
      sift(block, first, collection, plan, query, scratch);
    }
  }

  // Whether every row left out is known to be further away than the rows kept.
  bool finish(Metric metric, const Plan& plan, const QueryState& query) const {
    if (metric == Metric::euclidean) return true;
    if (!query.best.full()) return false;
    for (std::size_t group = 0; group < groups_.size(); ++group)
      if (threshold(metric, plan, query, group) < 1) return false;
    return true;
  }

 private:
  // What the error of a group's sums depends on.
  struct Group {
    double error = 0.0;  // largest norm of what rounding took from a row
    std::int64_t longest_row = 0;
  };

  static constexpr std::int16_t offered = std::numeric_limits<std::int16_t>::min();
  static constexpr std::int64_t sparsest_column = 40;

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
          peaks_[slot] = std::nextafter(size, std::numeric_limits<float>::infinity());
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
      double error = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::int64_t slot = postings_.features.find(row.columns[i]);
        const double value = row.values[i] / order_->norms[id], peak = peaks_[slot];
        const std::int8_t byte = impact_byte(value, peak);
        const double difference = byte * peak / 127.0 - value;
        error += difference * difference;
        postings_.append(slot, position, blocks_, byte,
                         [&](std::int64_t column, std::int64_t block, std::int64_t local,
                             std::int8_t weight) { column_of(block, column)[local] = weight; });
      }
      Group& group = groups_[position / Blocks::group];
      group.error = std::max(group.error, std::sqrt(error) * (1.0 + 1e-9));
      group.longest_row = std::max<std::int64_t>(group.longest_row, row.size());
    }
    postings_.finish();
    for (const Group& group : groups_) worst_error_ = std::max(worst_error_, group.error);
  }

  std::int8_t* column_of(std::int64_t block, std::int64_t column) {
    return columns_.data() + (block * postings_.n_columns + column) * blocks_.rows_per_block;
  }
  const std::int8_t* column_of(std::int64_t block, std::int64_t column) const {
    return columns_.data() + (block * postings_.n_columns + column) * blocks_.rows_per_block;
  }

  void add_lists(std::int64_t block, const Plan& plan, Scratch& scratch) const {
    std::int16_t* sums = scratch.sums.data();
    const std::int64_t begin = blocks_.begin(block), size = blocks_.size(block);
    scratch.columns.clear();
    for (const auto& [place, weight] : plan.terms) {
      if (place->is_column()) {
        scratch.columns.push_back({column_of(block, place->shape), weight});
      } else if (place->is_rare()) {
        const auto span = postings_.rare(*place, begin, size);
        for (std::int64_t i = 0; i < span.size; ++i)
          sums[span.ids[i] - begin] += impact_of(span.weights[i], weight);
      } else {
        const auto span = postings_.common(*place, block);
        for (std::int64_t i = 0; i < span.size; ++i)
          sums[span.ids[i]] += impact_of(span.weights[i], weight);
      }
    }
  }

  void add_columns(std::int64_t first, Scratch& scratch) const {
    kernels_.add(scratch.sums.data() + first, scratch.columns.data(), scratch.columns.size(),
                 first);
  }

  // The least sum with which a row of the group could be as near as the worst kept.
  std::int32_t threshold(Metric metric, const Plan& plan, const QueryState& query,
                         std::size_t group) const {
    const NormRange& norms = group_norms_[group];
    const double cosine =
        least_cosine(metric, query.best.worst_key(), query.norm, norms.low, norms.high);
    const double error = impact_error(query.row.size(), groups_[group].longest_row,
                                      groups_[group].error, plan.scale.unit);
    // Rounded down instead of up: one too low does no harm.
    return static_cast<std::int32_t>(
        std::clamp((cosine - error) * plan.scale.unit - 1.0, -32767.0, 32767.0));
  }

  // Fill the query with rows of large sums first, so that few others pass afterwards. The window's
  // sums are complete then, with those offered marked.
  template <class Value>
  PrimeWindow prime(std::int64_t block, const Collection<Value>& collection, QueryState& query,
                    Scratch& scratch) const {
    const std::int64_t size = blocks_.size(block), begin = blocks_.begin(block);
    const auto wanted = static_cast<std::int64_t>(query.best.capacity());
    const PrimeWindow window(home_in(block, query.norm), size, wanted);
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group)
      add_columns(first, scratch);
    std::int32_t least =
        reached_by(scratch.sums.data() + window.begin, std::min(window.end, size) - window.begin,
                   wanted, scratch.maxima);
    if (collection.metric != Metric::euclidean) least = std::max(least, 1);
    std::int64_t room = 2 * wanted;
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group) {
      const std::size_t count = kernels_.find(scratch.sums.data() + first, first,
                                              std::max(least, -32767), scratch.survivors.data());
      for (std::size_t s = 0; s < count && room > 0; ++s, --room) {
        const std::int32_t local = scratch.survivors[s].local;
        if (local >= size) break;  // padding of the last group
        collection.offer(query, order_->ranked[begin + local]);
        scratch.sums[local] = offered;
      }
    }
    return window;
  }

  // Where in the block rows have norms like the query's.
  std::int64_t home_in(std::int64_t block, double norm) const {
    const auto first = group_norms_.begin() + blocks_.begin(block) / Blocks::group;
    const auto last =
        group_norms_.begin() +
        (blocks_.begin(block) + blocks_.size(block) + Blocks::group - 1) / Blocks::group;
    const auto at = std::lower_bound(
        first, last, norm, [](const NormRange& range, double value) { return range.high < value; });
    return (at - first) * Blocks::group;
  }

  template <class Value>
  void sift(std::int64_t block, std::int64_t first, const Collection<Value>& collection,
            const Plan& plan, QueryState& query, Scratch& scratch) const {
    const std::size_t group = (blocks_.begin(block) + first) / Blocks::group;
    const bool all_count = collection.metric == Metric::euclidean;
    auto least = threshold(collection.metric, plan, query, group);
    if (!all_count) least = std::max(least, 1);
    const std::size_t count =
        kernels_.take(scratch.sums.data() + first, first, least, scratch.survivors.data());
    for (std::size_t s = 0; s < count; ++s) {
      const Survivor survivor = scratch.survivors[s];
      if (survivor.local >= blocks_.size(block)) break;  // padding of the last group
      if (survivor.sum < threshold(collection.metric, plan, query, group)) continue;
      collection.offer(query, order_->ranked[blocks_.begin(block) + survivor.local]);
    }
  }

  Blocks blocks_;
  const RowOrder* order_;
  ImpactKernels kernels_;
  std::vector<NormRange> group_norms_;
  std::vector<Group> groups_;
  double worst_error_ = 0.0;
  std::int64_t longest_row_ = 0;
  Postings postings_;
  std::vector<float> peaks_;          // by feature: largest |value| of rows scaled to length one
  std::vector<std::int8_t> columns_;  // of frequent features, block by block
};

}  // namespace vicinal
