// Label centroids: for each label the sum of the rows that have it.
//
// Sums are whole numbers (a value x counts as the nearest multiple of 2^-32), so that they do not
// depend on the order of rows, on threads, or on rows that came and went: centroids after any
// changes have the bits of centroids built afresh. An object never changes: a change returns
// another one, which shares the lists (centroid_lists.hpp) and tiles that are equal.
//
// The most frequent features have a number per label as well, which vector instructions add.
//
// Memory: that of the lists, 4 bytes per feature, 24 per label; 4 per label and frequent feature,
// of which there are at most 64.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "vicinal/blend/centroid_lists.hpp"
#include "vicinal/blend/dense_sums.hpp"
#include "vicinal/blend/feature_rows.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/wide.hpp"

namespace vicinal {

class LabelCentroids {
 public:
  static constexpr int scale_bits = 32;
  static constexpr double one = 4294967296.0;  // 2^scale_bits
  static constexpr std::int64_t tile = tile_labels;

  // Of a value of a row of length one.
  static std::int64_t fixed(double value) { return std::llround(std::ldexp(value, scale_bits)); }

  // Built from rows, each divided by its length. Besides the result, memory for `at_once` entries
  // of the rows, 12 bytes each.
  LabelCentroids(const CsrView<double>& rows, std::span<const double> lengths,
                 const PatternView& labels, int n_threads,
                 std::int64_t at_once = FeatureRows::usual_at_once,
                 const InterruptCheck& interrupted = never_interrupted)
      : LabelCentroids(rows.n_columns, labels.n_columns) {
    const auto counts = FeatureRows::counts(rows.indices, rows.n_columns);
    for (std::int64_t first = 0; first < n_features_;) {
      const std::int64_t last = FeatureRows::range_end(counts, first, at_once);
      for (CentroidBlock& block :
           blocks_of(rows, lengths, labels, counts, first, last, n_threads, interrupted))
        adopt(std::move(block));
      first = last;
    }
    finish();
  }

  // The same from blocks of all features, in order, that were built before and are sound.
  LabelCentroids(std::int64_t n_features, std::int64_t n_labels, std::vector<CentroidBlock> blocks)
      : LabelCentroids(n_features, n_labels) {
    for (CentroidBlock& block : blocks) adopt(std::move(block));
    finish();
  }

  // The rows that have each of some features, then feature by feature the sums of their labels.
  static std::vector<CentroidBlock> blocks_of(const CsrView<double>& rows,
                                              std::span<const double> lengths,
                                              const PatternView& labels,
                                              std::span<const std::int64_t> counts,
                                              std::int64_t first, std::int64_t last, int n_threads,
                                              const InterruptCheck& interrupted) {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    VICINAL_ASSERT(std::ssize(lengths) == rows.n_rows());
    FeatureRows by_feature(counts, first, last);
    by_feature.collect(
        {rows.indptr, rows.indices, rows.n_columns},
        [&](std::int64_t row, std::int64_t at) { return rows.values[at] / lengths[row]; }, true);
    const auto& start = by_feature.start;
    const auto bounds = by_feature.tasks(counts, entries_per_block);
    std::vector<CentroidBlock> made(bounds.size() - 1);
    std::vector<std::vector<std::int64_t>> sums(std::max(n_threads, 1));
    std::vector<std::vector<std::int32_t>> touched(std::max(n_threads, 1));
    parallel_for(
        std::ssize(made), n_threads,
        [&](std::int64_t number, int worker) {
          auto& total = sums[worker];
          auto& seen = touched[worker];
          total.resize(labels.n_columns, 0);
          GrowingBlock block;
          for (std::int64_t f = bounds[number]; f < bounds[number + 1]; ++f) {
            for (std::int64_t at = start[f - first]; at < start[f - first + 1]; ++at) {
              const std::int64_t value = fixed(by_feature.value_of[at]);
              if (value == 0) continue;
              for (const std::int32_t label : labels.columns(by_feature.row_of[at])) {
                if (total[label] == 0) seen.push_back(label);
                total[label] += value;
              }
            }
            drain(total, seen, block);
          }
          made[number] = GrowingBlock::shared(std::move(block), bounds[number]);
        },
        interrupted);
    return made;
  }

  std::int64_t n_labels() const { return n_labels_; }
  std::int64_t n_features() const { return n_features_; }
  // Of the fixed-point sums.
  double norm(std::int32_t label) const { return lengths_[label / tile]->norms[label % tile]; }
  // Those of the labels from `first` on, which begins a tile.
  const double* norms(std::int64_t first) const { return lengths_[first / tile]->norms.data(); }
  const std::vector<CentroidBlock>& blocks() const { return *blocks_; }

  std::int64_t bytes() const {
    std::int64_t total = n_labels_ * 24 + std::ssize(dense_) * 4 * n_labels_;
    for (const CentroidBlock& block : *blocks_) total += block.bytes();
    for (const auto& page : pages_)
      if (page)
        for (const auto& list : *page)
          if (list) total += list->bytes();
    return total;
  }

  // The same with rows added (`sign` 1) or taken out (-1), of which it must have been built;
  // `n_labels` may be larger than before.
  LabelCentroids changed(const CsrView<double>& rows, const PatternView& labels, int sign) const {
    VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
    VICINAL_ASSERT(rows.n_columns == n_features_ && labels.n_columns >= n_labels_);
    LabelCentroids result(*this);
    result.n_labels_ = labels.n_columns;
    result.add_tiles();
    std::set<std::int64_t> touched;
    for (const std::int32_t label : labels.indices) touched.insert(label / tile);
    for (const std::int64_t number : touched)
      result.lengths_[number] = std::make_shared<Lengths>(*result.lengths_[number]);
    const std::vector<Change> changes = changes_of(rows, labels, sign);
    std::int64_t own_page = -1;
    for (std::size_t first = 0; first < changes.size();) {
      std::size_t last = first;
      while (last < changes.size() && changes[last].feature == changes[first].feature) ++last;
      result.replace(changes[first].feature, std::span(changes).subspan(first, last - first),
                     own_page);
      first = last;
    }
    for (std::int64_t row = 0; row < rows.n_rows(); ++row)
      for (const std::int32_t label : labels.columns(row)) result.update_norm(label);
    return result;
  }

  // The list of a feature if it has been changed, else nothing.
  const CentroidList* changed_list(std::int32_t feature) const {
    const auto& page = pages_[feature / page_features];
    return page == nullptr ? nullptr : (*page)[feature % page_features].get();
  }

  // The sums of a frequent feature by tile, else nothing.
  const DenseTiles* dense(std::int32_t feature) const {
    const auto at = std::lower_bound(frequent_.begin(), frequent_.end(), feature);
    if (at == frequent_.end() || *at != feature) return nullptr;
    return dense_[at - frequent_.begin()].get();
  }

  // The list of a feature before any change.
  CentroidList built_list(std::int32_t feature) const {
    const auto block =
        std::upper_bound(blocks_->begin(), blocks_->end(), feature,
                         [](std::int32_t f, const CentroidBlock& each) { return f < each.first; });
    return CentroidList::of(*(block - 1), feature);
  }

  // The value of one feature in the sum of a label.
  std::int64_t sum(std::int32_t feature, std::int32_t label) const {
    const CentroidList* changed = changed_list(feature);
    return changed == nullptr ? built_list(feature).sum(label) : changed->sum(label);
  }

  // The cosine for a row of length one, from its product with the sum of a label.
  double cosine(std::int32_t label, double product) const {
    return norm(label) > 0.0 ? product / norm(label) : 0.0;
  }

  // The same for a row that is in the sum, as if it were not; 0 if nothing else is in it.
  double cosine_without(std::int32_t label, double product, double own_product,
                        double own_square) const {
    const double square = norm(label) * norm(label) - 2.0 * product * one + own_square;
    if (square <= own_square * least_share) return 0.0;
    return (product - own_product) / std::sqrt(square);
  }

 private:
  static constexpr std::int64_t entries_per_block = 1 << 18;
  // Sums whose square is below this share of a row's are nothing but roundings.
  static constexpr double least_share = 1e-9;

  static constexpr std::int64_t page_features = 64;
  using Page = std::array<std::shared_ptr<const CentroidList>, page_features>;

  // Of sums, for the labels of a tile. Others may share it: a change copies it first.
  struct Lengths {
    std::array<Wide, tile> squares{};
    std::array<double, tile> norms{};
  };

  struct Change {
    std::int32_t feature, label;
    std::int64_t by;
  };

  LabelCentroids(std::int64_t n_features, std::int64_t n_labels)
      : n_features_(n_features),
        n_labels_(n_labels),
        blocks_(std::make_shared<std::vector<CentroidBlock>>()),
        pages_((n_features + page_features - 1) / page_features) {
    add_tiles();
  }

  // Only while it is built: later, others share the blocks.
  void adopt(CentroidBlock&& block) {
    std::size_t wide = 0;
    for (std::size_t i = 0; i < block.labels.size(); ++i)
      square(block.labels[i]) +=
          Wide::square_of(block.sums[i] != 0 ? block.sums[i] : block.wide[wide++]);
    blocks_->push_back(std::move(block));
  }

  // Once all blocks are there.
  void finish() {
    for (std::int64_t label = 0; label < n_labels_; ++label) update_norm(label);
    std::vector<std::pair<std::int64_t, std::int32_t>> found;  // numbers of labels, below 0
    for (const CentroidBlock& block : *blocks_)
      for (std::int64_t f = 0; f < block.n_features(); ++f) {
        const std::int64_t size = block.starts[f + 1] - block.starts[f];
        if (size >= std::max(least_labels, n_labels_ / least_part))
          found.emplace_back(-size, static_cast<std::int32_t>(block.first + f));
      }
    std::sort(found.begin(), found.end());
    if (found.size() > most_frequent) found.resize(most_frequent);
    for (const auto& [size, feature] : found) frequent_.push_back(feature);
    std::sort(frequent_.begin(), frequent_.end());
    for (const std::int32_t feature : frequent_) dense_.push_back(tiles_of(built_list(feature)));
  }

  std::shared_ptr<const DenseTiles> tiles_of(const CentroidList& list) const {
    auto tiles = std::make_shared<DenseTiles>((n_labels_ + tile - 1) / tile);
    CentroidReader reader(list);
    for (std::size_t number = 0; number < tiles->size(); ++number) {
      const std::int64_t first = number * tile;
      auto sums = std::make_shared<DenseTile>();
      const auto end = static_cast<std::int32_t>(std::min(first + tile, n_labels_));
      reader.read_below(end, [&](std::int32_t label, double sum) {
        sums->set(static_cast<std::int32_t>(label - first), static_cast<std::int64_t>(sum));
      });
      (*tiles)[number] = std::move(sums);
    }
    return tiles;
  }

  // The same sums of a frequent feature, but those of some labels as a list says.
  static std::shared_ptr<const DenseTiles> changed_tiles(const DenseTiles& before,
                                                         const CentroidList& list,
                                                         std::span<const Change> changes) {
    auto tiles = std::make_shared<DenseTiles>(before);
    std::shared_ptr<DenseTile> copy;
    std::size_t number = tiles->size();
    for (const Change& each : changes) {
      const auto of_label = static_cast<std::size_t>(each.label / tile);
      if (copy == nullptr || of_label != number) {
        number = of_label;
        if (number >= tiles->size()) tiles->resize(number + 1);
        const auto& known = (*tiles)[number];
        copy = known ? std::make_shared<DenseTile>(*known) : std::make_shared<DenseTile>();
        (*tiles)[number] = copy;
      }
      copy->set(static_cast<std::int32_t>(each.label % tile), list.sum(each.label));
    }
    return tiles;
  }

  void add_tiles() {
    while (std::ssize(lengths_) * tile < n_labels_) lengths_.push_back(std::make_shared<Lengths>());
  }

  Wide& square(std::int64_t label) { return lengths_[label / tile]->squares[label % tile]; }

  void update_norm(std::int64_t label) {
    lengths_[label / tile]->norms[label % tile] = std::sqrt(square(label).as_double());
  }

  static std::vector<Change> changes_of(const CsrView<double>& rows, const PatternView& labels,
                                        int sign) {
    std::vector<Change> changes;
    for (std::int64_t row = 0; row < rows.n_rows(); ++row) {
      const auto features = rows.columns(row);
      const auto values = rows.row(row);
      for (std::size_t i = 0; i < features.size(); ++i)
        for (const std::int32_t label : labels.columns(row))
          changes.push_back({features[i], label, sign * fixed(values[i])});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.feature, a.label) < std::pair(b.feature, b.label);
    });
    return changes;
  }

  // Replace the list of one feature by one with these changes, sorted by label. All pages but
  // `own_page` may be those of other versions too.
  void replace(std::int32_t feature, std::span<const Change> changes, std::int64_t& own_page) {
    const CentroidList* known = changed_list(feature);
    auto list = std::make_shared<CentroidList>(known ? *known : built_list(feature));
    for (std::size_t i = 0; i < changes.size();) {
      const std::int32_t label = changes[i].label;
      std::int64_t by = 0;
      for (; i < changes.size() && changes[i].label == label; ++i) by += changes[i].by;
      change(*list, label, by);
    }
    const auto at = std::lower_bound(frequent_.begin(), frequent_.end(), feature);
    if (at != frequent_.end() && *at == feature) {
      auto& tiles = dense_[at - frequent_.begin()];
      tiles = changed_tiles(*tiles, *list, changes);
    }
    if (list->has_many_differences()) list = copied(*list);
    auto& page = pages_[feature / page_features];
    if (feature / page_features != own_page)
      page = page ? std::make_shared<Page>(*page) : std::make_shared<Page>();
    own_page = feature / page_features;
    (*page)[feature % page_features] = std::move(list);
  }

  void change(CentroidList& list, std::int32_t label, std::int64_t by) {
    auto& known = list.differences;
    auto at = std::lower_bound(
        known.begin(), known.end(), label,
        [](const CentroidList::Difference& each, std::int32_t l) { return each.label < l; });
    if (at == known.end() || at->label != label) {
      const std::int64_t listed = list.listed(label);
      at = known.insert(at, {label, listed != 0, listed});
    }
    square(label) -= Wide::square_of(at->sum);
    at->sum += by;
    square(label) += Wide::square_of(at->sum);
  }

  // The same list without differences, in memory of its own.
  static std::shared_ptr<CentroidList> copied(const CentroidList& list) {
    GrowingBlock block;
    CentroidReader reader(list);
    reader.read_below(
        std::numeric_limits<std::int32_t>::max(),
        [&](std::int32_t label, double sum) { block.add(label, static_cast<std::int64_t>(sum)); });
    block.end_list();
    const CentroidBlock kept = GrowingBlock::shared(std::move(block), 0);
    auto whole = std::make_shared<CentroidList>(CentroidList::of(kept, 0));
    whole->owner = kept.owner;
    return whole;
  }

  // A sum that returned to 0 may be seen twice, or be 0 in the end.
  static void drain(std::vector<std::int64_t>& total, std::vector<std::int32_t>& seen,
                    GrowingBlock& block) {
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int32_t label : seen) {
      block.add(label, total[label]);
      total[label] = 0;
    }
    seen.clear();
    block.end_list();
  }

  // A feature is frequent if its list has so many labels, and this part of all; only so many are.
  static constexpr std::int64_t least_labels = 256, least_part = 8;
  static constexpr std::size_t most_frequent = 64;

  std::int64_t n_features_ = 0, n_labels_ = 0;
  std::vector<std::int32_t> frequent_;                    // features, rising
  std::vector<std::shared_ptr<const DenseTiles>> dense_;  // of these
  std::shared_ptr<std::vector<CentroidBlock>> blocks_;
  std::vector<std::shared_ptr<Page>> pages_;       // of changed lists
  std::vector<std::shared_ptr<Lengths>> lengths_;  // of the labels of each tile
};

}  // namespace vicinal
