// The labels most similar to a feature, over rows that are learned and forgotten one at a time.
//
// Products of features and labels are sums over rising rows, as in the definition of the cosine, to
// the bit. Those of a feature that occurs in many rows are kept, up to a few rows before the newest
// one, so that readers of versions that are a little older use them too. The products of all other
// features are added up when they are asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/sparse_accumulator.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/live/vote_tallies.hpp"
#include "vicinal/search/column_search.hpp"

namespace vicinal {

// A version of the rows: the first of them, some of which are forgotten.
struct RowsSeen {
  std::int32_t n_rows;
  std::int32_t n_gone;

  bool operator==(const RowsSeen&) const = default;
};

class FeatureLabels {
 public:
  // Of the rows, products of a feature that is in more than this share of them are kept.
  static constexpr std::int64_t kept_share = 64;
  // Rows by which kept products are behind the newest row, at least.
  static constexpr std::int32_t lag = 64;

  // Row f of `columns` holds the rows in which feature f occurs; it must outlive this.
  FeatureLabels(const CsrView<double>& columns, const PatternView& labels,
                std::span<const std::uint8_t> gone)
      : columns_(columns),
        added_(columns.n_rows()),
        labels_(labels),
        gone_(gone.begin(), gone.end()),
        newest_{static_cast<std::int32_t>(labels.n_rows()),
                static_cast<std::int32_t>(std::count(gone.begin(), gone.end(), 1))},
        n_labels_(labels.n_columns) {
    gone_.resize(newest_.n_rows, 0);
    dots_.resize(n_labels_);
    for (std::int32_t feature = 0; feature < columns_.n_rows(); ++feature)
      if (is_frequent(feature)) advance(feature, kept_[feature]);
  }

  // Add a row to the version `before`; false if that is not the newest one.
  bool learn(const RowsSeen& before, const SparseRow<double>& row,
             std::span<const std::int32_t> labels, std::int64_t n_labels) {
    const std::lock_guard lock(changing_);
    if (before != newest_) return false;
    n_labels_ = std::max(n_labels_, n_labels);
    dots_.resize(n_labels_);
    labels_.add(labels);
    append_slowly(gone_, std::uint8_t{0});
    const std::int32_t place = newest_.n_rows++;
    for (std::size_t i = 0; i < row.size(); ++i) {
      added_[row.columns[i]].push_back({place, row.values[i]});
      const auto kept = kept_.find(row.columns[i]);
      if (kept != kept_.end() && kept->second.stop + 2 * lag < newest_.n_rows)
        advance(kept->first, kept->second);
    }
    return true;
  }

  // Take a row, which has these features, out of the version `before`; false as above.
  bool forget(const RowsSeen& before, std::int32_t row, std::span<const std::int32_t> features) {
    const std::lock_guard lock(changing_);
    if (before != newest_) return false;
    gone_[row] = 1;
    ++newest_.n_gone;
    for (const std::int32_t feature : features) kept_.erase(feature);
    return true;
  }

  // Find the labels most similar to each of some features. `gone` marks the forgotten rows of the
  // version `seen`, and is empty if there are none; `norms` holds the length of each label.
  void nearest(std::span<const std::int32_t> features, const RowsSeen& seen,
               std::span<const std::uint8_t> gone, std::span<const double> norms,
               const ColumnAnswers& answers) {
    const std::lock_guard lock(changing_);
    if (seen != found_in_ || answers.k != found_k_) found_.clear();
    found_in_ = seen;
    found_k_ = answers.k;
    for (std::size_t i = 0; i < features.size(); ++i) {
      const auto known = found_.find(features[i]);
      const auto& near = known != found_.end() ? known->second
                                               : found_[features[i]] = find(features[i], seen, gone,
                                                                            norms, answers.k);
      auto place = static_cast<std::int64_t>(i) * answers.k;
      for (const Neighbor& each : near) {
        answers.ids[place] = each.id;
        answers.similarities[place++] = -each.key;
      }
    }
  }

 private:
  std::vector<Neighbor> find(std::int32_t feature, const RowsSeen& seen,
                             std::span<const std::uint8_t> gone, std::span<const double> norms,
                             std::int64_t k) {
    std::int32_t from = 0;
    double square = 0.0;
    if (seen.n_gone == newest_.n_gone && is_frequent(feature)) {
      Kept& kept = kept_[feature];
      if (kept.stop == 0) advance(feature, kept);
      if (kept.stop <= seen.n_rows) from = take_up(kept, square);
    }
    add_up(feature, from, seen.n_rows, gone, square);
    TopK best(static_cast<std::size_t>(k));
    for (const std::int32_t label : dots_.columns())
      best.push({key_of(Metric::cosine, dots_[label], std::sqrt(square), norms[label]), label});
    dots_.clear();
    const auto sorted = best.sort();
    return {sorted.begin(), sorted.end()};
  }

  struct Posting {
    std::int32_t row;
    double value;
  };

  // Of the rows before `stop`: the products of a feature, and the square of its length.
  struct Kept {
    std::int32_t stop = 0;
    double square = 0.0;
    std::vector<std::int32_t> labels;
    std::vector<double> products;
  };

  bool is_frequent(std::int32_t feature) const {
    const auto size = columns_.row_size(feature) + std::ssize(added_[feature]);
    return size * kept_share > newest_.n_rows;
  }

  // Bring kept products up to a few rows before the newest one.
  void advance(std::int32_t feature, Kept& kept) {
    const std::int32_t stop = std::max(kept.stop, newest_.n_rows - lag);
    double square = 0.0;
    const std::int32_t from = take_up(kept, square);
    add_up(feature, from, stop, gone_, square);
    kept = {stop, square, dots_.columns(), {}};
    for (const std::int32_t label : kept.labels) kept.products.push_back(dots_[label]);
    dots_.clear();
  }

  // Begin with kept products; return the first row that they lack.
  std::int32_t take_up(const Kept& kept, double& square) {
    for (std::size_t i = 0; i < kept.labels.size(); ++i)
      dots_.add(kept.labels[i], kept.products[i]);
    square = kept.square;
    return kept.stop;
  }

  // Add the products of a feature in the rows from `from` to before `stop`.
  void add_up(std::int32_t feature, std::int32_t from, std::int32_t stop,
              std::span<const std::uint8_t> gone, double& square) {
    const auto add = [&](std::int32_t row, double value) {
      if (!gone.empty() && gone[row]) return;
      square += value * value;
      for (const std::int32_t label : labels_.of(row)) dots_.add(label, value);
    };
    const auto rows = columns_.columns(feature);
    const auto values = columns_.row(feature);
    auto at = std::lower_bound(rows.begin(), rows.end(), from) - rows.begin();
    for (; at < std::ssize(rows) && rows[at] < stop; ++at) add(rows[at], values[at]);
    const auto& added = added_[feature];
    auto next = std::lower_bound(added.begin(), added.end(), from,
                                 [](const Posting& p, std::int32_t row) { return p.row < row; });
    for (; next != added.end() && next->row < stop; ++next) add(next->row, next->value);
  }

  CsrView<double> columns_;
  std::vector<std::vector<Posting>> added_;  // of each feature, the rows learned since
  LiveLabels labels_;
  std::vector<std::uint8_t> gone_;
  RowsSeen newest_;
  std::int64_t n_labels_;
  std::unordered_map<std::int32_t, Kept> kept_;
  SparseAccumulator dots_;  // empty between calls
  RowsSeen found_in_{-1, -1};
  std::int64_t found_k_ = 0;
  std::unordered_map<std::int32_t, std::vector<Neighbor>> found_;  // of that version
  std::mutex changing_;
};

}  // namespace vicinal
