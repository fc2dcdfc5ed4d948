// Arrays that grow by an eighth: a vector would double, and leave up to half of the memory unused.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vicinal {

// Make room for `more` entries. An entry is copied 9 times in all while an array grows from
// nothing.
template <class T>
void reserve_slowly(std::vector<T>& values, std::size_t more) {
  const std::size_t size = values.size() + more;
  if (size > values.capacity()) values.reserve(size + size / 8 + 4);
}

template <class T>
void append_slowly(std::vector<T>& values, T value) {
  reserve_slowly(values, 1);
  values.push_back(std::move(value));
}

}  // namespace vicinal
