// Approximate similarities of rows and a query from integers, with an error bound for every row.
//
// Rows u and query q are scaled to length one. Frequent features are stored in columns, all others
// in lists.
//
// A column stores u_ij as a whole number t_ij with u_ij ≈ s_i a_j t_ij: one scale per row, one per
// feature. If values are a weight per feature times a factor per row, as in tf-idf of words that a
// text has or lacks, t_ij is 1 or 0. The query's value becomes a small whole number w_j =
// round(|q_j| a_j W). The sum C_i of w_j t_ij is exact, and s_i C_i / W stands for the part of the
// cosine that comes from columns. Its error is at most
//
//   |q_C| D_i + E K_i,   D_i: norm of (u_ij - s_i a_j t_ij), |q_C|: norm of the query, both in
//                        columns; K_i: norm of s_i a_j t_ij; E: norm of q_j - w_j / (a_j W)
//
// by the inequality of Cauchy and Schwarz. Scales lie between 1e-6 and 1e6, so that s_i C_i / W is
// a normal number in float32, and right to 4e-7 of its size; whatever the limits change is part of
// D_i. D_i, K_i and computed cosines may exceed 1 where a row is unlike all others. C_i is computed
// for 512 rows at a time. Where every t_ij is 1 or 0, a column is a bitmap over rows, which is
// added in bit planes with weight 2^r for each bit r of w_j. Otherwise t_ij is a byte from -127 to
// 127. Two columns are multiplied by their weights and added at a time, and a sum adds round(h (w_j
// t_ij + w_k t_ik) / 2^15), which is wrong by at most 1/2. |C_i| is at most |w| |t_i| by the same
// inequality, so that h is chosen such that no sum leaves the 16-bit range. What negative values of
// the query contribute is added up apart and subtracted.
//
// A list stores b = round(32512 u_ij / M_j), M_j the largest |u_ij| of the feature. The query's
// value is the 16-bit weight w = round(q M S 128/127), and a row's accumulator adds
// round(b w / 2^15), which stands for q u S. After all lists it holds S times that part of the
// cosine, with an error of at most S D_L, D_L the largest norm over rows of (stored - true) in
// lists, + 1/2 for each rounding of w and 1/2 for each rounding of b w / 2^15. The same inequality
// bounds every partial sum, so S is chosen such that no accumulator leaves the 16-bit range, in
// whatever order features come and whatever their signs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "vicinal/common/simd.hpp"
#include "vicinal/common/top_k.hpp"
#include "vicinal/search/count_kernels.hpp"
#include "vicinal/search/row_order.hpp"
#include "vicinal/search/shortlist.hpp"

namespace vicinal {

struct ImpactScale {
  double unit;  // S
  bool usable;  // false where rows are so long that the bound says nothing
};

// For a query with `n_lists` features in lists.
inline ImpactScale impact_scale(std::int64_t n_lists, std::int64_t longest_row, double list_error) {
  const auto roundings = static_cast<double>(std::min(n_lists, longest_row));
  const double unit = std::min(32000.0, (32765.0 - roundings) / (1.0 + list_error));
  return {unit, roundings < 16000.0};
}

// What is left of the error besides |q_C| D_i + E K_i + D_L, for rows of at most `longest_row`
// entries: the roundings of lists, float32 in the sums, float64 in the definition and here.
inline double impact_error(std::int64_t n_lists, std::int64_t query_size, std::int64_t longest_row,
                           double unit) {
  const auto roundings = static_cast<double>(std::min(n_lists, longest_row));
  return roundings / unit + 2e-6 + 4e-16 * static_cast<double>(query_size + longest_row);
}

inline std::int16_t list_weight(double query_value, double peak, double unit) {
  return static_cast<std::int16_t>(std::lrint(query_value * peak * unit * (128.0 / 127.0)));
}

inline constexpr double list_units = 127.0 * 256.0;

inline std::int16_t list_payload(double row_value, double peak) {
  return static_cast<std::int16_t>(std::lrint(row_value * list_units / peak));
}

inline std::int16_t list_impact(std::int16_t payload, std::int16_t weight) {
  return static_cast<std::int16_t>((static_cast<std::int32_t>(payload) * weight + (1 << 14)) >> 15);
}

// The smallest cosine with which a row whose norm lies between `low` and `high` could be as near as
// `worst_key`. In the Euclidean case |q|^2 + |x|^2 - 2 |q| |x| cos <= worst, solved for cos: its
// right-hand side falls, then rises with |x|, with the least value at |x| = sqrt(|q|^2 - worst).
// The margin covers the rounding of `n_terms` squares added up.
inline double least_cosine(Metric metric, double worst_key, double query_norm, double low,
                           double high, std::int64_t n_terms) {
  if (metric == Metric::cosine) return -worst_key;
  if (metric == Metric::dot) return -worst_key / (query_norm * (worst_key < 0.0 ? high : low));
  const double gap = query_norm * query_norm - worst_key;
  const double x = gap > 0.0 ? std::clamp(std::sqrt(gap), low, high) : low;
  const double rounding =
      (1e-12 + 1e-15 * static_cast<double>(n_terms)) * (2.0 + query_norm / low + high / query_norm);
  return (gap / x + x) / (2.0 * query_norm) - rounding;
}

// The keys a row of norm `row_norm` may have whose cosine lies within `error` of `cosine`, where
// the metric is not the cosine itself. For distances, the margin covers the rounding of `n_terms`
// squares added up.
inline KeyRange impact_keys(Metric metric, double cosine, double error, double query_norm,
                            double row_norm, std::int64_t n_terms) {
  const double size = query_norm * row_norm;
  if (metric == Metric::dot) return {-(cosine + error) * size, -(cosine - error) * size};
  const double sum = query_norm * query_norm + row_norm * row_norm;
  const double margin = (1e-12 + 1e-15 * static_cast<double>(n_terms)) * sum;
  return {sum - 2.0 * (cosine + error) * size - margin,
          sum - 2.0 * (cosine - error) * size + margin};
}

inline constexpr std::int64_t bitmap_bytes = Blocks::group / 8;
inline constexpr double last_byte = 127.0;  // the largest |t_ij| of a column of bytes

// A column and the weight that multiplies it, from 0 to 127.
struct WeightedColumn {
  std::int32_t column;
  std::int32_t weight;
};

// The bitmaps of columns in the order of their weights: one of weight 2^r for each bit r of the
// weight of its column.
class PlaneSum {
 public:
  static constexpr std::size_t most_planes = 15;  // sums stay below 2^15

  PlaneSum() = default;
  explicit PlaneSum(std::span<const WeightedColumn> columns) {
    for (std::size_t bit = 0; bit < most_planes; ++bit) {
      for (const auto [column, weight] : columns)
        if ((weight >> bit) & 1)
          offsets_.push_back(static_cast<std::uint32_t>(column * bitmap_bytes));
      starts_[bit + 1] = static_cast<std::uint32_t>(offsets_.size());
    }
    for (const auto [column, weight] : columns) total_ += weight;
    n_planes_ = std::bit_width(static_cast<std::uint64_t>(total_));
  }

  std::size_t size() const { return offsets_.size(); }
  std::int64_t total() const { return total_; }       // the largest possible sum
  std::size_t n_planes() const { return n_planes_; }  // bits of that sum

  // Where the bitmaps of weight 2^position lie, in bytes from the first of a group.
  const std::uint32_t* begin(std::size_t position) const {
    return offsets_.data() + starts_[position];
  }
  std::size_t count(std::size_t position) const {
    return starts_[position + 1] - starts_[position];
  }

 private:
  std::vector<std::uint32_t> offsets_;
  std::array<std::uint32_t, most_planes + 1> starts_{};
  std::int64_t total_ = 0;
  std::size_t n_planes_ = 0;
};

// What turns the integers of a group's rows into cosines.
struct GroupSums {
  const std::int16_t* columns;  // of each row, or null
  const std::int16_t* lists;
  const float* scales;  // s_i
  float column_unit, list_unit;
};

struct ImpactKernels {
  // Write the sums of bitmaps for 512 rows; `group` is the first bitmap of the group.
  void (*add_planes)(const PlaneSum& sum, const std::uint8_t* group, std::int16_t* sums);
  // The same for columns of bytes; `group` is the first byte of the group.
  void (*add_cells)(std::span<const WeightedColumn> columns, std::int16_t share,
                    const std::int8_t* group, std::int16_t* sums);
  // Write columns[i] scales[i] column_unit + lists[i] list_unit, in float32, for 512 rows.
  void (*cosines)(const GroupSums& sums, float* out);
  // Write the rows of a group with at least this cosine and return their number.
  std::size_t (*find)(const float* cosines, float least, std::int32_t* out);
  // Write those of 512 rows whose accumulator reaches `least` and return their number.
  std::size_t (*reach)(const std::int16_t* sums, std::int16_t least, std::int32_t* out);
  // Return the largest of 512 accumulators; raise lanes[i] to the largest of i, i + 32, ...
  std::int16_t (*largest)(const std::int16_t* sums, std::int16_t* lanes);
};

inline constexpr std::int64_t largest_lanes = 32;

namespace plane_detail {

// Bit planes while bitmaps are being added: the number that they spell, in units of the current
// weight, for each row. After all bitmaps of one weight its lowest bit is final.
template <class Word>
struct PlaneAdder {
  std::array<Word, PlaneSum::most_planes + 1> planes{};
  std::int64_t most = 0;  // the largest value that the planes can have

  // Room for n more bitmaps; the number of planes that a carry can reach.
  std::size_t make_room(std::size_t n) {
    most += static_cast<std::int64_t>(n);
    return std::bit_width(static_cast<std::uint64_t>(most));
  }

  // Return the lowest plane and go on to the next weight.
  Word take_lowest() {
    const Word lowest = planes[0];
    for (std::size_t p = 0; p + 1 < planes.size(); ++p) planes[p] = planes[p + 1];
    most >>= 1;
    return lowest;
  }
};

// Two bitmaps at a time: a full adder, and its carry through the upper planes.
template <class Word, class Load>
inline void add_bitmaps(PlaneAdder<Word>& adder, const std::uint32_t* offsets, std::size_t count,
                        const Load& load) {
  const std::size_t height = adder.make_room(count);
  for (std::size_t b = 0; b < count; b += 2) {
    const Word x = load(offsets[b]), y = b + 1 < count ? load(offsets[b + 1]) : Word{};
    const Word differ = adder.planes[0] ^ x;
    Word carry = (adder.planes[0] & x) | (differ & y);
    adder.planes[0] = differ ^ y;
    for (std::size_t p = 1; p < height; ++p) {
      const Word old = adder.planes[p];
      adder.planes[p] = old ^ carry;
      carry = old & carry;
    }
  }
}

// Columns `at` and `at` + 1, if there are two.
inline std::array<WeightedColumn, 2> pair_of(std::span<const WeightedColumn> columns,
                                             std::size_t at) {
  return {columns[at],
          at + 1 < columns.size() ? columns[at + 1] : WeightedColumn{columns[at].column, 0}};
}

inline void cosines(const GroupSums& sums, float* VICINAL_RESTRICT out) {
  if (sums.columns == nullptr) {
    for (std::int64_t i = 0; i < Blocks::group; ++i)
      out[i] = static_cast<float>(sums.lists[i]) * sums.list_unit;
    return;
  }
  for (std::int64_t i = 0; i < Blocks::group; ++i)
    out[i] = static_cast<float>(sums.columns[i]) * sums.scales[i] * sums.column_unit +
             static_cast<float>(sums.lists[i]) * sums.list_unit;
}

}  // namespace plane_detail

namespace plain {

// 64 rows at a time.
inline void add_planes(const PlaneSum& sum, const std::uint8_t* group, std::int16_t* sums) {
  for (std::int64_t word = 0; word < bitmap_bytes; word += 8) {
    plane_detail::PlaneAdder<std::uint64_t> adder;
    const auto load = [&](std::uint32_t offset) {
      std::uint64_t bits;
      std::memcpy(&bits, group + offset + word, 8);
      return bits;
    };
    std::int16_t* const out = sums + 8 * word;
    std::fill_n(out, 64, std::int16_t{0});
    for (std::size_t p = 0; p < sum.n_planes(); ++p) {
      plane_detail::add_bitmaps(adder, sum.begin(p), sum.count(p), load);
      const std::uint64_t plane = adder.take_lowest();
      unsigned char bytes[8];
      std::memcpy(bytes, &plane, 8);
      for (int i = 0; i < 64; ++i)
        out[i] = static_cast<std::int16_t>(out[i] + (((bytes[i / 8] >> (i % 8)) & 1) << p));
    }
  }
}

inline void add_cells(std::span<const WeightedColumn> columns, std::int16_t share,
                      const std::int8_t* group, std::int16_t* VICINAL_RESTRICT sums) {
  std::fill_n(sums, Blocks::group, std::int16_t{0});
  for (std::size_t c = 0; c < columns.size(); c += 2) {
    const auto [a, b] = plane_detail::pair_of(columns, c);
    const std::int8_t* const x = group + a.column * Blocks::group;
    const std::int8_t* const y = group + b.column * Blocks::group;
    for (std::int64_t i = 0; i < Blocks::group; ++i) {
      const std::int32_t product = x[i] * a.weight + y[i] * b.weight;
      sums[i] = static_cast<std::int16_t>(sums[i] + ((product * share + (1 << 14)) >> 15));
    }
  }
}

inline void cosines(const GroupSums& sums, float* out) { plane_detail::cosines(sums, out); }

inline std::int16_t largest(const std::int16_t* sums, std::int16_t* lanes) {
  std::array<std::int16_t, largest_lanes> own;
  std::copy_n(sums, largest_lanes, own.begin());
  for (std::int64_t i = largest_lanes; i < Blocks::group; ++i)
    own[i % largest_lanes] = std::max(own[i % largest_lanes], sums[i]);
  for (std::int64_t i = 0; i < largest_lanes; ++i) lanes[i] = std::max(lanes[i], own[i]);
  return *std::max_element(own.begin(), own.end());
}

inline std::size_t find(const float* cosines, float least, std::int32_t* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; ++i)
    if (cosines[i] >= least) out[count++] = i;
  return count;
}

inline std::size_t reach(const std::int16_t* sums, std::int16_t least, std::int32_t* out) {
  std::size_t count = 0;
  for (std::int32_t i = 0; i < Blocks::group; ++i)
    if (sums[i] >= least) out[count++] = i;
  return count;
}

}  // namespace plain

#if VICINAL_X86
namespace avx2 {

// 256 rows at a time.
VICINAL_AVX2 inline void add_planes(const PlaneSum& sum, const std::uint8_t* group,
                                    std::int16_t* sums) {
  const __m256i each_bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                                             4096, 8192, 16384, static_cast<short>(32768));
  for (std::int64_t half = 0; half < bitmap_bytes; half += 32) {
    __m256i planes[PlaneSum::most_planes + 1];
    for (auto& plane : planes) plane = _mm256_setzero_si256();
    std::int16_t* const out = sums + 8 * half;
    std::fill_n(out, 256, std::int16_t{0});
    std::uint64_t most = 0;
    for (std::size_t p = 0; p < sum.n_planes(); ++p) {
      const std::uint32_t* const offsets = sum.begin(p);
      const std::size_t count = sum.count(p);
      most += count;
      const auto height = static_cast<std::size_t>(std::bit_width(most));
      const auto load = [&](std::size_t b) VICINAL_AVX2 {
        return b < count
                   ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group + offsets[b] + half))
                   : _mm256_setzero_si256();
      };
      for (std::size_t b = 0; b < count; b += 4) {
        const Pair p0 = full_add(planes[0], load(b), load(b + 1));
        const Pair p1 = full_add(p0.sum, load(b + 2), load(b + 3));
        const Pair q = full_add(planes[1], p0.carry, p1.carry);
        planes[0] = p1.sum;
        planes[1] = q.sum;
        __m256i carry = q.carry;
        for (std::size_t i = 2; i < height; ++i) {
          const __m256i old = planes[i];
          planes[i] = _mm256_xor_si256(old, carry);
          carry = _mm256_and_si256(old, carry);
        }
      }
      std::uint16_t lowest[16];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lowest), planes[0]);
      const __m256i weight = _mm256_set1_epi16(static_cast<short>(1 << p));
      for (int part = 0; part < 16; ++part) {
        auto* at = reinterpret_cast<__m256i*>(out + 16 * part);
        const __m256i bits =
            _mm256_and_si256(_mm256_set1_epi16(static_cast<short>(lowest[part])), each_bit);
        const __m256i set = _mm256_cmpeq_epi16(bits, each_bit);
        _mm256_storeu_si256(
            at, _mm256_add_epi16(_mm256_loadu_si256(at), _mm256_and_si256(set, weight)));
      }
      for (std::size_t i = 0; i < PlaneSum::most_planes; ++i) planes[i] = planes[i + 1];
      most >>= 1;
    }
  }
}

// Two columns at a time, 128 rows each: their bytes next to each other, times their weights, added
// up in pairs. The halves of a register are put in order in the end.
VICINAL_AVX2 inline void add_cells(std::span<const WeightedColumn> columns, std::int16_t share,
                                   const std::int8_t* group, std::int16_t* sums) {
  const __m256i shares = _mm256_set1_epi16(share);
  for (std::int64_t first = 0; first < Blocks::group; first += 128) {
    __m256i low[4], high[4];
    for (int i = 0; i < 4; ++i) low[i] = high[i] = _mm256_setzero_si256();
    for (std::size_t c = 0; c < columns.size(); c += 2) {
      const auto [a, b] = plane_detail::pair_of(columns, c);
      const __m256i weights = _mm256_set1_epi16(static_cast<short>(a.weight | (b.weight << 8)));
      const std::int8_t* const at_a = group + a.column * Blocks::group + first;
      const std::int8_t* const at_b = group + b.column * Blocks::group + first;
      VICINAL_UNROLL
      for (int i = 0; i < 4; ++i) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at_a + 32 * i));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at_b + 32 * i));
        low[i] = _mm256_add_epi16(
            low[i],
            _mm256_mulhrs_epi16(_mm256_maddubs_epi16(weights, _mm256_unpacklo_epi8(x, y)), shares));
        high[i] = _mm256_add_epi16(
            high[i],
            _mm256_mulhrs_epi16(_mm256_maddubs_epi16(weights, _mm256_unpackhi_epi8(x, y)), shares));
      }
    }
    for (int i = 0; i < 4; ++i) {
      auto* const out = reinterpret_cast<__m256i*>(sums + first + 32 * i);
      _mm256_storeu_si256(out, _mm256_permute2x128_si256(low[i], high[i], 0x20));
      _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(low[i], high[i], 0x31));
    }
  }
}

VICINAL_AVX2 inline __m256 floats(const std::int16_t* at) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
}

VICINAL_AVX2 inline void cosines(const GroupSums& sums, float* out) {
  const __m256 list_unit = _mm256_set1_ps(sums.list_unit);
  const __m256 column_unit = _mm256_set1_ps(sums.column_unit);
  for (std::int64_t i = 0; i < Blocks::group; i += 8) {
    __m256 total = _mm256_mul_ps(floats(sums.lists + i), list_unit);
    if (sums.columns != nullptr) {
      const __m256 scaled =
          _mm256_mul_ps(floats(sums.columns + i), _mm256_loadu_ps(sums.scales + i));
      total = _mm256_add_ps(total, _mm256_mul_ps(scaled, column_unit));
    }
    _mm256_storeu_ps(out + i, total);
  }
}

VICINAL_AVX2 inline std::size_t find(const float* cosines, float least, std::int32_t* out) {
  std::size_t count = 0;
  const __m256 bound = _mm256_set1_ps(least);
  for (std::int32_t i = 0; i < Blocks::group; i += 8) {
    auto pass = static_cast<std::uint32_t>(
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(cosines + i), bound, _CMP_GE_OQ)));
    for (; pass != 0; pass &= pass - 1) out[count++] = i + std::countr_zero(pass);
  }
  return count;
}

// minpos finds the least of eight numbers without a sign.
VICINAL_AVX2 inline std::int16_t largest_of(__m256i numbers) {
  const __m128i eight =
      _mm_max_epi16(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
  const __m128i turned = _mm_sub_epi16(_mm_set1_epi16(32767), eight);
  return static_cast<std::int16_t>(32767 - _mm_extract_epi16(_mm_minpos_epu16(turned), 0));
}

VICINAL_AVX2 inline std::size_t reach(const std::int16_t* sums, std::int16_t least,
                                      std::int32_t* out) {
  std::size_t count = 0;
  const __m256i bound = _mm256_set1_epi16(least);
  for (std::int32_t i = 0; i < Blocks::group; i += 16) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
    const auto fail =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi16(bound, values)));
    for (std::uint32_t pass = ~fail & 0x55555555u; pass != 0; pass &= pass - 1)
      out[count++] = i + std::countr_zero(pass) / 2;
  }
  return count;
}

VICINAL_AVX2 inline std::int16_t largest(const std::int16_t* sums, std::int16_t* lanes) {
  const auto load = [&](std::int64_t at) VICINAL_AVX2 {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + at));
  };
  __m256i low = load(0), high = load(16);
  for (std::int64_t i = largest_lanes; i < Blocks::group; i += largest_lanes) {
    low = _mm256_max_epi16(low, load(i));
    high = _mm256_max_epi16(high, load(i + 16));
  }
  auto* const out = reinterpret_cast<__m256i*>(lanes);
  _mm256_storeu_si256(out, _mm256_max_epi16(low, _mm256_loadu_si256(out)));
  _mm256_storeu_si256(out + 1, _mm256_max_epi16(high, _mm256_loadu_si256(out + 1)));
  return largest_of(_mm256_max_epi16(low, high));
}

}  // namespace avx2

namespace avx512 {

// Add bitmaps of one weight to planes of which a carry reaches `Height`, and return the lowest;
// the others move down.
template <int Height>
VICINAL_AVX512 inline __m512i add_weight(__m512i* planes, const std::uint32_t* offsets,
                                         std::size_t count, const std::uint8_t* group) {
  __m512i plane[Height];
  for (int p = 0; p < Height; ++p) plane[p] = planes[p];
  std::size_t b = 0;
  for (; b + 8 <= count; b += 8) {
    __m512i words[8];
    VICINAL_UNROLL
    for (int i = 0; i < 8; ++i) words[i] = _mm512_loadu_si512(group + offsets[b + i]);
    const Pair p0 = full_add(plane[0], words[0], words[1]);
    const Pair p1 = full_add(p0.sum, words[2], words[3]);
    const Pair p2 = full_add(p1.sum, words[4], words[5]);
    const Pair p3 = full_add(p2.sum, words[6], words[7]);
    const Pair q0 = full_add(plane[1], p0.carry, p1.carry);
    const Pair q1 = full_add(q0.sum, p2.carry, p3.carry);
    const Pair r = full_add(plane[2], q0.carry, q1.carry);
    plane[0] = p3.sum;
    plane[1] = q1.sum;
    plane[2] = r.sum;
    __m512i carry = r.carry;
    VICINAL_UNROLL
    for (int p = 3; p < Height; ++p) {
      const __m512i old = plane[p];
      plane[p] = _mm512_xor_si512(old, carry);
      carry = _mm512_and_si512(old, carry);
    }
  }
  for (; b < count; b += 2) {
    const __m512i second =
        b + 1 < count ? _mm512_loadu_si512(group + offsets[b + 1]) : _mm512_setzero_si512();
    const Pair sum = full_add(plane[0], _mm512_loadu_si512(group + offsets[b]), second);
    plane[0] = sum.sum;
    __m512i carry = sum.carry;
    VICINAL_UNROLL
    for (int p = 1; p < Height; ++p) {
      const __m512i old = plane[p];
      plane[p] = _mm512_xor_si512(old, carry);
      carry = _mm512_and_si512(old, carry);
    }
  }
  for (int p = 1; p < Height; ++p) planes[p - 1] = plane[p];
  planes[Height - 1] = _mm512_setzero_si512();
  return plane[0];
}

VICINAL_AVX512 inline void add_planes(const PlaneSum& sum, const std::uint8_t* group,
                                      std::int16_t* sums) {
  __m512i planes[PlaneSum::most_planes + 1];
  for (auto& plane : planes) plane = _mm512_setzero_si512();
  alignas(64) std::uint32_t bits[PlaneSum::most_planes][16];
  std::uint64_t most = 0;
  for (std::size_t p = 0; p < sum.n_planes(); ++p) {
    const std::uint32_t* const offsets = sum.begin(p);
    const std::size_t count = sum.count(p);
    most += count;
    const int height = std::bit_width(most);
    const __m512i lowest = height <= 4    ? add_weight<4>(planes, offsets, count, group)
                           : height <= 6  ? add_weight<6>(planes, offsets, count, group)
                           : height <= 8  ? add_weight<8>(planes, offsets, count, group)
                           : height <= 10 ? add_weight<10>(planes, offsets, count, group)
                                          : add_weight<15>(planes, offsets, count, group);
    _mm512_store_si512(bits[p], lowest);
    most >>= 1;
  }
  for (int half = 0; half < 16; half += 8) {
    __m512i out[8];
    for (auto& each : out) each = _mm512_setzero_si512();
    for (std::size_t p = 0; p < sum.n_planes(); ++p) {
      const __m512i weight = _mm512_set1_epi16(static_cast<short>(1 << p));
      VICINAL_UNROLL
      for (int i = 0; i < 8; ++i)
        out[i] = _mm512_mask_add_epi16(out[i], bits[p][half + i], out[i], weight);
    }
    VICINAL_UNROLL
    for (int i = 0; i < 8; ++i) _mm512_storeu_si512(sums + 32 * (half + i), out[i]);
  }
}

// As with AVX2, for all rows of the group at once.
VICINAL_AVX512 inline void add_cells(std::span<const WeightedColumn> columns, std::int16_t share,
                                     const std::int8_t* group, std::int16_t* sums) {
  const __m512i shares = _mm512_set1_epi16(share);
  __m512i low[8], high[8];
  for (int i = 0; i < 8; ++i) low[i] = high[i] = _mm512_setzero_si512();
  for (std::size_t c = 0; c < columns.size(); c += 2) {
    const auto [a, b] = plane_detail::pair_of(columns, c);
    const __m512i weights = _mm512_set1_epi16(static_cast<short>(a.weight | (b.weight << 8)));
    const std::int8_t* const at_a = group + a.column * Blocks::group;
    const std::int8_t* const at_b = group + b.column * Blocks::group;
    VICINAL_UNROLL
    for (int i = 0; i < 8; ++i) {
      const __m512i x = _mm512_loadu_si512(at_a + 64 * i), y = _mm512_loadu_si512(at_b + 64 * i);
      low[i] = _mm512_add_epi16(
          low[i],
          _mm512_mulhrs_epi16(_mm512_maddubs_epi16(weights, _mm512_unpacklo_epi8(x, y)), shares));
      high[i] = _mm512_add_epi16(
          high[i],
          _mm512_mulhrs_epi16(_mm512_maddubs_epi16(weights, _mm512_unpackhi_epi8(x, y)), shares));
    }
  }
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  VICINAL_UNROLL
  for (int i = 0; i < 8; ++i) {
    _mm512_storeu_si512(sums + 64 * i, _mm512_permutex2var_epi64(low[i], first, high[i]));
    _mm512_storeu_si512(sums + 64 * i + 32, _mm512_permutex2var_epi64(low[i], second, high[i]));
  }
}

// The zeroing forms, because compilers warn of what the others leave undefined.
VICINAL_AVX512 inline __m512 floats(const std::int16_t* at) {
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return _mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_maskz_cvtepi16_epi32(0xFFFF, values));
}

VICINAL_AVX512 inline void cosines(const GroupSums& sums, float* out) {
  const __m512 list_unit = _mm512_set1_ps(sums.list_unit);
  const __m512 column_unit = _mm512_set1_ps(sums.column_unit);
  for (std::int64_t i = 0; i < Blocks::group; i += 16) {
    __m512 total = _mm512_mul_ps(floats(sums.lists + i), list_unit);
    if (sums.columns != nullptr) {
      const __m512 scaled =
          _mm512_mul_ps(floats(sums.columns + i), _mm512_loadu_ps(sums.scales + i));
      total = _mm512_add_ps(total, _mm512_mul_ps(scaled, column_unit));
    }
    _mm512_storeu_ps(out + i, total);
  }
}

VICINAL_AVX512 inline std::size_t find(const float* cosines, float least, std::int32_t* out) {
  std::size_t count = 0;
  const __m512 bound = _mm512_set1_ps(least);
  for (std::int32_t i = 0; i < Blocks::group; i += 16) {
    std::uint32_t pass = _mm512_cmp_ps_mask(_mm512_loadu_ps(cosines + i), bound, _CMP_GE_OQ);
    for (; pass != 0; pass &= pass - 1) out[count++] = i + std::countr_zero(pass);
  }
  return count;
}

VICINAL_AVX512 inline std::size_t reach(const std::int16_t* sums, std::int16_t least,
                                        std::int32_t* out) {
  std::size_t count = 0;
  const __m512i bound = _mm512_set1_epi16(least);
  for (std::int32_t i = 0; i < Blocks::group; i += 32) {
    std::uint32_t pass = _mm512_cmpge_epi16_mask(_mm512_loadu_si512(sums + i), bound);
    for (; pass != 0; pass &= pass - 1) out[count++] = i + std::countr_zero(pass);
  }
  return count;
}

VICINAL_AVX512 inline std::int16_t largest(const std::int16_t* sums, std::int16_t* lanes) {
  __m512i own = _mm512_loadu_si512(sums);
  for (std::int64_t i = largest_lanes; i < Blocks::group; i += largest_lanes)
    own = _mm512_max_epi16(own, _mm512_loadu_si512(sums + i));
  _mm512_storeu_si512(lanes, _mm512_max_epi16(own, _mm512_loadu_si512(lanes)));
  return avx2::largest_of(_mm256_max_epi16(_mm512_maskz_extracti64x4_epi64(0xF, own, 0),
                                           _mm512_maskz_extracti64x4_epi64(0xF, own, 1)));
}

}  // namespace avx512
#endif

inline ImpactKernels impact_kernels([[maybe_unused]] Simd level) {
#if VICINAL_X86
  if (level == Simd::avx512)
    return {avx512::add_planes, avx512::add_cells, avx512::cosines,
            avx512::find,       avx512::reach,     avx512::largest};
  if (level == Simd::avx2)
    return {avx2::add_planes, avx2::add_cells, avx2::cosines,
            avx2::find,       avx2::reach,     avx2::largest};
#endif
  return {plain::add_planes, plain::add_cells, plain::cosines,
          plain::find,       plain::reach,     plain::largest};
}

}  // namespace vicinal
