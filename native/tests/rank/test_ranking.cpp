// Ranks, best labels and scores of true cells from sparse scores, against a count over every label.
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "vicinal/rank/ranking.hpp"
#include "vicinal/rank/score_counts.hpp"
#include "vicinal/rank/top_labels.hpp"

namespace vicinal::test_ranking {

// Random scores on a coarse grid, so that stored and base values tie, and the same without gaps.
struct Sample {
  std::int64_t n_rows, n_labels;
  std::vector<std::int64_t> indptr{0}, true_indptr{0};
  std::vector<std::int32_t> indices, true_indices, all_labels;
  std::vector<double> values, base, full;

  Sample(unsigned seed, std::int64_t rows, std::int64_t labels, double step)
      : n_rows(rows), n_labels(labels) {
    std::mt19937 random(seed);
    const auto level = [&] { return step * static_cast<double>(random() % 4); };
    for (std::int32_t l = 0; l < n_labels; ++l) {
      all_labels.push_back(l);
      base.push_back(level());
    }
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const unsigned stored_of_4 = random() % 5, true_of_4 = random() % 5;
      for (std::int32_t l = 0; l < n_labels; ++l) {
        full.push_back(base[l]);
        if (random() % 4 < stored_of_4) {
          indices.push_back(l);
          values.push_back(full.back() = level());
        }
        if (random() % 4 < true_of_4) true_indices.push_back(l);
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
      true_indptr.push_back(static_cast<std::int64_t>(true_indices.size()));
    }
  }
  ScoreRows sparse() const { return {indptr, indices, values, base, n_rows, n_labels}; }
  ScoreRows dense() const { return {{}, all_labels, full, {}, n_rows, n_labels}; }
  PatternView truth() const { return {true_indptr, true_indices, n_labels}; }
  double at(std::int64_t i, std::int64_t l) const { return full[i * n_labels + l]; }
};

static bool places_are_counts(const Sample& s, const TruePlaces& places) {
  bool right = true;
  for (std::int64_t i = 0; i < s.n_rows; ++i)
    for (std::int64_t at = s.true_indptr[i]; at < s.true_indptr[i + 1]; ++at) {
      const std::int32_t mine = s.true_indices[at];
      std::int32_t ahead = 0, tied = 0, tied_lower = 0;
      for (std::int32_t l = 0; l < s.n_labels; ++l) {
        ahead += s.at(i, l) > s.at(i, mine);
        tied += s.at(i, l) == s.at(i, mine);
        tied_lower += s.at(i, l) == s.at(i, mine) && l < mine;
      }
      right = right && places.best[at] == ahead + 1 && places.rank[at] == ahead + tied_lower + 1 &&
              places.worst[at] == ahead + tied;
    }
  return right;
}

static void places_equal_a_count_over_all_labels() {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Sample s(seed, 9, 1 + seed % 7, 0.25);
    for (int n_threads : {1, 3}) {
      CHECK(places_are_counts(s, place_true_labels(s.sparse(), s.truth(), 0.0, n_threads)));
      CHECK(places_are_counts(s, place_true_labels(s.dense(), s.truth(), 0.0, n_threads)));
    }
  }
}

static void a_tolerance_below_every_gap_changes_nothing() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Sample s(seed, 5, 6, 0.25);
    CHECK(places_are_counts(s, place_true_labels(s.sparse(), s.truth(), 1e-6, 2)));
  }
}

// Scores 0, 6, 12, 18 (in 1e-7) group as {0, 6}, {12, 18}: from the lowest up, not by nearness.
static void groups_are_cut_from_the_lowest_up() {
  const std::vector<double> base{6e-7, 12e-7, 18e-7, 0.0};
  const std::vector<std::int64_t> none{0, 0}, true_indptr{0, 4};
  const std::vector<std::int32_t> all{0, 1, 2, 3};
  const auto places = place_true_labels({none, {}, {}, base, 1, 4}, {true_indptr, all, 4}, 1e-6, 1);
  CHECK(places.best == std::vector<std::int32_t>{3, 1, 1, 3});
  CHECK(places.rank == std::vector<std::int32_t>{3, 1, 2, 4});
  CHECK(places.worst == std::vector<std::int32_t>{4, 2, 2, 4});
  // With label 3 stored elsewhere, the lowest is 6 and the groups are {6, 12}, {18, 20}.
  const std::vector<std::int64_t> one{0, 1};
  const std::vector<std::int32_t> third{3};
  const std::vector<double> twenty{20e-7};
  const auto moved =
      place_true_labels({one, third, twenty, base, 1, 4}, {true_indptr, all, 4}, 1e-6, 1);
  CHECK(moved.rank == std::vector<std::int32_t>{3, 4, 1, 2});
}

static void tolerance_is_the_same_on_dense_and_sparse() {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Sample s(seed, 9, 8, 6e-7);
    const auto sparse = place_true_labels(s.sparse(), s.truth(), 1e-6, 2);
    const auto dense = place_true_labels(s.dense(), s.truth(), 1e-6, 1);
    CHECK(sparse.best == dense.best && sparse.rank == dense.rank && sparse.worst == dense.worst);
  }
}

static void top_labels_are_the_first_of_a_full_sort() {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Sample s(seed, 6, 1 + seed % 7, 0.25);
    for (std::int64_t width = 0; width <= s.n_labels; ++width) {
      const auto top = top_labels(s.sparse(), width, 2);
      const auto same = top_labels(s.dense(), width, 1);
      CHECK(top.labels == same.labels && top.scores == same.scores);
      bool right = true;
      for (std::int64_t i = 0; i < s.n_rows; ++i) {
        std::vector<std::int32_t> order = s.all_labels;
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return s.at(i, a) > s.at(i, b); });
        for (std::int64_t j = 0; j < width; ++j)
          right = right && top.labels[i * width + j] == order[j] &&
                  top.scores[i * width + j] == s.at(i, order[j]);
      }
      CHECK(right);
    }
  }
}

static void true_scores_are_those_of_true_cells() {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Sample s(seed, 7, 4, 0.25);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < s.n_rows; ++i)
      for (std::int32_t label : s.truth().columns(i)) expected.push_back(s.at(i, label));
    CHECK(true_scores(s.sparse(), s.truth()) == expected);
    CHECK(true_scores(s.dense(), s.truth()) == expected);
  }
}

TEST(test_ranking) {
  places_equal_a_count_over_all_labels();
  a_tolerance_below_every_gap_changes_nothing();
  groups_are_cut_from_the_lowest_up();
  tolerance_is_the_same_on_dense_and_sparse();
  top_labels_are_the_first_of_a_full_sort();
  true_scores_are_those_of_true_cells();
}

}  // namespace vicinal::test_ranking
