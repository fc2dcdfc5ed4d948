#include <limits>
#include <numeric>
#include <string>

#include "check.hpp"
#include "random_rows.hpp"
#include "search/definition.hpp"
#include "vicinal/live/live_graph.hpp"
#include "vicinal/live/live_model.hpp"

namespace vicinal::test_live_graph {

using testing::key_by_definition;
using testing::OwnedRows;
using testing::random_rows;

namespace {

using Row = std::vector<double>;  // all cells written out

// The k nearest of row i among the rows in use, by the definition.
std::vector<Neighbor> brute_force(const std::vector<Row>& rows, const std::vector<bool>& live,
                                  Metric metric, std::size_t i, std::size_t k) {
  std::vector<Neighbor> all;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const auto key = key_by_definition(metric, rows[i], rows[j]);
    if (j != i && live[j] && key) all.push_back({*key, static_cast<std::int32_t>(j)});
  }
  std::sort(all.begin(), all.end(), before);
  if (all.size() > k) all.resize(k);
  return all;
}

bool same(std::span<const Neighbor> a, std::span<const Neighbor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.key == y.key && x.id == y.id; });
}

// The ids of a list, padded with -1.
void append_nearest(std::vector<std::int32_t>& ids, const std::vector<Neighbor>& list,
                    std::int64_t width) {
  for (std::int64_t place = 0; place < width; ++place)
    ids.push_back(place < std::ssize(list) ? list[place].id : -1);
}

// A model under test beside the plain rows and labels that it should agree with.
struct Mirror {
  Metric metric;
  std::int64_t k, spare, n_columns, n_labels;
  std::vector<Row> rows;
  std::vector<std::vector<std::int32_t>> labels;
  std::vector<bool> live;
  LiveModel<double> model;

  static constexpr std::int64_t n_groups = 3;

  // Any rule that does not change while rows move will do.
  static std::int32_t group_of(const Row& row) {
    return static_cast<std::int32_t>(std::count(row.begin(), row.end(), 0.0)) % n_groups;
  }

  Mirror(Metric metric, std::int64_t k, std::int64_t spare, std::int64_t n_columns,
         std::int64_t n_labels, const std::string& simd = "auto")
      : metric(metric),
        k(k),
        spare(spare),
        n_columns(n_columns),
        n_labels(n_labels),
        model(CsrView<double>{no_rows, {}, {}, n_columns}, metric, k, spare, {{}, 0},
              PatternView{no_rows, {}, n_labels}, {}, n_groups, simd_level(simd)) {}

  static constexpr std::int64_t no_rows[1] = {0};

  void learn(const Row& row, const std::vector<std::int32_t>& own) {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    for (std::size_t j = 0; j < row.size(); ++j)
      if (row[j] != 0) {
        columns.push_back(static_cast<std::int32_t>(j));
        values.push_back(row[j]);
      }
    const std::int32_t slot = model.learn({columns, values}, own, n_labels, group_of(row));
    CHECK(slot == static_cast<std::int32_t>(rows.size()));
    rows.push_back(row);
    labels.push_back(own);
    live.push_back(true);
  }

  void forget(std::int32_t slot) {
    live[slot] = false;
    const auto missing = model.take_out(slot);
    std::vector<std::int32_t> ids;
    for (const std::int32_t row : missing)
      append_nearest(ids, brute_force(rows, live, metric, row, k + spare), k + spare);
    if (!missing.empty()) model.refill(slot, missing, {ids, k + spare});
  }

  void compact() {
    const auto moved = model.compact();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK((moved[i] >= 0) == live[i]);
      if (!live[i]) continue;
      CHECK(moved[i] == static_cast<std::int32_t>(kept));
      rows[kept] = rows[i];
      labels[kept++] = labels[i];
    }
    rows.resize(kept);
    labels.resize(kept);
    live.assign(kept, true);
  }

  bool agrees() const {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (live[i] && !same(model.graph().lists().nearest(static_cast<std::int32_t>(i)),
                           brute_force(rows, live, metric, i, k)))
        return false;
    return tallies_agree();
  }

  bool tallies_agree() const {
    const std::int64_t width = k + 1;
    const std::size_t size = n_groups * n_labels * width;
    std::vector<std::int64_t> with_label(size), without_label(size);
    std::vector<std::int64_t> with_expected(size), without_expected(size);
    model.tables(width, with_label, without_label);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!live[i]) continue;
      std::vector<std::int64_t> votes(n_labels, 0);
      for (const Neighbor& each : brute_force(rows, live, metric, i, k))
        for (const std::int32_t label : labels[each.id]) ++votes[label];
      for (std::int32_t label = 0; label < n_labels; ++label) {
        const bool has = std::find(labels[i].begin(), labels[i].end(), label) != labels[i].end();
        const std::int64_t cell = (group_of(rows[i]) * n_labels + label) * width + votes[label];
        ++(has ? with_expected : without_expected)[cell];
      }
    }
    return with_label == with_expected && without_label == without_expected;
  }
};

Row random_row(std::mt19937& random, std::int64_t n_columns, const std::vector<double>& palette) {
  Row row(n_columns, 0.0);
  for (double& cell : row)
    if (random() % 3 == 0) cell = palette[random() % palette.size()];
  return row;
}

std::vector<std::int32_t> random_labels(std::mt19937& random, std::int64_t n_labels) {
  std::vector<std::int32_t> labels;
  for (std::int32_t label = 0; label < n_labels; ++label)
    if (random() % 3 == 0) labels.push_back(label);
  return labels;
}

// Learn a row, or forget one of those there are.
void random_step(Mirror& mirror, std::mt19937& random, const std::vector<double>& palette) {
  std::vector<std::int32_t> there;
  for (std::size_t i = 0; i < mirror.live.size(); ++i)
    if (mirror.live[i]) there.push_back(static_cast<std::int32_t>(i));
  if (!there.empty() && random() % 5 < 2)
    mirror.forget(there[random() % there.size()]);
  else
    mirror.learn(random_row(random, mirror.n_columns, palette),
                 random_labels(random, mirror.n_labels));
}

void every_step_equals_a_fresh_search() {
  const std::vector<std::vector<double>> palettes{
      {1.0}, {1.0, 1.0, 2.0, 3.0}, {1.0, -1.0, 0.5}, {0.1, 0.2, 0.3, 0.7}};
  for (std::size_t p = 0; p < palettes.size(); ++p)
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot})
      for (const std::int64_t spare : {0, 3}) {
        std::mt19937 random(17 + static_cast<unsigned>(p));
        Mirror mirror(metric, 3, spare, 7, 4);
        for (int step = 0; step < 150; ++step) {
          random_step(mirror, random, palettes[p]);
          if (step % 37 == 36) mirror.compact();
          CHECK(mirror.agrees());
        }
      }
}

// More features than there are bits, and others of them are frequent in later rows; the last rows
// are not counts, so that the order of a sum matters.
void frequent_features_change() {
  for (const std::string& simd : simd_levels())
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
      std::mt19937 random(5);
      Mirror mirror(metric, 3, 2, 110, 2, simd);
      for (int step = 0; step < 260; ++step) {
        const std::vector<double> palette =
            step < 230 ? std::vector<double>{1.0, 1.0, 1.0, 2.0} : std::vector<double>{0.1, 0.7};
        Row row = random_row(random, 110, palette);
        for (std::int64_t j = 0; j < 40; ++j) row[(step / 100 * 40 + j) % 110] = 1.0;
        mirror.learn(row, random_labels(random, 2));
        const auto slot = static_cast<std::int32_t>(random() % mirror.live.size());
        if (step % 3 == 0 && mirror.live[slot]) mirror.forget(slot);
        if (step == 150) mirror.compact();
        if (step % 65 == 64 || step == 232) CHECK(mirror.agrees());
      }
    }
}

// A graph that begins with rows and their lists goes on as one that learned them all.
void a_graph_that_begins_with_rows_is_the_same() {
  for (const double last : {-0.5, 3.0})
    for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::dot}) {
      const auto start = random_rows<double>(40, 6, 2.0, {1.0, 2.0, last}, 3);
      std::vector<Row> rows;
      for (std::int64_t i = 0; i < 40; ++i) {
        Row row(6, 0.0);
        for (std::size_t e = 0; e < start.view().columns(i).size(); ++e)
          row[start.view().columns(i)[e]] = start.view().row(i)[e];
        rows.push_back(row);
      }
      std::vector<bool> live(40, true);
      std::vector<std::int32_t> ids;
      for (std::size_t i = 0; i < 40; ++i)
        append_nearest(ids, brute_force(rows, live, metric, i, 4), 4);
      LiveGraph<double> graph(start.view(), metric, 4, 2, ids, 4);
      for (const std::int32_t slot : {3, 8, 0, 39, 17}) {
        live[slot] = false;
        for (const std::int32_t row : graph.take_out(slot)) {
          std::vector<std::int32_t> refilled;
          append_nearest(refilled, brute_force(rows, live, metric, row, 6), 6);
          graph.refill(row, refilled, slot);
        }
        for (std::size_t i = 0; i < 40; ++i)
          if (live[i])
            CHECK(same(graph.lists().nearest(static_cast<std::int32_t>(i)),
                       brute_force(rows, live, metric, i, 4)));
      }
    }
}

std::vector<Neighbor> nearest_cosines(const std::vector<Row>& rows, std::size_t i) {
  const auto norm = [](const Row& row) { return std::sqrt(squared_norm<double>(row)); };
  std::vector<Neighbor> all;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    double dot = 0;
    bool shares = false;
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      dot += rows[i][c] * rows[j][c];
      shares = shares || (rows[i][c] != 0 && rows[j][c] != 0);
    }
    if (j != i && shares)
      all.push_back({key_of(Metric::cosine, dot, norm(rows[i]), norm(rows[j])),
                     static_cast<std::int32_t>(j)});
  }
  std::sort(all.begin(), all.end(), before);
  if (all.size() > 2) all.resize(2);
  return all;
}

// Squares that overflow or vanish: the definition's values, and its order.
void extreme_values_are_those_of_the_definition() {
  const double huge = 1e200, tiny = 1e-200;
  for (const Metric metric : {Metric::euclidean, Metric::dot}) {
    Mirror mirror(metric, 2, 1, 3, 1);
    for (const Row& row : std::vector<Row>{
             {huge, 0, 0}, {tiny, 1, 0}, {0, tiny, tiny}, {1, 1, 0}, {tiny, 0, tiny}, {0, 0, 0}})
      mirror.learn(row, {0});
    CHECK(mirror.agrees());
    mirror.forget(3);
    CHECK(mirror.agrees());
  }
}

// A key is compared with a limit without a division first. Cosines by the definition of exact.hpp,
// where squares vanish or overflow so that a norm or a product of norms is 0 or infinite.
void extreme_cosines_are_those_of_the_definition() {
  const std::vector<double> palette{1e200, 1e160, 1.0, 1e-160, 1e-170, -1e-170, -1.0, -1e160};
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<Row> rows;
    LiveGraph<double> graph(CsrView<double>{Mirror::no_rows, {}, {}, 3}, Metric::cosine, 2, 1, {},
                            0);
    for (int step = 0; step < 12; ++step) {
      Row row = random_row(random, 3, palette);
      rows.push_back(row);
      std::vector<std::int32_t> columns;
      std::vector<double> values;
      for (std::int32_t j = 0; j < 3; ++j)
        if (row[j] != 0) {
          columns.push_back(j);
          values.push_back(row[j]);
        }
      graph.learn({columns, values});
      for (std::size_t i = 0; i < rows.size(); ++i)
        CHECK(same(graph.lists().nearest(static_cast<std::int32_t>(i)), nearest_cosines(rows, i)));
    }
  }
}

// More rows than are summed up at a time: the neighbours lie in different blocks.
void neighbors_are_found_in_every_block() {
  constexpr std::int32_t n_rows = LiveRows<double>::block_slots + 40;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices, ids(n_rows, -1);
  for (std::int32_t row = 0; row < n_rows; ++row) {
    if (row % 8194 == 7) indices.push_back(0);
    indices.push_back(1 + row % 3);
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const std::vector<double> values(indices.size(), 1.0);
  LiveGraph<double> graph({indptr, indices, values, 4}, Metric::dot, 9, 0, ids, 1);
  const std::vector<std::int32_t> column{0};
  const std::vector<double> one{1.0};
  const std::int32_t slot = graph.learn({column, one});
  std::vector<Neighbor> expected;
  for (std::int32_t row = 7; row < n_rows; row += 8194) expected.push_back({-1.0, row});
  CHECK(expected.back().id >= LiveRows<double>::block_slots);
  CHECK(same(graph.lists().nearest(slot), expected));
  CHECK(graph.changes().size() == expected.size());
  CHECK(graph.take_out(slot).empty());
  CHECK(graph.changes().size() == expected.size());
}

}  // namespace

TEST(test_live_graph) {
  every_step_equals_a_fresh_search();
  frequent_features_change();
  a_graph_that_begins_with_rows_is_the_same();
  extreme_values_are_those_of_the_definition();
  extreme_cosines_are_those_of_the_definition();
  neighbors_are_found_in_every_block();
}

}  // namespace vicinal::test_live_graph
