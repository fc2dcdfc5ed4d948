// A sparse matrix as NumPy holds it.
#pragma once

#include "arrays.hpp"

namespace vicinal::bindings {

struct SparseMatrix {
  Vector<std::int64_t> indptr;
  Vector<std::int32_t> indices;
  Vector<double> values;
  std::int64_t n_columns;

  CsrView<double> rows() const { return {view(indptr), view(indices), view(values), n_columns}; }
};

}  // namespace vicinal::bindings
