#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/tune/lcif_grid.hpp"

namespace vicinal::test_lcif_grid {

namespace {

using Table = std::vector<std::vector<double>>;

// A dense table, stored sparsely.
struct Stored {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  std::int64_t n_columns;

  explicit Stored(const Table& table) : n_columns(static_cast<std::int64_t>(table[0].size())) {
    for (const auto& row : table) {
      for (std::size_t j = 0; j < row.size(); ++j)
        if (row[j] != 0.0) {
          indices.push_back(static_cast<std::int32_t>(j));
          values.push_back(row[j]);
        }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }
  CsrView<double> view() const { return {indptr, indices, values, n_columns}; }
  PatternView pattern() const { return {indptr, indices, n_columns}; }
};

Table random_table(std::mt19937& random, int n, int width, double filled, int levels) {
  Table table(n, std::vector<double>(width, 0.0));
  std::uniform_real_distribution<double> real(0.0, 1.0);
  for (auto& row : table)
    for (double& each : row)
      if (real(random) < filled) each = (1.0 + static_cast<double>(random() % levels)) / levels;
  return table;
}

// Scores of one part for the training rows and for those held out.
struct Part {
  Table training, held_out;
};

struct Problem {
  Part instance;
  std::vector<Part> features;
  Table truth;
  std::int64_t n_true;
};

Table mixed(const Table& a, const Table& b, double mixing) {
  Table out = a;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      out[i][j] = mixing * a[i][j] + (1.0 - mixing) * b[i][j];
  return out;
}

// The exact rule by definition: the score, of those that occur, with the count nearest to N.
double defined_threshold(const Table& scores, std::int64_t n_true) {
  std::vector<double> cells;
  for (const auto& row : scores) cells.insert(cells.end(), row.begin(), row.end());
  std::sort(cells.begin(), cells.end(), std::greater<>());
  const auto n = static_cast<std::int64_t>(cells.size());
  double best = cells[0];
  std::int64_t least = n_true;  // above the highest: none
  for (std::int64_t i = 1; i <= n; ++i)
    if ((i == n || cells[i] < cells[i - 1]) && std::abs(i - n_true) < least) {
      least = std::abs(i - n_true);
      best = i == n ? std::nextafter(cells[n - 1], -1.0) : cells[i];
    }
  return best;
}

// The paper's two passes by definition.
double defined_two_pass(const Table& scores, std::int64_t n_true) {
  const auto miss = [&](int h) {
    std::int64_t above = 0;
    for (const auto& row : scores)
      above += std::count_if(row.begin(), row.end(), [&](double each) { return each > h / 100.0; });
    return std::abs(above - n_true);
  };
  int coarse = 0;
  for (int h = 10; h <= 100; h += 10)
    if (miss(h) < miss(coarse)) coarse = h;
  int best = coarse - 5;
  for (int h = coarse - 4; h <= coarse + 5; ++h)
    if (miss(h) < miss(best)) best = h;
  return best / 100.0;
}

// Predictions written out in full.
Table predicted(const Table& scores, double threshold, std::size_t when_all_zero) {
  Table out = scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores[i].size(); ++j) out[i][j] = scores[i][j] > threshold;
    if (std::count(out[i].begin(), out[i].end(), 1.0) > 0) continue;
    const auto best = std::max_element(scores[i].begin(), scores[i].end());
    out[i][*best > 0.0 ? static_cast<std::size_t>(best - scores[i].begin()) : when_all_zero] = 1.0;
  }
  return out;
}

// Compare the counts of one setting with those of the predictions.
bool same_counts(BipartitionCounts counts, const Table& labels, const Table& truth) {
  bool same = true;
  std::vector<std::int64_t> given(labels[0].size()), common(given.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int64_t row_given = 0, row_common = 0;
    for (std::size_t j = 0; j < labels[i].size(); ++j) {
      const bool is_given = labels[i][j] != 0.0, is_common = is_given && truth[i][j] != 0.0;
      row_given += is_given, given[j] += is_given;
      row_common += is_common, common[j] += is_common;
    }
    same = same && counts.row_given[i] == row_given && counts.row_common[i] == row_common;
  }
  return same &&
         std::equal(counts.label_given.begin(), counts.label_given.end(), given.begin(),
                    given.end()) &&
         std::equal(counts.label_common.begin(), counts.label_common.end(), common.begin(),
                    common.end());
}

// On one thread, so that each part starts from the thresholds of the one before.
bool grid_is_right(const Problem& p, CardinalityRule rule) {
  const Stored train_a(p.instance.training), held_a(p.instance.held_out), truth(p.truth);
  std::vector<Stored> train, held;
  for (const Part& part : p.features) {
    train.emplace_back(part.training);
    held.emplace_back(part.held_out);
  }
  std::vector<PartScores> parts;
  for (std::size_t j = 0; j < train.size(); ++j) parts.push_back({train[j].view(), held[j].view()});
  const std::vector<double> mixings{0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  const std::int32_t frequent = static_cast<std::int32_t>(p.truth[0].size()) - 1;
  const LcifGrid grid(parts, {mixings, rule, p.n_true, frequent, truth.pattern()}, 1);
  GridCounts counts =
      grid.counts({train_a.view(), held_a.view()}, 0, static_cast<std::int64_t>(parts.size()), 1);
  const auto rows = static_cast<std::int64_t>(p.truth.size());
  const auto defined = rule == CardinalityRule::exact ? defined_threshold : defined_two_pass;
  bool right = true;
  std::int64_t setting = 0;
  for (const Part& part : p.features)
    for (const double mixing : mixings) {
      const double t = defined(mixed(p.instance.training, part.training, mixing), p.n_true);
      const Table scores = mixed(p.instance.held_out, part.held_out, mixing);
      right = right && same_counts(counts.setting(setting++, rows, frequent + 1),
                                   predicted(scores, t, frequent), p.truth);
    }
  return right;
}

constexpr auto rules = {CardinalityRule::exact, CardinalityRule::two_pass};

}  // namespace

// Few levels: ties everywhere. Many labels asked for: the threshold falls to 0 and below.
static void the_grid_as_defined() {
  std::mt19937 random(11);
  bool right = true;
  for (int trial = 0; trial < 120; ++trial) {
    const int n = 1 + trial % 9, width = 1 + trial % 7, levels = trial % 2 ? 3 : 1000;
    const double filled = 0.15 * (trial % 8);
    const auto part = [&] {
      return Part{random_table(random, n, width, filled, levels),
                  random_table(random, 4, width, filled, levels)};
    };
    Problem p{part(), {part(), part()}, random_table(random, 4, width, 0.4, 1), 0};
    for (p.n_true = 0; p.n_true <= n * width; ++p.n_true)
      for (const auto rule : rules) right = right && grid_is_right(p, rule);
  }
  CHECK(right);
}

// Enough cells for samples, and few enough labels that most cells are left out. The parts differ
// as much as they can, so that guesses from one to the next fail, and some are alike.
static void a_large_grid_as_defined() {
  std::mt19937 random(12);
  for (const int levels : {7, 100000}) {
    const auto part = [&](double filled, double scale) {
      Part made{random_table(random, 300, 40, filled, levels),
                random_table(random, 20, 40, filled, levels)};
      for (Table* table : {&made.training, &made.held_out})
        for (auto& row : *table)
          for (double& each : row) each *= scale;
      return made;
    };
    const Problem p{
        part(0.3, 1.0),
        {part(0.9, 1.0), part(0.9, 0.2), part(0.02, 1.0), part(0.9, 0.9), part(0.8, 0.9)},
        random_table(random, 20, 40, 0.1, 1),
        900};
    for (const auto rule : rules) CHECK(grid_is_right(p, rule));
  }
}

static void pairs_of_two_rows() {
  const Stored a({{0.5, 0.0, 0.25, 0.0}}), b({{0.125, 0.75, 0.0, 0.0}});
  PairMerge merge;
  merge.resize(4);
  ValuePairs pairs;
  pairs.fill(a.view(), b.view(), 0.0, merge);
  CHECK(pairs.size == 3);
  pairs.fill(a.view(), b.view(), 0.5, merge);
  CHECK(pairs.size == 2);
  CHECK(pairs.a[0] == 0.5 && pairs.b[0] == 0.125);
  CHECK(pairs.a[1] == 0.0 && pairs.b[1] == 0.75);
}

TEST(test_lcif_grid) {
  the_grid_as_defined();
  a_large_grid_as_defined();
  pairs_of_two_rows();
}

}  // namespace vicinal::test_lcif_grid
