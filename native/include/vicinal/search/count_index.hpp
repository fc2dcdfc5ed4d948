// A scorer for binary rows: how many features a row shares with the query, as an integer.
//
// Where all values of each row are equal, the number of shared features and the two lengths
// determine the similarity. Rows are laid out by length, so that the smallest count that is near
// enough is the same for a whole group. Counts come from bitmaps (count_kernels) and short lists.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/search/count_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

// Whether all values of a row are the same positive number.
template <class Value>
bool is_pattern(std::span<const Value> row) {
  return std::all_of(row.begin(), row.end(), [&](Value v) { return v == row[0] && v > Value{0}; });
}

template <class Value>
bool is_binary(std::span<const Value> row) {
  return std::all_of(row.begin(), row.end(), [](Value v) { return v == Value{1}; });
}

class CountIndex {
 public:
  // Reads `rows` only while building. `binary`: all values are 1, so that counts give the exact
  // key.
  template <class Value>
  CountIndex(const CsrView<Value>& rows, const RowOrder& order, std::int64_t block_rows, Simd simd,
             bool binary)
      : blocks_(static_cast<std::int64_t>(order.ranked.size()), block_rows),
        order_(&order),
        simd_(simd),
        binary_(binary) {
    for (const std::int32_t id : order.ranked)
      lengths_.push_back(static_cast<std::int32_t>(rows.row_size(id)));
    postings_.features = FeatureTable(distinct(rows.indices, rows.n_columns), rows.n_columns);
    choose_shapes(rows);
    bitmaps_.resize(blocks_.count * postings_.n_columns * bitmap_bytes());
    fill(rows);
  }

  // The index of the same rows as it was stored.
  template <class Value>
  CountIndex(const CsrView<Value>& rows, const RowOrder& order, std::int64_t block_rows, Simd simd,
             bool binary, ArchiveReader& archive)
      : blocks_(static_cast<std::int64_t>(order.ranked.size()), block_rows),
        order_(&order),
        simd_(simd),
        binary_(binary) {
    stored(*this, archive);
    postings_.check(rows.n_columns, blocks_, false);
    expect_stored(lengths_.size() == order.ranked.size(), "a length for every row");
    for (std::size_t position = 0; position < lengths_.size(); ++position)
      expect_stored(lengths_[position] == rows.row_size(order.ranked[position]), "these rows");
    expect_stored(std::ssize(bitmaps_) == blocks_.count * postings_.n_columns * bitmap_bytes(),
                  "a bitmap for every column");
  }

  static void stored(auto& self, auto& archive) {
    archive(self.lengths_, self.postings_, self.bitmaps_);
  }

  struct Plan {
    bool usable;
    bool wide;  // counts may exceed 255
    std::vector<const Postings::Place*> terms;
    CountKernels kernels;
  };

  struct Scratch {
    AlignedVector<std::uint8_t> narrow;
    AlignedVector<std::uint16_t> wide;
    std::vector<std::uint8_t> maxima;
    std::vector<std::uint16_t> wide_maxima;
    std::vector<const std::uint8_t*> bitmaps;
    std::vector<Candidate> candidates;
    std::vector<std::int32_t> offered;  // rows offered from the window, rising
    EstimateWindow window;              // rows whose counts are complete
    bool active = false;
    Scratch(const CountIndex& index, ScatteredQuery&)
        : narrow(index.blocks_.rows_per_block), candidates(Blocks::group) {}
  };

  const Blocks& blocks() const { return blocks_; }
  std::int64_t first_block(Metric, double norm) const {
    return nearest_block(*order_, blocks_, norm);
  }
  std::size_t bytes() const {
    return postings_.bytes() + bitmaps_.owned_bytes() + lengths_.owned_bytes();
  }

  Plan plan(const QueryState& query) const {
    const auto length = static_cast<std::int64_t>(query.row.size());
    const std::int64_t most = std::min<std::int64_t>(length, longest_row());
    Plan plan{most <= 65535, most > 255, {}, {}};
    std::size_t n_bitmaps = 0;
    for (const std::int32_t feature : query.row.columns) {
      const std::int64_t slot = postings_.features.find(feature);
      if (slot == FeatureTable::absent || postings_.places[slot].count == 0) continue;
      plan.terms.push_back(&postings_.places[slot]);
      n_bitmaps += postings_.places[slot].is_column();
    }
    plan.kernels = count_kernels(simd_, n_bitmaps);
    return plan;
  }

  template <class Value>
  void begin_query(const Collection<Value>&, const Plan&, QueryState&, Scratch&) const {}

  // Add the lists, and take the most promising rows first if the query has fewer than k.
  template <class Value>
  void begin_block(std::int64_t block, const Collection<Value>& collection, const Plan& plan,
                   QueryState& query, Scratch& scratch) const {
    scratch.active = reachable(block, collection.metric, query);
    if (!scratch.active) return;
    if (plan.wide) {
      scratch.wide.resize(blocks_.rows_per_block);
      begin_block_with(scratch.wide.data(), scratch.wide_maxima, block, collection, plan, query,
                       scratch);
    } else {
      begin_block_with(scratch.narrow.data(), scratch.maxima, block, collection, plan, query,
                       scratch);
    }
  }

  template <class Value>
  void scan(std::int64_t block, const Collection<Value>& collection, const Plan& plan,
            QueryState& query, Scratch& scratch) const {
    if (!scratch.active) return;
    if (plan.wide)
      scan_with(scratch.wide.data(), block, collection, plan, query, scratch);
    else
      scan_with(scratch.narrow.data(), block, collection, plan, query, scratch);
  }

  // Counts are exact, so the result is always certain.
  template <class Value>
  bool finish(const Collection<Value>&, const Plan&, QueryState&, Scratch&) const {
    return true;
  }

 private:
  static constexpr std::int64_t sparsest_bitmap = 256;

  std::int64_t longest_row() const { return lengths_.empty() ? 0 : lengths_.back(); }
  std::int64_t bitmap_bytes() const { return blocks_.rows_per_block / 8; }

  template <class Value>
  void choose_shapes(const CsrView<Value>& rows) {
    std::vector<std::uint32_t> counts(postings_.features.size(), 0);
    std::int64_t n_entries = 0;
    for (const std::int32_t id : order_->ranked) {
      n_entries += rows.row_size(id);
      for (const std::int32_t feature : rows.columns(id))
        ++counts[postings_.features.find(feature)];
    }
    const std::int64_t each = std::max<std::int64_t>(blocks_.count * bitmap_bytes(), 1);
    postings_.choose_shapes(counts, blocks_, sparsest_bitmap, 4 * n_entries / each, false);
  }

  template <class Value>
  void fill(const CsrView<Value>& rows) {
    for (std::int64_t position = 0; position < blocks_.n_rows; ++position)
      for (const std::int32_t feature : rows.columns(order_->ranked[position]))
        postings_.append(
            postings_.features.find(feature), position, blocks_, 1,
            [&](std::int64_t column, std::int64_t block, std::int64_t local, std::int16_t) {
              bitmaps_.edit(bitmap(block, column) + local / 8) |=
                  static_cast<std::uint8_t>(1 << (local % 8));
            });
    postings_.finish();
  }

  std::size_t bitmap(std::int64_t block, std::int64_t column) const {
    return (block * postings_.n_columns + column) * bitmap_bytes();
  }

  // The smallest number of shared features with which a row of `length` could be as near as the
  // worst kept neighbour: exact for binary rows, otherwise a little low to allow for rounding.
  std::int64_t least_count(Metric metric, const QueryState& query, std::int64_t length) const {
    const double worst = query.best.worst_key();
    if (!query.best.full()) return metric == Metric::euclidean ? 0 : 1;
    const auto q = static_cast<double>(query.row.size()), r = static_cast<double>(length);
    double least = 0.0;
    if (metric == Metric::dot) least = -worst;
    if (metric == Metric::euclidean) least = (q + r - worst) / 2.0;
    if (metric == Metric::cosine) least = (-worst - 1e-9) * std::sqrt(q * r) - 1e-9;
    const double lowest = metric == Metric::euclidean ? 0.0 : 1.0;
    least = std::clamp(least, lowest, 1e9);
    const auto whole = static_cast<std::int64_t>(least);
    return whole + (static_cast<double>(whole) < least);
  }

  // The smallest count the rows of a group need and the largest they can have, valid while neither
  // the lengths nor the worst kept neighbour change.
  struct CountBounds {
    std::int32_t low = -1, high = -1;
    double worst = 0.0;
    std::int64_t least = 0, most = 0;
  };

  void update(CountBounds& bounds, std::int64_t first, std::int64_t end, Metric metric,
              const QueryState& query) const {
    const std::int32_t low = lengths_[first];
    const std::int32_t high = lengths_[std::min(first + Blocks::group, end) - 1];
    const double worst = query.best.worst_key();
    if (low == bounds.low && high == bounds.high && worst == bounds.worst) return;
    const auto most = std::min<std::int64_t>(high, query.row.size());
    bounds = {low, high, worst, least_count(metric, query, low), most};
  }

  // Whether any row of the block could share enough features, by lengths alone.
  bool reachable(std::int64_t block, Metric metric, const QueryState& query) const {
    const std::int64_t begin = blocks_.begin(block), end = begin + blocks_.size(block);
    CountBounds bounds;
    for (std::int64_t first = begin; first < end; first += Blocks::group) {
      update(bounds, first, end, metric, query);
      if (bounds.least <= bounds.most) return true;
    }
    return false;
  }

  template <class Counter>
  void add_lists(Counter* counters, std::int64_t block, const Plan& plan, Scratch& scratch) const {
    const std::int64_t begin = blocks_.begin(block), size = blocks_.size(block);
    scratch.bitmaps.clear();
    for (const Postings::Place* place : plan.terms) {
      if (place->is_column()) {
        scratch.bitmaps.push_back(bitmaps_.data() + bitmap(block, place->shape));
      } else if (place->is_rare()) {
        const auto span = postings_.rare(*place, begin, size);
        for (std::int64_t i = 0; i < span.size; ++i) ++counters[span.ids[i] - begin];
      } else {
        const auto span = postings_.common(*place, block);
        for (std::int64_t i = 0; i < span.size; ++i) ++counters[span.ids[i]];
      }
    }
  }

  template <class Counter, class Value>
  void begin_block_with(Counter* counters, std::vector<Counter>& maxima, std::int64_t block,
                        const Collection<Value>& collection, const Plan& plan, QueryState& query,
                        Scratch& scratch) const {
    add_lists(counters, block, plan, scratch);
    scratch.offered.clear();
    scratch.window = EstimateWindow();
    if (!query.best.full())
      scratch.window = take_window(counters, maxima, block, collection, plan, query, scratch);
  }

  template <class Counter, class Value>
  void scan_with(Counter* counters, std::int64_t block, const Collection<Value>& collection,
                 const Plan& plan, QueryState& query, Scratch& scratch) const {
    const auto& kernels = kernels_for(counters, plan);
    const Bitmaps bitmaps{scratch.bitmaps.data(), scratch.bitmaps.size()}, added{nullptr, 0};
    const std::int64_t start = blocks_.begin(block), stop = start + blocks_.size(block);
    CountBounds bounds;
    for (std::int64_t first = 0; first < stop - start; first += Blocks::group) {
      update(bounds, start + first, stop, collection.metric, query);
      if (bounds.least > bounds.most) {
        std::fill_n(counters + first, Blocks::group, Counter{0});
        continue;
      }
      const std::size_t count = kernels.add_and_take(
          counters + first, scratch.window.contains(first) ? added : bitmaps, first,
          static_cast<std::int32_t>(bounds.least), scratch.candidates.data());
      for (std::size_t s = 0; s < count; ++s)
        offer(scratch.candidates[s], block, collection, query, scratch);
    }
  }

  static const auto& kernels_for(const std::uint8_t*, const Plan& plan) {
    return plan.kernels.narrow;
  }
  static const auto& kernels_for(const std::uint16_t*, const Plan& plan) {
    return plan.kernels.wide;
  }

  // Offer rows with large counts first, so that few other rows pass the threshold afterwards. This
  // completes the counts of the window it returns.
  template <class Counter, class Value>
  EstimateWindow take_window(Counter* counters, std::vector<Counter>& maxima, std::int64_t block,
                             const Collection<Value>& collection, const Plan& plan,
                             QueryState& query, Scratch& scratch) const {
    const std::int64_t size = blocks_.size(block);
    const auto wanted = static_cast<std::int64_t>(query.best.capacity());
    const auto from = lengths_.begin() + blocks_.begin(block);
    const auto center = std::lower_bound(from, from + size, query.row.size()) - from;
    const EstimateWindow window(center, size, wanted);
    const Bitmaps bitmaps{scratch.bitmaps.data(), scratch.bitmaps.size()};
    const auto& kernels = kernels_for(counters, plan);
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group)
      kernels.add(counters + first, bitmaps, first);
    std::int32_t least = threshold_estimate(
        counters + window.begin, std::min(window.end, size) - window.begin, wanted, maxima);
    if (collection.metric != Metric::euclidean) least = std::max(least, 1);
    for (std::int64_t first = window.begin; first < window.end; first += Blocks::group) {
      const std::size_t count =
          kernels.find(counters + first, first, least, scratch.candidates.data());
      for (std::size_t s = 0; s < count; ++s) {
        if (static_cast<std::int64_t>(scratch.offered.size()) == 2 * wanted) return window;
        offer(scratch.candidates[s], block, collection, query, scratch);
        scratch.offered.push_back(scratch.candidates[s].local);
      }
    }
    return window;
  }

  template <class Value>
  void offer(const Candidate& row, std::int64_t block, const Collection<Value>& collection,
             QueryState& query, const Scratch& scratch) const {
    if (row.local >= blocks_.size(block)) return;
    if (std::binary_search(scratch.offered.begin(), scratch.offered.end(), row.local)) return;
    const std::int64_t position = blocks_.begin(block) + row.local;
    const std::int32_t id = order_->ranked[position];
    if (!binary_) return collection.offer(query, id);
    const double key = collection.key_of_count(query, lengths_[position], row.sum);
    if (key <= query.best.worst_key() && collection.admits(query, id))
      collection.push(query, key, id);
  }

  Blocks blocks_;
  const RowOrder* order_;
  Simd simd_;
  bool binary_;
  Array<std::int32_t> lengths_;  // by position, rising
  Postings postings_;
  AlignedArray<std::uint8_t> bitmaps_;  // of frequent features, block by block
};

}  // namespace vicinal
