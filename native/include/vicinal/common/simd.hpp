// Which vector instructions to use, decided at run time.
//
// A kernel exists as plain C++ and, where it pays, in one more version per instruction set below.
// Only functions marked with an instruction set are compiled for it, so one binary runs on every
// machine. All versions return the same results. Compilers without per-function instruction sets
// and other processors use plain C++.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A promise that no other pointer in scope refers to the same memory.
#if defined(__GNUC__) || defined(__clang__) || defined(_MSC_VER)
#define VICINAL_RESTRICT __restrict
#else
#define VICINAL_RESTRICT
#endif

// A function that takes on the instruction set of the function that calls it.
#if defined(__GNUC__) || defined(__clang__)
#define VICINAL_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define VICINAL_INLINE __forceinline
#else
#define VICINAL_INLINE inline
#endif

// Unroll the loop that follows completely.
#if defined(__clang__)
#define VICINAL_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define VICINAL_UNROLL _Pragma("GCC unroll 16")
#else
#define VICINAL_UNROLL
#endif

namespace vicinal {

// What compilers offer beyond the standard, with a fallback for those that do not.

// Start loading a cache line that will be read soon. GCC takes a function that only prefetches for
// one without an effect, and leaves out calls of it; an empty statement in assembler prevents that.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
  __asm__ volatile("");
#endif
}

}  // namespace vicinal

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(_MSC_VER)
#define VICINAL_X86 1
#include <immintrin.h>
#define VICINAL_AVX2 __attribute__((target("avx2,popcnt,bmi")))
#define VICINAL_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi")))
#else
#define VICINAL_X86 0
#endif

namespace vicinal {

enum class Simd { plain, avx2, avx512 };

// The names of the instruction sets this machine has, the best last.
inline std::vector<std::string> simd_levels() {
  std::vector<std::string> levels{"plain"};
#if VICINAL_X86
  if (__builtin_cpu_supports("avx2")) levels.push_back("avx2");
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    levels.push_back("avx512");
#endif
  return levels;
}

// The instruction set of that name; "auto" selects the best one this machine has.
inline Simd simd_level(std::string_view name) {
  const auto levels = simd_levels();
  if (name == "auto") name = levels.back();
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i] == name) return name == "avx512" ? Simd::avx512 : static_cast<Simd>(i);
  throw std::invalid_argument("this machine does not support simd=" + std::string(name));
}

}  // namespace vicinal
