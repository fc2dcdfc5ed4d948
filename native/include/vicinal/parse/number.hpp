// Decimal text to the nearest double, independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>

namespace vicinal {

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

}  // namespace vicinal
