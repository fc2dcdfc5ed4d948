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
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/blend/label_centroids.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/sparse_accumulator.hpp"
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
inline constexpr std::int64_t rows_per_task = 16;

inline double vote_weight(Metric metric, double value, double power) {
  const double similarity =
      metric == Metric::euclidean ? 1.0 / (1.0 + value) : std::max(value, 0.0);
  if (power == 1.0) return similarity;
  if (power == 2.0) return similarity * similarity;
  return std::pow(similarity, power);
}

// Makes the cells of one row after another; one per worker.
class RowCells {
 public:
  explicit RowCells(const BlendInput& input) : input_(input), scores_(input.n_parts()) {
    for (SparseAccumulator& scores : scores_) scores.resize(input.n_labels());
    chosen_.assign(input.n_labels(), 0);
  }

  void make(std::int64_t row, const CandidateCounts& counts, BlendCells& out) {
    score(row);
    choose(row, counts);
    std::sort(listed_.begin(), listed_.end());
    write(row, out);
    for (SparseAccumulator& scores : scores_) scores.clear();
    for (const std::int32_t label : listed_) chosen_[label] = 0;
    listed_.clear();
  }

 private:
  static constexpr std::uint8_t is_candidate = 1, is_below = 2;

  // The scores of every part but the tables.
  void score(std::int64_t row) {
    std::size_t part = 0;
    for (const BlendView& view : input_.views) {
      const auto ids = view.ids.subspan(row * view.k, view.k);
      const auto values = view.values.subspan(row * view.k, view.k);
      std::size_t found = 0;
      while (found < ids.size() && ids[found] >= 0) ++found;
      for (std::size_t i = 0; i < view.vote_ks.size(); ++i)
        vote(view, ids.first(std::min<std::size_t>(found, view.vote_ks[i])), values,
             view.vote_powers[i], scores_[part++]);
      for (std::int64_t i = 0; i < view.n_ridges; ++i)
        regress(view, ids.first(found),
                view.ridge.subspan((i * input_.n_rows + row) * view.k, view.k), scores_[part++]);
      if (view.centroids != nullptr) compare(view, row, scores_[part++]);
    }
  }

  // Votes sum to one over the neighbours.
  void vote(const BlendView& view, std::span<const std::int32_t> ids,
            std::span<const double> values, double power, SparseAccumulator& sums) {
    double total = 0.0;
    weights_.resize(ids.size());
    for (std::size_t j = 0; j < ids.size(); ++j)
      total += weights_[j] = vote_weight(view.metric, values[j], power);
    if (!(total > 0.0)) return;
    for (std::size_t j = 0; j < ids.size(); ++j) add_labels(ids[j], weights_[j] / total, sums);
  }

  // The sum of the weights of the neighbours that have a label; labels that none of them has
  // score 0, with or without the mean.
  void regress(const BlendView& view, std::span<const std::int32_t> ids,
               std::span<const double> weights, SparseAccumulator& sums) {
    double mean = 0.0;
    if (view.centers && !ids.empty()) {
      double total = 0.0;
      for (std::size_t j = 0; j < ids.size(); ++j) total += weights[j];
      mean = (1.0 - total) / static_cast<double>(ids.size());
    }
    for (std::size_t j = 0; j < ids.size(); ++j) add_labels(ids[j], weights[j] + mean, sums);
  }

  void compare(const BlendView& view, std::int64_t row, SparseAccumulator& sums) {
    const auto features = view.rows.columns(row);
    const auto values = view.rows.row(row);
    products_.resize(input_.n_labels());
    view.centroids->add_products(features, values, products_);
    double own_product = 0.0, own_square = 0.0;
    const bool leaves_out = input_.own.n_rows() > 0;
    if (leaves_out) {
      for (const double value : values) {
        const auto fixed = static_cast<double>(LabelCentroids::fixed(value));
        own_product += value * fixed;
        own_square += fixed * fixed;
      }
      own_ = input_.own.columns(row);
    }
    for (const std::int32_t label : products_.columns()) {
      const double product = products_[label];
      if (leaves_out && std::binary_search(own_.begin(), own_.end(), label))
        sums.add(label, view.centroids->cosine_without(label, product, own_product, own_square));
      else
        sums.add(label, view.centroids->cosine(label, product));
    }
    products_.clear();
  }

  void add_labels(std::int32_t row, double weight, SparseAccumulator& sums) {
    for (const std::int32_t label : input_.labels.columns(row)) sums.add(label, weight);
  }

  void choose(std::int64_t row, const CandidateCounts& counts) {
    if (counts.every_label) {
      for (std::int32_t label = 0; label < input_.n_labels(); ++label) mark(label, is_candidate);
      return;
    }
    std::size_t part = 0, last_centroids = scores_.size();
    for (const BlendView& view : input_.views) {
      for (std::size_t i = 0; i < view.vote_ks.size(); ++i) mark_best(part++, counts.votes);
      for (std::int64_t i = 0; i < view.n_ridges; ++i) mark_best(part++, counts.ridge);
      if (view.centroids == nullptr) continue;
      last_centroids = part;
      mark_best(part++, counts.centroids);
    }
    for (const auto& table : input_.tables)
      mark_best_of(table.subspan(row * input_.n_labels(), input_.n_labels()), counts.table);
    if (last_centroids < scores_.size() && counts.below > 0)
      mark_below(last_centroids, counts.below);
  }

  void mark(std::int32_t label, std::uint8_t as) {
    if (chosen_[label]) return;
    chosen_[label] = as;
    listed_.push_back(label);
  }

  // Only labels with a score above 0 are promising.
  void mark_best(std::size_t part, std::int64_t count) {
    const SparseAccumulator& scores = scores_[part];
    best_.clear();
    for (const std::int32_t label : scores.columns())
      if (scores[label] > 0.0) best_.push_back({-scores[label], label});
    mark_first(count, is_candidate);
  }

  void mark_best_of(std::span<const double> scores, std::int64_t count) {
    best_.clear();
    for (std::size_t label = 0; label < scores.size(); ++label)
      best_.push_back({-scores[label], static_cast<std::int32_t>(label)});
    mark_first(count, is_candidate);
  }

  void mark_below(std::size_t part, std::int64_t count) {
    const SparseAccumulator& scores = scores_[part];
    best_.clear();
    for (const std::int32_t label : scores.columns())
      if (scores[label] > 0.0 && !chosen_[label]) best_.push_back({-scores[label], label});
    mark_first(count, is_below);
    below_ = part;
  }

  void mark_first(std::int64_t count, std::uint8_t as) {
    const std::size_t n = std::min<std::size_t>(count, best_.size());
    if (n < best_.size()) std::nth_element(best_.begin(), best_.begin() + n, best_.end(), before);
    for (std::size_t i = 0; i < n; ++i) mark(best_[i].id, as);
  }

  void write(std::int64_t row, BlendCells& out) {
    measure(row);
    const std::int64_t n_columns = input_.n_columns();
    for (const std::int32_t label : listed_) {
      out.labels.push_back(label);
      const bool has_cell = chosen_[label] == is_candidate;
      out.cell.push_back(has_cell ? static_cast<std::int32_t>(out.cells.size() / n_columns) : -1);
      out.similarity.push_back(has_cell ? 0.0 : scores_[below_][label]);
      if (!has_cell) continue;
      for (std::size_t part = 0; part < scores_.size(); ++part) {
        const double score = value_of(part, row, label);
        out.cells.push_back(static_cast<float>(score));
        out.cells.push_back(static_cast<float>(score / bests_[part]));
      }
      out.cells.insert(out.cells.end(), of_row_.begin(), of_row_.end());
      out.cells.push_back(input_.prior[label]);
    }
  }

  double value_of(std::size_t part, std::int64_t row, std::int32_t label) const {
    const std::size_t sparse = scores_.size() - input_.tables.size();
    if (part < sparse) return scores_[part][label];
    return input_.tables[part - sparse][row * input_.n_labels() + label];
  }

  // The best score of each part, and the numbers that all cells of the row share.
  void measure(std::int64_t row) {
    bests_.assign(scores_.size(), least_best);
    const std::size_t sparse = scores_.size() - input_.tables.size();
    for (std::size_t part = 0; part < sparse; ++part)
      for (const std::int32_t label : scores_[part].columns())
        bests_[part] = std::max(bests_[part], scores_[part][label]);
    for (std::size_t t = 0; t < input_.tables.size(); ++t)
      for (std::int64_t label = 0; label < input_.n_labels(); ++label)
        bests_[sparse + t] =
            std::max(bests_[sparse + t], input_.tables[t][row * input_.n_labels() + label]);
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
  std::vector<SparseAccumulator> scores_;  // by part; those of tables stay empty
  SparseAccumulator products_;
  std::span<const std::int32_t> own_;
  std::vector<double> weights_, bests_;
  std::vector<Neighbor> best_;
  std::vector<float> of_row_;
  std::vector<std::uint8_t> chosen_;
  std::vector<std::int32_t> listed_;
  std::size_t below_ = 0;
};

}  // namespace blend_detail

inline BlendCells blend_cells(const BlendInput& input, const CandidateCounts& counts, int n_threads,
                              const InterruptCheck& interrupted = never_interrupted) {
  using blend_detail::RowCells, blend_detail::rows_per_task;
  const std::int64_t n_tasks = (input.n_rows + rows_per_task - 1) / rows_per_task;
  std::vector<BlendCells> made(n_tasks);
  std::vector<std::vector<RowCells>> workers(std::max(n_threads, 1));
  parallel_for(
      n_tasks, n_threads,
      [&](std::int64_t task, int worker) {
        if (workers[worker].empty()) workers[worker].emplace_back(input);
        BlendCells& out = made[task];
        const std::int64_t last = std::min(input.n_rows, (task + 1) * rows_per_task);
        for (std::int64_t row = task * rows_per_task; row < last; ++row) {
          workers[worker][0].make(row, counts, out);
          out.indptr.push_back(std::ssize(out.labels));
        }
      },
      interrupted);
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
