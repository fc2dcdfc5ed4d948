// An array that owns its memory while it is built, or refers to memory of somebody else, such as a
// file mapped into memory. Readers see no difference; writers say that they write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "vicinal/common/assert.hpp"

namespace vicinal {

// Vectors whose memory starts at a cache line.
//
// A vector register is as wide as a cache line, and a load that crosses two lines costs two.
// Arrays that such loads scan (columns, bitmaps, sums) start at a line and are multiples of it
// long.

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

// Structures of arrays and numbers as one run of bytes, to be written to a file and mapped again.
//
// A structure names what is to be stored in a static function that both directions call:
//
//   static void stored(auto& self, auto& archive) { archive(self.count, self.ids, self.table); }
//
// Numbers are stored as they are in memory, arrays as their size and then their elements from the
// next cache line on, so that a mapped array is used in place. Reading checks that everything lies
// within the bytes; whether the content makes sense is for the structure to check.

// Stored bytes that are not what they should be.
struct ArchiveError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline void expect_stored(bool is_sound, const char* what) {
  if (!is_sound) throw ArchiveError(what);
}

class ArchiveWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit ArchiveWriter(Sink sink) : sink_(std::move(sink)) {}

  template <class... Parts>
  void operator()(const Parts&... parts) {
    (write(parts), ...);
  }

 private:
  template <class Part>
  void write(const Part& part) {
    if constexpr (std::is_arithmetic_v<Part>)
      bytes(std::as_bytes(std::span(&part, 1)));
    else
      Part::stored(part, *this);
  }

  template <class T, class Allocator>
  void write(const Array<T, Allocator>& array) {
    write(static_cast<std::uint64_t>(array.size()));
    static constexpr std::array<std::byte, cache_line> zeros{};
    bytes(std::span(zeros).first((cache_line - at_ % cache_line) % cache_line));
    bytes(std::as_bytes(std::span<const T>(array)));
  }

  void bytes(std::span<const std::byte> some) {
    if (!some.empty()) sink_(some);
    at_ += some.size();
  }

  Sink sink_;
  std::size_t at_ = 0;
};

class ArchiveReader {
 public:
  // `bytes` must start at a cache line and outlive all that is read.
  explicit ArchiveReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    expect_stored(reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line == 0,
                  "memory that starts at a cache line");
  }

  template <class... Parts>
  void operator()(Parts&... parts) {
    (read(parts), ...);
  }

  void expect_end() const { expect_stored(at_ == bytes_.size(), "no bytes after the last array"); }

 private:
  template <class Part>
  void read(Part& part) {
    if constexpr (std::is_arithmetic_v<Part>)
      std::memcpy(&part, take(sizeof(Part)).data(), sizeof(Part));
    else
      Part::stored(part, *this);
  }

  template <class T, class Allocator>
  void read(Array<T, Allocator>& array) {
    std::uint64_t size = 0;
    read(size);
    take((cache_line - at_ % cache_line) % cache_line);
    expect_stored(size <= (bytes_.size() - at_) / sizeof(T), "more bytes");
    const auto elements = take(size * sizeof(T));
    array.borrow({reinterpret_cast<const T*>(elements.data()), static_cast<std::size_t>(size)});
  }

  std::span<const std::byte> take(std::size_t count) {
    expect_stored(count <= bytes_.size() - at_, "more bytes");
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace vicinal
