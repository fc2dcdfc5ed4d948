// Small random sparse matrices for the tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "vicinal/common/csr.hpp"

namespace vicinal::testing {

template <class Value>
struct OwnedRows {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<Value> values;
  std::int64_t n_columns;

  CsrView<Value> view() const { return {indptr, indices, values, n_columns}; }
};

// Each cell is filled with probability `fill` by one of `palette`; feature j is rarer the larger j.
template <class Value>
OwnedRows<Value> random_rows(std::int64_t n_rows, std::int64_t n_columns, double fill,
                             const std::vector<Value>& palette, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> chance;
  OwnedRows<Value> rows;
  rows.n_columns = n_columns;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    for (std::int64_t j = 0; j < n_columns; ++j) {
      if (chance(random) * (1.0 + static_cast<double>(j)) >= fill) continue;
      rows.indices.push_back(static_cast<std::int32_t>(j));
      rows.values.push_back(palette[random() % palette.size()]);
    }
    rows.indptr.push_back(static_cast<std::int64_t>(rows.indices.size()));
  }
  return rows;
}

}  // namespace vicinal::testing
