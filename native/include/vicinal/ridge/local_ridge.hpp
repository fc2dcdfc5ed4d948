// Local ridge: kernel ridge regression on the neighbours of one query.
//
// With K the kernel of the neighbours among each other and s the kernel of the neighbours and the
// query, the weights are w = (K + alpha I)^-1 s. The kernel of a similarity is the similarity; the
// kernel of Euclidean distances d is exp(-d^2 / (2 sigma^2)) with sigma the median distance of the
// neighbours from the query. s follows from the values of the neighbour graph, so the features of
// the query are not needed.
//
// All sums run in double. The order in which products are added depends on the rows of the nearer
// of two neighbours only, and every version of a kernel performs the same operations on each
// number. So the bits depend on one neighbourhood and one setting: not on threads, on other
// queries, on the instruction set, or on how many neighbours or alphas are asked for in the same
// call.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "vicinal/common/array.hpp"
#include "vicinal/common/assert.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/common/exact.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"

namespace vicinal {

// Rows of a dense matrix, one after another.
template <class Value>
struct DenseView {
  std::span<const Value> values;
  std::int64_t n_columns = 0;

  const Value* row(std::int64_t i) const { return values.data() + i * n_columns; }
};

// The neighbours of each query, as a neighbour graph holds them: nearest first, id -1 for none.
struct NeighborTable {
  std::span<const std::int32_t> ids;  // k per query
  std::span<const double> values;     // similarities, or distances if the metric is Euclidean
  std::int64_t k = 0;

  std::int64_t n_queries() const { return k == 0 ? 0 : std::ssize(ids) / k; }
};

// Each number of neighbours is combined with each alpha.
struct RidgeSettings {
  Metric metric = Metric::cosine;
  std::span<const std::int64_t> ks;  // at most the table's k
  std::span<const double> alphas;    // above 0

  std::size_t size() const { return ks.size() * alphas.size(); }
};

// Below this share of a diagonal entry an alpha would be lost in the roundings of the solution.
inline constexpr double least_relative_alpha = 1e-11;

namespace local_ridge {

inline constexpr std::size_t lanes = 8;        // a vector register of doubles
inline constexpr std::size_t least_line = 16;  // of rows, where lines are faster than pairs

inline std::size_t up_to(std::size_t multiple, std::size_t n) {
  return (n + multiple - 1) / multiple * multiple;
}

// The loops below are compiled once per instruction set. They step by whole registers, so that
// lines are padded; what they compute in the padding is never read.
namespace kernels {

VICINAL_INLINE void add_scaled(double* VICINAL_RESTRICT sums, const double* VICINAL_RESTRICT line,
                               double scale, std::size_t n) {
  for (std::size_t j = 0; j < n; j += lanes)
    for (std::size_t l = 0; l < lanes; ++l) sums[j + l] += scale * line[j + l];
}

// Add to the lower triangle of `sums` the products of all pairs, or their squared differences:
// each of the `n_lines` lines holds one feature of all neighbours.
template <bool differences>
VICINAL_INLINE void add_pairs(const double* VICINAL_RESTRICT lines, std::size_t n_lines,
                              double* VICINAL_RESTRICT sums, std::size_t n, std::size_t stride) {
  constexpr std::size_t height = 4;
  const auto added = [](double sum, double a, double b) {
    if constexpr (differences) {
      const double difference = a - b;
      return sum + difference * difference;
    }
    return sum + a * b;
  };
  for (std::size_t a = 0; a < n; a += height) {
    for (std::size_t b = 0; b < std::min(n, a + height); b += lanes) {
      double cells[height][lanes];
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t l = 0; l < lanes; ++l) cells[i][l] = sums[(a + i) * stride + b + l];
      for (std::size_t c = 0; c < n_lines; ++c) {
        const double* line = lines + c * stride;
        VICINAL_UNROLL
        for (std::size_t i = 0; i < height; ++i)
          for (std::size_t l = 0; l < lanes; ++l)
            cells[i][l] = added(cells[i][l], line[a + i], line[b + l]);
      }
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t l = 0; l < lanes; ++l) sums[(a + i) * stride + b + l] = cells[i][l];
    }
  }
}

VICINAL_INLINE void subtract_scaled(double* VICINAL_RESTRICT line,
                                    const double* VICINAL_RESTRICT other, double scale,
                                    std::size_t begin, std::size_t end) {
  for (std::size_t j = begin; j < end; j += lanes)
    for (std::size_t l = 0; l < lanes; ++l) line[j + l] -= scale * other[j + l];
}

// Cholesky: replace the upper triangle of the first n rows by U with U'U equal to what they held,
// and a column b after the n-th by the solution z of U'z = b. Pivots are taken four at a time, so
// that the rows below are read once per four.
VICINAL_INLINE void factor(double* upper, double* inverse_diagonal, std::size_t n,
                           std::size_t stride) {
  constexpr std::size_t width = 4;
  for (std::size_t first = 0; first < n; first += width) {
    const std::size_t last = std::min(n, first + width);
    for (std::size_t p = first; p < last; ++p) {
      double* row = upper + p * stride;
      const std::size_t begin = p / lanes * lanes;
      for (std::size_t q = first; q < p; ++q)
        subtract_scaled(row, upper + q * stride, upper[q * stride + p], begin, stride);
      const double inverse = 1.0 / std::sqrt(row[p]);
      inverse_diagonal[p] = inverse;
      for (std::size_t j = begin; j < stride; ++j) row[j] *= inverse;
    }
    if (last - first < width) break;  // no row is left
    const double* VICINAL_RESTRICT pivots = upper + first * stride;
    for (std::size_t i = last; i < n; ++i) {
      double* VICINAL_RESTRICT row = upper + i * stride;
      const double a = pivots[i], b = pivots[stride + i];
      const double c = pivots[2 * stride + i], d = pivots[3 * stride + i];
      for (std::size_t j = i / lanes * lanes; j < stride; j += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
          row[j + l] = row[j + l] - a * pivots[j + l] - b * pivots[stride + j + l] -
                       c * pivots[2 * stride + j + l] - d * pivots[3 * stride + j + l];
    }
  }
}

// Solve U w = z for the first n rows of a factor with z in column `at`; w is padded with 0.
VICINAL_INLINE void solve(const double* upper, const double* inverse_diagonal, std::size_t n,
                          std::size_t stride, std::size_t at, double* VICINAL_RESTRICT w) {
  const std::size_t end = up_to(lanes, n);
  std::fill(w, w + end, 0.0);
  for (std::size_t i = n; i-- > 0;) {
    const double* VICINAL_RESTRICT row = upper + i * stride;
    double parts[lanes] = {};
    for (std::size_t j = i / lanes * lanes; j < end; j += lanes)
      for (std::size_t l = 0; l < lanes; ++l) parts[l] += row[j + l] * w[j + l];
    const double sum = ((parts[0] + parts[4]) + (parts[1] + parts[5])) +
                       ((parts[2] + parts[6]) + (parts[3] + parts[7]));
    w[i] = (row[at] - sum) * inverse_diagonal[i];
  }
}

}  // namespace kernels

struct Kernels {
  void (*add_scaled)(double* sums, const double* line, double scale, std::size_t n);
  void (*add_products)(const double* lines, std::size_t n_lines, double* sums, std::size_t n,
                       std::size_t stride);
  void (*add_distances)(const double* lines, std::size_t n_lines, double* sums, std::size_t n,
                        std::size_t stride);
  void (*factor)(double* upper, double* inverse_diagonal, std::size_t n, std::size_t stride);
  void (*solve)(const double* upper, const double* inverse_diagonal, std::size_t n,
                std::size_t stride, std::size_t at, double* w);
};

#define VICINAL_LOCAL_RIDGE_KERNELS(space, TARGET)                                               \
  namespace space {                                                                              \
  TARGET inline void add_scaled(double* sums, const double* line, double scale, std::size_t n) { \
    kernels::add_scaled(sums, line, scale, n);                                                   \
  }                                                                                              \
  TARGET inline void add_products(const double* lines, std::size_t n_lines, double* sums,        \
                                  std::size_t n, std::size_t stride) {                           \
    kernels::add_pairs<false>(lines, n_lines, sums, n, stride);                                  \
  }                                                                                              \
  TARGET inline void add_distances(const double* lines, std::size_t n_lines, double* sums,       \
                                   std::size_t n, std::size_t stride) {                          \
    kernels::add_pairs<true>(lines, n_lines, sums, n, stride);                                   \
  }                                                                                              \
  TARGET inline void factor(double* upper, double* inverse_diagonal, std::size_t n,              \
                            std::size_t stride) {                                                \
    kernels::factor(upper, inverse_diagonal, n, stride);                                         \
  }                                                                                              \
  TARGET inline void solve(const double* upper, const double* inverse_diagonal, std::size_t n,   \
                           std::size_t stride, std::size_t at, double* w) {                      \
    kernels::solve(upper, inverse_diagonal, n, stride, at, w);                                   \
  }                                                                                              \
  inline constexpr Kernels all{add_scaled, add_products, add_distances, factor, solve};          \
  }

VICINAL_LOCAL_RIDGE_KERNELS(plain, )
#if VICINAL_X86
VICINAL_LOCAL_RIDGE_KERNELS(avx2, VICINAL_AVX2)
VICINAL_LOCAL_RIDGE_KERNELS(avx512, VICINAL_AVX512)
#endif
#undef VICINAL_LOCAL_RIDGE_KERNELS

inline const Kernels& kernels_of([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level == Simd::avx512) return avx512::all;
  if (level == Simd::avx2) return avx2::all;
#endif
  return plain::all;
}

// Numbers the columns of a few rows 0, 1, 2 … in order of their first use. A column has its own
// slot in a table as long as all columns, or one by its hash where that table is shorter.
class ColumnNumbers {
 public:
  void start(std::size_t n_entries, std::int32_t last_column) {
    std::size_t size = std::bit_ceil(std::max<std::size_t>(16, n_entries + n_entries / 2));
    const bool has_own_slots = static_cast<std::size_t>(last_column) < size;
    factor_ = has_own_slots ? 1u : 2654435769u;
    shift_ = has_own_slots ? 0 : 32 - std::countr_zero(size);
    if (has_own_slots) size = static_cast<std::size_t>(last_column) + 1;
    slots_.assign(size, Slot{-1, 0});
    last_ = size - 1;
    n_ = 0;
  }

  std::int32_t number_of(std::int32_t column) {
    std::size_t at = (static_cast<std::uint32_t>(column) * factor_) >> shift_;
    while (slots_[at].column != column && slots_[at].column >= 0) at = (at + 1) & last_;
    // Without a branch: whether a column is new cannot be predicted.
    const bool is_new = slots_[at].column < 0;
    const std::int32_t number = is_new ? n_ : slots_[at].number;
    n_ += is_new;
    slots_[at] = {column, number};
    return number;
  }

  std::size_t size() const { return static_cast<std::size_t>(n_); }

 private:
  struct Slot {
    std::int32_t column;
    std::int32_t number;
  };
  std::vector<Slot> slots_;
  std::size_t last_ = 0;
  std::uint32_t factor_ = 1;
  int shift_ = 0;
  std::int32_t n_ = 0;
};

// The products of a query's neighbours with each other, and the weights that follow from them. One
// per worker: its memory is kept from query to query.
class Neighborhood {
 public:
  explicit Neighborhood(Simd level) : kernels_(kernels_of(level)) {}

  // Keep the dot products of the neighbours' rows, or their squared distances if the metric is
  // Euclidean.
  template <class Rows>
  void take(const Rows& rows, std::span<const std::int32_t> ids, Metric metric) {
    n_ = ids.size();
    metric_ = metric;
    stride_ = up_to(lanes, n_ + 1);
    sums_.assign(up_to(lanes, n_) * stride_, 0.0);
    squares_.assign(n_, 0.0);
    add_rows(rows, ids);
  }

  // For each k and alpha, the weights of the neighbours, k_max apart; `out` is full of zeros.
  void weights(std::span<const double> values, const RidgeSettings& settings, double* out,
               std::size_t step) {
    std::size_t ready = 0;  // how many neighbours the kernel matrix has been computed for
    upper_.resize(sums_.size());
    inverse_diagonal_.resize(n_);
    solution_.resize(up_to(lanes, n_));
    const bool gaussian = metric_ == Metric::euclidean;
    for (std::size_t a = 0; a < settings.alphas.size(); ++a) {
      if (!gaussian) fill_similarities(values, settings.alphas[a]);
      if (!gaussian) kernels_.factor(upper_.data(), inverse_diagonal_.data(), n_, stride_);
      for (std::size_t i = 0; i < settings.ks.size(); ++i) {
        ready = std::min<std::size_t>(n_, settings.ks[i]);
        if (gaussian) fill_gaussians(values.first(ready), settings.alphas[a]);
        if (gaussian) kernels_.factor(upper_.data(), inverse_diagonal_.data(), ready, stride_);
        kernels_.solve(upper_.data(), inverse_diagonal_.data(), ready, stride_, n_,
                       solution_.data());
        std::copy_n(solution_.data(), ready, out + (i * settings.alphas.size() + a) * step);
      }
    }
  }

 private:
  struct Entry {
    double value;
    std::uint32_t row;
  };

  // Column by column, in order of their first use. A column that many rows have is spread to a line
  // of all neighbours.
  template <class Value>
  void add_rows(const CsrView<Value>& rows, std::span<const std::int32_t> ids) {
    collect_columns(rows, ids);
    lines_.assign(stride_, 0.0);
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends_) {
      const std::span column = std::span<const Entry>(entries_).subspan(begin, end - begin);
      if (column.size() < least_line)
        add_pairs(column);
      else
        add_lines(column);
      begin = end;
    }
    if (metric_ == Metric::euclidean) products_to_distances(rows, ids);
  }

  void add_pairs(std::span<const Entry> column) {
    for (std::size_t i = 1; i < column.size(); ++i) {
      const Entry entry = column[i];
      double* sums = sums_.data() + entry.row * stride_;
      for (std::size_t j = 0; j < i; ++j) sums[column[j].row] += entry.value * column[j].value;
    }
  }

  void add_lines(std::span<const Entry> column) {
    for (const Entry entry : column) {
      kernels_.add_scaled(sums_.data() + entry.row * stride_, lines_.data(), entry.value,
                          up_to(lanes, entry.row));
      lines_[entry.row] = entry.value;
    }
    std::fill(lines_.begin(), lines_.end(), 0.0);
  }

  // The entries of the columns that at least two rows have, by column, in order of first use.
  template <class Value>
  void collect_columns(const CsrView<Value>& rows, std::span<const std::int32_t> ids) {
    std::size_t n_entries = 0;
    std::int32_t last_column = 0;
    for (const std::int32_t id : ids) {
      n_entries += rows.row_size(id);
      if (rows.row_size(id) > 0) last_column = std::max(last_column, rows.columns(id).back());
    }
    if (n_entries > std::numeric_limits<std::int32_t>::max())
      throw std::length_error("the neighbours of one row have 2^31 entries or more");
    numbering_.start(n_entries, last_column);
    numbers_.resize(n_entries);
    counts_.assign(n_entries, 0);
    std::int32_t* number = numbers_.data();
    for (const std::int32_t id : ids)
      for (const std::int32_t column : rows.columns(id)) {
        *number = numbering_.number_of(column);
        ++counts_[*number++];
      }
    const std::uint32_t n_shared = find_places(n_entries);
    number = numbers_.data();
    for (std::size_t a = 0; a < n_; ++a) {
      double square = 0.0;
      for (const Value raw : rows.row(ids[a])) {
        const auto value = static_cast<double>(raw);
        square += value * value;
        std::uint32_t& place = places_[*number++];
        entries_[place] = {value, static_cast<std::uint32_t>(a)};
        place += place < n_shared;
      }
      squares_[a] = square;
    }
  }

  // Where the entries of each column begin, and where those of the shared columns end. All others
  // are written to one place after these. Returns how many entries shared columns have.
  std::uint32_t find_places(std::size_t n_entries) {
    const std::size_t n_columns = numbering_.size();
    entries_.resize(n_entries + 1);
    places_.resize(n_columns);
    ends_.resize(n_columns);
    std::size_t n_shared = 0;
    std::uint32_t n = 0;
    for (std::size_t c = 0; c < n_columns; ++c) {  // without branches, which cannot be predicted
      const bool is_shared = counts_[c] > 1;
      places_[c] = is_shared ? n : static_cast<std::uint32_t>(n_entries);
      n += is_shared ? counts_[c] : 0;
      ends_[n_shared] = n;
      n_shared += is_shared;
    }
    ends_.resize(n_shared);
    return n;
  }

  // Of nearly equal rows the difference of large sums has few digits: it is computed again.
  template <class Value>
  void products_to_distances(const CsrView<Value>& rows, std::span<const std::int32_t> ids) {
    constexpr double nearly_equal = 1e-4;
    for (std::size_t a = 0; a < n_; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        double& sum = sums_[a * stride_ + b];
        const double both = squares_[a] + squares_[b];
        sum = both - 2.0 * sum;
        if (!(sum > nearly_equal * both))
          sum = exact_squared_distance(row_of(rows, ids[a]), row_of(rows, ids[b]));
      }
  }

  template <class Value>
  void add_rows(const DenseView<Value>& rows, std::span<const std::int32_t> ids) {
    constexpr std::int64_t features_at_once = 64;
    const auto add = metric_ == Metric::euclidean ? kernels_.add_distances : kernels_.add_products;
    lines_.assign(features_at_once * stride_, 0.0);
    for (std::int64_t first = 0; first < rows.n_columns; first += features_at_once) {
      const std::int64_t n = std::min(features_at_once, rows.n_columns - first);
      for (std::size_t a = 0; a < n_; ++a) {
        const Value* row = rows.row(ids[a]) + first;
        for (std::int64_t c = 0; c < n; ++c) lines_[c * stride_ + a] = static_cast<double>(row[c]);
      }
      add(lines_.data(), static_cast<std::size_t>(n), sums_.data(), n_, stride_);
    }
    if (metric_ == Metric::euclidean) return;
    for (std::size_t a = 0; a < n_; ++a) squares_[a] = sums_[a * stride_ + a];
  }

  // The kernel plus alpha in the upper triangle, and the kernel with the query after it.
  void fill_similarities(std::span<const double> values, double alpha) {
    const bool cosine = metric_ == Metric::cosine;
    norms_.resize(n_);
    for (std::size_t a = 0; a < n_; ++a) norms_[a] = std::sqrt(squares_[a]);
    std::fill(upper_.begin(), upper_.end(), 0.0);
    for (std::size_t a = 0; a < n_; ++a) {
      const double* sums = sums_.data() + a * stride_;
      for (std::size_t b = 0; b < a; ++b)
        upper_[b * stride_ + a] = cosine ? cosine_of(sums[b], norms_[a], norms_[b]) : sums[b];
      const double own = cosine ? cosine_of(squares_[a], norms_[a], norms_[a]) : squares_[a];
      upper_[a * stride_ + a] = own + std::max(alpha, least_relative_alpha * own);
      upper_[a * stride_ + n_] = values[a];
    }
  }

  void fill_gaussians(std::span<const double> distances, double alpha) {
    const double width = median(distances);
    const double scale = -0.5 / (width * width);
    const auto kernel = [&](double squared) {
      return squared == 0.0 ? 1.0 : std::exp(scale * squared);
    };
    std::fill(upper_.begin(), upper_.end(), 0.0);
    for (std::size_t a = 0; a < distances.size(); ++a) {
      const double* sums = sums_.data() + a * stride_;
      for (std::size_t b = 0; b < a; ++b) upper_[b * stride_ + a] = kernel(sums[b]);
      upper_[a * stride_ + a] = 1.0 + std::max(alpha, least_relative_alpha);
      upper_[a * stride_ + n_] = kernel(distances[a] * distances[a]);
    }
  }

  // Of rising numbers: the middle one, or the mean of the two in the middle.
  static double median(std::span<const double> sorted) {
    const std::size_t n = sorted.size();
    return n == 0 ? 0.0 : 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
  }

  const Kernels& kernels_;
  Metric metric_ = Metric::cosine;
  std::size_t n_ = 0, stride_ = 0;
  AlignedVector<double> sums_, upper_, lines_, solution_;
  std::vector<double> squares_, norms_, inverse_diagonal_;
  ColumnNumbers numbering_;
  std::vector<std::int32_t> numbers_;
  std::vector<std::uint32_t> counts_, ends_, places_;
  std::vector<Entry> entries_;
};

}  // namespace local_ridge

// The weights of each query's neighbours, 0 where there is none: [ks][alphas][queries][k].
//
// Memory: 8 bytes per weight, and per thread 16 k^2 and about 50 per entry of k rows.
template <class Rows>
std::vector<double> local_ridge_weights(const Rows& rows, const NeighborTable& neighbors,
                                        const RidgeSettings& settings, Simd level, int n_threads,
                                        const InterruptCheck& interrupted = never_interrupted) {
  const std::int64_t n = neighbors.n_queries(), k = neighbors.k;
  const std::int64_t queries_per_task = k <= 128 ? 8 : 1;
  VICINAL_ASSERT(neighbors.values.size() == neighbors.ids.size());
  for ([[maybe_unused]] const std::int64_t each : settings.ks)
    VICINAL_ASSERT(0 < each && each <= k);
  for ([[maybe_unused]] const double alpha : settings.alphas) VICINAL_ASSERT(alpha > 0.0);
  std::vector<double> out(settings.size() * neighbors.ids.size(), 0.0);
  std::vector<local_ridge::Neighborhood> scratch(std::max(n_threads, 1),
                                                 local_ridge::Neighborhood(level));
  parallel_for(
      (n + queries_per_task - 1) / queries_per_task, n_threads,
      [&](std::int64_t task, int worker) {
        local_ridge::Neighborhood& neighborhood = scratch[worker];
        const std::int64_t last = std::min(n, (task + 1) * queries_per_task);
        for (std::int64_t query = task * queries_per_task; query < last; ++query) {
          const auto ids = neighbors.ids.subspan(query * k, k);
          const auto n_found = static_cast<std::size_t>(
              std::find_if(ids.begin(), ids.end(), [](std::int32_t id) { return id < 0; }) -
              ids.begin());
          if (n_found == 0) continue;
          neighborhood.take(rows, ids.first(n_found), settings.metric);
          neighborhood.weights(neighbors.values.subspan(query * k, n_found), settings,
                               out.data() + query * k, neighbors.ids.size());
        }
      },
      interrupted);
  return out;
}

}  // namespace vicinal
