// Whether values of rows are products of two factors, one of the row and one of the feature.
//
// tf-idf weights of words that a text has or lacks are: the length of the row and the rarity of the
// word. A column of such values is a bitmap (impact_kernels.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/search/postings.hpp"

namespace vicinal {

// The factors s_i and a_j with s_i a_j ≈ |u_ij| in the features marked as frequent, by alternating
// least squares: each factor is the best for the others. `norms` are the lengths of the rows.
class RankOneFit {
 public:
  template <class Value>
  RankOneFit(const CsrView<Value>& rows, std::span<const std::int32_t> ids,
             std::span<const double> norms, const FeatureTable& features,
             std::span<const std::uint8_t> is_frequent)
      : factors_(is_frequent.size(), 1.0) {
    const auto step = std::max<std::size_t>(ids.size() / most_sampled, 1);
    std::vector<Entry> entries;  // of some rows, one after another
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < ids.size(); i += step) {
      const auto row = row_of(rows, ids[i]);
      for (std::size_t e = 0; e < row.size(); ++e) {
        const std::int64_t slot = features.find(row.columns[e]);
        if (is_frequent[slot]) entries.push_back({slot, std::abs(row.values[e] / norms[ids[i]])});
      }
      ends.push_back(entries.size());
    }
    std::vector<double> products(factors_.size()), squares(factors_.size());
    for (int round = 0; round < rounds; ++round) improve(entries, ends, products, squares);
  }

  // A factor within limits: products of two stay normal numbers, also in float32. What a limit
  // changes is part of the error of the rows.
  static double in_range(double factor) { return std::clamp(factor, 1e-6, 1e6); }

  double factor(std::int64_t slot) const { return factors_[slot]; }

  // s_i, or 1 for a row without a frequent feature.
  template <class Value>
  double scale_of(const SparseRow<Value>& row, double norm, const FeatureTable& features,
                  std::span<const std::uint8_t> is_frequent) const {
    double product = 0.0, square = 0.0;
    for (std::size_t e = 0; e < row.size(); ++e) {
      const std::int64_t slot = features.find(row.columns[e]);
      if (!is_frequent[slot]) continue;
      product += std::abs(row.values[e] / norm) * factors_[slot];
      square += factors_[slot] * factors_[slot];
    }
    return square > 0.0 ? in_range(product / square) : 1.0;
  }

 private:
  struct Entry {
    std::int64_t slot;
    double value;  // |u_ij|
  };

  // One round: the scales of the rows for these factors, then the factors for these scales.
  void improve(std::span<const Entry> entries, std::span<const std::size_t> ends,
               std::vector<double>& products, std::vector<double>& squares) {
    std::fill(products.begin(), products.end(), 0.0);
    std::fill(squares.begin(), squares.end(), 0.0);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      const auto row = entries.subspan(begin, end - begin);
      double product = 0.0, square = 0.0;
      for (const auto& [slot, value] : row) {
        product += value * factors_[slot];
        square += factors_[slot] * factors_[slot];
      }
      const double scale = square > 0.0 ? in_range(product / square) : 1.0;
      for (const auto& [slot, value] : row) {
        products[slot] += value * scale;
        squares[slot] += scale * scale;
      }
      begin = end;
    }
    for (std::size_t slot = 0; slot < factors_.size(); ++slot)
      if (squares[slot] > 0.0) factors_[slot] = in_range(products[slot] / squares[slot]);
  }

  static constexpr std::size_t most_sampled = 4096;
  static constexpr int rounds = 10;  // each halves the error where the values are such products

  std::vector<double> factors_;
};

// How well products of two factors would represent the frequent features of some rows.
class CellSample {
 public:
  template <class Value>
  CellSample(const CsrView<Value>& rows, std::span<const std::int32_t> ids,
             std::span<const double> norms, const FeatureTable& features,
             std::span<const std::uint8_t> is_frequent) {
    const RankOneFit fit(rows, ids, norms, features, is_frequent);
    const auto step = std::max<std::size_t>(ids.size() / 1024, 1);
    double norm = 0.0, missed = 0.0, n_rows = 0.0;
    for (std::size_t i = 0; i < ids.size(); i += step) {
      const auto row = row_of(rows, ids[i]);
      const double scale = fit.scale_of(row, norms[ids[i]], features, is_frequent);
      double square = 0.0, difference = 0.0;
      for (std::size_t e = 0; e < row.size(); ++e) {
        const std::int64_t slot = features.find(row.columns[e]);
        if (!is_frequent[slot]) continue;
        const double value = std::abs(row.values[e] / norms[ids[i]]);
        const double gap = value - scale * fit.factor(slot);
        square += value * value;
        difference += gap * gap;
      }
      norm += std::sqrt(square);
      missed += std::sqrt(difference);
      n_rows += 1.0;
    }
    if (n_rows == 0.0) return;
    column_norm = norm / n_rows;
    error = missed / n_rows * column_norm;
  }

  double column_norm = 0.0;  // the mean norm of a row in frequent features
  double error = 0.0;        // of cells that are 1 or 0, times that: an estimate of |q_C| D_i
};

}  // namespace vicinal
