// How much each feature says about the labels of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vicinal/blend/feature_rows.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal {

// For each feature f the Kullback-Leibler divergence of P(l|f) = (n_f(l) + s p(l)) / (N_f + s) from
// p(l), where n_f(l) rows have the feature and the label, N_f is their sum over the labels, and
// `share` is p. Labels that never occur with the feature have one logarithm and are added together.
inline std::vector<double> label_divergence(const PatternView& rows, const PatternView& labels,
                                            std::span<const double> share, double prior,
                                            int n_threads, std::int64_t at_once,
                                            const InterruptCheck& interrupted) {
  VICINAL_ASSERT(labels.n_rows() == rows.n_rows());
  const auto counts = FeatureRows::counts(rows.indices, rows.n_columns);
  std::vector<double> found(rows.n_columns, 0.0);
  for (std::int64_t first = 0; first < rows.n_columns;) {
    FeatureRows by_feature(counts, first, FeatureRows::range_end(counts, first, at_once));
    first = by_feature.last;
    by_feature.collect(rows, [](std::int64_t, std::int64_t) { return 0.0; }, false);
    const auto bounds = by_feature.tasks(counts, 1 << 16);
    std::vector<std::vector<std::int32_t>> totals(std::max(n_threads, 1)), seen(totals.size());
    parallel_for(
        std::ssize(bounds) - 1, n_threads,
        [&](std::int64_t number, int worker) {
          auto& total = totals[worker];
          auto& touched = seen[worker];
          total.resize(labels.n_columns, 0);
          for (std::int64_t f = bounds[number]; f < bounds[number + 1]; ++f) {
            std::int64_t n = 0;
            const std::int64_t at = f - by_feature.first;
            for (std::int64_t i = by_feature.start[at]; i < by_feature.start[at + 1]; ++i)
              for (const std::int32_t label : labels.columns(by_feature.row_of[i])) {
                if (total[label]++ == 0) touched.push_back(label);
                ++n;
              }
            std::sort(touched.begin(), touched.end());
            const double weight = static_cast<double>(n) + prior, ratio = prior / weight;
            double met = 0.0, met_share = 0.0;
            for (const std::int32_t label : touched) {
              const double p = share[label], given = (total[label] + prior * p) / weight;
              met += given * std::log(given / p);
              met_share += p;
              total[label] = 0;
            }
            touched.clear();
            const double unmet = std::max(1.0 - met_share, 0.0) * ratio * std::log(ratio);
            found[f] = std::max(met + unmet, 0.0);
          }
        },
        interrupted);
  }
  return found;
}

}  // namespace vicinal
