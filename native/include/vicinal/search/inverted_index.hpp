// Exact nearest rows of a sparse collection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/search/count_index.hpp"
#include "vicinal/search/impact_index.hpp"
#include "vicinal/search/query_batch.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

struct IndexOptions {
  Metric metric = Metric::cosine;
  std::int64_t block_rows = Blocks::largest;
  Simd simd = Simd::plain;
  bool patterns = true;  // count shared features where all values of each row are equal
  // Fewer weighted rows have lists only: columns save a fifth of a search of 1,000 rows and take
  // six times as long to build, and an index that learns row by row builds small segments often.
  std::int64_t fewest_for_columns = 1024;
};

template <class Value>
class InvertedIndex {
 public:
  InvertedIndex(const CsrView<Value>& rows, const IndexOptions& options)
      : rows_(rows), options_(options), pattern_(pattern_of(rows, options)) {
    const bool by_length = pattern_ != Pattern::none;
    order_ = order_rows(rows, by_length ? Layout::by_length : Layout::by_norm);
    if (by_length)
      counts_.emplace(rows, order_, options.block_rows, options.simd, pattern_ == Pattern::binary);
    else
      weighted();
  }

  // The index of the same rows, built with the same options, as store() wrote it. It refers to
  // `bytes`, which must outlive it. Throws ArchiveError where a search could not trust them.
  InvertedIndex(const CsrView<Value>& rows, const IndexOptions& options,
                std::span<const std::byte> bytes)
      : rows_(rows), options_(options), pattern_(Pattern::none) {
    ArchiveReader archive(bytes);
    Header found;
    archive(found);
    expect_stored(found.is_of(rows, options), "postings of these rows, built with these options");
    pattern_ = static_cast<Pattern>(found.pattern);
    archive(order_);
    order_.check(rows.n_rows());
    if (pattern_ != Pattern::none)
      counts_.emplace(rows, order_, options.block_rows, options.simd, pattern_ == Pattern::binary,
                      archive);
    else
      std::call_once(once_,
                     [&] { impacts_.emplace(rows.n_columns, order_, options.simd, archive); });
    archive.expect_end();
  }

  // Write what the constructor above reads: the scorer that was built first.
  void store(const ArchiveWriter::Sink& sink) const {
    ArchiveWriter archive(sink);
    archive(Header(rows_, options_, static_cast<std::int32_t>(pattern_)), order_);
    if (counts_)
      archive(*counts_);
    else
      archive(weighted());
  }

  InvertedIndex(const InvertedIndex&) = delete;  // the scorers refer to order_
  InvertedIndex& operator=(const InvertedIndex&) = delete;

  std::int64_t n_rows() const { return rows_.n_rows(); }
  std::int64_t n_features() const { return rows_.n_columns; }
  std::size_t bytes() const {
    return (counts_ ? counts_->bytes() : 0) + (impacts_ ? impacts_->bytes() : 0) +
           order_.norms.owned_bytes() + order_.ranked.owned_bytes();
  }

  // `excluded` holds one id (or -1) per query, or is empty. `removed` marks removed rows, or is
  // empty. Ids count from `first_id`.
  void search(const CsrView<double>& queries, std::span<const std::int32_t> excluded,
              std::span<const std::uint8_t> removed, std::int32_t first_id, const Answers& answers,
              const SearchOptions& options) const {
    VICINAL_ASSERT(queries.n_columns == rows_.n_columns);
    VICINAL_ASSERT(excluded.empty() || std::ssize(excluded) == queries.n_rows());
    VICINAL_ASSERT(removed.empty() || std::ssize(removed) == rows_.n_rows());
    VICINAL_ASSERT(std::ssize(answers.ids) == queries.n_rows() * answers.k);
    VICINAL_ASSERT(answers.keys.size() == answers.ids.size());
    const Collection<Value> collection{rows_, options_.metric, order_.norms, removed, first_id};
    const QueryBatch<Value> batch{queries, excluded, collection, answers, order_};
    std::vector<std::int64_t> by_count, by_weight;
    for (const std::int64_t query : batch.by_norm())
      (counts_ && fits_pattern(queries.row(query)) ? by_count : by_weight).push_back(query);
    std::vector<std::int64_t> uncertain;
    if (!by_count.empty()) uncertain = batch.search(*counts_, by_count, options);
    if (!by_weight.empty()) {
      const auto more = batch.search(weighted(), by_weight, options);
      uncertain.insert(uncertain.end(), more.begin(), more.end());
    }
    const bool by_features = impacts_ && options_.metric != Metric::euclidean;
    parallel_for(
        std::ssize(uncertain), options.n_threads,
        [&](std::int64_t task, int) {
          if (by_features)
            batch.compare_with_sharing(*impacts_, uncertain[task]);
          else
            batch.compare_with_all(uncertain[task]);
        },
        options.interrupted);
  }

 private:
  // Which values rows have: any; one value per row; all 1.
  enum class Pattern { none, constant_rows, binary };

  // What stored postings depend on, besides the entries of the rows.
  struct Header {
    static constexpr std::uint64_t first_bytes = 0x33'73'67'6e'74'73'6f'70;  // "postngs3"

    std::uint64_t kind = first_bytes;
    std::int64_t n_rows = 0, n_columns = 0, n_entries = 0, block_rows = 0;
    std::int32_t value_bytes = sizeof(Value), metric = 0, patterns = 0, pattern = 0;

    Header() = default;
    Header(const CsrView<Value>& rows, const IndexOptions& options, std::int32_t pattern)
        : n_rows(rows.n_rows()),
          n_columns(rows.n_columns),
          n_entries(std::ssize(rows.indices)),
          block_rows(options.block_rows),
          metric(static_cast<std::int32_t>(options.metric)),
          patterns(options.patterns),
          pattern(pattern) {}

    static void stored(auto& self, auto& archive) {
      archive(self.kind, self.n_rows, self.n_columns, self.n_entries, self.block_rows,
              self.value_bytes, self.metric, self.patterns, self.pattern);
    }

    bool is_of(const CsrView<Value>& rows, const IndexOptions& options) const {
      const Header wanted(rows, options, pattern);
      return kind == wanted.kind && n_rows == wanted.n_rows && n_columns == wanted.n_columns &&
             n_entries == wanted.n_entries && block_rows == wanted.block_rows &&
             value_bytes == wanted.value_bytes && metric == wanted.metric &&
             patterns == wanted.patterns && pattern >= 0 &&
             pattern <= static_cast<std::int32_t>(Pattern::binary);
    }
  };

  static Pattern pattern_of(const CsrView<Value>& rows, const IndexOptions& options) {
    if (!options.patterns) return Pattern::none;
    bool binary = true, constant = options.metric == Metric::cosine;
    for (std::int64_t i = 0; i < rows.n_rows() && (binary || constant); ++i) {
      binary = binary && is_binary(rows.row(i));
      constant = constant && is_pattern(rows.row(i));
    }
    return binary ? Pattern::binary : constant ? Pattern::constant_rows : Pattern::none;
  }

  bool fits_pattern(std::span<const double> query) const {
    return pattern_ == Pattern::binary ? is_binary(query) : is_pattern(query);
  }

  // Where rows are patterns, this is built when the first query that is not a pattern arrives.
  const ImpactIndex& weighted() const {
    std::call_once(once_, [this] {
      impacts_.emplace(rows_, order_, options_.metric, options_.block_rows, options_.simd,
                       options_.fewest_for_columns);
    });
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
