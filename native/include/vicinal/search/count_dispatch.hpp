// Selects the kernels of CountIndex for an instruction set and a number of bitmaps.
#pragma once

#include "vicinal/search/count_kernels.hpp"
#include "vicinal/search/count_kernels_avx2.hpp"
#include "vicinal/search/count_kernels_avx512.hpp"

namespace vicinal {

// Fewer planes need fewer registers, so kernels exist for fewer than 8, 16, 32, 64 and 256 bitmaps.
template <template <int> class Level>
CountKernelsOf<std::uint8_t> by_planes(std::size_t n_bitmaps) {
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
  static CountKernelsOf<std::uint8_t> kernels() {
    return {avx2::add<Planes>, avx2::add_and_take<Planes>, avx2::find};
  }
};
template <int Planes>
struct Avx512Level {
  static CountKernelsOf<std::uint8_t> kernels() {
    using Counter = std::uint8_t;
    return {avx512::add<Planes, Counter>, avx512::add_and_take<Planes, Counter>,
            avx512::find<Counter>};
  }
};
#endif

inline CountKernels count_kernels([[maybe_unused]] Simd level,
                                  [[maybe_unused]] std::size_t n_bitmaps) {
  CountKernels kernels{plain::narrow_kernels(), plain::wide_kernels()};
#if VICINAL_X86
  if (level == Simd::avx2) kernels.narrow = by_planes<Avx2Level>(n_bitmaps);
  if (level == Simd::avx512) {
    using Wide = std::uint16_t;
    kernels.narrow = by_planes<Avx512Level>(n_bitmaps);
    if (n_bitmaps < 1024)
      kernels.wide = {avx512::add<10, Wide>, avx512::add_and_take<10, Wide>, avx512::find<Wide>};
  }
#endif
  return kernels;
}

}  // namespace vicinal
