// The ranks of a row's true labels, at a cost that does not grow with the number of labels.
//
// A row stores some labels; all others have their base score. The stored labels are sorted; the
// others are in the order of BaseOrder, in which the stored ones are holes. A label's rank is
//   (stored labels ahead of it) + (base labels ahead of it) - (holes among those) + 1,
// three binary searches: s log s per row for its s stored labels, and log L per true label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/rank/score_rows.hpp"

namespace vicinal {

// Ranks from 1: with ties broken in the label's favour, by lower id first, and against it. Ranks
// under "higher id first" are best + worst - rank.
struct Place {
  std::int32_t best;
  std::int32_t rank;
  std::int32_t worst;
};

// Ranks the labels of one row at a time and owns the scratch memory for that.
//
// Scores tie if they are equal or, with a tolerance, in the same group: groups are formed from the
// lowest score up, and each contains all scores less than `tolerance` above its lowest, the anchor.
class RowRanker {
 public:
  RowRanker(const ScoreRows& scores, const BaseOrder& base, double tolerance)
      : scores_(scores), base_(base), tolerance_(tolerance) {
    if (tolerance_ == 0) return;
    for (double low : base_.score)
      base_above_.push_back(static_cast<std::int32_t>(range(base_.score, low, value_itself).first));
  }

  void load(std::int64_t row) {
    row_ = row;
    const auto labels = scores_.labels(row);
    const auto values = scores_.row(row);
    stored_.clear();
    holes_.clear();
    for (std::size_t j = 0; j < labels.size(); ++j) stored_.emplace_back(values[j], labels[j]);
    std::sort(stored_.begin(), stored_.end(), [](const Entry& a, const Entry& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (!scores_.is_dense()) {
      for (std::int32_t label : labels) holes_.push_back(base_.position[label]);
      std::sort(holes_.begin(), holes_.end());
    }
    if (tolerance_ > 0) find_anchors();
  }

  Place place(std::int32_t label) const {
    const double low = anchor_of(scores_.score(row_, label));
    const auto [stored_above, stored_upto] = range(stored_, low, value_of_entry);
    const auto [base_above, base_upto] = range(base_.score, low, value_itself);
    const auto best =
        stored_above + base_above - holes_before(static_cast<std::int32_t>(base_above));
    const auto worst = stored_upto + base_upto - holes_before(static_cast<std::int32_t>(base_upto));
    const auto before = stored_with_lower_id(stored_above, stored_upto, label) +
                        base_with_lower_id(base_above, base_upto, label);
    return {static_cast<std::int32_t>(best + 1), static_cast<std::int32_t>(best + before + 1),
            static_cast<std::int32_t>(worst)};
  }

 private:
  using Entry = std::pair<double, std::int32_t>;
  static double value_of_entry(const Entry& entry) { return entry.first; }
  static double value_itself(double value) { return value; }

  bool above(double value, double low) const { return value > low && value - low >= tolerance_; }

  // In a falling list: the number of items above the group with anchor `low`, and up to its end.
  template <class Items, class Value>
  std::pair<std::ptrdiff_t, std::ptrdiff_t> range(const Items& items, double low,
                                                  Value value) const {
    const auto first = std::partition_point(
        items.begin(), items.end(), [&](const auto& item) { return above(value(item), low); });
    const auto last = std::partition_point(first, items.end(),
                                           [&](const auto& item) { return value(item) >= low; });
    return {first - items.begin(), last - items.begin()};
  }

  std::ptrdiff_t holes_before(std::int32_t position) const {
    return std::lower_bound(holes_.begin(), holes_.end(), position) - holes_.begin();
  }

  // Equal scores are ordered by id; a group of unequal ones must be searched linearly.
  std::ptrdiff_t stored_with_lower_id(std::ptrdiff_t from, std::ptrdiff_t to,
                                      std::int32_t label) const {
    if (from == to) return 0;
    const auto first = stored_.begin() + from, last = stored_.begin() + to;
    const auto lower = [label](const Entry& entry) { return entry.second < label; };
    if (first->first == std::prev(last)->first)
      return std::partition_point(first, last, lower) - first;
    return std::count_if(first, last, lower);
  }

  std::ptrdiff_t base_with_lower_id(std::ptrdiff_t from, std::ptrdiff_t to,
                                    std::int32_t label) const {
    if (from == to) return 0;
    const auto first = base_.label.begin() + from, last = base_.label.begin() + to;
    const auto first_hole = holes_before(static_cast<std::int32_t>(from));
    if (base_.score[from] == base_.score[to - 1]) {
      const auto lower = std::lower_bound(first, last, label) - first;
      return lower - (holes_before(static_cast<std::int32_t>(from + lower)) - first_hole);
    }
    const auto last_hole = holes_before(static_cast<std::int32_t>(to));
    return std::count_if(first, last, [label](std::int32_t other) { return other < label; }) -
           std::count_if(holes_.begin() + first_hole, holes_.begin() + last_hole,
                         [&](std::int32_t hole) { return base_.label[hole] < label; });
  }

  double anchor_of(double value) const {
    if (tolerance_ == 0) return value;
    return *std::prev(std::upper_bound(anchors_.begin(), anchors_.end(), value));
  }

  // From the lowest score up, all three lists from their ends: one step per group and per stored
  // label. Only this part costs more with more distinct base scores, and only with a tolerance.
  void find_anchors() {
    anchors_.clear();
    auto stored = stored_.size();
    auto hole = holes_.size();
    auto base = base_.score.size();
    for (;;) {
      while (hole > 0 && holes_[hole - 1] >= static_cast<std::int32_t>(base)) --hole;
      while (hole > 0 && holes_[hole - 1] + 1 == static_cast<std::int32_t>(base)) --base, --hole;
      if (stored == 0 && base == 0) return;
      const bool from_base =
          base > 0 && (stored == 0 || base_.score[base - 1] <= stored_[stored - 1].first);
      const double low = from_base ? base_.score[base - 1] : stored_[stored - 1].first;
      anchors_.push_back(low);
      while (stored > 0 && !above(stored_[stored - 1].first, low)) --stored;
      base = from_base
                 ? base_above_[base - 1]
                 : std::min(base,
                            static_cast<std::size_t>(range(base_.score, low, value_itself).first));
    }
  }

  const ScoreRows& scores_;
  const BaseOrder& base_;
  double tolerance_;
  std::vector<std::int32_t> base_above_;  // base labels above the group anchored at a position
  std::int64_t row_ = 0;
  std::vector<Entry> stored_;        // score falling, id rising
  std::vector<std::int32_t> holes_;  // positions in the base order, rising
  std::vector<double> anchors_;      // rising
};

// The places of all true labels, in the order of `truth.indices`.
struct TruePlaces {
  std::vector<std::int32_t> best, rank, worst;
};

inline TruePlaces place_true_labels(const ScoreRows& scores, const PatternView& truth,
                                    double tolerance, int n_threads,
                                    const InterruptCheck& interrupted = never_interrupted) {
  const std::size_t n = truth.indices.size();
  TruePlaces places{std::vector<std::int32_t>(n), std::vector<std::int32_t>(n),
                    std::vector<std::int32_t>(n)};
  const BaseOrder base(scores.base);
  std::vector<RowRanker> rankers(std::max(n_threads, 1), RowRanker(scores, base, tolerance));
  const auto one_row = [&](std::int64_t i, RowRanker& ranker) {
    if (truth.columns(i).empty()) return;
    ranker.load(i);
    for (std::int64_t at = truth.indptr[i]; at < truth.indptr[i + 1]; ++at) {
      const Place place = ranker.place(truth.indices[at]);
      places.best[at] = place.best;
      places.rank[at] = place.rank;
      places.worst[at] = place.worst;
    }
  };
  parallel_for(
      tasks_for(scores.n_rows), n_threads,
      [&](std::int64_t task, int worker) {
        const std::int64_t end = std::min((task + 1) * rows_per_task, scores.n_rows);
        for (std::int64_t i = task * rows_per_task; i < end; ++i) one_row(i, rankers[worker]);
      },
      interrupted);
  return places;
}

}  // namespace vicinal
