// Gradient boosting of the log loss on columns that are divided into bins.
//
// Each model is trained on the cells outside one fold and stops by those inside. A tree grows from
// leaf to leaf, the best split first. Gradients are summed as whole numbers, so that splits depend
// neither on the order of the cells nor on the number of threads; the values of leaves are then
// summed in full precision, in the order of the cells.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/simd.hpp"

namespace vicinal {

inline constexpr int most_bins = 64;

struct BoostingSettings {
  int n_rounds = 200;
  int n_leaves = 15;
  int patience = 10;  // rounds without a lower loss after which a model is complete
  double rate = 0.1;
  double l2 = 1.0;
  double least_curvature = 1.0;  // sum of p (1 − p) that both sides of a split must have
};

// Cells in bins: bin b holds values above thresholds[b - 1] and up to thresholds[b].
struct BinnedCells {
  std::vector<std::uint8_t> bins;       // row-major, for the sums of all columns
  std::vector<std::uint8_t> by_column;  // column-major, for the division by one column
  std::int64_t n_columns = 0;

  std::int64_t size() const {
    return n_columns == 0 ? 0 : static_cast<std::int64_t>(bins.size()) / n_columns;
  }
  const std::uint8_t* operator[](std::int64_t cell) const { return bins.data() + cell * n_columns; }
  const std::uint8_t* column(std::int64_t at) const { return by_column.data() + at * size(); }
};

// `thresholds` has most_bins − 1 rising values for each column, infinities where it has fewer bins.
inline BinnedCells binned(std::span<const float> cells, std::span<const float> thresholds,
                          std::int64_t n_columns, int n_threads,
                          const InterruptCheck& interrupted = never_interrupted) {
  VICINAL_ASSERT(std::ssize(thresholds) == n_columns * (most_bins - 1));
  constexpr std::int64_t cells_per_task = 4096;
  BinnedCells found{std::vector<std::uint8_t>(cells.size()),
                    std::vector<std::uint8_t>(cells.size()), n_columns};
  const std::int64_t n_cells = found.size();
  parallel_for((n_cells + cells_per_task - 1) / cells_per_task, n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t last = std::min(n_cells, (task + 1) * cells_per_task);
                 for (std::int64_t column = 0; column < n_columns; ++column) {
                   const float* edge = thresholds.data() + column * (most_bins - 1);
                   for (std::int64_t cell = task * cells_per_task; cell < last; ++cell) {
                     const float value = cells[cell * n_columns + column];
                     int below = 0;  // thresholds below the value, by halving steps
                     for (int step = most_bins / 2; step > 0; step /= 2)
                       below += edge[below + step - 1] < value ? step : 0;
                     found.bins[cell * n_columns + column] = static_cast<std::uint8_t>(below);
                     found.by_column[column * n_cells + cell] = static_cast<std::uint8_t>(below);
                   }
                 }
               },
               interrupted);
  return found;
}

// The sums of gradients and curvatures as one whole number: curvatures in the low bits.
class PackedSums {
 public:
  // For sums of at most `n_cells` gradients in [-1, 1] and curvatures in [0, 1/4].
  explicit PackedSums(std::int64_t n_cells)
      : gradient_scale_(std::ldexp(1.0, 35 - n_bits(n_cells))),
        curvature_scale_(std::ldexp(1.0, 30 - n_bits(n_cells))) {}

  std::int64_t pack(double gradient, double curvature) const {
    return std::llrint(gradient * gradient_scale_) * (std::int64_t{1} << low_bits) +
           static_cast<std::int64_t>(curvature * curvature_scale_);
  }
  double gradient(std::int64_t packed) const {
    return static_cast<double>(packed >> low_bits) / gradient_scale_;
  }
  double curvature(std::int64_t packed) const {
    return static_cast<double>(packed & ((std::int64_t{1} << low_bits) - 1)) / curvature_scale_;
  }

 private:
  static constexpr int low_bits = 28;
  static int n_bits(std::int64_t n_cells) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_cells)));
  }
  double gradient_scale_, curvature_scale_;
};

// Nodes as in Trees, with a bin in place of a threshold; a leaf has column -1.
struct BinnedNode {
  std::int32_t column = -1;
  std::uint8_t bin = 0;
  std::int32_t left = 0, right = 0;
  double value = 0;
};
using BinnedTree = std::vector<BinnedNode>;

inline double to_probability(double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); }

// One model: the trees so far, the log-odds of the cells it learns from and is stopped by.
class BoostedModel {
 public:
  BoostedModel(const BinnedCells& cells, std::span<const std::uint8_t> is_true,
               std::span<const std::uint8_t> fold_of, std::uint8_t fold,
               const BoostingSettings& settings)
      : cells_(cells), is_true_(is_true), settings_(settings), sums_(cells.size()) {
    for (std::int64_t cell = 0; cell < cells.size(); ++cell)
      (fold_of[cell] == fold ? held_out_ : learned_).push_back(static_cast<std::int32_t>(cell));
    scratch_.resize(std::max(learned_.size(), held_out_.size()));
    double n_true = 0;
    for (const std::int32_t cell : learned_) n_true += is_true[cell];
    const double share =
        std::clamp(n_true / std::max<double>(1, std::ssize(learned_)), 1e-9, 1 - 1e-9);
    base_ = std::log(share / (1 - share));
    log_odds_.assign(cells.size(), base_);
    best_log_odds_.assign(held_out_.size(), base_);
    packed_.resize(cells.size());
    probability_.resize(cells.size());
    least_loss_ = held_out_loss();
  }

  bool is_complete() const { return is_complete_; }
  double base() const { return base_; }
  std::span<const BinnedTree> trees() const { return {trees_.data(), n_kept_}; }
  std::span<const std::int32_t> held_out() const { return held_out_; }
  // Of the cells held out, by the trees that are kept.
  std::span<const double> held_out_log_odds() const { return best_log_odds_; }

  // Add a tree; every few trees, look whether the loss of the cells held out still falls.
  void add_tree() {
    for (const std::int32_t cell : learned_) {
      probability_[cell] = to_probability(log_odds_[cell]);
      packed_[cell] = sums_.pack(probability_[cell] - is_true_[cell],
                                 probability_[cell] * (1 - probability_[cell]));
    }
    trees_.push_back(grown());
    const auto n_trees = static_cast<int>(trees_.size());
    const bool is_last = n_trees == settings_.n_rounds || trees_.back().size() == 1;
    if (n_trees % check_every != 0 && !is_last) return;
    const double loss = held_out_loss();
    if (loss < least_loss_) {
      least_loss_ = loss;
      n_kept_ = trees_.size();
      for (std::size_t place = 0; place < held_out_.size(); ++place)
        best_log_odds_[place] = log_odds_[held_out_[place]];
    }
    is_complete_ = is_last || n_trees - static_cast<int>(n_kept_) >= settings_.patience;
  }

 private:
  static constexpr int check_every = 5;
  using Histogram = std::vector<std::int64_t>;

  struct Range {
    std::int64_t first, last;

    std::int64_t size() const { return last - first; }
  };

  struct Leaf {
    Range learned, held_out;  // of the cells in the order of the leaves
    Histogram histogram;
    std::int64_t total;
    std::int32_t node;
    double gain = 0;
    std::int32_t column = -1;
    std::uint8_t bin = 0;
  };

  double held_out_loss() const {
    double loss = 0;
    for (const std::int32_t cell : held_out_) {
      const double odds = is_true_[cell] ? -log_odds_[cell] : log_odds_[cell];
      loss += odds > 0 ? odds + std::log1p(std::exp(-odds)) : std::log1p(std::exp(odds));
    }
    return loss;
  }

  Histogram histogram_of(Range range) const {
    const std::int64_t n_columns = cells_.n_columns;
    Histogram sums(n_columns * most_bins, 0);
    for (std::int64_t place = range.first; place < range.last; ++place) {
      const std::int32_t cell = learned_by_leaf_[place];
      const std::uint8_t* bins = cells_[cell];
      const std::int64_t packed = packed_[cell];
      std::int64_t* at = sums.data();
      for (std::int64_t column = 0; column < n_columns; ++column, at += most_bins)
        at[bins[column]] += packed;
    }
    return sums;
  }

  double score(std::int64_t packed) const {
    const double gradient = sums_.gradient(packed);
    return gradient * gradient / (sums_.curvature(packed) + settings_.l2);
  }

  void find_split(Leaf& leaf) const {
    const double whole = score(leaf.total);
    leaf.gain = 0;
    leaf.column = -1;
    for (std::int64_t column = 0; column < cells_.n_columns; ++column) {
      std::int64_t left = 0;
      for (int bin = 0; bin + 1 < most_bins; ++bin) {
        const std::int64_t here = leaf.histogram[column * most_bins + bin];
        if (here == 0) continue;
        left += here;
        const std::int64_t right = leaf.total - left;
        if (sums_.curvature(right) < settings_.least_curvature) break;
        if (sums_.curvature(left) < settings_.least_curvature) continue;
        const double gain = score(left) + score(right) - whole;
        if (gain > leaf.gain) {
          leaf.gain = gain;
          leaf.column = static_cast<std::int32_t>(column);
          leaf.bin = static_cast<std::uint8_t>(bin);
        }
      }
    }
  }

  // Cells of a leaf that go left come first; both sides keep their order. Without a branch, which
  // would be mispredicted for every other cell.
  std::int64_t divide(std::vector<std::int32_t>& by_leaf, Range range, const Leaf& leaf) {
    const std::uint8_t* bins = cells_.column(leaf.column);
    std::int64_t middle = range.first, n_right = 0;
    for (std::int64_t place = range.first; place < range.last; ++place) {
      const std::int32_t cell = by_leaf[place];
      const bool is_left = bins[cell] <= leaf.bin;
      by_leaf[middle] = cell;
      scratch_[n_right] = cell;
      middle += is_left;
      n_right += !is_left;
    }
    std::copy_n(scratch_.begin(), n_right, by_leaf.begin() + middle);
    return middle;
  }

  BinnedTree grown() {
    BinnedTree tree(1);
    std::vector<Leaf> leaves;
    leaves.reserve(settings_.n_leaves);
    learned_by_leaf_ = learned_;
    held_out_by_leaf_ = held_out_;
    const Range every{0, std::ssize(learned_)};
    leaves.push_back({every, {0, std::ssize(held_out_)}, histogram_of(every), 0, 0});
    for (int bin = 0; bin < most_bins && cells_.n_columns > 0; ++bin)
      leaves[0].total += leaves[0].histogram[bin];
    find_split(leaves[0]);
    while (std::ssize(leaves) < settings_.n_leaves) {
      const auto best =
          std::max_element(leaves.begin(), leaves.end(),
                           [](const Leaf& a, const Leaf& b) { return a.gain < b.gain; });
      if (best->column < 0) break;
      split(*best, leaves, tree);
    }
    for (const Leaf& leaf : leaves) close(leaf, tree);
    return tree;
  }

  void split(Leaf& parent, std::vector<Leaf>& leaves, BinnedTree& tree) {
    const std::int64_t middle = divide(learned_by_leaf_, parent.learned, parent);
    const std::int64_t middle_out = divide(held_out_by_leaf_, parent.held_out, parent);
    const auto left_node = static_cast<std::int32_t>(tree.size());
    tree[parent.node] = {parent.column, parent.bin, left_node, left_node + 1, 0};
    tree.resize(tree.size() + 2);
    Leaf right{
        {middle, parent.learned.last}, {middle_out, parent.held_out.last}, {}, 0, left_node + 1};
    parent.learned.last = middle;
    parent.held_out.last = middle_out;
    std::int64_t left_total = 0;
    for (int bin = 0; bin <= parent.bin; ++bin)
      left_total += parent.histogram[parent.column * most_bins + bin];
    right.total = parent.total - left_total;
    const bool left_is_smaller = parent.learned.size() <= right.learned.size();
    Histogram smaller = histogram_of(left_is_smaller ? parent.learned : right.learned);
    for (std::size_t at = 0; at < smaller.size(); ++at) parent.histogram[at] -= smaller[at];
    right.histogram = std::move(left_is_smaller ? parent.histogram : smaller);
    if (left_is_smaller) parent.histogram = std::move(smaller);
    parent.total = left_total;
    parent.node = left_node;
    find_split(parent);
    find_split(right);
    leaves.push_back(std::move(right));  // last: it may move the leaf `parent` refers to
  }

  void close(const Leaf& leaf, BinnedTree& tree) {
    double gradient = 0, curvature = 0;
    for (std::int64_t place = leaf.learned.first; place < leaf.learned.last; ++place) {
      const std::int32_t cell = learned_by_leaf_[place];
      const double p = probability_[cell];
      gradient += p - is_true_[cell];
      curvature += p * (1 - p);
    }
    const double value = -settings_.rate * gradient / (curvature + settings_.l2);
    tree[leaf.node].value = value;
    for (std::int64_t place = leaf.learned.first; place < leaf.learned.last; ++place)
      log_odds_[learned_by_leaf_[place]] += value;
    for (std::int64_t place = leaf.held_out.first; place < leaf.held_out.last; ++place)
      log_odds_[held_out_by_leaf_[place]] += value;
  }

  const BinnedCells& cells_;
  std::span<const std::uint8_t> is_true_;
  BoostingSettings settings_;
  PackedSums sums_;
  std::vector<std::int32_t> learned_, held_out_;  // cells, rising
  std::vector<std::int32_t> learned_by_leaf_, held_out_by_leaf_, scratch_;
  std::vector<double> log_odds_, probability_, best_log_odds_;
  std::vector<std::int64_t> packed_;
  std::vector<BinnedTree> trees_;
  std::size_t n_kept_ = 0;
  double base_ = 0, least_loss_ = std::numeric_limits<double>::infinity();
  bool is_complete_ = false;
};

// Train one model per fold of every division; models take turns, a tree at a time.
inline std::vector<BoostedModel> boosted_models(
    const BinnedCells& cells, std::span<const std::uint8_t> is_true,
    std::span<const std::uint8_t> folds, int n_folds, const BoostingSettings& settings,
    int n_threads, const InterruptCheck& interrupted = never_interrupted) {
  const std::int64_t n_cells = cells.size();
  std::vector<BoostedModel> models;
  for (std::int64_t at = 0; n_cells > 0 && at < std::ssize(folds); at += n_cells)
    for (int fold = 0; fold < n_folds; ++fold)
      models.emplace_back(cells, is_true, folds.subspan(at, n_cells),
                          static_cast<std::uint8_t>(fold), settings);
  // A tree is a task, so that two threads share three models evenly. A thread whose model is still
  // busy with its last tree waits, which is rare: every other model has had its turn in between.
  const std::int64_t n_models = std::ssize(models);
  std::vector<std::mutex> busy(models.size());
  parallel_for(
      settings.n_rounds * n_models, static_cast<int>(std::min<std::int64_t>(n_threads, n_models)),
      [&](std::int64_t task, int) {
        BoostedModel& model = models[task % n_models];
        std::lock_guard lock(busy[task % n_models]);
        if (!model.is_complete()) model.add_tree();
      },
      interrupted);
  return models;
}

// Sums of decision trees: what gradient boosting has learned, evaluated.

// Nodes of all trees one after the other. A node sends a row with row[feature] <= threshold to
// `left`, any other to `right`; both lie behind the node. A leaf has feature -1 and its value in
// `threshold`.
struct Trees {
  std::span<const std::int32_t> feature;
  std::span<const double> threshold;
  std::span<const std::int32_t> left;
  std::span<const std::int32_t> right;
  std::span<const std::int32_t> roots;
};

namespace trees_detail {

// A leaf leads to itself, so that rows may go on without a look at whether they have arrived.
struct Node {
  float threshold = 0;
  std::int32_t feature = 0;
  std::array<std::int32_t, 2> next;  // for values up to the threshold, for others
};

// A value of a row is in single precision: it is at most the threshold exactly if it is at most the
// largest number of single precision that is not above the threshold.
inline float rounded_down(double threshold) {
  const auto rounded = static_cast<float>(threshold);
  return static_cast<double>(rounded) > threshold
             ? std::nextafter(rounded, -std::numeric_limits<float>::infinity())
             : rounded;
}

inline constexpr std::size_t rows_at_once = 8;

// Add the leaves that some rows reach in one tree. The rows go down together and without branches,
// so that the processor waits for several nodes at a time.
inline void add_leaves(const Node* nodes, const double* leaves, std::int32_t root,
                       const float* cells, std::int64_t n_columns, std::int64_t n_rows,
                       double* sums) {
  std::array<std::int32_t, rows_at_once> at;
  at.fill(root);
  std::array<const float*, rows_at_once> rows;
  for (std::size_t i = 0; i < rows_at_once; ++i)
    rows[i] = cells + std::min<std::int64_t>(i, n_rows - 1) * n_columns;
  for (std::int32_t moved = 1; moved != 0;) {
    moved = 0;
    VICINAL_UNROLL
    for (std::size_t i = 0; i < rows_at_once; ++i) {
      const Node& node = nodes[at[i]];
      const std::int32_t next = node.next[!(rows[i][node.feature] <= node.threshold)];
      moved |= next ^ at[i];
      at[i] = next;
    }
  }
  for (std::int64_t row = 0; row < n_rows; ++row) sums[row] += leaves[at[row]];
}

}  // namespace trees_detail

// The sum of the leaves that each row of a row-major matrix reaches, added tree by tree.
inline std::vector<double> tree_sums(const Trees& trees, std::span<const float> cells,
                                     std::int64_t n_columns, int n_threads,
                                     const InterruptCheck& interrupted = never_interrupted) {
  constexpr std::int64_t step = trees_detail::rows_at_once;
  constexpr std::int64_t rows_per_task = 256;  // the cells of a task stay in the cache
  const std::int64_t n_rows =
      n_columns == 0 ? 0 : static_cast<std::int64_t>(cells.size()) / n_columns;
  std::vector<trees_detail::Node> nodes(trees.feature.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto self = static_cast<std::int32_t>(node);
    if (trees.feature[node] < 0)
      nodes[node].next = {self, self};
    else
      nodes[node] = {trees_detail::rounded_down(trees.threshold[node]),
                     trees.feature[node],
                     {trees.left[node], trees.right[node]}};
  }
  std::vector<double> sums(n_rows, 0.0);
  parallel_for((n_rows + rows_per_task - 1) / rows_per_task, n_threads,
               [&](std::int64_t task, int) {
                 const std::int64_t last = std::min(n_rows, (task + 1) * rows_per_task);
                 for (const std::int32_t root : trees.roots)
                   for (std::int64_t row = task * rows_per_task; row < last; row += step)
                     trees_detail::add_leaves(nodes.data(), trees.threshold.data(), root,
                                              cells.data() + row * n_columns, n_columns,
                                              std::min(step, last - row), sums.data() + row);
               },
               interrupted);
  return sums;
}

}  // namespace vicinal
