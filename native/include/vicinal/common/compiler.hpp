// What compilers offer beyond the standard, with a fallback for those that do not.
#pragma once

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

// Start loading a cache line that will be read soon.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#endif
}

}  // namespace vicinal
