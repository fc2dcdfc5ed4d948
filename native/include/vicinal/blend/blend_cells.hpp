// Cells of a blend: the most promising labels of each row, and what every part says of them.
//
// A view of the rows has these parts, in this order: votes of the neighbours (one for each number
// of neighbours and power), local ridge (one for each set of weights), and the cosine of the row
// and the centroid of the label. Tables of scores for every label may follow. The candidates of a
// row are the best labels of each part; of equally good ones, the lower label. A cell holds
//
//   for each part: the score, and the score over the row's best one;
//   for each view: the first, the fifth and the mean value of the neighbours;
//   the prior of the label.
//
// One worker makes all cells of a row and adds in the order of the neighbours and features, so the
// bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/blend/centroid_cosines.hpp"
#include "vicinal/blend/label_centroids.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

// What one view knows of the rows that are blended.
struct BlendView {
  Metric metric = Metric::cosine;
  std::span<const std::int32_t> ids;  // k per row, nearest first, -1 for none
  std::span<const double> values;     // similarities or distances
  std::int64_t k = 0;
  std::span<const std::int64_t> vote_ks;
  std::span<const double> vote_powers;
  std::span<const double> ridge;  // [ridges][rows][k] weights
  std::int64_t n_ridges = 0;
  bool centers = false;  // whether local ridge works on labels less their mean
  const LabelCentroids* centroids = nullptr;
  CsrView<double> rows;  // of length one, for the centroids

  std::int64_t n_parts() const {
    return std::ssize(vote_ks) + n_ridges + (centroids != nullptr ? 1 : 0);
  }
};

// How many of the best labels of each kind of part are candidates.
struct CandidateCounts {
  std::int64_t votes = 0, ridge = 0, centroids = 0, table = 0;
  std::int64_t below = 0;    // labels by the last centroids that are listed without a cell
  bool every_label = false;  // whether every label has a cell
};

struct BlendInput {
  std::vector<BlendView> views;
  std::vector<std::span<const double>> tables;  // [rows][labels]
  PatternView labels;                           // of the training rows
  std::span<const float> prior;                 // by label
  PatternView own;  // labels of the rows if they are training rows to be left out, else no rows
  std::int64_t n_rows = 0;
  Simd simd = simd_level("auto");

  std::int64_t n_labels() const { return labels.n_columns; }
  std::int64_t n_parts() const {
    std::int64_t total = std::ssize(tables);
    for (const BlendView& view : views) total += view.n_parts();
    return total;
  }
  std::int64_t n_columns() const { return 2 * n_parts() + 3 * std::ssize(views) + 1; }
};

struct BlendCells {
  std::vector<std::int64_t> indptr;  // of the listed labels of each row
  std::vector<std::int32_t> labels;  // rising in each row
  std::vector<std::int32_t> cell;    // which cell; -1 for a label below the candidates
  std::vector<double> similarity;    // to the last centroids, of labels without a cell
  std::vector<float> cells;          // n_columns each
};

namespace blend_detail {

inline constexpr double least_best = 1e-3;  // what a row's best score counts as at least

// Rows that are compared together read what they share from memory once, or from a file.
inline std::int64_t rows_per_task(std::int64_t n_rows, std::int64_t most, int n_threads) {
  return std::clamp<std::int64_t>(n_rows / (4 * std::max(n_threads, 1)), 16,
                                  std::max<std::int64_t>(most, 16));
}

inline double vote_weight(Metric metric, double value, double power) {
  const double similarity =
      metric == Metric::euclidean ? 1.0 / (1.0 + value) : std::max(value, 0.0);
  if (power == 1.0) return similarity;
  if (power == 2.0) return similarity * similarity;
  return std::pow(similarity, power);
}

// The labels of the neighbours of a row, rising, and the scores of votes and local ridge for them.
struct NearLabels {
  std::vector<std::int32_t> labels;
  std::vector<double> scores;  // [parts][labels]

  std::span<const double> of_part(std::size_t part) const {
    return std::span(scores).subspan(part * labels.size(), labels.size());
  }

  // Where a label is; the number of labels if it is none of them.
  std::size_t find(std::int32_t label) const {
    const auto at = std::lower_bound(labels.begin(), labels.end(), label);
    return at != labels.end() && *at == label ? at - labels.begin() : labels.size();
  }
};

// A set of labels that are then numbered as they rise: a bit per label, and the number of labels in
// the words before each word.
class LabelNumbers {
 public:
  explicit LabelNumbers(std::int64_t n_labels) : words_((n_labels + 63) / 64), before_(words_) {}

  void insert(std::int32_t label) { words_[label / 64] |= std::uint64_t{1} << (label % 64); }

  // Append all labels, rising. They can be numbered then.
  void list(std::vector<std::int32_t>& labels) {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      before_[w] = labels.size();
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        labels.push_back(static_cast<std::int32_t>(64 * w + std::countr_zero(left)));
    }
  }

  std::size_t number_of(std::int32_t label) const {
    const std::uint64_t lower = (std::uint64_t{1} << (label % 64)) - 1;
    return before_[label / 64] + std::popcount(words_[label / 64] & lower);
  }

  void clear() { std::fill(words_.begin(), words_.end(), 0); }

 private:
  std::vector<std::uint64_t> words_, before_;
};

// Makes the cells of some rows after others; one per worker. Its memory: the labels of the
// neighbours, and a quarter of a byte per label.
class RowCells {
 public:
  explicit RowCells(const BlendInput& input) : input_(input), numbers_(input.n_labels()) {
    for (const BlendView& view : input.views) n_centroids_ += view.centroids != nullptr ? 1 : 0;
    cosines_.resize(n_centroids_, CentroidCosines(input.simd));
  }

  // The cells of rows `first` to `last`; `pause` is called now and then.
  template <class Pause>
  void make(std::int64_t first, std::int64_t last, const CandidateCounts& counts,
            const Pause& pause, BlendCells& out) {
    first_ = first;
    candidates_.resize(last - first);
    near_.resize(last - first);
    for (std::int64_t row = first; row < last; ++row) {
      score(row, near_[row - first]);
      choose(row, counts, candidates_[row - first]);
    }
    compare(last, counts, pause);
    for (std::int64_t row = first; row < last; ++row) {
      list(row, counts);
      write(row, out);
      out.indptr.push_back(std::ssize(out.labels));
      pause();
    }
  }

 private:
  // A label of a row that is listed.
  struct Entry {
    std::int32_t label;
    bool is_candidate;
  };

  // The scores of votes and local ridge, for the labels of the neighbours.
  void score(std::int64_t row, NearLabels& near) {
    collect(row, near);
    std::size_t n_parts = 0;
    const std::size_t n_labels = near.labels.size();
    for (const BlendView& view : input_.views) n_parts += view.vote_ks.size() + view.n_ridges;
    near.scores.assign(n_parts * n_labels, 0.0);
    double* scores = near.scores.data();
    for (std::size_t v = 0; v < input_.views.size(); ++v) {
      const BlendView& view = input_.views[v];
      const auto values = view.values.subspan(row * view.k, view.k);
      const std::size_t found = ends_[v].size();
      for (std::size_t i = 0; i < view.vote_ks.size(); ++i, scores += n_labels)
        vote(v, values.first(std::min<std::size_t>(found, view.vote_ks[i])), view.vote_powers[i],
             scores);
      for (std::int64_t i = 0; i < view.n_ridges; ++i, scores += n_labels)
        regress(v, view.ridge.subspan((i * input_.n_rows + row) * view.k, found), scores);
    }
  }

  // The labels of the neighbours of all views, rising, and where those of each neighbour are.
  void collect(std::int64_t row, NearLabels& near) {
    numbers_.clear();
    for (std::size_t v = 0; v < input_.views.size(); ++v)
      for (const std::int32_t id : neighbors(v, row))
        for (const std::int32_t label : input_.labels.columns(id)) numbers_.insert(label);
    near.labels.clear();
    numbers_.list(near.labels);
    places_.resize(input_.views.size());
    ends_.resize(input_.views.size());
    for (std::size_t v = 0; v < input_.views.size(); ++v) {
      places_[v].clear();
      ends_[v].clear();
      for (const std::int32_t id : neighbors(v, row)) {
        for (const std::int32_t label : input_.labels.columns(id))
          places_[v].push_back(static_cast<std::uint32_t>(numbers_.number_of(label)));
        ends_[v].push_back(places_[v].size());
      }
    }
  }

  std::span<const std::int32_t> neighbors(std::size_t v, std::int64_t row) const {
    const BlendView& view = input_.views[v];
    const auto ids = view.ids.subspan(row * view.k, view.k);
    std::size_t found = 0;
    while (found < ids.size() && ids[found] >= 0) ++found;
    return ids.first(found);
  }

  // Votes sum to one over the neighbours.
  void vote(std::size_t v, std::span<const double> values, double power, double* scores) {
    double total = 0.0;
    weights_.resize(values.size());
    for (std::size_t j = 0; j < values.size(); ++j)
      total += weights_[j] = vote_weight(input_.views[v].metric, values[j], power);
    if (!(total > 0.0)) return;
    for (std::size_t j = 0; j < values.size(); ++j) add_labels(v, j, weights_[j] / total, scores);
  }

  // The sum of the weights of the neighbours that have a label; labels that none of them has
  // score 0, with or without the mean.
  void regress(std::size_t v, std::span<const double> weights, double* scores) {
    double mean = 0.0;
    if (input_.views[v].centers && !weights.empty()) {
      double total = 0.0;
      for (const double weight : weights) total += weight;
      mean = (1.0 - total) / static_cast<double>(weights.size());
    }
    for (std::size_t j = 0; j < weights.size(); ++j) add_labels(v, j, weights[j] + mean, scores);
  }

  void add_labels(std::size_t v, std::size_t j, double weight, double* scores) {
    for (std::size_t i = j > 0 ? ends_[v][j - 1] : 0; i < ends_[v][j]; ++i)
      scores[places_[v][i]] += weight;
  }

  // The candidates of all parts but the centroids, rising.
  void choose(std::int64_t row, const CandidateCounts& counts, std::vector<std::int32_t>& chosen) {
    chosen.clear();
    if (counts.every_label) {
      for (std::int32_t label = 0; label < input_.n_labels(); ++label) chosen.push_back(label);
      return;
    }
    const NearLabels& near = near_[row - first_];
    std::size_t part = 0;
    for (const BlendView& view : input_.views) {
      for (std::size_t i = 0; i < view.vote_ks.size(); ++i)
        add_best(near, part++, counts.votes, chosen);
      for (std::int64_t i = 0; i < view.n_ridges; ++i) add_best(near, part++, counts.ridge, chosen);
    }
    for (const auto& table : input_.tables) {
      const double* scores = table.data() + row * input_.n_labels();
      best_.start(counts.table);
      for (std::int32_t label = 0; label < input_.n_labels(); ++label)
        best_.offer(label, scores[label]);
      add_found(counts.table, chosen);
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }

  // Only labels with a score above 0 are promising.
  void add_best(const NearLabels& near, std::size_t part, std::int64_t count,
                std::vector<std::int32_t>& chosen) {
    best_.start(count);
    const auto scores = near.of_part(part);
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (scores[i] > 0.0) best_.offer(near.labels[i], scores[i]);
    add_found(count, chosen);
  }

  void add_found(std::int64_t count, std::vector<std::int32_t>& chosen) {
    if (count == 0) return;
    best_.cut();
    for (const Neighbor& each : best_.labels()) chosen.push_back(each.id);
  }

  // The cosines of all rows and the centroids of each view. Below the candidates, labels are those
  // of the last centroids.
  template <class Pause>
  void compare(std::int64_t last, const CandidateCounts& counts, const Pause& pause) {
    const bool leaves_out = input_.own.n_rows() > 0;
    std::size_t number = 0;
    for (const BlendView& view : input_.views) {
      if (view.centroids == nullptr) continue;
      asked_.clear();
      for (std::int64_t row = first_; row < last; ++row) {
        const auto& wanted = candidates_[row - first_];
        auto count = static_cast<std::size_t>(counts.centroids);
        if (number + 1 == n_centroids_ && counts.below > 0)
          count = counts.below + wanted.size() + n_centroids_ * counts.centroids;
        const auto own = leaves_out ? input_.own.columns(row) : std::span<const std::int32_t>();
        asked_.push_back(
            {view.rows.columns(row), view.rows.row(row), own, wanted, count, leaves_out});
      }
      cosines_[number++].compare(*view.centroids, asked_, pause);
    }
  }

  // The candidates, and the labels below them.
  void list(std::int64_t row, const CandidateCounts& counts) {
    listed_.clear();
    auto& chosen = candidates_[row - first_];
    if (!counts.every_label) {
      for (const CentroidCosines& cosines : cosines_) {
        const auto& best = cosines.best(row - first_);
        const std::size_t n = std::min<std::size_t>(counts.centroids, best.size());
        for (std::size_t i = 0; i < n; ++i) chosen.push_back(best[i].id);
      }
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    }
    for (const std::int32_t label : chosen) listed_.push_back({label, true});
    if (n_centroids_ > 0 && !counts.every_label) {
      std::int64_t left = counts.below;
      for (const Neighbor& each : cosines_.back().best(row - first_)) {
        if (left == 0) break;
        if (std::binary_search(chosen.begin(), chosen.end(), each.id)) continue;
        listed_.push_back({each.id, false});
        --left;
      }
    }
    std::sort(listed_.begin(), listed_.end(),
              [](const Entry& a, const Entry& b) { return a.label < b.label; });
  }

  void write(std::int64_t row, BlendCells& out) {
    measure(row);
    const std::int64_t n_columns = input_.n_columns();
    for (const auto& [label, has_cell] : listed_) {
      out.labels.push_back(label);
      out.cell.push_back(has_cell ? static_cast<std::int32_t>(out.cells.size() / n_columns) : -1);
      out.similarity.push_back(has_cell ? 0.0 : cosines_.back().cosine(row - first_, label));
      if (!has_cell) continue;
      say(row, label);
      for (std::size_t part = 0; part < said_.size(); ++part) {
        out.cells.push_back(static_cast<float>(said_[part]));
        out.cells.push_back(static_cast<float>(said_[part] / bests_[part]));
      }
      out.cells.insert(out.cells.end(), of_row_.begin(), of_row_.end());
      out.cells.push_back(input_.prior[label]);
    }
  }

  // What each part says of a label.
  void say(std::int64_t row, std::int32_t label) {
    said_.clear();
    const NearLabels& near = near_[row - first_];
    const std::size_t place = near.find(label);
    const bool is_near = place < near.labels.size();
    std::size_t part = 0, number = 0;
    for (const BlendView& view : input_.views) {
      const std::size_t n_parts = view.vote_ks.size() + view.n_ridges;
      for (std::size_t i = 0; i < n_parts; ++i, ++part)
        said_.push_back(is_near ? near.of_part(part)[place] : 0.0);
      if (view.centroids != nullptr)
        said_.push_back(cosines_[number++].cosine(row - first_, label));
    }
    for (const auto& table : input_.tables) said_.push_back(table[row * input_.n_labels() + label]);
  }

  // The best score of each part, and the numbers that all cells of the row share.
  void measure(std::int64_t row) {
    bests_.clear();
    const auto largest = [](std::span<const double> scores) {
      double best = least_best;
      for (const double score : scores) best = std::max(best, score);
      return best;
    };
    std::size_t part = 0, number = 0;
    for (const BlendView& view : input_.views) {
      const std::size_t n_parts = view.vote_ks.size() + view.n_ridges;
      for (std::size_t i = 0; i < n_parts; ++i, ++part)
        bests_.push_back(largest(near_[row - first_].of_part(part)));
      if (view.centroids != nullptr)
        bests_.push_back(std::max(least_best, cosines_[number++].largest(row - first_)));
    }
    for (const auto& table : input_.tables)
      bests_.push_back(largest(table.subspan(row * input_.n_labels(), input_.n_labels())));
    of_row_.clear();
    for (const BlendView& view : input_.views) {
      const auto ids = view.ids.subspan(row * view.k, view.k);
      const auto values = view.values.subspan(row * view.k, view.k);
      double total = 0.0;
      std::int64_t found = 0;
      for (; found < view.k && ids[found] >= 0; ++found) total += values[found];
      const auto at = [&](std::int64_t place) {
        return static_cast<float>(found > 0 ? values[std::min(place, found - 1)] : 0.0);
      };
      of_row_.push_back(at(0));
      of_row_.push_back(at(4));
      of_row_.push_back(static_cast<float>(found > 0 ? total / static_cast<double>(found) : 0.0));
    }
  }

  const BlendInput& input_;
  std::size_t n_centroids_ = 0;
  std::int64_t first_ = 0;
  // Of one row, for each view: where the labels of each neighbour are, and where they end.
  std::vector<std::vector<std::uint32_t>> places_;
  std::vector<std::vector<std::size_t>> ends_;
  LabelNumbers numbers_;
  std::vector<NearLabels> near_;                       // of each row
  std::vector<std::vector<std::int32_t>> candidates_;  // of each row
  std::vector<CentroidCosines> cosines_;               // of each view that has centroids
  std::vector<CentroidCosines::Row> asked_;
  std::vector<Entry> listed_;
  std::vector<double> weights_, bests_, said_;
  BestLabels best_;
  std::vector<float> of_row_;
};

}  // namespace blend_detail

// Of the memory of a worker, each of the `most_at_once` rows that it compares takes about 30 kB.
inline BlendCells blend_cells(const BlendInput& input, const CandidateCounts& counts,
                              std::int64_t most_at_once, int n_threads,
                              const InterruptCheck& interrupted = never_interrupted) {
  using blend_detail::RowCells;
  const std::int64_t at_once = blend_detail::rows_per_task(input.n_rows, most_at_once, n_threads);
  const std::int64_t n_tasks = (input.n_rows + at_once - 1) / at_once;
  std::vector<BlendCells> made(n_tasks);
  std::vector<std::vector<RowCells>> workers(std::max(n_threads, 1));
  StopSign sign(interrupted);
  parallel_for(
      n_tasks, n_threads,
      [&](std::int64_t task, int worker) {
        if (workers[worker].empty()) workers[worker].emplace_back(input);
        BlendCells& out = made[task];
        const std::int64_t last = std::min(input.n_rows, (task + 1) * at_once);
        workers[worker][0].make(task * at_once, last, counts, [&] { sign.check(worker); }, out);
      },
      [&] { return sign.is_up(); });
  BlendCells all;
  all.indptr.push_back(0);
  std::int64_t n_cells = 0;
  for (BlendCells& some : made) {
    const std::int64_t before = std::ssize(all.labels);
    for (const std::int64_t end : some.indptr) all.indptr.push_back(before + end);
    for (std::int32_t& cell : some.cell) cell += cell < 0 ? 0 : static_cast<std::int32_t>(n_cells);
    all.labels.insert(all.labels.end(), some.labels.begin(), some.labels.end());
    all.cell.insert(all.cell.end(), some.cell.begin(), some.cell.end());
    all.similarity.insert(all.similarity.end(), some.similarity.begin(), some.similarity.end());
    all.cells.insert(all.cells.end(), some.cells.begin(), some.cells.end());
    n_cells += std::ssize(some.cells) / input.n_columns();
    some = {};
  }
  return all;
}

}  // namespace vicinal
