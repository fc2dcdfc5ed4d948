// Views of sparse matrices in compressed sparse row (CSR) form, in which all matrices reach the
// core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "vicinal/common/assert.hpp"

namespace vicinal {

// Whether these arrays describe a matrix: `indptr` starts at 0, never falls and ends at the number
// of entries; the column ids of a row rise without repeats and lie in [0, n_columns). Values are
// compared, never subtracted, so that no input can overflow. A matrix without rows may have an
// empty `indptr`.
inline bool is_csr(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                   std::int64_t n_columns) {
  if (indptr.empty()) return indices.empty();
  if (indptr.front() != 0 || indptr.back() != static_cast<std::int64_t>(indices.size()))
    return false;
  for (std::size_t i = 1; i < indptr.size(); ++i)
    if (indptr[i] < indptr[i - 1] || indptr[i] > indptr.back()) return false;
  for (std::size_t i = 1; i < indptr.size(); ++i) {
    std::int64_t previous = -1;
    for (std::int64_t at = indptr[i - 1]; at < indptr[i]; ++at) {
      if (indices[at] <= previous || indices[at] >= n_columns) return false;
      previous = indices[at];
    }
  }
  return true;
}

// Row i holds columns indices[indptr[i] .. indptr[i + 1]), in rising order and without repeats,
// and their values at the same positions.
template <class Value>
struct CsrView {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::span<const Value> values;
  std::int64_t n_columns = 0;

  CsrView() = default;
  CsrView(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
          std::span<const Value> values, std::int64_t n_columns)
      : indptr(indptr), indices(indices), values(values), n_columns(n_columns) {
    VICINAL_ASSERT(values.size() == indices.size());
    VICINAL_ASSERT(is_csr(indptr, indices, n_columns));
  }

  std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  std::int64_t row_size(std::int64_t i) const { return indptr[i + 1] - indptr[i]; }
  std::span<const std::int32_t> columns(std::int64_t i) const {
    return indices.subspan(indptr[i], row_size(i));
  }
  std::span<const Value> row(std::int64_t i) const {
    return values.subspan(indptr[i], row_size(i));
  }
};

// The same without values: a set of columns per row, such as the labels of each row.
struct PatternView {
  // For a caller that does not know how many columns there are.
  static constexpr std::int64_t unknown_columns = std::numeric_limits<std::int32_t>::max();

  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::int64_t n_columns = 0;

  PatternView() = default;
  PatternView(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
              std::int64_t n_columns)
      : indptr(indptr), indices(indices), n_columns(n_columns) {
    VICINAL_ASSERT(is_csr(indptr, indices, n_columns));
  }

  std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  std::span<const std::int32_t> columns(std::int64_t i) const {
    return indices.subspan(indptr[i], indptr[i + 1] - indptr[i]);
  }
};

}  // namespace vicinal
