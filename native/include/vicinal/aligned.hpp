// Arrays that begin where a cache line begins.
//
// A vector register is as long as a line, and a load that lies across two lines costs two. What is
// swept by such loads (columns, bitmaps, sums) starts at a line and keeps to multiples of it.
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
