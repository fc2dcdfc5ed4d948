// How many rows with and without a label got j votes for it, kept while rows come and go.
//
// These are the tables c_l[j] and c'_l[j] of ML-kNN. Only j >= 1 is kept: rows without a vote are
// all the others, which tables() works out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/live/live_graph.hpp"
#include "vicinal/live/live_rows.hpp"

namespace vicinal {

// Label sets by slot; a set is never changed, and compact() drops those without a new slot.
class LiveLabels {
 public:
  explicit LiveLabels(const PatternView& labels) {
    for (std::int64_t row = 0; row < labels.n_rows(); ++row) add(labels.columns(row));
  }

  std::span<const std::int32_t> of(std::int32_t slot) const {
    return {pool_.data() + starts_[slot],
            static_cast<std::size_t>(starts_[slot + 1] - starts_[slot])};
  }

  void add(std::span<const std::int32_t> labels) {
    reserve_slowly(pool_, labels.size());
    pool_.insert(pool_.end(), labels.begin(), labels.end());
    append_slowly(starts_, static_cast<std::int64_t>(pool_.size()));
  }

  void renumber(std::span<const std::int32_t> moved) {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> pool;
    for (std::size_t slot = 0; slot < moved.size(); ++slot) {
      if (moved[slot] < 0) continue;
      const auto labels = of(static_cast<std::int32_t>(slot));
      pool.insert(pool.end(), labels.begin(), labels.end());
      starts.push_back(static_cast<std::int64_t>(pool.size()));
    }
    starts_.swap(starts);
    pool_.swap(pool);
  }

  std::size_t bytes() const { return starts_.size() * 8 + pool_.size() * 4; }

 private:
  std::vector<std::int64_t> starts_{0};
  std::vector<std::int32_t> pool_;
};

class VoteTallies {
 public:
  VoteTallies(std::int64_t k, std::int64_t n_labels) : k_(k) { grow(n_labels); }

  std::int64_t n_labels() const { return static_cast<std::int64_t>(positives_.size()); }

  void grow(std::int64_t n_labels) {
    if (n_labels <= this->n_labels()) return;
    positives_.resize(n_labels, 0);
    with_.resize(n_labels * k_, 0);
    without_.resize(n_labels * k_, 0);
    votes_.resize(n_labels, 0);
    is_own_.resize(n_labels, 0);
  }

  // Count a row with these neighbours in (sign 1) or out (sign -1).
  void count(const LiveLabels& labels, std::int32_t row, std::span<const Neighbor> nearest,
             std::int64_t sign) {
    n_rows_ += sign;
    for (const std::int32_t label : labels.of(row)) positives_[label] += sign;
    tally(labels, row, nearest);
    for (const std::int32_t label : touched_) cell(label, votes_[label]) += sign;
    reset(labels, row);
  }

  // A row's k nearest changed to `nearest`.
  void change(const LiveLabels& labels, const ListChange& change,
              std::span<const Neighbor> nearest) {
    tally(labels, change.row, nearest);
    shift_.clear();
    if (change.entering >= 0)
      for (const std::int32_t label : labels.of(change.entering)) shift_.push_back({label, 1});
    if (change.leaving >= 0)
      for (const std::int32_t label : labels.of(change.leaving)) shift_.push_back({label, -1});
    std::sort(shift_.begin(), shift_.end(),
              [](const Shift& a, const Shift& b) { return a.label < b.label; });
    for (std::size_t i = 0; i < shift_.size(); ++i) {
      const bool cancels = i + 1 < shift_.size() && shift_[i + 1].label == shift_[i].label;
      if (cancels) {  // the label of both: as many votes as before
        ++i;
        continue;
      }
      const std::int32_t label = shift_[i].label, after = votes_[label];
      const std::int32_t earlier = after - shift_[i].by;
      if (earlier > 0) --cell(label, earlier);
      if (after > 0) ++cell(label, after);
    }
    reset(labels, change.row);
  }

  // Both tables in full, `width` cells per label (k + 1, or fewer where there are fewer rows).
  void tables(std::int64_t width, std::span<std::int64_t> with_label,
              std::span<std::int64_t> without_label) const {
    for (std::int64_t label = 0; label < n_labels(); ++label) {
      std::int64_t with_votes = 0, without_votes = 0;
      for (std::int64_t votes = 1; votes < width; ++votes) {
        with_votes += with_label[label * width + votes] = with_[label * k_ + votes - 1];
        without_votes += without_label[label * width + votes] = without_[label * k_ + votes - 1];
      }
      with_label[label * width] = positives_[label] - with_votes;
      without_label[label * width] = n_rows_ - positives_[label] - without_votes;
    }
  }

  std::size_t bytes() const { return (with_.capacity() + without_.capacity()) * 8; }

 private:
  struct Shift {
    std::int32_t label;
    std::int32_t by;
  };

  std::int64_t& cell(std::int32_t label, std::int32_t votes) {
    return (is_own_[label] ? with_ : without_)[label * k_ + votes - 1];
  }

  void tally(const LiveLabels& labels, std::int32_t row, std::span<const Neighbor> nearest) {
    for (const std::int32_t label : labels.of(row)) is_own_[label] = 1;
    for (const Neighbor& near : nearest)
      for (const std::int32_t label : labels.of(near.id))
        if (votes_[label]++ == 0) touched_.push_back(label);
  }

  void reset(const LiveLabels& labels, std::int32_t row) {
    for (const std::int32_t label : labels.of(row)) is_own_[label] = 0;
    for (const std::int32_t label : touched_) votes_[label] = 0;
    touched_.clear();
  }

  std::int64_t k_;
  std::int64_t n_rows_ = 0;
  std::vector<std::int64_t> positives_, with_, without_;
  std::vector<std::int32_t> votes_;   // of the row being counted; zero between calls
  std::vector<std::uint8_t> is_own_;  // whether that row carries the label; zero between calls
  std::vector<std::int32_t> touched_;
  std::vector<Shift> shift_;
};

// Tallies of rows in groups (the clusters of LAML-kNN; one group for ML-kNN). Each row counts in
// its own group, whatever the groups of its neighbours.
class GroupedTallies {
 public:
  GroupedTallies(std::int64_t k, std::int64_t n_labels, std::int64_t n_groups)
      : tallies_(n_groups, VoteTallies(k, n_labels)) {}

  std::int64_t n_labels() const { return tallies_.front().n_labels(); }
  std::int64_t n_groups() const { return std::ssize(tallies_); }

  void grow(std::int64_t n_labels) {
    for (VoteTallies& each : tallies_) each.grow(n_labels);
  }

  // Rows get their group in the order of their slots.
  void add_row(std::int32_t group) { append_slowly(groups_, group); }

  void count(const LiveLabels& labels, std::int32_t row, std::span<const Neighbor> nearest,
             std::int64_t sign) {
    tallies_[groups_[row]].count(labels, row, nearest, sign);
  }

  void change(const LiveLabels& labels, const ListChange& change,
              std::span<const Neighbor> nearest) {
    tallies_[groups_[change.row]].change(labels, change, nearest);
  }

  // The tables of all groups, one behind the other.
  void tables(std::int64_t width, std::span<std::int64_t> with_label,
              std::span<std::int64_t> without_label) const {
    const std::size_t size = n_labels() * width;
    for (std::size_t group = 0; group < tallies_.size(); ++group)
      tallies_[group].tables(width, with_label.subspan(group * size, size),
                             without_label.subspan(group * size, size));
  }

  void renumber(std::span<const std::int32_t> moved) {
    std::size_t kept = 0;
    for (std::size_t slot = 0; slot < moved.size(); ++slot)
      if (moved[slot] >= 0) groups_[kept++] = groups_[slot];
    groups_.resize(kept);
  }

  std::size_t bytes() const {
    std::size_t total = groups_.size() * sizeof(std::int32_t);
    for (const VoteTallies& each : tallies_) total += each.bytes();
    return total;
  }

 private:
  std::vector<VoteTallies> tallies_;
  std::vector<std::int32_t> groups_;
};

}  // namespace vicinal
