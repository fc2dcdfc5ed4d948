// A neighbour graph that learns and forgets rows, with the labels of its rows and the vote tallies
// that follow every change of a neighbour list.
//
// Arguments come from outside, so they are checked: a slot or group that does not exist throws and
// leaves the model as it was.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/live/live_graph.hpp"
#include "vicinal/live/vote_tallies.hpp"

namespace vicinal {

// Rows of neighbour ids, each `width` long and padded with -1.
struct IdLists {
  std::span<const std::int32_t> ids;
  std::int64_t width;

  std::span<const std::int32_t> operator[](std::size_t row) const {
    return ids.subspan(row * width, width);
  }
};

template <class Value>
class LiveModel {
 public:
  // `nearest` is the graph of `rows`, as LiveGraph expects it. `groups` holds one group per row.
  LiveModel(const CsrView<Value>& rows, Metric metric, std::int64_t k, std::int64_t spare,
            const IdLists& nearest, const PatternView& labels, std::span<const std::int32_t> groups,
            std::int64_t n_groups, Simd level = simd_level("auto"))
      : metric_(metric),
        tallies_(k, labels.n_columns, std::max<std::int64_t>(n_groups, 1)),
        graph_(rows, metric, k, spare, nearest.ids, nearest.width, level),
        labels_(labels) {
    if (std::ssize(groups) != rows.n_rows()) throw std::invalid_argument("one group per row");
    for (const std::int32_t group : groups) {
      check_group(group);
      tallies_.add_row(group);
    }
    for (std::int32_t row = 0; row < n_slots(); ++row)
      tallies_.count(labels_, row, graph_.lists().nearest(row), 1);
  }

  // Learn a row with its labels, the larger of which may be new; return its slot.
  std::int32_t learn(const SparseRow<Value>& row, std::span<const std::int32_t> labels,
                     std::int64_t n_labels, std::int32_t group) {
    check_group(group);
    tallies_.grow(n_labels);
    const std::int32_t slot = graph_.learn(row);
    tallies_.add_row(group);
    labels_.add(labels);
    tallies_.count(labels_, slot, graph_.lists().nearest(slot), 1);
    follow_changes();
    return slot;
  }

  // Forget a row. The answer holds the rows that refill() must then get, if any.
  std::vector<std::int32_t> take_out(std::int32_t slot) {
    check_slot(slot);
    tallies_.count(labels_, slot, graph_.lists().nearest(slot), -1);
    const auto missing = graph_.take_out(slot);
    if (missing.empty()) follow_changes();
    return {missing.begin(), missing.end()};
  }

  // The nearest rows of each of `rows`, which take_out() of `forgotten` returned.
  void refill(std::int32_t forgotten, std::span<const std::int32_t> rows, const IdLists& nearest) {
    if (nearest.ids.size() != rows.size() * nearest.width)
      throw std::invalid_argument("one list per row");
    for (const std::int32_t row : rows) check_slot(row);
    for (const std::int32_t id : nearest.ids)
      if (id >= 0) check_slot(id);
    for (std::size_t i = 0; i < rows.size(); ++i) graph_.refill(rows[i], nearest[i], forgotten);
    follow_changes();
  }

  // Renumber the rows that are left from 0 on; the answer holds the new slot of each old one.
  std::vector<std::int32_t> compact() {
    auto moved = graph_.compact();
    labels_.renumber(moved);
    tallies_.renumber(moved);
    return moved;
  }

  // Both tables of ML-kNN, n_table_rows() × width each.
  std::int64_t n_table_rows() const { return tallies_.n_groups() * tallies_.n_labels(); }
  void tables(std::int64_t width, std::span<std::int64_t> with_label,
              std::span<std::int64_t> without_label) const {
    tallies_.tables(width, with_label, without_label);
  }

  // The nearest rows of every slot and their distances or similarities, n_slots() × width each. An
  // empty place, as all those of a forgotten row, holds -1 and the value of a row that is far away.
  void nearest(std::int64_t width, std::span<std::int32_t> ids, std::span<double> values) const {
    const bool is_distance = metric_ == Metric::euclidean;
    std::fill(ids.begin(), ids.end(), -1);
    std::fill(values.begin(), values.end(),
              is_distance ? std::numeric_limits<double>::infinity() : 0.0);
    for (std::int32_t slot = 0; slot < n_slots(); ++slot) {
      std::int64_t place = slot * width;
      for (const Neighbor& near : graph_.lists().nearest(slot)) {
        if (place == (slot + 1) * width) break;
        ids[place] = near.id;
        values[place++] = is_distance ? std::sqrt(near.key) : -near.key;
      }
    }
  }

  const LiveGraph<Value>& graph() const { return graph_; }
  std::int32_t n_slots() const { return graph_.rows().n_slots(); }
  std::int32_t n_live() const { return graph_.rows().n_live(); }
  std::size_t bytes() const { return graph_.bytes() + labels_.bytes() + tallies_.bytes(); }

 private:
  void check_slot(std::int32_t slot) const {
    if (slot < 0 || slot >= n_slots() || !graph_.rows().is_live(slot))
      throw std::out_of_range("a slot in use");
  }

  void check_group(std::int32_t group) const {
    if (group < 0 || group >= tallies_.n_groups()) throw std::out_of_range("a group there is");
  }

  void follow_changes() {
    for (const ListChange& change : graph_.changes())
      tallies_.change(labels_, change, graph_.lists().nearest(change.row));
  }

  Metric metric_;
  GroupedTallies tallies_;
  LiveGraph<Value> graph_;
  LiveLabels labels_;
};

}  // namespace vicinal
