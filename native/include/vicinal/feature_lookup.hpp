// A query's features by name, so that many rows can be compared with it one after the other.
//
// Walking two sorted lists side by side costs a step for each entry of both, each waiting for the
// one before, and whether the next entries match is a coin the processor cannot guess. Here most
// entries are passed over by a look at a small table, without a branch. For the others the query is
// put in buckets of two by a hash that was chosen so that no bucket overflows: two comparisons.
// Products are added in rising order, so sums are those of the definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/exact.hpp"

namespace vicinal {

class FeatureLookup {
 public:
  explicit FeatureLookup(const SparseRow<double>& query) {
    while ((std::size_t{1} << bits_) < 4 * query.size()) ++bits_;
    for (int attempt = 0; !fill(query); ++attempt) {
      factor_ = factor_ * 747796405u + 2891336454u * 2;  // stays odd
      if (attempt % 4 == 3) ++bits_;
    }
    mark(query);
  }

  template <class Value>
  Dot dot(const SparseRow<Value>& row) const {
    thread_local std::vector<std::uint32_t> entries;
    if (entries.size() <= row.size()) entries.resize(2 * row.size() + 1);
    const std::size_t count = find(row.columns, entries.data());
    Dot dot;
    for (std::size_t e = 0; e < count; ++e) {
      const std::uint32_t entry = entries[e];
      const std::int32_t feature = row.columns[entry];
      const Bucket& bucket = buckets_[place(feature)];
      const bool second = bucket.feature[1] == feature;
      const bool there = second | (bucket.feature[0] == feature);
      // A feature that is not there adds zero, which changes no sum.
      const double query_value = there ? bucket.value[second] : 0.0;
      dot.value += query_value * static_cast<double>(row.values[entry]);
      dot.shares_feature |= there;
    }
    return dot;
  }

 private:
  static constexpr std::int32_t none = -1;
  struct Bucket {
    std::int32_t feature[2] = {none, none};
    double value[2] = {0.0, 0.0};
  };

  // Write the places of entries that may be the query's, and return how many.
  std::size_t find(std::span<const std::int32_t> columns, std::uint32_t* __restrict out) const {
    const std::uint8_t* const marks = marks_.data();
    const auto mask = static_cast<std::uint32_t>(marks_.size() - 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out[count] = static_cast<std::uint32_t>(i);
      count += marks[static_cast<std::uint32_t>(columns[i]) & mask];
    }
    return count;
  }

  std::size_t place(std::int32_t feature) const {
    return (static_cast<std::uint32_t>(feature) * factor_) >> (32 - bits_);
  }

  bool fill(const SparseRow<double>& query) {
    buckets_.assign(std::size_t{1} << bits_, {});
    for (std::size_t i = 0; i < query.size(); ++i) {
      Bucket& bucket = buckets_[place(query.columns[i])];
      const int at = bucket.feature[0] != none;
      if (bucket.feature[at] != none) return false;
      bucket.feature[at] = query.columns[i];
      bucket.value[at] = query.values[i];
    }
    return true;
  }

  // Marks by a feature's low bits: enough that few others meet one, few enough for the cache.
  void mark(const SparseRow<double>& query) {
    std::size_t size = 1024;
    while (size < 32 * query.size() && size < 16384) size *= 2;
    marks_.assign(size, 0);
    for (const std::int32_t feature : query.columns)
      marks_[static_cast<std::uint32_t>(feature) & (size - 1)] = 1;
  }

  std::vector<std::uint8_t> marks_;  // 1 where a feature of the query may be
  int bits_ = 4;
  std::uint32_t factor_ = 2654435769u;
  std::vector<Bucket> buckets_;
};

}  // namespace vicinal
