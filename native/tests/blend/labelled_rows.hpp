// Small random rows with labels for the tests of label centroids, and centroids of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "vicinal/blend/label_centroids.hpp"
#include "vicinal/common/csr.hpp"

namespace vicinal::testing {

struct LabelledRows {
  std::vector<std::int64_t> indptr{0}, label_indptr{0};
  std::vector<std::int32_t> indices, labels;
  std::vector<double> values;

  CsrView<double> features(std::int64_t n) const { return {indptr, indices, values, n}; }
  PatternView label_sets(std::int64_t n) const { return {label_indptr, labels, n}; }
};

inline constexpr int n_features = 150, n_labels = 9;

inline LabelledRows labelled_rows(int n_rows, unsigned seed) {
  std::mt19937 random(seed);
  LabelledRows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features, labels;
    for (unsigned i = random() % 8; i > 0; --i) features.insert(random() % n_features);
    for (unsigned i = random() % 4; i > 0; --i) labels.insert(random() % n_labels);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((static_cast<int>(random() % 2001) - 1000) / 1000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

inline LabelledRows joined(const LabelledRows& a, const LabelledRows& b) {
  LabelledRows both = a;
  for (std::size_t i = 1; i < b.indptr.size(); ++i) {
    both.indptr.push_back(std::ssize(a.indices) + b.indptr[i]);
    both.label_indptr.push_back(std::ssize(a.labels) + b.label_indptr[i]);
  }
  both.indices.insert(both.indices.end(), b.indices.begin(), b.indices.end());
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  both.labels.insert(both.labels.end(), b.labels.begin(), b.labels.end());
  return both;
}

// Some features are in many rows and say little, others are in few rows and say much.
inline LabelledRows words(int n_rows, unsigned seed, int n) {
  std::mt19937 random(seed);
  LabelledRows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features{static_cast<int>(20 + random() % 120)}, labels;
    for (unsigned i = random() % 9; i > 0; --i) features.insert(random() % 12);
    for (unsigned i = random() % 30; i > 0; --i) labels.insert(random() % n);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((feature < 20 ? 0.05 : 0.9) + (random() % 100) / 2000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

// Labels in several tiles; sums above one and below zero; rows without features.
inline LabelledRows many_labels(int n_rows, unsigned seed, int n) {
  std::mt19937 random(seed);
  LabelledRows rows;
  for (int row = 0; row < n_rows; ++row) {
    std::set<int> features, labels{static_cast<int>(random() % 3)};
    for (unsigned i = random() % 6; i > 0; --i) features.insert(random() % 12);
    for (unsigned i = random() % 30; i > 0; --i) labels.insert(random() % n);
    for (const int feature : features) {
      rows.indices.push_back(feature);
      rows.values.push_back((static_cast<int>(random() % 1201) - 200) / 1000.0);
    }
    rows.labels.insert(rows.labels.end(), labels.begin(), labels.end());
    rows.indptr.push_back(std::ssize(rows.indices));
    rows.label_indptr.push_back(std::ssize(rows.labels));
  }
  return rows;
}

inline LabelCentroids built(const LabelledRows& rows, int n = n_labels, int n_threads = 2,
                            std::int64_t at_once = 1000) {
  const std::vector<double> lengths(rows.indptr.size() - 1, 1.0);
  return {rows.features(n_features), lengths, rows.label_sets(n), n_threads, at_once};
}

inline bool same(const LabelCentroids& a, const LabelCentroids& b) {
  for (std::int32_t label = 0; label < a.n_labels(); ++label) {
    if (a.norm(label) != b.norm(label)) return false;
    for (std::int32_t feature = 0; feature < n_features; ++feature)
      if (a.sum(feature, label) != b.sum(feature, label)) return false;
  }
  return a.n_labels() == b.n_labels();
}

}  // namespace vicinal::testing
