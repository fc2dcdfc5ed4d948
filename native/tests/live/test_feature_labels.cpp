#include <cmath>
#include <vector>

#include "check.hpp"
#include "random_rows.hpp"
#include "vicinal/live/feature_labels.hpp"

namespace vicinal::test_feature_labels {
namespace {

constexpr std::int64_t n_features = 5, n_labels = 4, k = 3;
const std::vector<std::int32_t> every_feature{0, 1, 2, 3, 4};

testing::OwnedRows<double> first_columns(const testing::OwnedRows<double>& rows,
                                         std::int64_t n_rows) {
  testing::OwnedRows<double> columns;
  columns.n_columns = n_rows;
  for (std::int32_t feature = 0; feature < n_features; ++feature) {
    for (std::int32_t row = 0; row < n_rows; ++row)
      for (std::int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at)
        if (rows.indices[at] == feature) {
          columns.indices.push_back(row);
          columns.values.push_back(rows.values[at]);
        }
    columns.indptr.push_back(static_cast<std::int64_t>(columns.indices.size()));
  }
  return columns;
}

struct Found {
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(n_features * k, -1);
  std::vector<double> similarities = std::vector<double>(n_features * k, 0.0);

  ColumnAnswers answers() { return {ids, similarities, k}; }
  bool operator==(const Found&) const = default;
};

// A version of random rows, as it was when it was the newest one.
struct Version {
  RowsSeen seen;
  std::vector<std::uint8_t> gone;
};

class RandomRows {
 public:
  explicit RandomRows(std::int64_t n_rows)
      : rows_(testing::random_rows<double>(n_rows, n_features, 0.9, {0.3, 1.0, 2.5}, 1)),
        labels_(testing::random_rows<double>(n_rows, n_labels, 0.7, {1.0}, 2)) {}

  SparseRow<double> row(std::int32_t place) const { return row_of(rows_.view(), place); }
  std::span<const std::int32_t> labels(std::int32_t place) const {
    return labels_.view().columns(place);
  }
  testing::OwnedRows<double> columns(std::int64_t n_rows) const {
    return first_columns(rows_, n_rows);
  }
  PatternView first_labels(std::int64_t n_rows) const {
    const std::span<const std::int64_t> indptr(labels_.indptr);
    const auto n = static_cast<std::size_t>(labels_.indptr[n_rows]);
    return {indptr.first(n_rows + 1), std::span(labels_.indices).first(n), n_labels};
  }

  // What a search of all columns finds in the rows of a version.
  Found expected(const Version& version) const {
    testing::OwnedRows<double> items, others;
    items.n_columns = version.seen.n_rows;
    others.n_columns = n_labels;
    for (std::int32_t place = 0; place < version.seen.n_rows; ++place) {
      if (!version.gone[place])
        for (const std::int32_t label : labels(place)) {
          others.indices.push_back(label);
          others.values.push_back(1.0);
        }
      others.indptr.push_back(static_cast<std::int64_t>(others.indices.size()));
    }
    const auto all = columns(version.seen.n_rows);
    for (std::int64_t feature = 0; feature < n_features; ++feature) {
      for (std::int64_t at = all.indptr[feature]; at < all.indptr[feature + 1]; ++at)
        if (!version.gone[all.indices[at]]) {
          items.indices.push_back(all.indices[at]);
          items.values.push_back(all.values[at]);
        }
      items.indptr.push_back(static_cast<std::int64_t>(items.indices.size()));
    }
    Found found;
    column_search(items.view(), others.view(), found.answers(), 1);
    return found;
  }

  Found found(FeatureLabels& table, const Version& version) const {
    std::vector<double> norms(n_labels, 0.0);
    for (std::int32_t place = 0; place < version.seen.n_rows; ++place)
      if (!version.gone[place])
        for (const std::int32_t label : labels(place)) norms[label] += 1.0;
    for (double& norm : norms) norm = std::sqrt(norm);
    Found found;
    const bool none_gone = version.seen.n_gone == 0;
    table.nearest(every_feature, version.seen,
                  none_gone ? std::span<const std::uint8_t>{} : version.gone, norms,
                  found.answers());
    return found;
  }

 private:
  testing::OwnedRows<double> rows_, labels_;
};

void every_version_has_the_similarities_of_its_rows() {
  constexpr std::int32_t first = 90, last = 500;
  const RandomRows rows(last);
  const auto columns = rows.columns(first);
  FeatureLabels table(columns.view(), rows.first_labels(first), {});
  Version newest{{first, 0}, std::vector<std::uint8_t>(first, 0)};
  std::vector<Version> versions{newest};
  for (std::int32_t place = first; place < last; ++place) {
    CHECK(table.learn(newest.seen, rows.row(place), rows.labels(place), n_labels));
    ++newest.seen.n_rows;
    newest.gone.push_back(0);
    if (place % 50 == 3) {
      const std::int32_t away = place - 40;
      CHECK(table.forget(newest.seen, away, rows.row(away).columns));
      ++newest.seen.n_gone;
      newest.gone[away] = 1;
    }
    CHECK(rows.found(table, newest) == rows.expected(newest));
    if (place % 7 == 0) versions.push_back(newest);
  }
  for (const Version& each : versions) CHECK(rows.found(table, each) == rows.expected(each));
}

void only_the_newest_version_can_change() {
  const RandomRows rows(4);
  const auto columns = rows.columns(2);
  FeatureLabels table(columns.view(), rows.first_labels(2), {});
  CHECK(table.learn({2, 0}, rows.row(2), rows.labels(2), n_labels));
  CHECK(!table.learn({2, 0}, rows.row(3), rows.labels(3), n_labels));
  CHECK(!table.forget({2, 0}, 0, rows.row(0).columns));
  CHECK(table.forget({3, 0}, 0, rows.row(0).columns));
  CHECK(!table.forget({3, 0}, 1, rows.row(1).columns));
}

}  // namespace

TEST(test_feature_labels) {
  every_version_has_the_similarities_of_its_rows();
  only_the_newest_version_can_change();
}

}  // namespace vicinal::test_feature_labels
