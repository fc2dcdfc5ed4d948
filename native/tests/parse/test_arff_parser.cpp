#include <string>
#include <vector>

#include "check.hpp"
#include "vicinal/parse/arff_parser.hpp"

namespace vicinal::test_arff_parser {

using Ids = std::vector<std::int32_t>;
using Starts = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// Attributes: 0 a number (column 0); 1 {red, 'dark green'} one-hot (columns 1, 2); 2 a label {0,1};
// 3 {YES,NO} as one column (3), so that absence means YES; 4 a label as number; 5 dropped.
struct Example {
  std::vector<std::uint8_t> kind{0, 1, 3, 1, 2, 4};
  Ids column{0, 0, 0, 0, 1, 0};
  Starts value_start{0, 0, 2, 4, 6, 6, 6};
  Ids value_column{2, 1, -1, 0, -1, 3};  // "dark green" sorts before "red", "NO" before "YES"
  Ids default_column{-1, 1, -1, 3, -1, -1};
  ArffPlan plan{kind,         column,         value_start,
                value_column, default_column, {"dark green", "red", "0", "1", "NO", "YES"}};
};

static vicinal::ArffData parse(std::string_view text, std::int64_t first_line = 1) {
  const Example example;
  return parse_arff_rows(text, first_line, example.plan);
}

static std::string refusal(std::string_view text) {
  try {
    parse(text, 10);
  } catch (const ParseError& error) {
    return std::to_string(error.line) + ": " + error.expected + " | " + error.got;
  }
  return "accepted";
}

static void dense_rows_are_read() {
  const auto data = parse("1.5,red,1,NO,0,x\n0,'dark green',0,YES,1,'a, b'\n");
  CHECK(data.features.indptr == Starts{0, 2, 4});
  CHECK(data.features.indices == Ids{0, 1, 2, 3});
  CHECK(data.features.values == Reals{1.5, 1, 1, 1});
  CHECK(data.labels.indptr == Starts{0, 1, 2});
  CHECK(data.labels.indices == Ids{0, 1});
}

static void an_absent_attribute_has_its_first_value() {
  const auto data = parse("{}\n{3 NO, 1 \"dark green\"}\n{ 4 1 , 0 -2 }\n");
  CHECK(data.features.indptr == Starts{0, 2, 3, 6});
  CHECK(data.features.indices == Ids{1, 3, 2, 0, 1, 3});
  CHECK(data.features.values == Reals{1, 1, 1, -2, 1, 1});
  CHECK(data.labels.indptr == Starts{0, 0, 0, 1});
  CHECK(data.labels.indices == Ids{1});
}

static void layout_does_not_matter() {
  const auto plain = parse("1.5,red,1,NO,0,x\n");
  for (const char* text :
       {"  1.5 , red ,\t1, NO , 0 , x  \r\n", "% a comment\n\n1.5,red,1,NO,0,x",
        "1.5\tred\t1\tNO\t0\tx\n", "'1.5',\"red\",'1',NO,\" 0 \",x % why\n",
        "{0 1.5,1 red,2 1,3 NO,5 x}\n", "{5 x,4 0,3 NO,2 1,1 red,0 1.5} % why\n"}) {
    const auto data = parse(text);
    CHECK(data.features.indices == plain.features.indices);
    CHECK(data.features.values == plain.features.values);
    CHECK(data.labels.indices == plain.labels.indices);
    CHECK(data.features.indptr == plain.features.indptr);
  }
}

static void escapes_are_resolved() {
  std::vector<std::uint8_t> kind{1};
  Ids column{0}, value_column{0, 1}, default_column{0};
  Starts value_start{0, 2};
  const ArffPlan plan{kind,         column,         value_start,
                      value_column, default_column, {"a\n\"b", "it's 5%"}};
  const auto data = parse_arff_rows("'it\\'s 5\\%'\n\"a\\n\\\"b\"\n", 1, plan);
  CHECK(data.features.indices == Ids{1, 0});
}

static void bad_rows_are_refused_with_their_line() {
  CHECK(refusal("1,red,1,NO,0\n") == "10: 6 values, one an attribute | 5");
  CHECK(refusal("1,red,1,NO,0,x,7\n") == "10: 6 values, one an attribute and no more | '7'");
  CHECK(refusal("\n%\n?,red,1,NO,0,x\n").starts_with("12: a value (missing"));
  CHECK(refusal("1,red,?,NO,0,x\n").starts_with("10: a value (missing"));
  for (const char* value : {"nan", "inf", "1e999", "x", "1.5x", "''", "'1 2'", "''2"})
    CHECK(refusal(std::string(value) + ",red,1,NO,0,x\n").starts_with("10: a"));
  CHECK(refusal(",red,1,NO,0,x\n") == "10: a finite number | ','");
  CHECK(refusal("1,,1,NO,0,x\n") == "10: a value | ','");
  CHECK(refusal("1,blue,1,NO,0,x\n") == "10: one of the 2 values of attribute 1 | 'blue'");
  CHECK(refusal("1,'red,1,NO,0,x\n").starts_with("10: a closing quote"));
  CHECK(refusal("1,red,1,NO,0.5,x\n") == "10: a label's value, 0 or 1 | '0.5'");
  CHECK(refusal("1,red,2,NO,0,x\n").starts_with("10: one of the 2 values"));
  CHECK(refusal("{0 1,0 2}\n") == "10: each attribute once | attribute 0 twice");
  CHECK(refusal("{0 0,0 0}\n") == "10: each attribute once | attribute 0 twice");
  CHECK(refusal("{6 1}\n") == "10: an attribute number from 0 to 5 | '6'");
  CHECK(refusal("{-1 1}\n").starts_with("10: an attribute number"));
  CHECK(refusal("{0 1\n") == "10: a comma or '}' after a value | the end of the line");
  CHECK(refusal("{0 1} 5\n") == "10: nothing after '}' | '5'");
  CHECK(refusal("{0 1,}\n").starts_with("10: an attribute number"));
  CHECK(refusal("{0}\n").starts_with("10: a blank after an attribute number"));
  CHECK(refusal("{0 ?}\n").starts_with("10: a value (missing"));
}

static void a_repeat_is_seen_per_row() {
  const auto data = parse("{0 1}\n{0 2}\n");
  CHECK(data.features.values == Reals{1, 1, 1, 2, 1, 1});
}

TEST(test_arff_parser) {
  dense_rows_are_read();
  an_absent_attribute_has_its_first_value();
  layout_does_not_matter();
  escapes_are_resolved();
  bad_rows_are_refused_with_their_line();
  a_repeat_is_seen_per_row();
}

}  // namespace vicinal::test_arff_parser
