// What all bindings share: array types that refuse silent conversion, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vicinal/common/csr.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal::bindings {

namespace nb = nanobind;

// Read-only, C-contiguous. Declared with .noconvert() so that a wrong type is a TypeError, not a
// copy.
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// A matrix that the caller allocated and the core writes to.
template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
  return {array.data(), array.size()};
}

// Hand a vector's memory to NumPy without copying it.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owner->data();
  const std::size_t size = owner->size();
  nb::capsule keep(owner.release(),
                   [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {data, {size}, keep};
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> to_numpy(std::vector<T>&& values, std::size_t rows,
                                                std::size_t columns) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owner->data();
  nb::capsule keep(owner.release(),
                   [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {data, {rows, columns}, keep};
}

// Releases the GIL, but not for work of a few microseconds: a thread that releases it must wait for
// its turn among all others.
class ReleaseIfLong {
 public:
  explicit ReleaseIfLong(bool is_long) {
    if (is_long) released_.emplace();
  }

 private:
  std::optional<nb::gil_scoped_release> released_;
};

// For loops that run without the GIL: whether the user pressed Ctrl-C. The Python error stays set;
// the translator in module.cpp turns the Interrupted that parallel_for throws into it.
inline bool interrupted_by_user() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace vicinal::bindings
