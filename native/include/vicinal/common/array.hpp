// An array that owns its memory while it is built, or refers to memory of somebody else, such as a
// file mapped into memory. Readers see no difference; writers say that they write.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/common/aligned.hpp"
#include "vicinal/common/assert.hpp"

namespace vicinal {

template <class T, class Allocator = std::allocator<T>>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "may be mapped from a file");

 public:
  using value_type = T;

  Array() = default;
  Array(std::vector<T, Allocator> values) : own_(std::move(values)), view_(own_) {}
  explicit Array(std::size_t size) : Array(std::vector<T, Allocator>(size)) {}
  Array(Array&& other) noexcept
      : own_(std::move(other.own_)), view_(std::exchange(other.view_, {})) {}
  Array& operator=(Array&& other) noexcept {
    own_ = std::move(other.own_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }

  // Refer to `values`, which must outlive this.
  void borrow(std::span<const T> values) {
    own_ = {};
    view_ = values;
  }

  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const T* data() const { return view_.data(); }
  const T* begin() const { return view_.data(); }
  const T* end() const { return view_.data() + view_.size(); }
  const T& operator[](std::size_t i) const { return view_[i]; }
  const T& front() const { return view_.front(); }
  const T& back() const { return view_.back(); }
  operator std::span<const T>() const { return view_; }
  std::size_t owned_bytes() const { return own_.size() * sizeof(T); }

  // Only for an array that owns its memory.
  T& edit(std::size_t i) { return own()[i]; }
  std::span<T> edit_all() { return own(); }
  void resize(std::size_t size) {
    own().resize(size);
    view_ = own_;
  }
  void assign(std::size_t size, const T& value) {
    own().assign(size, value);
    view_ = own_;
  }
  void push_back(const T& value) {
    own().push_back(value);
    view_ = own_;
  }

 private:
  std::vector<T, Allocator>& own() {
    VICINAL_ASSERT(view_.data() == own_.data());
    return own_;
  }

  std::vector<T, Allocator> own_;
  std::span<const T> view_;
};

template <class T>
using AlignedArray = Array<T, LineAllocator<T>>;

}  // namespace vicinal
