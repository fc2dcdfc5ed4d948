// Exact nearest rows of a sparse collection: queries in, sorted candidates out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "vicinal/count_index.hpp"
#include "vicinal/impact_index.hpp"
#include "vicinal/parallel.hpp"
#include "vicinal/query_batch.hpp"
#include "vicinal/row_order.hpp"

namespace vicinal {

struct IndexOptions {
  Metric metric = Metric::cosine;
  std::int64_t block_rows = Blocks::largest;
  Simd simd = Simd::plain;
  bool patterns = true;  // take the binary road where the rows allow it
};

template <class Value>
class InvertedIndex {
 public:
  InvertedIndex(const CsrView<Value>& rows, const IndexOptions& options)
      : rows_(rows), options_(options), pattern_(pattern_of(rows, options)) {
    const bool by_length = pattern_ != Pattern::none;
    order_ = order_rows(rows, by_length ? Layout::by_length : Layout::by_norm);
    if (by_length)
      counts_.emplace(rows, order_, options.block_rows, options.simd, pattern_ == Pattern::ones);
    else
      weighted();
  }
  InvertedIndex(const InvertedIndex&) = delete;  // the roads point into order_
  InvertedIndex& operator=(const InvertedIndex&) = delete;

  std::int64_t n_rows() const { return rows_.n_rows(); }
  std::int64_t n_features() const { return rows_.n_columns; }
  std::size_t bytes() const {
    return (counts_ ? counts_->bytes() : 0) + (impacts_ ? impacts_->bytes() : 0) +
           8 * order_.norms.size() + 4 * order_.ranked.size();
  }

  // `excluded` holds an id (or -1) for each query, or nothing. `removed` marks rows that are no
  // longer there, or is empty. Ids count from `first_id`.
  void search(const CsrView<double>& queries, std::span<const std::int32_t> excluded,
              std::span<const std::uint8_t> removed, std::int32_t first_id, const Answers& answers,
              const SearchOptions& options) const {
    const Collection<Value> collection{rows_, options_.metric, order_.norms, removed, first_id};
    const QueryBatch<Value> batch{queries, excluded, collection, answers, order_};
    std::vector<std::int64_t> by_count, by_weight;
    for (const std::int64_t query : batch.by_norm())
      (counts_ && fits_pattern(queries.row(query)) ? by_count : by_weight).push_back(query);
    std::vector<std::int64_t> left;
    if (!by_count.empty()) left = batch.along(*counts_, by_count, options);
    if (!by_weight.empty()) {
      const auto more = batch.along(weighted(), by_weight, options);
      left.insert(left.end(), more.begin(), more.end());
    }
    parallel_for(
        static_cast<std::int64_t>(left.size()), options.n_threads,
        [&](std::int64_t task, int) { batch.compare_with_all(left[task]); }, options.interrupted);
  }

 private:
  enum class Pattern { none, constant_rows, ones };

  static Pattern pattern_of(const CsrView<Value>& rows, const IndexOptions& options) {
    if (!options.patterns) return Pattern::none;
    bool ones = true, constant = options.metric == Metric::cosine;
    for (std::int64_t i = 0; i < rows.n_rows() && (ones || constant); ++i) {
      ones = ones && is_unit(rows.row(i));
      constant = constant && is_pattern(rows.row(i));
    }
    return ones ? Pattern::ones : constant ? Pattern::constant_rows : Pattern::none;
  }

  bool fits_pattern(std::span<const double> query) const {
    return pattern_ == Pattern::ones ? is_unit(query) : is_pattern(query);
  }

  // Built when first needed where rows are patterns: only a query that is none asks for it.
  const ImpactIndex& weighted() const {
    std::call_once(once_,
                   [this] { impacts_.emplace(rows_, order_, options_.block_rows, options_.simd); });
    return *impacts_;
  }

  CsrView<Value> rows_;
  IndexOptions options_;
  Pattern pattern_;
  RowOrder order_;
  std::optional<CountIndex> counts_;
  mutable std::once_flag once_;
  mutable std::optional<ImpactIndex> impacts_;
};

}  // namespace vicinal
