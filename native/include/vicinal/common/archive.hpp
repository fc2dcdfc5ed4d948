// Structures of arrays and numbers as one run of bytes, to be written to a file and mapped again.
//
// A structure names what is to be stored in a static function that both directions call:
//
//   static void stored(auto& self, auto& archive) { archive(self.count, self.ids, self.table); }
//
// Numbers are stored as they are in memory, arrays as their size and then their elements from the
// next cache line on, so that a mapped array is used in place. Reading checks that everything lies
// within the bytes; whether the content makes sense is for the structure to check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "vicinal/common/aligned.hpp"
#include "vicinal/common/array.hpp"

namespace vicinal {

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
