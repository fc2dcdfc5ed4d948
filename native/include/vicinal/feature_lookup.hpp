// A query's features by name, so that many rows can be compared with it one after the other.
//
// Walking two sorted lists side by side costs a step for each entry of both, each waiting for the
// one before. With the query in a small hash table a row costs one independent lookup an entry. The
// row's entries come in rising order, so sums are those of the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "vicinal/exact.hpp"

namespace vicinal {

class FeatureLookup {
 public:
  explicit FeatureLookup(const SparseRow<double>& query) {
    while ((std::size_t{1} << bits_) < 4 * query.size()) ++bits_;
    cells_.assign(std::size_t{1} << bits_, {none, 0.0});
    for (std::size_t i = 0; i < query.size(); ++i) {
      std::size_t at = start(query.columns[i]);
      while (cells_[at].feature != none) at = next(at);
      cells_[at] = {query.columns[i], query.values[i]};
    }
  }

  template <class Value>
  Dot dot(const SparseRow<Value>& row) const {
    Dot dot;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::int32_t feature = row.columns[i];
      std::size_t at = start(feature);
      while (cells_[at].feature != none && cells_[at].feature != feature) at = next(at);
      if (cells_[at].feature == none) continue;
      dot.value += cells_[at].value * static_cast<double>(row.values[i]);
      dot.shares_feature = true;
    }
    return dot;
  }

 private:
  static constexpr std::int32_t none = -1;
  struct Cell {
    std::int32_t feature;
    double value;
  };

  std::size_t start(std::int32_t feature) const {
    return (static_cast<std::uint32_t>(feature) * 2654435769u) >> (32 - bits_);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (cells_.size() - 1); }

  int bits_ = 4;
  std::vector<Cell> cells_;
};

}  // namespace vicinal
