// Scores pairs of weighted rows by 16-bit sums with an error bound (see pair_scorer.hpp,
// impact.hpp).
//
// All queries have the same scale, so that a row's threshold on the sums holds for all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "vicinal/search/impact_index.hpp"
#include "vicinal/search/pair_scorer.hpp"
#include "vicinal/search/posting_cursors.hpp"

namespace vicinal {

class ImpactPairs {
 public:
  using Sum = std::int16_t;

  struct Query {
    std::int64_t position = 0;
    std::int64_t length = 0;
    double norm = 0.0;
    PostingCursors<true> lists;
    std::vector<ImpactColumn> columns;
  };

  template <class Value>
  ImpactPairs(const ImpactIndex& index, const CsrView<Value>& rows, Metric metric)
      : index_(&index),
        metric_(metric),
        tiles_(index.blocks_, cached_bytes / std::max<std::int64_t>(index.postings_.n_columns, 1)),
        scale_(impact_scale(index.longest_row_, index.longest_row_,
                            index.worst_error_ + index.list_error_)) {
    for (const std::int32_t id : index.order_->ranked) {
      lengths_.push_back(static_cast<std::int32_t>(rows.row_size(id)));
      norms_.push_back(index.order_->norms[id]);
    }
  }

  const Tiles& tiles() const { return tiles_; }

  std::int64_t n_queries() const { return scale_.usable ? index_->blocks_.n_rows : 0; }

  template <class Value>
  void prepare(Query& query, const SparseRow<Value>& row, std::int64_t position, std::int64_t from,
               std::int64_t to, PrepareScratch& scratch) const {
    query.position = position;
    query.length = static_cast<std::int64_t>(row.size());
    query.norm = norms_[position];
    query.lists.begin(from, to, scratch.loose);
    query.columns.clear();
    const Postings& postings = index_->postings_;
    find_slots(postings, row.columns, scratch.slots);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int64_t slot = scratch.slots[i];
      const Postings::Place& place = postings.places[slot];
      const std::int16_t weight =
          impact_weight(row.values[i] / query.norm, index_->peaks_[slot], scale_.unit);
      if (place.is_column())
        query.columns.push_back({place.shape * index_->tiles_.rows_per_block, weight});
      else
        query.lists.add(postings, place, weight, tiles_, scratch.loose);
    }
    query.lists.finish(tiles_, scratch.loose);
  }

  void enter_block(Query& query, const Tile& tile) const {
    query.lists.enter_block(index_->postings_, tiles_, tile);
  }

  void add_lists(Query& query, std::size_t tile, Sum* sums) const {
    query.lists.read(tiles_, tile, [=](std::int64_t row, std::int16_t value) {
      sums[row] = static_cast<Sum>(sums[row] + value);
    });
  }

  void add_columns(const Query& query, std::int64_t first, Sum* sums) const {
    index_->kernels_.add(sums, query.columns.data(), query.columns.size(),
                         index_->columns_.data() + index_->cell_of(first));
  }

  std::size_t find(const Query&, std::int64_t first, Sum* sums, std::int32_t threshold,
                   Candidate* out) const {
    return index_->kernels_.find(sums, in_block(first), threshold, out);
  }

  std::size_t take(const Query& query, std::int64_t first, Sum* sums, std::int32_t threshold,
                   const Sum* row_thresholds, Candidate* out) const {
    add_columns(query, first, sums);
    return index_->kernels_.take_rows(sums, in_block(first), threshold, row_thresholds, out);
  }

  QueryRange range_of(const Query& query) const {
    return {query.length, query.length, query.norm, query.norm,
            index_->column_norms_[query.position]};
  }

  std::int32_t query_threshold(const Query& query, double bound, std::int64_t first) const {
    const std::int64_t group = first / Blocks::group;
    const NormRange& norms = index_->group_norms_[group];
    const double cosine = least_cosine(metric_, bound, query.norm, norms.low, norms.high);
    const double error = index_->column_norms_[query.position] * index_->groups_[group].error +
                         rounding(query.length, index_->groups_[group].longest_row);
    return as_sum(cosine - error);
  }

  void row_thresholds(const QueryRange& range, const double* bounds, const Tile& tile,
                      Sum* thresholds) const {
    for (std::int64_t i = tile.begin; i < tile.end; ++i) {
      const double cosine =
          metric_ == Metric::cosine
              ? -bounds[i]
              : least_cosine(metric_, bounds[i], norms_[i], range.low_norm, range.high_norm);
      const double error =
          range.column_norm * index_->errors_[i] + rounding(range.longest, lengths_[i]);
      thresholds[i - tile.begin] = static_cast<Sum>(as_sum(cosine - error));
    }
  }

  KeyRange key_range(std::int64_t row, const PairSum& pair) const {
    const std::int64_t a = row, b = pair.position;
    const double cosine = pair.sum * inverse_unit_;
    const std::int64_t query = pair.other_was_query ? b : a;
    const double error = index_->column_norms_[query] * index_->errors_[query == a ? b : a] +
                         rounding(lengths_[a], lengths_[b]);
    if (metric_ == Metric::cosine) return {-cosine - error, error - cosine};
    return impact_keys(metric_, cosine, error, norms_[a], norms_[b], lengths_[a] + lengths_[b]);
  }

  // Sums of zero and less are never examined where only rows that share a feature are neighbours.
  bool certain(std::int64_t position, double worst) const {
    if (metric_ == Metric::euclidean) return true;
    const double norm = norms_[position];
    const double cosine = least_cosine(metric_, worst, norm, norms_.front(), norms_.back());
    const double error = index_->worst_error_ + rounding(lengths_[position], index_->longest_row_);
    return (cosine - error) * scale_.unit - 1.0 >= 1.0;
  }

 private:
  static constexpr std::int64_t cached_bytes = 1 << 19;

  std::int64_t in_block(std::int64_t position) const {
    return position % index_->blocks_.rows_per_block;
  }

  // The part of impact_error() that does not come from columns.
  double rounding(std::int64_t a, std::int64_t b) const {
    return index_->list_error_ + static_cast<double>(std::min(a, b)) * inverse_unit_ + 1e-9 +
           4e-16 * static_cast<double>(a + b);
  }

  // The smallest sum of a cosine; rounded down, because a threshold one too low does no harm.
  std::int32_t as_sum(double cosine) const {
    const double lowest = metric_ == Metric::euclidean ? -32767.0 : 1.0;
    return static_cast<std::int32_t>(
        std::min(std::max(cosine * scale_.unit - 1.0, lowest), 32767.0));
  }

  const ImpactIndex* index_;
  Metric metric_;
  Tiles tiles_;
  ImpactScale scale_;
  double inverse_unit_ = 1.0 / scale_.unit;
  std::vector<std::int32_t> lengths_;  // by position
  std::vector<double> norms_;          // by position
};

}  // namespace vicinal
