// The kernels of the binary road for a level and a number of bitmaps.
#pragma once

#include "vicinal/count_kernels.hpp"
#include "vicinal/count_kernels_avx2.hpp"
#include "vicinal/count_kernels_avx512.hpp"

namespace vicinal {

// Fewer planes are fewer registers: the number of bitmaps is rounded up to one less than 8, 16, 32,
// 64 or 256.
template <template <int> class Level>
CountKernels by_planes(std::size_t n_bitmaps) {
  const int planes = planes_for(n_bitmaps);
  if (planes <= 3) return Level<3>::kernels();
  if (planes == 4) return Level<4>::kernels();
  if (planes == 5) return Level<5>::kernels();
  if (planes == 6) return Level<6>::kernels();
  return Level<8>::kernels();
}

#if VICINAL_X86
template <int Planes>
struct Avx2Level {
  static CountKernels kernels() {
    return {avx2::add<Planes>, avx2::add_and_take<Planes>, avx2::find};
  }
};
template <int Planes>
struct Avx512Level {
  static CountKernels kernels() {
    return {avx512::add<Planes>, avx512::add_and_take<Planes>, avx512::find};
  }
};
#endif

inline CountKernels count_kernels(Simd level, std::size_t n_bitmaps) {
#if VICINAL_X86
  if (level == Simd::avx512) return by_planes<Avx512Level>(n_bitmaps);
  if (level == Simd::avx2) return by_planes<Avx2Level>(n_bitmaps);
#endif
  return {plain::add_bitmaps, plain::add_and_take, plain::find<std::uint8_t>};
}

}  // namespace vicinal
