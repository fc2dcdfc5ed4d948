#include <cfloat>
#include <string>
#include <vector>

#include "check.hpp"
#include "vicinal/parse/xc_parser.hpp"

namespace vicinal::test_xc_parser {

using Ids = std::vector<std::int32_t>;
using Starts = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// What parse_xc says of a bad text: "line: expected | got".
static std::string refusal(std::string_view text) {
  try {
    parse_xc(text);
  } catch (const ParseError& error) {
    return std::to_string(error.line) + ": " + error.expected + " | " + error.got;
  }
  return "accepted";
}

static void rows_are_read() {
  const auto data = parse_xc("3 5 4\n0,2 1:0.5 4:-1e3\n 0:2\n3\n");
  CHECK(data.n_rows == 3 && data.n_features == 5 && data.n_labels == 4);
  CHECK(data.features.indptr == Starts{0, 2, 3, 3});
  CHECK(data.features.indices == Ids{1, 4, 0});
  CHECK(data.features.values == Reals{0.5, -1000, 2});
  CHECK(data.labels.indptr == Starts{0, 2, 2, 3});
  CHECK(data.labels.indices == Ids{0, 2, 3});
}

static void rows_come_out_sorted_and_without_zeros() {
  const auto data = parse_xc("1 9 9\n7,1 8:1 2:0 5:3 0:4\n");
  CHECK(data.labels.indices == Ids{1, 7});
  CHECK(data.features.indices == Ids{0, 5, 8});
  CHECK(data.features.values == Reals{4, 3, 1});
}

static void odd_but_clear_rows_are_read() {
  // No blank before a row without labels; carriage returns; blanks and tabs; no last line end.
  const auto data = parse_xc("4 3 2 \r\n1:7\r\n\r\n0\t 0:1 \t2:2 \r\n1 0:+1.5");
  CHECK(data.features.indptr == Starts{0, 1, 1, 3, 4});
  CHECK(data.features.indices == Ids{1, 0, 2, 0});
  CHECK(data.features.values == Reals{7, 1, 2, 1.5});
  CHECK(data.labels.indptr == Starts{0, 0, 0, 1, 2});
  CHECK(parse_xc("0 0 0").n_rows == 0);
  CHECK(parse_xc("1 1 1\n\n \n\n").features.indptr == Starts{0, 0});
}

static void numbers_are_exact() {
  const auto data = parse_xc(
      "1 6 0\n 0:5e-324 1:1.7976931348623157e308 2:0.1 3:2.2250738585072014e-308 "
      "4:9007199254740993 5:0.30000000000000004\n");
  CHECK(data.features.values ==
        Reals{5e-324, DBL_MAX, 0.1, DBL_MIN, 9007199254740993.0, 0.30000000000000004});
}

static void bad_headers_are_refused() {
  CHECK(refusal("").starts_with("1: a header"));
  CHECK(refusal("\n").starts_with("1: a header"));
  CHECK(refusal("1 2\n").ends_with("| the end of the line"));
  CHECK(refusal("1 2 3 4\n").starts_with("1: three counts"));
  CHECK(refusal("-1 2 3\n").starts_with("1: a header"));
  CHECK(refusal("1.5 2 3\n").starts_with("1: a blank after a count"));
  CHECK(refusal("1 99999999999999999999 3\n").starts_with("1: a header"));
  CHECK(refusal("2147483647 1 1\n").starts_with("1: a header"));
  CHECK(refusal("2147483646 1 1\n0 0:1\n") == "2: 2147483646 rows, as the header says | 1");
}

static void bad_rows_are_refused_with_their_line() {
  CHECK(refusal("2 2 2\n0 0:1\n") == "2: 2 rows, as the header says | 1");
  CHECK(refusal("1 2 2\n0 0:1\n\n1 1:1\n") == "4: 1 rows, as the header says | more");
  CHECK(refusal("2 2 2\n0 0:1\n0 2:1\n") == "3: a feature id from 0 to 1 | '2:1'");
  CHECK(refusal("1 2 2\n2 0:1\n") == "2: a label id from 0 to 1 | '2'");
  CHECK(refusal("1 2 2\n-1 0:1\n").starts_with("2: a label id from 0 to"));
  CHECK(refusal("1 2 2\n0,0 0:1\n") == "2: each label once | label 0 twice");
  CHECK(refusal("1 2 2\n0 1:1 1:2\n") == "2: each feature once | feature 1 twice");
  CHECK(refusal("1 2 2\n0 1:1 0:5 1:0\n") == "2: each feature once | feature 1 twice");
  for (const char* value : {"nan", "inf", "-inf", "x", "", "1e999", "0x1p3", "+-1", "1,5", "1:2"})
    CHECK(refusal("1 2 2\n0 1:" + std::string(value) + "\n").starts_with("2: a"));
  CHECK(refusal("1 2 2\n0 1\n") == "2: ':' after a feature id | the end of the line");
  CHECK(refusal("1 2 2\n0, 1:1\n") == "2: a label id after the comma | ' '");
  CHECK(refusal("1 2 2\n0;1 1:1\n") == "2: a comma or a blank after a label id | ';1'");
  CHECK(refusal("1 2 2\n0,1:1\n").starts_with("2: a comma or a blank"));
  CHECK(refusal("1 0 2\n0 0:1\n") == "2: no features, as the header says | '0:1'");
  CHECK(refusal("1 2 0\n0 0:1\n") == "2: no labels, as the header says | '0'");
  CHECK(refusal("1 2 2\nword\n") == "2: a label id from 0 to 2147483646 | 'word'");
}

static void long_tokens_are_cut_in_messages() {
  CHECK(refusal("1 2 2\n" + std::string(1000, 'x')).size() < 150);
}

static void it_stops_when_asked() {
  CHECK_THROWS(vicinal::Interrupted, parse_xc("1 1 1\n0 0:1\n", [] { return true; }));
}

TEST(test_xc_parser) {
  rows_are_read();
  rows_come_out_sorted_and_without_zeros();
  odd_but_clear_rows_are_read();
  numbers_are_exact();
  bad_headers_are_refused();
  bad_rows_are_refused_with_their_line();
  long_tokens_are_cut_in_messages();
  it_stops_when_asked();
}

}  // namespace vicinal::test_xc_parser
