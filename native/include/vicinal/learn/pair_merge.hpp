// Merges two sparse rows: every label that either stores, with both values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "vicinal/common/csr.hpp"

namespace vicinal {

// The first row is scattered into a dense array, where the second finds its partners; entries that
// were not found have none. Labels come out unordered, but no branch depends on which row stores
// what. Memory: 8 bytes per label and thread.
class PairMerge {
 public:
  void resize(std::int64_t n_labels) { dense_.resize(n_labels, 0.0); }

  // Call emit(label, a, b) for every label of row i of `first` or `second`; absent values are 0. A
  // label that both store may be emitted a second time with two zeros.
  template <class Emit>
  void row(const CsrView<double>& first, const CsrView<double>& second, std::int64_t i,
           Emit&& emit) {
    const auto labels = first.columns(i), others = second.columns(i);
    const auto values = first.row(i), other_values = second.row(i);
    double* const dense = dense_.data();
    for (std::size_t j = 0; j < labels.size(); ++j) dense[labels[j]] = values[j];
    for (std::size_t j = 0; j < others.size(); ++j) {
      emit(others[j], dense[others[j]], other_values[j]);
      dense[others[j]] = 0.0;
    }
    for (const std::int32_t label : labels) {
      emit(label, dense[label], 0.0);
      dense[label] = 0.0;
    }
  }

 private:
  std::vector<double> dense_;  // all 0 between two rows
};

// The pairs (a, b) of all rows of two matrices, except those of two low values.
struct ValuePairs {
  std::vector<double> a, b;
  std::int64_t size = 0;

  // Keep pairs in which one value is at least `floor`; for floor 0, those that are not both 0.
  void fill(const CsrView<double>& first, const CsrView<double>& second, double floor,
            PairMerge& merge) {
    const double least = std::max(floor, std::numeric_limits<double>::denorm_min());
    size = 0;
    for (std::int64_t i = 0; i < first.n_rows(); ++i) {
      reserve(size + first.row_size(i) + second.row_size(i) + 1);
      double *const to_a = a.data(), *const to_b = b.data();
      std::int64_t at = size;
      merge.row(first, second, i, [&](std::int32_t, double left, double right) {
        to_a[at] = left;
        to_b[at] = right;
        at += std::max(left, right) >= least;
      });
      size = at;
    }
  }

  // Keep only the pairs that reach a higher floor.
  void narrow(double floor) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double left = a[i], right = b[i];
      a[kept] = left;
      b[kept] = right;
      kept += std::max(left, right) >= floor;
    }
    size = kept;
  }

 private:
  void reserve(std::int64_t needed) {
    if (static_cast<std::int64_t>(a.size()) >= needed) return;
    a.resize(std::max(needed, 2 * static_cast<std::int64_t>(a.size())));
    b.resize(a.size());
  }
};

}  // namespace vicinal
