// Reading text by lines and numbers, shared by the parsers of all text formats.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace vicinal {

// Decimal text to the nearest double, independent of the locale.

namespace number_detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline const char* skip_digits(const char* at, const char* end) {
  while (at != end && is_digit(*at)) ++at;
  return at;
}

// The end of the longest prefix that is a decimal number; `begin` if there is none.
inline const char* end_of_number(const char* begin, const char* end) {
  const char* at = begin;
  if (at != end && *at == '-') ++at;
  const char* const whole = at;
  at = skip_digits(at, end);
  bool has_digits = at != whole;
  if (at != end && *at == '.') {
    const char* const fraction = at + 1;
    const char* const stop = skip_digits(fraction, end);
    has_digits = has_digits || stop != fraction;
    if (has_digits) at = stop;
  }
  if (!has_digits) return begin;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent != end && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (const char* const stop = skip_digits(exponent, end); stop != exponent) at = stop;
  }
  return at;
}

inline bool has_nonzero_digit(const char* begin, const char* end) {
  for (; begin != end && *begin != 'e' && *begin != 'E'; ++begin)
    if (*begin >= '1' && *begin <= '9') return true;
  return false;
}

}  // namespace number_detail

// std::from_chars for finite decimal numbers, in plain C++: for standard libraries without it. Like
// std::from_chars, it rejects numbers too large or too small for a double.
inline std::from_chars_result parse_double_portably(const char* begin, const char* end,
                                                    double& number) {
  const char* const stop = number_detail::end_of_number(begin, end);
  if (stop == begin) return {begin, std::errc::invalid_argument};
  std::istringstream stream(std::string(begin, stop));
  stream.imbue(std::locale::classic());
  double value = 0.0;
  stream >> value;
  // Some libraries report subnormal numbers as failures although they read them correctly.
  const bool failed = stream.fail() && std::fpclassify(value) != FP_SUBNORMAL;
  if (failed || !std::isfinite(value) ||
      (value == 0.0 && number_detail::has_nonzero_digit(begin, stop)))
    return {stop, std::errc::result_out_of_range};
  number = value;
  return {stop, std::errc{}};
}

inline std::from_chars_result parse_double(const char* begin, const char* end, double& number) {
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  return std::from_chars(begin, end, number);
#else
  return parse_double_portably(begin, end, number);
#endif
}

// Text that violates its format: on which line (from 1), what was expected, what was found.
struct ParseError : std::runtime_error {
  ParseError(std::int64_t line_number, std::string wanted, std::string_view came)
      : std::runtime_error(wanted),
        line(line_number),
        expected(std::move(wanted)),
        got(came.substr(0, longest_got)) {}

  static constexpr std::size_t longest_got = 60;
  std::int64_t line;
  std::string expected;
  std::string got;
};

// The lines of a text, without their "\n" or "\r\n". A "\n" at the very end opens no further line.
class Lines {
 public:
  explicit Lines(std::string_view text, std::int64_t first_line = 1)
      : rest_(text), number_(first_line - 1) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    const void* found = std::memchr(rest_.data(), '\n', rest_.size());
    const std::size_t length =
        found ? static_cast<const char*>(found) - rest_.data() : rest_.size();
    line = rest_.substr(0, length);
    rest_.remove_prefix(found ? length + 1 : length);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
  }

  // The number of the line that next() returned last.
  std::int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::int64_t number_;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// A reading position in a line.
class Cursor {
 public:
  Cursor(std::string_view line, std::int64_t line_number)
      : at_(line.data()), end_(line.data() + line.size()), line_(line_number) {}

  bool done() const { return at_ == end_; }
  bool at(char c) const { return at_ != end_ && *at_ == c; }
  bool at_blank() const { return at_ != end_ && is_blank(*at_); }
  bool at_quote() const { return at('\'') || at('"'); }
  const char* here() const { return at_; }  // Readable unless done().
  std::int64_t line() const { return line_; }

  char take() { return *at_++; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  bool skip_blanks() {
    const char* start = at_;
    while (at_blank()) ++at_;
    return at_ != start;
  }

  // Everything up to one of `stops`, or to the end of the line.
  std::string_view until(std::string_view stops) {
    const char* start = at_;
    while (at_ != end_ && stops.find(*at_) == std::string_view::npos) ++at_;
    return {start, static_cast<std::size_t>(at_ - start)};
  }

  // A whole number in [low, high].
  std::int64_t whole(std::int64_t low, std::int64_t high, const char* what) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at_, end_, number);
    if (error != std::errc{} || number < low || number > high)
      fail(std::string(what) + " from " + std::to_string(low) + " to " + std::to_string(high));
    at_ = stop;
    return number;
  }

  // A finite number, exactly as the nearest double, whatever the locale.
  double real() {
    if (at_lone_digit()) return *at_++ - '0';
    const char* start = at_;
    if (end_ - at_ > 1 && *at_ == '+' && at_[1] != '-') ++start;
    double number = 0;
    const auto [stop, error] = parse_double(start, end_, number);
    if (error != std::errc{} || !std::isfinite(number)) fail("a finite number");
    at_ = stop;
    return number;
  }

  // Counts and flags are mostly one digit; this shortcut halves the time for such files.
  bool at_lone_digit() const {
    if (at_ == end_ || *at_ < '0' || *at_ > '9') return false;
    return at_ + 1 == end_ || is_blank(at_[1]) || at_[1] == ',';
  }

  [[noreturn]] void fail(std::string expected) {
    if (done()) throw ParseError(line_, std::move(expected), "the end of the line");
    const char* start = at_;
    std::string_view token = until(" \t,");
    if (token.empty()) token = {start, 1};
    throw ParseError(line_, std::move(expected), "'" + std::string(token) + "'");
  }

 private:
  const char* at_;
  const char* end_;
  std::int64_t line_;
};

}  // namespace vicinal
