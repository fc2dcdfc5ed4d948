// Vectors whose memory starts at a cache line.
//
// A vector register is as wide as a cache line, and a load that crosses two lines costs two.
// Arrays that such loads scan (columns, bitmaps, sums) start at a line and are multiples of it
// long.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace vicinal {

inline constexpr std::size_t cache_line = 64;

template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{cache_line}));
  }
  void deallocate(T* memory, std::size_t) {
    ::operator delete(memory, std::align_val_t{cache_line});
  }

  template <class U>
  bool operator==(const LineAllocator<U>&) const {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

}  // namespace vicinal
