// The rows of an ARFF file, dense or sparse, straight into sparse features and label sets.
//
//     1.5,yes,'a value'              dense: one value per attribute
//     {0 1.5, 2 'a value'}           sparse: attribute number and value; absent means 0, or the
//                                    first value of a nominal attribute
//
// The Python layer reads the header and passes a plan that states, for each attribute, what its
// values become. A nominal attribute therefore costs one look-up, not a second pass over the data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vicinal/common/assert.hpp"
#include "vicinal/common/parallel.hpp"
#include "vicinal/parse/row_builder.hpp"
#include "vicinal/parse/text_scan.hpp"

namespace vicinal {

enum class ArffKind : std::uint8_t {
  number = 0,         // a feature: the number, in `column`
  nominal = 1,        // a feature: 1 in the column of its value
  label_number = 2,   // a label: 0 or 1, in `column`
  label_nominal = 3,  // a label: the column of its value, if it has one
  dropped = 4,        // skipped
};

// For attribute a: its kind, and its column where it is a number. Its nominal values are entries
// value_start[a] .. value_start[a + 1] of `values`, sorted by bytes, each with the column that it
// sets (-1: none). `default_column` is the column of the value that an absent attribute has.
struct ArffPlan {
  std::span<const std::uint8_t> kind;
  std::span<const std::int32_t> column;
  std::span<const std::int64_t> value_start;
  std::span<const std::int32_t> value_column;
  std::span<const std::int32_t> default_column;
  std::vector<std::string_view> values;

  std::int64_t n_attributes() const { return static_cast<std::int64_t>(kind.size()); }
};

struct ArffData {
  RowBuilder features;
  SetBuilder labels;
};

class ArffRows {
 public:
  explicit ArffRows(const ArffPlan& plan) : plan_(plan), seen_in_(plan.kind.size(), -1) {
    VICINAL_ASSERT(plan.column.size() == plan.kind.size());
    VICINAL_ASSERT(plan.default_column.size() == plan.kind.size());
    VICINAL_ASSERT(plan.value_start.size() == plan.kind.size() + 1);
    VICINAL_ASSERT(std::is_sorted(plan.value_start.begin(), plan.value_start.end()));
    VICINAL_ASSERT(plan.value_start.front() >= 0 &&
                   plan.value_start.back() <= std::ssize(plan.values));
    VICINAL_ASSERT(plan.value_column.size() == plan.values.size());
    for (std::int32_t a = 0; a < plan.n_attributes(); ++a)
      if (plan.default_column[a] >= 0) defaults_.push_back(a);
  }

  void read(std::string_view text, std::int64_t first_line, const InterruptCheck& interrupted) {
    Lines lines(text, first_line);
    for (std::string_view line; lines.next(line);) {
      Cursor cursor(line, lines.number());
      cursor.skip_blanks();
      if (cursor.done() || cursor.at('%')) continue;
      if (cursor.take('{'))
        read_sparse(cursor);
      else
        read_dense(cursor);
      if (lines.number() % lines_between_interrupt_checks == 0 && interrupted())
        throw Interrupted();
    }
  }

  ArffData data;

 private:
  static constexpr std::int64_t lines_between_interrupt_checks = 4096;
  static constexpr std::string_view after_value = " \t,%}";
  const ArffPlan& plan_;
  std::vector<std::int64_t> seen_in_;   // the last row in which a sparse attribute occurred
  std::vector<std::int32_t> defaults_;  // attributes whose absence sets a column
  std::string quoted_;

  void read_dense(Cursor& cursor) {
    for (std::int64_t a = 0; a < plan_.n_attributes(); ++a) {
      if (a > 0 && !next_value(cursor)) fail_count(cursor, a);
      read_value(cursor, a);
    }
    if (next_value(cursor)) cursor.fail(values_wanted() + " and no more");
    finish_row();
  }

  // Skip the separator of two values: a comma, or blanks alone. False at the end of the row.
  bool next_value(Cursor& cursor) {
    const bool separated = cursor.skip_blanks();
    if (cursor.take(',')) {
      cursor.skip_blanks();
      return true;
    }
    if (cursor.done() || cursor.at('%')) return false;
    if (!separated) cursor.fail("a comma between values");
    return true;
  }

  std::string values_wanted() const {
    return std::to_string(plan_.n_attributes()) + " values, one an attribute";
  }

  [[noreturn]] void fail_count(const Cursor& cursor, std::int64_t found) const {
    throw ParseError(cursor.line(), values_wanted(), std::to_string(found));
  }

  void read_sparse(Cursor& cursor) {
    const std::int64_t row = static_cast<std::int64_t>(data.features.indptr.size());
    cursor.skip_blanks();
    if (!cursor.take('}')) {
      do {
        cursor.skip_blanks();
        read_sparse_entry(cursor, row);
        cursor.skip_blanks();
      } while (cursor.take(','));
      if (!cursor.take('}')) cursor.fail("a comma or '}' after a value");
    }
    cursor.skip_blanks();
    if (!cursor.done() && !cursor.at('%')) cursor.fail("nothing after '}'");
    for (const std::int32_t a : defaults_)
      if (seen_in_[a] != row) set_column(a, plan_.default_column[a]);
    finish_row();
  }

  void read_sparse_entry(Cursor& cursor, std::int64_t row) {
    if (plan_.n_attributes() == 0) cursor.fail("'}', as there are no attributes");
    const std::int64_t a = cursor.whole(0, plan_.n_attributes() - 1, "an attribute number");
    if (!cursor.skip_blanks()) cursor.fail("a blank after an attribute number");
    if (seen_in_[a] == row)
      throw ParseError(cursor.line(), "each attribute once",
                       "attribute " + std::to_string(a) + " twice");
    seen_in_[a] = row;
    read_value(cursor, a);
  }

  void read_value(Cursor& cursor, std::int64_t a) {
    const auto kind = static_cast<ArffKind>(plan_.kind[a]);
    if (cursor.at('?')) cursor.fail("a value (missing values are not supported)");
    if (kind == ArffKind::dropped) {
      token(cursor);
    } else if (kind == ArffKind::number) {
      data.features.add(plan_.column[a], number(cursor));
    } else if (kind == ArffKind::label_number) {
      const Cursor before = cursor;
      const double value = number(cursor);
      if (value != 0 && value != 1) Cursor(before).fail("a label's value, 0 or 1");
      if (value == 1) data.labels.add(plan_.column[a]);
    } else {
      set_column(a, nominal_column(cursor, a));
    }
  }

  void set_column(std::int64_t a, std::int32_t column) {
    if (column < 0) return;
    if (static_cast<ArffKind>(plan_.kind[a]) == ArffKind::label_nominal)
      data.labels.add(column);
    else
      data.features.add(column, 1);
  }

  double number(Cursor& cursor) {
    if (!cursor.at_quote()) {
      const Cursor before = cursor;
      const double value = cursor.real();
      if (!cursor.done() && after_value.find(*cursor.here()) == std::string_view::npos)
        Cursor(before).fail("a finite number");
      return value;
    }
    const Cursor before = cursor;
    Cursor inner(token(cursor), cursor.line());
    inner.skip_blanks();
    if (inner.done()) Cursor(before).fail("a finite number");
    const double value = inner.real();
    inner.skip_blanks();
    if (!inner.done()) Cursor(before).fail("a finite number");
    return value;
  }

  std::int32_t nominal_column(Cursor& cursor, std::int64_t a) {
    const Cursor before = cursor;
    const std::string_view value = token(cursor);
    const auto first = plan_.values.begin() + plan_.value_start[a];
    const auto last = plan_.values.begin() + plan_.value_start[a + 1];
    const auto found = std::lower_bound(first, last, value);
    if (found == last || *found != value)
      Cursor(before).fail("one of the " + std::to_string(last - first) + " values of attribute " +
                          std::to_string(a));
    return plan_.value_column[found - plan_.values.begin()];
  }

  // One value without its quotes and with its escapes resolved. Valid until the next call.
  std::string_view token(Cursor& cursor) {
    if (!cursor.at_quote()) {
      const std::string_view plain = cursor.until(after_value);
      if (plain.empty()) cursor.fail("a value");
      return plain;
    }
    const Cursor before = cursor;
    const char quote = cursor.take();
    quoted_.clear();
    while (!cursor.at(quote)) {
      if (cursor.done()) Cursor(before).fail("a closing quote");
      const char c = cursor.take();
      quoted_.push_back(c == '\\' && !cursor.done() ? unescaped(cursor.take()) : c);
    }
    cursor.take();
    return quoted_;
  }

  static char unescaped(char c) {
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        return c;
    }
  }

  // No column can occur twice: each attribute occurs once, and columns belong to one attribute.
  void finish_row() {
    data.features.finish_row();
    data.labels.finish_row();
  }
};

inline ArffData parse_arff_rows(std::string_view text, std::int64_t first_line,
                                const ArffPlan& plan,
                                const InterruptCheck& interrupted = never_interrupted) {
  ArffRows rows(plan);
  rows.read(text, first_line, interrupted);
  return std::move(rows.data);
}

}  // namespace vicinal
