// Rows that may be among the k nearest, known only by an interval that contains their key.
//
// An approximate sum gives an interval for a row's key. The k-th smallest upper end bounds the key
// of the k-th nearest row, so a row whose lower end lies beyond it is out. Rows are therefore
// collected without being compared, the list is pruned when it grows, and only the remaining rows
// are compared by the exact definition, the most promising first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "vicinal/common/simd.hpp"
#include "vicinal/search/query_state.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// A first threshold for a search: a value that at least k of many numbers reach, without sorting.

// The rows of a block from which a query's first threshold is estimated, in whole groups.
struct EstimateWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  EstimateWindow() = default;

  // Around row `center` of a block of `size` rows, with room for at least k candidates.
  EstimateWindow(std::int64_t center, std::int64_t size, std::int64_t k) {
    const std::int64_t padded = (size + Blocks::group - 1) / Blocks::group * Blocks::group;
    const std::int64_t rows =
        (std::max(fewest_rows, 4 * k) + Blocks::group - 1) / Blocks::group * Blocks::group;
    begin =
        std::clamp<std::int64_t>(center - rows / 2, 0, std::max<std::int64_t>(padded - rows, 0));
    begin -= begin % Blocks::group;
    end = std::min(begin + rows, padded);
  }

  bool empty() const { return begin == end; }
  bool contains(std::int64_t row) const { return row >= begin && row < end; }

 private:
  static constexpr std::int64_t fewest_rows = 8 * Blocks::group;
};

// Numbers are assigned to classes by index modulo the number of classes; the result is the k-th
// largest of the class maxima. At least k different numbers reach it, and few more do, because the
// largest numbers rarely share a class. If there are fewer than k numbers, it is the smallest
// class maximum.
template <class Number>
Number threshold_estimate(const Number* VICINAL_RESTRICT numbers, std::int64_t size, std::int64_t k,
                          std::vector<Number>& maxima) {
  const std::int64_t classes = std::min(size, std::max<std::int64_t>(128, 4 * k));
  maxima.assign(numbers, numbers + classes);
  Number* const VICINAL_RESTRICT largest = maxima.data();
  for (std::int64_t first = classes; first < size; first += classes) {
    const std::int64_t count = std::min(classes, size - first);
    for (std::int64_t i = 0; i < count; ++i) largest[i] = std::max(largest[i], numbers[first + i]);
  }
  const auto kth = maxima.begin() + std::min(k, classes) - 1;
  std::nth_element(maxima.begin(), kth, maxima.end(), std::greater<>());
  return *kth;
}

struct KeyRange {
  double low;
  double high;
};

class Shortlist {
 public:
  // No row with a larger key can be among the k nearest; infinity while nothing is known.
  double bound() const { return bound_; }

  // Start with what the query has found in other rows.
  void reset(const QueryState& query) {
    entries_.clear();
    next_prune_ = 0;
    bound_ = query.best.worst_key();
  }

  // At least k rows are known to have a key of at most this.
  void tighten(double bound) { bound_ = std::min(bound_, bound); }

  template <class Value>
  void add(const Collection<Value>& collection, QueryState& query, std::int32_t row, KeyRange range,
           ScatteredQuery& scattered) {
    if (range.low > bound_ || !collection.admits(query, row)) return;
    entries_.push_back({range, row});
    const std::size_t k = query.best.capacity();
    if (entries_.size() < std::max(next_prune_, k + k / 2)) return;
    prune(k);
    if (entries_.size() >= 2 * k + spare) compare(collection, query, scattered);
  }

  // Tighten the bound by the entries so far and drop those beyond it.
  void prune(std::size_t k) {
    if (entries_.size() >= k) {
      highs_.clear();
      for (const Entry& entry : entries_) highs_.push_back(entry.range.high);
      std::nth_element(highs_.begin(), highs_.begin() + (k - 1), highs_.end());
      bound_ = std::min(bound_, highs_[k - 1]);
    }
    std::erase_if(entries_, [&](const Entry& entry) { return entry.range.low > bound_; });
    next_prune_ = entries_.size() + k / 2 + few;
  }

  // Compare the remaining rows with the query by the exact definition, and empty the list. For
  // cosine and dot product every row on the list shares a feature with the query.
  template <class Value>
  void compare(const Collection<Value>& collection, QueryState& query, ScatteredQuery& scattered) {
    const std::size_t k = query.best.capacity();
    if (entries_.size() > k)
      std::nth_element(entries_.begin(), entries_.begin() + k, entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.range.low < b.range.low; });
    for (std::size_t i = 0; i < std::min(offsets_ahead, entries_.size()); ++i)
      collection.prefetch_offsets(entries_[i].row);
    for (std::size_t i = 0; i < std::min(entries_ahead, entries_.size()); ++i)
      collection.prefetch_entries(entries_[i].row);
    if (collection.metric != Metric::euclidean &&
        collection.rows.n_columns <= ScatteredQuery::most_features)
      compare_scattered(collection, query, scattered);
    else
      compare_one_by_one(collection, query);
    entries_.clear();
    bound_ = std::min(bound_, query.best.worst_key());
  }

 private:
  template <class Value>
  void compare_one_by_one(const Collection<Value>& collection, QueryState& query) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      prefetch_after(i, collection);
      if (entries_[i].range.low <= query.best.worst_key()) collection.offer(query, entries_[i].row);
    }
    query.lookup.release();  // the next query reuses its memory while that is in the cache
  }

  template <class Value>
  void compare_scattered(const Collection<Value>& collection, QueryState& query,
                         ScatteredQuery& scattered) {
    std::array<ScatteredQuery::Comparison<Value>, ScatteredQuery::rows_at_once> some;
    std::size_t count = 0;
    const auto compare_some = [&] {
      for (std::size_t i = count; i < some.size(); ++i) some[i] = {{}, -1, 0.0};
      scattered.add(some);
      for (const auto& comparison : some)
        if (comparison.id >= 0)
          collection.push(query,
                          key_of(collection.metric, comparison.dot, query.norm,
                                 collection.norms[comparison.id]),
                          comparison.id);
      count = 0;
    };
    scattered.load(query.row, collection.rows.n_columns);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      prefetch_after(i, collection);
      if (entries_[i].range.low > query.best.worst_key()) continue;
      some[count++] = {row_of(collection.rows, entries_[i].row), entries_[i].row, 0.0};
      if (count == some.size()) compare_some();
    }
    if (count > 0) compare_some();
    scattered.clear(query.row);
  }

  template <class Value>
  void prefetch_after(std::size_t i, const Collection<Value>& collection) const {
    if (i + offsets_ahead < entries_.size())
      collection.prefetch_offsets(entries_[i + offsets_ahead].row);
    if (i + entries_ahead < entries_.size())
      collection.prefetch_entries(entries_[i + entries_ahead].row);
  }

  static constexpr std::size_t few = 16;     // entries, besides k / 2, before it is pruned again
  static constexpr std::size_t spare = 256;  // entries beyond 2 k before they are compared
  static constexpr std::size_t offsets_ahead = 16, entries_ahead = 8;  // prefetch distances

  struct Entry {
    KeyRange range;
    std::int32_t row;
  };

  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<Entry> entries_;
  std::size_t next_prune_ = 0;
  std::vector<double> highs_;
};

}  // namespace vicinal
