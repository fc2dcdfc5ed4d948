// A search of an index in itself finds what a search for each of its rows finds.

#include "check.hpp"
#include "random_rows.hpp"
#include "search/definition.hpp"
#include "vicinal/search/inverted_index.hpp"

namespace vicinal::test_self_search {

using testing::nearest_first;
using testing::OwnedRows;
using testing::random_rows;

namespace {

constexpr std::int64_t block_rows = 512, n_rows = 5300;  // ten tiles and a part of one

const Simd best = simd_level("auto");

struct Found {
  std::vector<std::int32_t> ids;
  std::vector<double> keys;
  explicit Found(std::int64_t k) : ids(n_rows * k, -1), keys(n_rows * k, 0.0) {}
  bool operator==(const Found&) const = default;
};

// Search for each row, excluding it.
Found one_by_one(const InvertedIndex<double>& index, const CsrView<double>& rows,
                 const std::vector<std::uint8_t>& removed, std::int64_t k) {
  std::vector<std::int32_t> own(n_rows);
  for (std::int64_t i = 0; i < n_rows; ++i) own[i] = static_cast<std::int32_t>(i);
  Found found(k);
  index.search(rows, own, removed, 0, {found.ids, found.keys, k, n_rows}, {2, 32});
  for (std::int64_t i = 0; i < n_rows; ++i)
    if (!removed.empty() && removed[i])
      for (std::int64_t cell = i * k; cell < (i + 1) * k; ++cell) {
        found.ids[cell] = -1;
        found.keys[cell] = 0.0;
      }
  return found;
}

// Whether one row has the neighbours of the definition.
bool is_definition(const Found& found, const CsrView<double>& rows, Metric metric, std::int64_t k,
                   std::int64_t row) {
  const auto all = nearest_first(rows, rows, row, metric, row);
  for (std::int64_t place = 0; place < k; ++place) {
    const bool there = place < std::ssize(all);
    if (found.ids[row * k + place] != (there ? all[place].id : -1)) return false;
    if (there && found.keys[row * k + place] != all[place].key) return false;
  }
  return true;
}

void every_metric_and_kind_of_values_is_exact() {
  const std::vector<std::vector<double>> palettes{
      {1.0}, {0.3, 0.6}, {1.0, 2.0, 3.0}, {1.0, -1.0, 0.5}, {0.1, 0.2, 0.3, 0.7, 1.3}};
  int n_together = 0;
  for (std::size_t p = 0; p < palettes.size(); ++p) {
    const auto rows = random_rows<double>(n_rows, 60, 4.0, palettes[p], 1 + p);
    const std::int64_t k = 1 + 7 * static_cast<std::int64_t>(p);
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
      const auto levels = simd_levels();
      const std::string& level = levels[(p + static_cast<std::size_t>(metric)) % levels.size()];
      const InvertedIndex<double> index(rows.view(), {metric, block_rows, simd_level(level), true});
      Found found(k);
      const Answers answers{found.ids, found.keys, k, n_rows};
      if (!index.search_self({}, 0, answers, {1 + static_cast<int>(p) % 3, 32})) continue;
      ++n_together;
      CHECK(found == one_by_one(index, rows.view(), {}, k));
      for (const std::int64_t row : {0, 517, 5299})
        CHECK(is_definition(found, rows.view(), metric, k, row));
    }
  }
  CHECK(n_together > 5);
}

// Rows with many features, so that the tests above cannot all have taken the other way.
void rows_that_resemble_texts_are_searched_together() {
  for (const std::vector<double>& palette : {std::vector{0.1, 0.5, 0.9, 1.7}}) {
    const auto rows = random_rows<double>(n_rows, 400, 6.0, palette, 9);
    const InvertedIndex<double> index(rows.view(), {Metric::cosine, block_rows, best, true});
    Found found(5);
    CHECK(index.search_self({}, 0, {found.ids, found.keys, 5, n_rows}, {2, 32}));
    CHECK(found == one_by_one(index, rows.view(), {}, 5));
  }
}

void removed_rows_take_no_part() {
  for (const std::vector<double>& palette : {std::vector{0.1, 0.5, 0.9, 1.7}}) {
    const auto rows = random_rows<double>(n_rows, 400, 6.0, palette, 9);
    std::vector<std::uint8_t> removed(n_rows, 0);
    for (std::int64_t i = 0; i < n_rows; i += 3) removed[i] = 1;
    const InvertedIndex<double> index(rows.view(), {Metric::cosine, block_rows, best, true});
    Found found(12);
    CHECK(index.search_self(removed, 0, {found.ids, found.keys, 12, n_rows}, {2, 32}));
    CHECK(found == one_by_one(index, rows.view(), removed, 12));
  }
}

// Empty rows, rows near the limits of float64, rows of more than 255 features, and duplicates.
void rows_that_stand_apart_are_found() {
  for (const double value : {1.0, 0.3}) {
    auto rows = random_rows<double>(n_rows - 60, 400, 6.0, {1.0, value}, 11);
    const auto append = [&](std::int32_t size, std::int32_t step, double each) {
      for (std::int32_t j = 0; j < size; ++j) {
        rows.indices.push_back(j * step);
        rows.values.push_back(each);
      }
      rows.indptr.push_back(std::ssize(rows.indices));
    };
    for (int i = 0; i < 15; ++i) append(0, 1, 1.0);
    for (int i = 0; i < 15; ++i) append(300 + i, 1, 1.0);
    for (int i = 0; i < 15; ++i) append(20, 7, value);
    for (int i = 0; i < 15; ++i) append(3, 2, value == 1.0 ? 1.0 : 1e160);
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
      const InvertedIndex<double> index(rows.view(), {metric, block_rows, best, true});
      Found found(9);
      if (!index.search_self({}, 0, {found.ids, found.keys, 9, n_rows}, {2, 32})) {
        CHECK(found == Found(9));
        continue;
      }
      CHECK(found == one_by_one(index, rows.view(), {}, 9));
    }
  }
}

// More equally near rows than a list holds: either way the lowest ids stay.
void ties_are_told_apart_by_id() {
  for (const std::int32_t kinds : {2, 60}) {
    OwnedRows<double> rows{{0}, {}, {}, 200};
    for (std::int64_t i = 0; i < n_rows; ++i) {
      for (const std::int32_t feature : {0, 1 + static_cast<std::int32_t>(i * 7 % kinds), 150}) {
        rows.indices.push_back(feature);
        rows.values.push_back(feature == 0 ? 0.4 : 0.7);
      }
      rows.indptr.push_back(std::ssize(rows.indices));
    }
    for (const double scale : {0.0, 1.0}) {
      for (double& value : rows.values) value = scale == 0.0 ? 1.0 : value;
      const InvertedIndex<double> index(rows.view(), {Metric::cosine, block_rows, best, true});
      Found found(6);
      const Answers answers{found.ids, found.keys, 6, n_rows};
      const Found expected = one_by_one(index, rows.view(), {}, 6);
      CHECK(found == Found(6));
      CHECK(index.search_self({}, 0, answers, {2, 32}) ? found == expected : found == Found(6));
    }
  }
}

void it_declines_what_does_not_pay() {
  const auto rows = random_rows<double>(n_rows, 400, 6.0, {1.0, 2.0}, 12);
  const InvertedIndex<double> index(rows.view(), {Metric::cosine, block_rows, best, true});
  Found many(100);  // more than an eighth of a tile
  CHECK(!index.search_self({}, 0, {many.ids, many.keys, 100, n_rows}, {2, 32}));
  const InvertedIndex<double> few_tiles(rows.view(), {Metric::cosine, 65536, best, true});
  Found found(5);
  CHECK(!few_tiles.search_self({}, 0, {found.ids, found.keys, 5, n_rows}, {2, 32}));
  CHECK(found == Found(5));
}

void an_interrupt_stops_it() {
  const auto rows = random_rows<double>(n_rows, 400, 6.0, {1.0, 2.0}, 13);
  const InvertedIndex<double> index(rows.view(), {Metric::cosine, block_rows, best, true});
  Found found(30);
  CHECK_THROWS(Interrupted, index.search_self({}, 0, {found.ids, found.keys, 30, n_rows},
                                              {1, 32, [] { return true; }}));
}

}  // namespace

TEST(test_self_search) {
  every_metric_and_kind_of_values_is_exact();
  rows_that_resemble_texts_are_searched_together();
  removed_rows_take_no_part();
  rows_that_stand_apart_are_found();
  ties_are_told_apart_by_id();
  it_declines_what_does_not_pay();
  an_interrupt_stops_it();
}

}  // namespace vicinal::test_self_search
