// Rows that may be among the k nearest, by what is known of their keys before any is computed.
//
// An approximate sum gives an interval that a row's key lies in. The k-th smallest upper end bounds
// the key of the k-th nearest row: a row whose lower end is beyond it is out. So rows are gathered
// without being looked at, the list is thinned when it grows, and only what is left in the end is
// compared by the definition, the most promising first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "vicinal/query_state.hpp"
#include "vicinal/spread_query.hpp"

namespace vicinal {

struct KeyRange {
  double low;
  double high;
};

class Shortlist {
 public:
  // No row with a larger key can be among the k nearest; infinity while nothing is known.
  double bound() const { return bound_; }

  // `spread` is shared by the lists of one thread, and outlives them.
  explicit Shortlist(SpreadQuery& spread) : spread_(&spread) {}

  // Begin with what the query has found in other rows.
  void open(const QueryState& query) {
    entries_.clear();
    bound_ = query.best.worst_key();
  }

  template <class Value>
  void add(const Collection<Value>& collection, QueryState& query, std::int32_t row,
           KeyRange range) {
    if (range.low > bound_ || !collection.admits(query, row)) return;
    entries_.push_back({range, row});
    if (entries_.size() < 2 * query.best.capacity() + room) return;
    thin(query.best.capacity());
    if (entries_.size() >= query.best.capacity() + room) compare(collection, query);
  }

  // Let the entries so far tighten the bound.
  void thin(std::size_t k) {
    if (entries_.size() >= k) {
      highs_.clear();
      for (const Entry& entry : entries_) highs_.push_back(entry.range.high);
      std::nth_element(highs_.begin(), highs_.begin() + (k - 1), highs_.end());
      bound_ = std::min(bound_, highs_[k - 1]);
    }
    std::erase_if(entries_, [&](const Entry& entry) { return entry.range.low > bound_; });
  }

  // Compare what is left with the query, by the definition, and empty the list. For cosine and dot
  // product, rows on it share a feature with the query.
  template <class Value>
  void compare(const Collection<Value>& collection, QueryState& query) {
    const std::size_t k = query.best.capacity();
    if (entries_.size() > k)
      std::nth_element(entries_.begin(), entries_.begin() + k, entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.range.low < b.range.low; });
    for (std::size_t i = 0; i < std::min(ahead, entries_.size()); ++i)
      collection.fetch_place(entries_[i].row);
    for (std::size_t i = 0; i < std::min(near, entries_.size()); ++i)
      collection.fetch_entries(entries_[i].row);
    if (collection.metric != Metric::euclidean &&
        collection.rows.n_columns <= SpreadQuery::most_features)
      compare_at_once(collection, query);
    else
      compare_in_turn(collection, query);
    entries_.clear();
    bound_ = std::min(bound_, query.best.worst_key());
  }

 private:
  template <class Value>
  void compare_in_turn(const Collection<Value>& collection, QueryState& query) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      fetch_after(i, collection);
      if (entries_[i].range.low <= query.best.worst_key()) collection.offer(query, entries_[i].row);
    }
    query.lookup.release();  // its memory serves the next query while it is in the cache
  }

  template <class Value>
  void compare_at_once(const Collection<Value>& collection, QueryState& query) {
    std::array<SpreadQuery::Comparison<Value>, SpreadQuery::rows_at_once> some;
    std::size_t count = 0;
    const auto compare_some = [&] {
      for (std::size_t i = count; i < some.size(); ++i) some[i] = {{}, -1, 0.0};
      spread_->add(some);
      for (const auto& [row, id, dot] : some)
        if (id >= 0)
          collection.push(query, key_of(collection.metric, dot, query.norm, collection.norms[id]),
                          id);
      count = 0;
    };
    spread_->open(query.row, collection.rows.n_columns);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      fetch_after(i, collection);
      if (entries_[i].range.low > query.best.worst_key()) continue;
      some[count++] = {row_of(collection.rows, entries_[i].row), entries_[i].row, 0.0};
      if (count == some.size()) compare_some();
    }
    if (count > 0) compare_some();
    spread_->close(query.row);
  }

  // Ask the memory for what later entries need.
  template <class Value>
  void fetch_after(std::size_t i, const Collection<Value>& collection) const {
    if (i + ahead < entries_.size()) collection.fetch_place(entries_[i + ahead].row);
    if (i + near < entries_.size()) collection.fetch_entries(entries_[i + near].row);
  }

  static constexpr std::size_t room = 256;  // beyond what k rows need, before the list is thinned

  static constexpr std::size_t ahead = 16, near = 8;  // how early memory is asked for

  struct Entry {
    KeyRange range;
    std::int32_t row;
  };

  SpreadQuery* spread_;
  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<Entry> entries_;
  std::vector<double> highs_;
};

}  // namespace vicinal
