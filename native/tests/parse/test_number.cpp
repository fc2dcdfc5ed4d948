#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "vicinal/parse/text_scan.hpp"

namespace vicinal::test_number {

namespace {

struct Parsed {
  std::ptrdiff_t length = -1;
  std::errc error{};
  double value = 0.0;

  bool operator==(const Parsed& other) const {
    return length == other.length && error == other.error &&
           std::memcmp(&value, &other.value, sizeof value) == 0;
  }
};

template <class Parse>
Parsed parsed(const std::string& text, Parse&& parse) {
  Parsed result;
  const auto [stop, error] = parse(text.data(), text.data() + text.size(), result.value);
  result.length = stop - text.data();
  result.error = error;
  return result;
}

Parsed portably(const std::string& text) { return parsed(text, parse_double_portably); }

void numbers_are_read_up_to_their_end() {
  const std::vector<std::pair<std::string, std::pair<std::ptrdiff_t, double>>> cases{
      {"0", {1, 0.0}},        {"-0", {2, -0.0}},       {"12,5", {2, 12.0}}, {"1.5e3x", {5, 1500.0}},
      {".5", {2, 0.5}},       {"5.", {2, 5.0}},        {"1e", {1, 1.0}},    {"1e+", {1, 1.0}},
      {"1.e2", {4, 100.0}},   {"-2.25 7", {5, -2.25}}, {"1e22", {4, 1e22}}, {"0e999", {5, 0.0}},
      {"4e-320", {6, 4e-320}}};
  for (const auto& [text, expected] : cases)
    CHECK(portably(text) == Parsed{expected.first, std::errc{}, expected.second});
  for (const std::string text : {"", "-", ".", "-.", "e5", "+1", " 1", "x"})
    CHECK(portably(text) == Parsed{0, std::errc::invalid_argument, 0.0});
  for (const std::string text : {"1e400", "-1e400", "1e-400"})
    CHECK(portably(text).error == std::errc::result_out_of_range);
}

// Where the standard library has std::from_chars, both must agree to the last bit.
void both_readers_agree() {
  std::mt19937_64 random(1);
  const std::string alphabet = "0123456789012345678901234567890123456789..ee--+";
  for (int trial = 0; trial < 200'000; ++trial) {
    std::string text;
    for (std::size_t length = random() % 24; text.size() < length;)
      text.push_back(alphabet[random() % alphabet.size()]);
    CHECK(portably(text) == parsed(text, parse_double));
  }
}

}  // namespace

TEST(test_number) {
  numbers_are_read_up_to_their_end();
  both_readers_agree();
}

}  // namespace vicinal::test_number
