// Lists of weighted rows: the values of common and rare features as 16-bit numbers beside the row
// numbers (impact_kernels.hpp), and the sums of a query's lists.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/search/impact_kernels.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/search/row_order.hpp"

namespace vicinal {

// Those of a query's features, on their way through the blocks from the last to the first.
struct QueryLists {
  struct Term {
    const Postings::Place* place;
    std::int16_t weight;
    std::int64_t end = 0;  // of the entries of a rare list in the next block
  };
  std::vector<Term> terms = {};
  std::int64_t next_block = -1;  // for which `end` holds
};

class ImpactLists {
 public:
  Postings postings;   // with the columns of frequent features
  Array<float> peaks;  // by feature: largest |value| of rows scaled to length one
  double error = 0.0;  // D_L
  std::int64_t longest_row = 0;
  bool has_negative = false;  // whether a value in a list is

  std::size_t owned_bytes() const { return postings.bytes() + peaks.owned_bytes(); }

  // Refuse stored lists that a search of `blocks` could not read.
  void check(std::int64_t n_features, const Blocks& blocks) {
    postings.check(n_features, blocks, true);
    expect_stored(std::ssize(peaks) == postings.features.size(), "a peak for every feature");
  }

  // Begin with the features of rows, their largest values and the length of the longest row; return
  // how many rows have each.
  template <class Value>
  std::vector<std::uint32_t> count(const CsrView<Value>& rows, const RowOrder& order) {
    postings.features = FeatureTable(distinct(rows.indices, rows.n_columns), rows.n_columns);
    std::vector<std::uint32_t> counts(postings.features.size(), 0);
    peaks.assign(postings.features.size(), 0.0f);
    for (const std::int32_t id : order.ranked) {
      const auto row = row_of(rows, id);
      longest_row = std::max<std::int64_t>(longest_row, row.size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::int64_t slot = postings.features.find(row.columns[i]);
        ++counts[slot];
        const auto size = static_cast<float>(std::abs(row.values[i] / order.norms[id]));
        if (size >= peaks[slot])
          peaks.edit(slot) = std::nextafter(size, std::numeric_limits<float>::infinity());
      }
    }
    return counts;
  }

  // Append a value of a row of length one; return what it is stored as.
  double append(std::int64_t slot, std::int64_t position, const Blocks& blocks, double value) {
    const std::int16_t payload = list_payload(value, peaks[slot]);
    has_negative |= value < 0.0;
    postings.append(slot, position, blocks, payload,
                    [](std::int64_t, std::int64_t, std::int64_t, std::int16_t) {});
    return payload * static_cast<double>(peaks[slot]) / list_units;
  }

  struct WeightedSpan {
    PostingSpan<std::uint16_t> span;
    std::int16_t weight;
  };

  // Add the lists of a block to the sums of its rows. `spans` is working memory.
  void add(std::int64_t block, const Blocks& blocks, QueryLists& query,
           std::vector<WeightedSpan>& spans, std::int16_t* sums) const {
    const std::int64_t begin = blocks.begin(block), size = blocks.size(block);
    spans.clear();
    for (auto& [place, weight, end] : query.terms) {
      if (place->is_rare()) {
        const auto span = postings.rare(*place);
        if (query.next_block != block)
          end = std::lower_bound(span.ids, span.ids + span.size, begin + size) - span.ids;
        for (; end > 0 && span.ids[end - 1] >= begin; --end)
          sums[span.ids[end - 1] - begin] += list_impact(span.weights[end - 1], weight);
      } else {
        const auto span = postings.common(*place, block);
        if (span.size == 0) continue;
        spans.push_back({span, weight});
        prefetch(span.ids);
        prefetch(span.weights);
      }
    }
    query.next_block = block - 1;
    for (const auto [span, weight] : spans)  // copied: a write to a sum cannot change them
      for (std::int64_t i = 0; i < span.size; ++i)
        sums[span.ids[i]] += list_impact(span.weights[i], weight);
  }

  // Add the lists of all blocks, to sums by position.
  void add_all(const Blocks& blocks, const QueryLists& query, std::int16_t* sums) const {
    for (const auto [place, weight, next] : query.terms) {  // copied, for the same reason
      if (!place->is_rare()) continue;
      const auto span = postings.rare(*place);
      for (std::int64_t i = 0; i < span.size; ++i)
        sums[span.ids[i]] += list_impact(span.weights[i], weight);
    }
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      std::int16_t* const first = sums + blocks.begin(block);
      for (const auto [place, weight, end] : query.terms) {
        if (place->is_rare()) continue;
        const auto span = postings.common(*place, block);
        for (std::int64_t i = 0; i < span.size; ++i)
          first[span.ids[i]] += list_impact(span.weights[i], weight);
      }
    }
  }

  // Call visit(position) for the rows that have a feature with a list.
  template <class Visit>
  void visit_rows(const Postings::Place& place, const Blocks& blocks, const Visit& visit) const {
    if (place.is_rare()) {
      const auto span = postings.rare(place);
      for (std::int64_t i = 0; i < span.size; ++i) visit(span.ids[i]);
      return;
    }
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      const auto span = postings.common(place, block);
      for (std::int64_t i = 0; i < span.size; ++i) visit(blocks.begin(block) + span.ids[i]);
    }
  }
};

}  // namespace vicinal
