// Searches of random rows whose values are chosen to break error bounds, against the definition:
// every metric, rows in one or two parts, removed and excluded rows, all instruction sets.
//
// VICINAL_RANDOM_QUERIES in the environment says how many queries are tried, VICINAL_RANDOM_SEED
// where to start. What fails is printed with its seed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "random_rows.hpp"
#include "vicinal/search/inverted_index.hpp"

namespace vicinal::test_search_random {

using testing::OwnedRows;

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  template <class T>
  T of(const std::vector<T>& choices) {
    return choices[below(std::ssize(choices))];
  }

 private:
  std::mt19937_64 random_;
};

const std::vector<std::vector<double>> palettes = {
    {1.0, 2.0, 3.0},
    {1.0, -1.0, 2.0},
    {0.1, 0.2, 0.3, 1.0 / 3.0, 0.7},
    {1e30, 1e-30, 1.0, -1e30},
    {1e30, 1e-30, 1.0},
    {1e-200, 1e200, 1e-170, 1.0, -1e200},
    {1.0, 1e-160, -1.0},
    {1.0, 5e-324, 3e-310},
    {0.1, 7.0, 1e4, -3e7},
    {1.0, 1e-7, -1e-7},
    {1.0, -1e-3, -1e-5},
    {1e6, 1e6 + 1, 1e6 + 3},
    {1.0, 1.0 + 1e-9, 1.0 - 1e-9},
    {1e139, 1e-139, 1.0},
    {1e38, 1e-38, 1e-45, 1.0},
    {1.0, 1e-20, 1e-39, 1e-41},
};

// How the values of a matrix arise.
struct Values {
  int kind;
  std::vector<double> palette, by_feature;
  double spread;

  Values(Draw& draw, std::int64_t n_features)
      : kind(static_cast<int>(draw.below(7))),
        palette(draw.of(palettes)),
        spread(draw.of<double>({0.5, 3.0, 12.0, 35.0, 80.0})) {
    for (std::int64_t j = 0; j < n_features; ++j)
      by_feature.push_back(std::pow(10.0, spread * (draw.share() - 0.5)));
  }

  double at(Draw& draw, double of_row, std::int32_t feature) const {
    switch (kind) {
      case 0:
        return of_row * by_feature[feature];
      case 1:
        return of_row * by_feature[feature] * (1.0 + static_cast<double>(draw.below(3)));
      case 2:
        return 1.0 - draw.share();
      case 3:
        return draw.share() - 0.3;
      case 4:
        return std::pow(10.0, spread * (draw.share() - 0.5)) * (draw.below(5) == 0 ? -1.0 : 1.0);
      default:
        return draw.of(palette);
    }
  }
};

template <class Value>
OwnedRows<Value> draw_rows(Draw& draw, const Values& values, std::int64_t n_rows,
                           std::int32_t n_features, double fill, double steepness) {
  OwnedRows<Value> rows{{0}, {}, {}, n_features};
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double of_row = draw.of<double>({1.0, 0.3, draw.share() + 0.1});
    const std::int64_t copied = i > 0 && draw.below(12) == 0 ? draw.below(i) : -1;
    if (copied >= 0) {
      for (std::int64_t e = rows.indptr[copied]; e < rows.indptr[copied + 1]; ++e) {
        rows.indices.push_back(rows.indices[e]);
        rows.values.push_back(rows.values[e]);
      }
    } else {
      for (std::int32_t j = 0; j < n_features; ++j) {
        if (draw.share() * (1.0 + j / steepness) >= fill) continue;
        const auto value = static_cast<Value>(values.at(draw, of_row, j));
        if (value == Value{0} || !std::isfinite(value)) continue;
        rows.indices.push_back(j);
        rows.values.push_back(value);
      }
    }
    rows.indptr.push_back(std::ssize(rows.indices));
  }
  return rows;
}

// All cells of rows, row by row.
template <class Value>
std::vector<double> cells_of(const OwnedRows<Value>& rows) {
  const std::int64_t n = std::ssize(rows.indptr) - 1;
  std::vector<double> cells(n * rows.n_columns, 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e)
      cells[i * rows.n_columns + rows.indices[e]] = rows.values[e];
  return cells;
}

// The definition, written out: undefined values and cosines of norms whose product is 0 are 0.
std::vector<Neighbor> by_definition(Metric metric, const double* query,
                                    const std::vector<double>& cells, std::int64_t n_features,
                                    std::int64_t excluded,
                                    const std::vector<std::uint8_t>& removed) {
  std::vector<Neighbor> all;
  double own = 0.0;
  for (std::int64_t j = 0; j < n_features; ++j) own += query[j] * query[j];
  for (std::int64_t i = 0; i < std::ssize(removed); ++i) {
    if (i == excluded || removed[i]) continue;
    const double* const row = cells.data() + i * n_features;
    double dot = 0.0, distance = 0.0, other = 0.0;
    bool shares = false;
    for (std::int64_t j = 0; j < n_features; ++j) {
      dot += query[j] * row[j];
      distance += (query[j] - row[j]) * (query[j] - row[j]);
      other += row[j] * row[j];
      shares = shares || (query[j] != 0.0 && row[j] != 0.0);
    }
    if (metric == Metric::euclidean) {
      all.push_back({distance, static_cast<std::int32_t>(i)});
    } else if (shares) {
      const double size = std::sqrt(own) * std::sqrt(other);
      const double value = metric == Metric::dot ? dot : size == 0.0 ? 0.0 : dot / size;
      all.push_back({std::isnan(value) ? -0.0 : -value, static_cast<std::int32_t>(i)});
    }
  }
  std::sort(all.begin(), all.end(), before);
  return all;
}

// One random problem; the number of its queries, or minus one where an answer is wrong.
template <class Value>
std::int64_t try_one(std::uint64_t seed) {
  Draw draw(seed);
  const bool is_large = draw.below(12) == 0;
  const auto n_rows = is_large ? draw.of<std::int64_t>({300, 700, 1300}) : 1 + draw.below(40);
  const auto n_features = static_cast<std::int32_t>(is_large ? draw.of<std::int64_t>({40, 150, 400})
                                                             : 1 + draw.below(24));
  const double fill = draw.of<double>({0.2, 0.6, 1.0}),
               steepness = draw.of<double>({0.5, 4.0, 60.0, 1e9});
  const Values values(draw, n_features);
  const auto rows = draw_rows<Value>(draw, values, n_rows, n_features, fill, steepness);
  const std::int64_t n_queries = 8 + draw.below(17);
  auto queries = draw.below(3) > 0
                     ? draw_rows<double>(draw, values, n_queries, n_features, fill, steepness)
                     : draw_rows<double>(draw, Values(draw, n_features), n_queries, n_features,
                                         fill, steepness);
  if (draw.below(3) == 0)
    for (std::size_t e = 0; e < queries.values.size(); e += 3)
      if (std::abs(queries.values[e]) > 1e-300) queries.values[e] *= -1e-3;
  std::vector<std::uint8_t> removed(n_rows, 0);
  if (draw.below(2) == 0)
    for (auto& each : removed) each = draw.below(3) == 0;
  std::vector<std::int32_t> excluded;
  if (draw.below(3) == 0)
    for (std::int64_t q = 0; q < n_queries; ++q)
      excluded.push_back(static_cast<std::int32_t>(draw.below(n_rows + 1) - 1));
  const auto metric =
      draw.of<Metric>({Metric::cosine, Metric::cosine, Metric::dot, Metric::euclidean});
  const std::int64_t k = draw.of<std::int64_t>({1, 1, 2, 5, 12, 40});
  const IndexOptions options{metric, draw.of<std::int64_t>({512, 65536}),
                             simd_level(draw.of(simd_levels())), draw.below(2) == 0,
                             draw.of<std::int64_t>({0, 0, 0, 1024})};
  std::vector<std::int32_t> ids(n_queries * k, -1);
  std::vector<double> keys(n_queries * k, 0.0);
  const Answers answers{ids, keys, k, n_rows};
  const SearchOptions search{static_cast<int>(1 + draw.below(2)),
                             draw.of<std::int64_t>({1, 5, 32})};
  // Rows that were added later are a part of their own, searched after the first.
  const std::int64_t cut = draw.below(2) == 0 ? n_rows : draw.below(n_rows + 1);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    OwnedRows<Value> some{{0}, {}, {}, n_features};
    for (std::int64_t i = begin; i < end; ++i) {
      some.indices.insert(some.indices.end(), rows.indices.begin() + rows.indptr[i],
                          rows.indices.begin() + rows.indptr[i + 1]);
      some.values.insert(some.values.end(), rows.values.begin() + rows.indptr[i],
                         rows.values.begin() + rows.indptr[i + 1]);
      some.indptr.push_back(std::ssize(some.indices));
    }
    const InvertedIndex<Value> index(some.view(), options);
    index.search(queries.view(), excluded,
                 std::span<const std::uint8_t>(removed).subspan(begin, end - begin),
                 static_cast<std::int32_t>(begin), answers, search);
  };
  part(0, cut);
  part(cut, n_rows);
  const auto cells = cells_of(rows), own = cells_of(queries);
  for (std::int64_t q = 0; q < n_queries; ++q) {
    const auto all = by_definition(metric, own.data() + q * n_features, cells, n_features,
                                   excluded.empty() ? -1 : excluded[q], removed);
    for (std::int64_t place = 0; place < k; ++place) {
      const bool there = place < std::ssize(all);
      if (ids[q * k + place] == (there ? all[place].id : -1) &&
          (!there || keys[q * k + place] == all[place].key))
        continue;
      std::printf("seed %llu: query %lld, place %lld: row %d instead of %d\n",
                  static_cast<unsigned long long>(seed), static_cast<long long>(q),
                  static_cast<long long>(place), ids[q * k + place], there ? all[place].id : -1);
      return -1;
    }
  }
  return n_queries;
}

std::int64_t setting(const char* name, std::int64_t usual) {
  const char* const text = std::getenv(name);
  return text == nullptr ? usual : std::atoll(text);
}

}  // namespace

TEST(test_search_random) {
  const std::int64_t wanted = setting("VICINAL_RANDOM_QUERIES", 6000);
  std::int64_t seed = setting("VICINAL_RANDOM_SEED", 1), tried = 0, wrong = 0;
  for (; tried < wanted && wrong < 20; ++seed) {
    const std::int64_t n = seed % 2 ? try_one<double>(seed) : try_one<float>(seed);
    tried += std::max<std::int64_t>(n, 0);
    wrong += n < 0;
  }
  std::printf("%lld queries, %lld wrong\n", static_cast<long long>(tried),
              static_cast<long long>(wrong));
  CHECK(wrong == 0);
}

}  // namespace vicinal::test_search_random
