// A view of a sparse matrix in compressed rows: the one shape in which matrices reach the core.
#pragma once

#include <cstdint>
#include <span>

namespace vicinal {

// Row i holds columns indices[indptr[i] .. indptr[i + 1]), in rising order and without repeats,
// with their values beside them. The Python side has checked all of this; the core relies on it.
template <class Value>
struct CsrView {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::span<const Value> values;
  std::int64_t n_columns = 0;

  std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  std::int64_t row_size(std::int64_t i) const { return indptr[i + 1] - indptr[i]; }
  std::span<const std::int32_t> columns(std::int64_t i) const {
    return indices.subspan(indptr[i], row_size(i));
  }
  std::span<const Value> row(std::int64_t i) const {
    return values.subspan(indptr[i], row_size(i));
  }
};

// The same without values: a set of columns per row, as in a label indicator.
struct PatternView {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> indices;
  std::int64_t n_columns = 0;

  std::int64_t n_rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  std::span<const std::int32_t> columns(std::int64_t i) const {
    return indices.subspan(indptr[i], indptr[i + 1] - indptr[i]);
  }
};

}  // namespace vicinal
