// How often each label occurs among a query's neighbours, for one k or for every k in turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

struct LabelCount {
  std::int32_t label;
  std::int32_t count;
};

// One row of (label, count) per query, labels rising, that grows with the number of neighbours.
class VoteTable {
 public:
  VoteTable(PatternView labels, std::span<const std::int32_t> ids, std::int64_t width)
      : labels_(labels), ids_(ids), width_(width), rows_(width > 0 ? ids.size() / width : 0) {
    VICINAL_ASSERT(width >= 0 && (width == 0 || std::ssize(ids) % width == 0));
    VICINAL_ASSERT(std::all_of(ids.begin(), ids.end(),
                               [&](std::int32_t id) { return id >= -1 && id < labels_.n_rows(); }));
  }

  // Add neighbours [from, to) of every query to the counts.
  void extend(std::int64_t from, std::int64_t to, int n_threads,
              const InterruptCheck& interrupted) {
    constexpr std::int64_t batch = 256;
    const auto n = static_cast<std::int64_t>(rows_.size());
    parallel_for((n + batch - 1) / batch, n_threads,
                 [&](std::int64_t task, int) {
                   std::vector<std::int32_t> fresh;
                   for (std::int64_t q = task * batch; q < std::min(n, (task + 1) * batch); ++q)
                     extend_query(q, from, to, fresh);
                 },
                 interrupted);
  }

  const std::vector<std::vector<LabelCount>>& rows() const { return rows_; }

 private:
  void extend_query(std::int64_t query, std::int64_t from, std::int64_t to,
                    std::vector<std::int32_t>& fresh) {
    fresh.clear();
    for (std::int64_t place = from; place < to; ++place) {
      const std::int32_t id = ids_[query * width_ + place];
      if (id < 0) break;
      const auto labels = labels_.columns(id);
      fresh.insert(fresh.end(), labels.begin(), labels.end());
    }
    if (fresh.empty()) return;
    std::sort(fresh.begin(), fresh.end());
    merge(rows_[query], fresh);
  }

  // Both sorted; `fresh` may hold a label more than once.
  static void merge(std::vector<LabelCount>& row, const std::vector<std::int32_t>& fresh) {
    std::vector<LabelCount> merged;
    merged.reserve(row.size() + fresh.size());
    std::size_t old = 0;
    for (const std::int32_t label : fresh) {
      while (old < row.size() && row[old].label < label) merged.push_back(row[old++]);
      if (old < row.size() && row[old].label == label) merged.push_back(row[old++]);
      if (!merged.empty() && merged.back().label == label)
        ++merged.back().count;
      else
        merged.push_back({label, 1});
    }
    merged.insert(merged.end(), row.begin() + old, row.end());
    row = std::move(merged);
  }

  PatternView labels_;
  std::span<const std::int32_t> ids_;
  std::int64_t width_;
  std::vector<std::vector<LabelCount>> rows_;
};

}  // namespace vicinal
