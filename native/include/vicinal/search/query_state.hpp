// The state of one query during a search, and how a row is compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/exact.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// A hash table of a query's features, to compare many rows with it one after another.
//
// Merging two sorted lists costs one step per entry of both, each step waits for the one before,
// and the processor cannot predict which entries match. Here a small table, indexed by the low bits
// of a feature, names the one query feature it could be, so that one look-up without a branch skips
// most entries of a row. Products of the others are added in rising order, as the exact definition
// does.

class FeatureLookup {
 public:
  // Prepared when the first row is compared, because many queries never need it.
  bool ready() const { return !narrow_.empty() || !wide_.empty(); }
  void release() { *this = {}; }

  // `query` must outlive this.
  void prepare(const SparseRow<double>& query) {
    query_ = query;
    if (query.size() < std::numeric_limits<std::uint8_t>::max())
      fill(narrow_);
    else
      fill(wide_);
  }

  template <class Value>
  Dot dot(const SparseRow<Value>& row) const {
    return wide_.empty() ? dot_by(narrow_, row) : dot_by(wide_, row);
  }

 private:
  // A cell holds 0 for "none", one more than a position in the query, or `several`.
  template <class Cell>
  static constexpr Cell several = std::numeric_limits<Cell>::max();

  // Enough cells that few features of other rows collide, few enough that they stay in the cache.
  template <class Cell>
  void fill(std::vector<Cell>& cells) {
    std::size_t size = 1024;
    while (size < 32 * query_.size() && size < 16384) size *= 2;
    cells.assign(size, 0);
    for (std::size_t i = 0; i < query_.size(); ++i) {
      Cell& cell = cells[static_cast<std::uint32_t>(query_.columns[i]) & (size - 1)];
      cell = cell == 0 && i + 1 < several<Cell> ? static_cast<Cell>(i + 1) : several<Cell>;
    }
  }

  // The position a feature has in the query, if the query has it.
  template <class Cell>
  std::size_t position(Cell cell, std::int32_t feature) const {
    if (cell != several<Cell>) [[likely]]
      return cell - std::size_t{1};
    const auto at = std::lower_bound(query_.columns.begin(), query_.columns.end() - 1, feature);
    return at - query_.columns.begin();
  }

  template <class Cell, class Value>
  Dot dot_by(const std::vector<Cell>& cells, const SparseRow<Value>& row) const {
    thread_local std::vector<std::uint32_t> entries;
    if (entries.size() <= row.size()) entries.resize(2 * row.size() + 1);
    const auto mask = static_cast<std::uint32_t>(cells.size() - 1);
    const auto cell_of = [&](std::size_t i) {
      return cells[static_cast<std::uint32_t>(row.columns[i]) & mask];
    };
    std::uint32_t* const VICINAL_RESTRICT found = entries.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      found[count] = static_cast<std::uint32_t>(i);
      count += cell_of(i) != 0;
    }
    Dot dot;
    for (std::size_t f = 0; f < count; ++f) {
      const std::size_t i = found[f], at = position(cell_of(i), row.columns[i]);
      const bool there = query_.columns[at] == row.columns[i];
      // A feature the query lacks adds zero, which changes no sum.
      dot.value += (there ? query_.values[at] : 0.0) * static_cast<double>(row.values[i]);
      dot.shares_feature |= there;
    }
    return dot;
  }

  SparseRow<double> query_;
  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint16_t> wide_;  // if a byte cannot number all features
};

struct QueryState {
  SparseRow<double> row;
  double squared_norm;
  double norm;
  std::int32_t excluded;  // the row id that leave-one-out excludes, or -1
  TopK best;
  FeatureLookup lookup = {};
};

// The rows of an index as the exact definition sees them. Callers know row i as first_id + i.
template <class Value>
struct Collection {
  CsrView<Value> rows;
  Metric metric;
  std::span<const double> norms;
  std::span<const std::uint8_t> removed;  // 1 for a removed row; may be empty
  std::int32_t first_id = 0;

  bool admits(const QueryState& query, std::int32_t row) const {
    return first_id + row != query.excluded && (removed.empty() || !removed[row]);
  }

  void push(QueryState& query, double key, std::int32_t row) const {
    query.best.push({key, first_id + row});
  }

  // Compare by the exact definition and keep the row if it is among the best.
  void offer(QueryState& query, std::int32_t row) const {
    if (!admits(query, row)) return;
    if (metric == Metric::euclidean)
      return push(query, exact_squared_distance(query.row, row_of(rows, row)), row);
    if (!query.lookup.ready()) query.lookup.prepare(query.row);
    const Dot dot = query.lookup.dot(row_of(rows, row));
    if (dot.shares_feature) push(query, key_of(metric, dot.value, query.norm, norms[row]), row);
  }

  // Prefetch what a comparison reads: first the position of the row's entries, then the entries
  // themselves. The hardware prefetches the rest of a long row.
  void prefetch_offsets(std::int32_t row) const {
    prefetch(rows.indptr.data() + row);
    prefetch(norms.data() + row);
  }
  void prefetch_entries(std::int32_t row) const {
    const std::int64_t begin = rows.indptr[row], end = std::min(rows.indptr[row + 1], begin + 128);
    const auto fetch = [&](std::int64_t at) {
      prefetch(rows.indices.data() + at);
      prefetch(rows.values.data() + at);
    };
    for (std::int64_t at = begin; at < end; at += 16) fetch(at);
    if (begin < end) fetch(end - 1);  // it may lie on one more cache line
  }

  // The key of a row and a query whose values are all 1, from the number of features they share:
  // sums of ones are exact in any order, and a row's norm is the square root of its length.
  double key_of_count(const QueryState& query, std::int32_t length, std::int32_t shared) const {
    if (metric == Metric::euclidean) {
      const auto total = static_cast<std::int64_t>(query.row.size()) + length;
      return static_cast<double>(total - 2 * std::int64_t{shared});
    }
    return key_of(metric, shared, query.norm, std::sqrt(static_cast<double>(length)));
  }
};

// A query scattered over the whole feature space, to compare several rows with it at once.
//
// The exact definition adds products in rising feature order, and each addition waits for the one
// before, so that comparing one row leaves the processor idle most of the time. Rows do not depend
// on each other, so four of them are processed side by side, one entry of each in turn. The query's
// value of a feature is one array access away, and zero where the query lacks the feature; adding
// zero changes no sum.

class ScatteredQuery {
 public:
  static constexpr std::size_t rows_at_once = 4;

  // With more features the array would no longer fit the cache.
  static constexpr std::int64_t most_features = 1 << 17;

  void load(const SparseRow<double>& query, std::int64_t n_features) {
    if (values_.size() < static_cast<std::size_t>(n_features)) values_.resize(n_features, 0.0);
    for (std::size_t i = 0; i < query.size(); ++i) values_[query.columns[i]] = query.values[i];
  }

  // Undo load(), at the cost of the query's length.
  void clear(const SparseRow<double>& query) {
    for (const std::int32_t feature : query.columns) values_[feature] = 0.0;
  }

  template <class Value>
  struct Comparison {
    SparseRow<Value> row;
    std::int32_t id;
    double dot;
  };

  // Compute the dot products with the query. This may reorder `rows`.
  template <class Value>
  void add(std::array<Comparison<Value>, rows_at_once>& rows) const {
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.row.size() > b.row.size(); });
    add_range<4>(rows, 0, rows[3].row.size());
    add_range<3>(rows, rows[3].row.size(), rows[2].row.size());
    add_range<2>(rows, rows[2].row.size(), rows[1].row.size());
    add_range<1>(rows, rows[1].row.size(), rows[0].row.size());
  }

 private:
  // Entries [begin, end) of the first `Ways` rows.
  template <std::size_t Ways, class Value>
  void add_range(std::array<Comparison<Value>, rows_at_once>& rows, std::size_t begin,
                 std::size_t end) const {
    std::array<double, Ways> sums;
    for (std::size_t w = 0; w < Ways; ++w) sums[w] = rows[w].dot;
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t w = 0; w < Ways; ++w)
        sums[w] += values_[rows[w].row.columns[i]] * static_cast<double>(rows[w].row.values[i]);
    for (std::size_t w = 0; w < Ways; ++w) rows[w].dot = sums[w];
  }

  std::vector<double> values_;
};

// What a search needs from a method that scores the rows of a block for a query.
//
// CountIndex (counts of shared features) and ImpactIndex (weighted sums) are scorers. A search
// takes a query through the blocks one by one:
//
//   plan(query)       once: the query's features as they occur in this index, and what it has
//   found; begin_query(...)  once, after the rows outside the blocks have been compared;
//   first_block(...)  of a batch: the block with which it begins, likely to hold the nearest rows;
//   begin_block(...)  per block: add the short posting lists to the accumulators;
//   scan(...)         per block: complete the sums, keep candidates, reset the accumulators;
//   finish(...)       once: true if the k nearest rows are certain. If false, the search compares
//                     the query with every row.
template <class S, class Value>
concept Scorer =
    std::constructible_from<typename S::Scratch, const S&, ScatteredQuery&> &&
    requires(const S& scorer, const Collection<Value>& collection, typename S::Plan& plan,
             QueryState& query, typename S::Scratch& scratch, std::int64_t block) {
      { plan.usable } -> std::convertible_to<bool>;
      { scorer.plan(query) } -> std::same_as<typename S::Plan>;
      { scorer.blocks() } -> std::same_as<const Blocks&>;
      { scorer.first_block(collection.metric, query.norm) } -> std::same_as<std::int64_t>;
      scorer.begin_query(collection, plan, query, scratch);
      scorer.begin_block(block, collection, plan, query, scratch);
      scorer.scan(block, collection, plan, query, scratch);
      { scorer.finish(collection, plan, query, scratch) } -> std::same_as<bool>;
    };

}  // namespace vicinal
