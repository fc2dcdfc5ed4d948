// The cosines of rows and label centroids, and the labels with the largest ones.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/blend/centroid_lists.hpp"
#include "vicinal/blend/dense_sums.hpp"
#include "vicinal/blend/label_centroids.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

// The best labels of a row; of equally good ones, the lower. They come in any order.
class BestLabels {
 public:
  void start(std::size_t count) {
    count_ = std::max<std::size_t>(count, 1);
    least_ = -std::numeric_limits<double>::infinity();
    labels_.clear();
  }

  // What a label must score at least to be one of them, so far.
  double least() const { return least_; }

  // Labels that may be among the best are kept until the next cut.
  void offer(std::int32_t label, double score) {
    if (score < least_) return;
    labels_.push_back({-score, label});
    if (labels_.size() >= 2 * count_ + 64) cut();
  }

  // Keep as many as asked for, at least one, in any order.
  void cut() {
    if (labels_.size() <= count_) return;
    std::nth_element(labels_.begin(), labels_.begin() + (count_ - 1), labels_.end(), before);
    labels_.resize(count_);
    least_ = -labels_.back().key;
  }

  // The same, best first.
  void sort() {
    cut();
    std::sort(labels_.begin(), labels_.end(), before);
  }

  // The negated scores and labels that are kept.
  const std::vector<Neighbor>& labels() const { return labels_; }

 private:
  std::size_t count_ = 1;
  double least_ = 0.0;
  std::vector<Neighbor> labels_;
};

// The cosines of some rows and all centroids: the best labels of each row, and any that are wanted.
//
// Labels are taken tile by tile, and in each tile row by row, so that what rows have in common is
// read from memory once. Products are added in the order of the features.
class CentroidCosines {
 public:
  explicit CentroidCosines(Simd simd) : simd_(simd) {}

  struct Row {
    std::span<const std::int32_t> features;
    std::span<const double> values;        // of length one
    std::span<const std::int32_t> own;     // labels of a training row that is left out
    std::span<const std::int32_t> wanted;  // labels, rising
    std::size_t count = 0;                 // of best labels
    bool is_left_out = false;
  };

  // `pause` is called between rows, and between the tiles of a row.
  template <class Pause>
  void compare(const LabelCentroids& centroids, std::span<const Row> rows, const Pause& pause) {
    centroids_ = &centroids;
    if (states_.size() < rows.size()) states_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      start(states_[i], rows[i]);
      pause();
    }
    for (;;) {
      std::int32_t label = no_label;
      for (std::size_t i = 0; i < rows.size(); ++i) label = std::min(label, states_[i].next);
      if (label == no_label) break;
      const std::int64_t first = label / LabelCentroids::tile * LabelCentroids::tile;
      const std::int64_t last = std::min(first + LabelCentroids::tile, centroids.n_labels());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (states_[i].next >= last) continue;
        visit(states_[i], first, last);
        pause();
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) finish(states_[i]);
  }

  // The best labels of a row with a cosine above 0, best first; of equally good ones, the lower.
  const std::vector<Neighbor>& best(std::size_t row) const { return states_[row].best.labels(); }

  double largest(std::size_t row) const {  // 0 if none is above it
    return best(row).empty() ? 0.0 : -best(row)[0].key;
  }

  double cosine(std::size_t row, std::int32_t label) const {
    const State& state = states_[row];
    const auto at = std::lower_bound(
        state.found.begin(), state.found.end(), label,
        [](const std::pair<std::int32_t, double>& each, std::int32_t l) { return each.first < l; });
    return at != state.found.end() && at->first == label ? at->second : computed(state, label);
  }

 private:
  static constexpr std::int32_t no_label = std::numeric_limits<std::int32_t>::max();

  // The sums of one feature, those of a frequent one or a list, and the next label they are of.
  struct Term {
    double value;
    const DenseTiles* dense;
    std::int32_t next;
    CentroidReader reader;
  };

  struct State {
    Row row;
    std::vector<CentroidList> lists;
    std::vector<Term> terms;
    std::int32_t next = no_label;  // label
    BestLabels best;
    std::vector<std::pair<std::int32_t, double>> found;  // cosines, rising by label
    std::size_t n_wanted = 0;                            // how many of those wanted were seen
    double own_product = 0.0, own_square = 0.0;
  };

  void start(State& state, const Row& row) const {
    state.row = row;
    state.lists.clear();
    state.terms.clear();
    state.lists.reserve(row.features.size());  // so that none of them moves
    state.next = no_label;
    for (std::size_t i = 0; i < row.features.size(); ++i) {
      if (const DenseTiles* dense = centroids_->dense(row.features[i])) {
        state.terms.push_back({row.values[i], dense, 0, CentroidReader(nothing_)});
        state.next = 0;
        continue;
      }
      const CentroidList* list = centroids_->changed_list(row.features[i]);
      if (list == nullptr)
        list = &state.lists.emplace_back(centroids_->built_list(row.features[i]));
      const CentroidReader reader(*list);
      state.terms.push_back({row.values[i], nullptr, reader.next(), reader});
      state.next = std::min(state.next, reader.next());
    }
    state.best.start(row.count);
    state.found.clear();
    state.n_wanted = 0;
    state.own_product = state.own_square = 0.0;
    if (!row.is_left_out) return;
    for (const double value : row.values) {
      const auto fixed = static_cast<double>(LabelCentroids::fixed(value));
      state.own_product += value * fixed;
      state.own_square += fixed * fixed;
    }
  }

  // The labels of one tile.
  void visit(State& state, std::int64_t first, std::int64_t last) {
    std::fill(products_.begin(), products_.end(), 0.0);
    double* products = products_.data() - first;
    state.next = no_label;
    const auto number = static_cast<std::size_t>(first / LabelCentroids::tile);
    std::array<const DenseTile*, tiles_at_once> tiles;
    std::array<double, tiles_at_once> values;
    std::size_t n_tiles = 0;
    const auto add_waiting = [&] {
      if (n_tiles > 0)
        add_tiles({tiles.data(), n_tiles}, {values.data(), n_tiles}, products_.data(), simd_);
      n_tiles = 0;
    };
    constexpr std::size_t ahead = 2;  // lists
    for (std::size_t i = 0; i < state.terms.size(); ++i) {
      Term& term = state.terms[i];
      if (i + ahead < state.terms.size() && state.terms[i + ahead].next < last)
        state.terms[i + ahead].reader.fetch();
      if (term.next < last && term.dense != nullptr) {
        if (const DenseTile* tile = (*term.dense)[number].get()) {
          tiles[n_tiles] = tile;
          values[n_tiles++] = term.value;
          if (n_tiles == tiles_at_once) add_waiting();
        }
        term.next = number + 1 < term.dense->size() ? end_of(first) : no_label;
      } else if (term.next < last) {
        add_waiting();
        term.reader.add_below(static_cast<std::int32_t>(last), term.value, products, simd_);
        term.next = term.reader.next();
      }
      state.next = std::min(state.next, term.next);
    }
    add_waiting();
    const auto& wanted = state.row.wanted;
    while (state.n_wanted < wanted.size() && wanted[state.n_wanted] < first) ++state.n_wanted;
    for (; state.n_wanted < wanted.size() && wanted[state.n_wanted] < last; ++state.n_wanted) {
      const std::int32_t label = wanted[state.n_wanted];
      state.found.emplace_back(label, from_product(state, label, products[label]));
    }
    for (const std::int32_t label : state.row.own)  // compared apart
      if (label >= first && label < last) {
        keep(state, label, from_product(state, label, products[label]));
        products[label] = 0.0;
      }
    const double* norms = centroids_->norms(first);
    constexpr std::int64_t step = dense_detail::step;
    for (std::int64_t at = 0; at < last - first; at += step) {
      const double bound = std::max(state.best.least(), 0.0) * nearly_one;
      at = first_above(products_.data(), norms, bound, at, simd_);
      for (std::int64_t i = at; i < std::min(at + step, last - first); ++i)
        if (products_[i] > bound * norms[i]) {
          const auto label = static_cast<std::int32_t>(first + i);
          keep(state, label, centroids_->cosine(label, products_[i]));
        }
    }
  }

  static std::int32_t end_of(std::int64_t first) {
    return static_cast<std::int32_t>(first + LabelCentroids::tile);
  }

  // Labels whose rows share nothing with the row have no place among the best.
  static void keep(State& state, std::int32_t label, double cosine) {
    if (cosine > 0.0) state.best.offer(label, cosine);
  }

  void finish(State& state) const {
    state.best.sort();
    for (const Neighbor& each : state.best.labels()) state.found.emplace_back(each.id, -each.key);
    std::sort(state.found.begin(), state.found.end());
  }

  double from_product(const State& state, std::int32_t label, double product) const {
    const auto& own = state.row.own;
    if (state.row.is_left_out && std::binary_search(own.begin(), own.end(), label))
      return centroids_->cosine_without(label, product, state.own_product, state.own_square);
    return centroids_->cosine(label, product);
  }

  // For a label that was not wanted.
  double computed(const State& state, std::int32_t label) const {
    if (label >= centroids_->n_labels()) return 0.0;
    double product = 0.0;
    bool shares = false;
    for (std::size_t i = 0; i < state.row.features.size(); ++i) {
      const std::int64_t sum = centroids_->sum(state.row.features[i], label);
      shares |= sum != 0;
      product += state.row.values[i] * static_cast<double>(sum);
    }
    return shares ? from_product(state, label, product) : 0.0;
  }

  static constexpr double nearly_one =
      1.0 - 1e-12;  // products are compared before they are divided
  Simd simd_;
  CentroidList nothing_;
  const LabelCentroids* centroids_ = nullptr;
  std::vector<State> states_;
  std::vector<double> products_ = std::vector<double>(LabelCentroids::tile, 0.0);
};

}  // namespace vicinal
