#include <cmath>
#include <limits>

#include "check.hpp"
#include "random_rows.hpp"
#include "search/definition.hpp"
#include "vicinal/search/inverted_index.hpp"

namespace vicinal::test_inverted_index {

using testing::nearest_first;
using testing::OwnedRows;
using testing::random_rows;

namespace {

struct Found {
  std::vector<std::int32_t> ids;
  std::vector<double> values;
  bool operator==(const Found&) const = default;
};

Found brute_force(const CsrView<double>& rows, const CsrView<double>& queries, Metric metric,
                  std::int64_t k, bool leave_out) {
  Found found;
  for (std::int64_t q = 0; q < queries.n_rows(); ++q) {
    const auto all = nearest_first(rows, queries, q, metric, leave_out ? q : -1);
    for (std::int64_t place = 0; place < k; ++place) {
      const bool there = place < static_cast<std::int64_t>(all.size());
      found.ids.push_back(there ? all[place].id : -1);
      found.values.push_back(!there                        ? 0.0
                             : metric == Metric::euclidean ? std::sqrt(all[place].key)
                                                           : -all[place].key);
    }
  }
  return found;
}

Found search(const CsrView<double>& rows, const CsrView<double>& queries, Metric metric,
             std::int64_t k, bool leave_out, std::int64_t block_rows, const SearchOptions& options,
             Simd simd = Simd::plain) {
  const InvertedIndex<double> index(rows, {metric, block_rows, simd, true});
  std::vector<std::int32_t> excluded;
  for (std::int64_t q = 0; leave_out && q < queries.n_rows(); ++q)
    excluded.push_back(static_cast<std::int32_t>(q));
  Found found{std::vector<std::int32_t>(queries.n_rows() * k, -1),
              std::vector<double>(queries.n_rows() * k, 0.0)};
  index.search(queries, excluded, {}, 0, {found.ids, found.values, k, rows.n_rows()}, options);
  for (double& key : found.values) key = metric == Metric::euclidean ? std::sqrt(key) : -key;
  return found;
}

void every_metric_palette_and_cut_is_exact() {
  const std::vector<std::vector<double>> palettes{
      {1.0}, {1.0, 2.0, 3.0}, {1.0, -1.0, 0.5}, {0.1, 0.2, 0.3, 0.7, 1.3}};
  for (std::size_t p = 0; p < palettes.size(); ++p) {
    const auto rows = random_rows<double>(1300, 40, 2.0, palettes[p], 1 + p);
    const auto queries = random_rows<double>(20, 40, 2.0, palettes[p], 11 + p);
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot})
      for (const std::int64_t k : {1, 10, 1400}) {
        const Found expected = brute_force(rows.view(), queries.view(), metric, k, false);
        for (const std::int64_t block_rows : {512, 65536})
          for (const std::string& level : simd_levels())
            CHECK(search(rows.view(), queries.view(), metric, k, false, block_rows,
                         {3, 7, never_interrupted}, simd_level(level)) == expected);
      }
  }
}

// Beyond ScatteredQuery::most_features rows are compared one by one: the same features, renamed so
// that they lie far apart, give the same neighbours.
void a_large_feature_space_changes_nothing() {
  auto rows = random_rows<double>(700, 30, 2.0, {0.1, 0.2, -0.3, 0.7}, 5);
  auto queries = random_rows<double>(9, 30, 2.0, {0.1, 0.2, -0.3, 0.7}, 6);
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
    const Found expected = brute_force(rows.view(), queries.view(), metric, 12, false);
    auto far_rows = rows, far_queries = queries;
    for (auto* side : {&far_rows, &far_queries}) {
      side->n_columns = 30 * 8000;
      for (std::int32_t& feature : side->indices) feature *= 8000;
    }
    CHECK(far_rows.n_columns > ScatteredQuery::most_features);
    for (const auto& [r, q] : {std::pair{&rows, &queries}, std::pair{&far_rows, &far_queries}})
      CHECK(search(r->view(), q->view(), metric, 12, false, 512, {2, 4, never_interrupted}) ==
            expected);
  }
}

void leave_one_out_is_by_index() {
  const auto rows = random_rows<double>(200, 6, 2.0, {1.0}, 3);
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot})
    CHECK(search(rows.view(), rows.view(), metric, 5, true, 512, {2, 16, never_interrupted}) ==
          brute_force(rows.view(), rows.view(), metric, 5, true));
}

void removed_rows_are_not_found() {
  const auto rows = random_rows<double>(50, 4, 3.0, {1.0, 2.0}, 4);
  const InvertedIndex<double> index(rows.view(), {Metric::cosine, 512, Simd::plain, true});
  std::vector<std::uint8_t> removed(50, 1);
  removed[7] = removed[9] = 0;
  std::vector<std::int32_t> ids(50 * 3, -1);
  std::vector<double> values(50 * 3, 0.0);
  index.search(rows.view(), {}, removed, 0, {ids, values, 3, 50}, {});
  bool none = true;
  for (const std::int32_t id : ids) none = none && (id == -1 || id == 7 || id == 9);
  CHECK(none);
}

// What store() writes, in memory that starts at a cache line.
AlignedVector<std::byte> stored(const InvertedIndex<double>& index) {
  AlignedVector<std::byte> bytes;
  index.store([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

void a_stored_index_answers_the_same() {
  for (const std::vector<double>& palette :
       {std::vector{1.0}, std::vector{0.5}, std::vector{1.0, -1.0, 0.5}})
    for (const Metric metric : {Metric::cosine, Metric::dot, Metric::euclidean}) {
      const auto rows = random_rows<double>(700, 60, 8.0, palette, 3);
      const IndexOptions options{metric, 512, Simd::plain, true};
      const InvertedIndex<double> index(rows.view(), options);
      const auto bytes = stored(index);
      const InvertedIndex<double> again(rows.view(), options, bytes);
      CHECK(index.bytes() > 0);
      CHECK(again.bytes() == 0);
      const auto found = [&](const InvertedIndex<double>& each) {
        Found lists{std::vector<std::int32_t>(700 * 5, -1), std::vector<double>(700 * 5, 0.0)};
        each.search(rows.view(), {}, {}, 0, {lists.ids, lists.values, 5, 700}, {});
        return lists;
      };
      CHECK(found(index) == found(again));
      CHECK(stored(again) == bytes);
      const InvertedIndex<double> other(rows.view(), {metric, 1024, Simd::plain, true});
      CHECK_THROWS(ArchiveError, InvertedIndex<double>(rows.view(), options, stored(other)));
    }
}

void stored_bytes_that_are_cut_short_are_refused() {
  const auto rows = random_rows<double>(60, 30, 5.0, {1.0, 0.5}, 4);
  const InvertedIndex<double> index(rows.view(), {});
  const auto bytes = stored(index);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS(ArchiveError,
                 InvertedIndex<double>(rows.view(), {}, std::span(bytes).first(size)));
  auto longer = bytes;
  longer.resize(bytes.size() + 1);
  CHECK_THROWS(ArchiveError, InvertedIndex<double>(rows.view(), {}, longer));
}

void an_interrupt_stops_a_search() {
  const auto rows = random_rows<double>(3000, 60, 8.0, {1.0, -1.0, 0.5}, 5);
  CHECK_THROWS(Interrupted, search(rows.view(), rows.view(), Metric::euclidean, 500, true, 512,
                                   {1, 4, [] { return true; }}));
}

void features_are_found_and_others_are_not() {
  const FeatureTable table({3, 4, 70, 1000, 123456}, 200000);
  CHECK(table.find(3) == 0);
  CHECK(table.find(70) == 2);
  CHECK(table.find(123456) == 4);
  for (const std::int32_t absent : {0, 5, 71, 999, 123457, 199999})
    CHECK(table.find(absent) == FeatureTable::absent);
  CHECK(FeatureTable({}, 10).find(3) == FeatureTable::absent);
}

// Features whose low bits agree share a cell of the table; so do those past what a cell can name.
void a_lookup_tells_features_apart() {
  for (const std::int32_t size : {3, 254, 255, 70000}) {
    std::vector<std::int32_t> features;
    std::vector<double> values;
    for (std::int32_t i = 0; i < size; ++i) {
      features.push_back(i * (size == 3 ? 16384 : 2));
      values.push_back(i + 1.0);
    }
    FeatureLookup lookup;
    lookup.prepare({features, values});
    CHECK(lookup.ready());
    for (const std::int32_t i : {0, 1, size / 2, size - 1}) {
      const std::vector<std::int32_t> row{features[i], features[i] + 1};
      const std::vector<double> one{1.0, 1.0};
      const Dot dot = lookup.dot(SparseRow<double>{row, one});
      CHECK(dot.shares_feature && dot.value == i + 1.0);
      const std::vector<std::int32_t> other{features[i] + 1, features.back() + 16384};
      CHECK(!lookup.dot(SparseRow<double>{other, one}).shares_feature);
    }
    lookup.release();
    CHECK(!lookup.ready());
  }
}

// More ties than a shortlist holds: it must be emptied on the way, and the lowest ids stay.
void equal_rows_are_told_apart_by_id() {
  const OwnedRows<double> rows = [] {
    OwnedRows<double> all{{0}, {}, {}, 3};
    for (int i = 0; i < 3000; ++i) {
      for (const std::int32_t feature : {0, 2}) all.indices.push_back(feature);
      for (const double value : {0.3, 0.7}) all.values.push_back(value);
      all.indptr.push_back(static_cast<std::int64_t>(all.indices.size()));
    }
    return all;
  }();
  const OwnedRows<double> query{{0, 2}, {0, 2}, {0.1, 0.9}, 3};
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot})
    for (const std::string& level : simd_levels())
      CHECK(search(rows.view(), query.view(), metric, 4, false, 1024, {}, simd_level(level)) ==
            brute_force(rows.view(), query.view(), metric, 4, false));
}

void accumulators_stay_within_their_bound() {
  for (const std::int64_t size : {1, 40, 15000}) {
    const ImpactScale scale = impact_scale(size, size, 0.01);
    CHECK(scale.usable);
    CHECK(impact_error(size, size, size, scale.unit) > static_cast<double>(size) / 32000.0);
    CHECK(scale.unit * 1.01 + static_cast<double>(size) < 32767.0);
    CHECK(std::abs(list_weight(1.0, 1.0, scale.unit)) <= 32767);
  }
  CHECK(!impact_scale(20000, 20000, 0.01).usable);
  CHECK(list_impact(32512, 128) == 127);
  CHECK(list_impact(-32512, 32000) == -31750);
}

void a_search_verifies_the_shape_of_its_arguments() {
  const std::vector<std::int64_t> indptr{0, 2, 3};
  const std::vector<std::int32_t> indices{0, 1, 1};
  const std::vector<double> values{1, 2, 3};
  const CsrView<double> rows(indptr, indices, values, 2);
  const InvertedIndex<double> index(rows, {});
  std::vector<std::int32_t> ids(4, -1);
  std::vector<double> keys(4);
  const Answers answers{ids, keys, 2, 2};
  const std::vector<std::int32_t> three_ids{0, 1, 2};
  const std::vector<std::uint8_t> three_flags(3);
  index.search(rows, {}, {}, 0, answers, {});
  CHECK_THROWS(PreconditionError, index.search(rows, three_ids, {}, 0, answers, {}));
  CHECK_THROWS(PreconditionError, index.search(rows, {}, three_flags, 0, answers, {}));
  CHECK_THROWS(PreconditionError, index.search(rows, {}, {}, 0, {ids, keys, 3, 2}, {}));
  const CsrView<double> wider(indptr, indices, values, 3);
  CHECK_THROWS(PreconditionError, index.search(wider, {}, {}, 0, answers, {}));
}

}  // namespace

TEST(test_inverted_index) {
  every_metric_palette_and_cut_is_exact();
  a_large_feature_space_changes_nothing();
  leave_one_out_is_by_index();
  removed_rows_are_not_found();
  a_stored_index_answers_the_same();
  stored_bytes_that_are_cut_short_are_refused();
  an_interrupt_stops_a_search();
  features_are_found_and_others_are_not();
  a_lookup_tells_features_apart();
  equal_rows_are_told_apart_by_id();
  accumulators_stay_within_their_bound();
  a_search_verifies_the_shape_of_its_arguments();
}

}  // namespace vicinal::test_inverted_index
