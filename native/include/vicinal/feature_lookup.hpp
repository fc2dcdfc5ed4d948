// A query's features by name, so that many rows can be compared with it one after the other.
//
// Walking two sorted lists side by side costs a step for each entry of both, each waiting for the
// one before, and whether the next entries match is a coin the processor cannot guess. Here the
// query is put in buckets of two by a hash that was chosen so that no bucket overflows: a row's
// entry is looked up by two comparisons and no branch. Matches are then multiplied in rising order,
// so sums are those of the definition.
#pragma once

#include <cstdint>
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
  }

  template <class Value>
  Dot dot(const SparseRow<Value>& row) const {
    thread_local std::vector<Match> matches;
    if (matches.size() <= row.size()) matches.resize(2 * row.size() + 1);
    Match* const found = matches.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int32_t feature = row.columns[i];
      const Bucket& bucket = buckets_[place(feature)];
      const bool second = bucket.feature[1] == feature;
      found[count] = {&bucket.value[second], i};
      count += second | (bucket.feature[0] == feature);
    }
    Dot dot{0.0, count > 0};
    for (std::size_t m = 0; m < count; ++m)
      dot.value += *found[m].query_value * static_cast<double>(row.values[found[m].entry]);
    return dot;
  }

 private:
  static constexpr std::int32_t none = -1;
  struct Bucket {
    std::int32_t feature[2] = {none, none};
    double value[2] = {0.0, 0.0};
  };
  struct Match {
    const double* query_value;
    std::size_t entry;
  };

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

  int bits_ = 4;
  std::uint32_t factor_ = 2654435769u;
  std::vector<Bucket> buckets_;
};

}  // namespace vicinal
