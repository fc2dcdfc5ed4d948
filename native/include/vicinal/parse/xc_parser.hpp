// The text format of the extreme classification repository.
//
//     n m L                          rows, features, labels
//     3,7 0:1 12:0.5                 labels, then feature:value pairs; ids count from 0
//      4:2                           a row without labels begins with a blank
//
// One pass over the bytes. The header's counts are checked against the file's contents and never
// reserve memory, so that a damaged header cannot exhaust it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "vicinal/common/parallel.hpp"
#include "vicinal/parse/row_builder.hpp"
#include "vicinal/parse/text_scan.hpp"

namespace vicinal {

struct XcData {
  std::int64_t n_rows = 0;
  std::int64_t n_features = 0;
  std::int64_t n_labels = 0;
  RowBuilder features;
  SetBuilder labels;
};

namespace xc {

constexpr std::int64_t largest_count = std::numeric_limits<std::int32_t>::max() - 1;
constexpr std::int64_t rows_between_interrupt_checks = 8192;

inline void read_header(std::string_view line, XcData& data) {
  Cursor cursor(line, 1);
  for (std::int64_t* count : {&data.n_rows, &data.n_features, &data.n_labels}) {
    cursor.skip_blanks();
    *count = cursor.whole(0, largest_count, "a header 'rows features labels': a count");
    if (!cursor.done() && !cursor.at_blank()) cursor.fail("a blank after a count");
  }
  cursor.skip_blanks();
  if (!cursor.done()) cursor.fail("three counts in the header");
}

inline void require_ids(std::int64_t count, const char* what, Cursor& cursor) {
  if (count == 0) cursor.fail(std::string("no ") + what + ", as the header says");
}

// Labels up to the first blank. A number followed by ':' is a feature: some files omit the blank at
// the start of rows without labels.
inline void read_labels(Cursor& cursor, XcData& data) {
  const Cursor start = cursor;
  while (!cursor.done() && !cursor.at_blank()) {
    const Cursor before = cursor;
    const std::int64_t label = cursor.whole(0, largest_count, "a label id");
    if (cursor.at(':') &&
        data.labels.indices.size() == static_cast<std::size_t>(data.labels.indptr.back())) {
      cursor = start;
      return;
    }
    if (label >= data.n_labels) {
      cursor = before;
      require_ids(data.n_labels, "labels", cursor);
      cursor.whole(0, data.n_labels - 1, "a label id");
    }
    data.labels.add(static_cast<std::int32_t>(label));
    if (cursor.take(',')) {
      if (cursor.done() || cursor.at_blank()) cursor.fail("a label id after the comma");
    } else if (!cursor.done() && !cursor.at_blank()) {
      cursor.fail("a comma or a blank after a label id");
    }
  }
}

inline void read_features(Cursor& cursor, XcData& data) {
  for (cursor.skip_blanks(); !cursor.done(); cursor.skip_blanks()) {
    require_ids(data.n_features, "features", cursor);
    const std::int64_t feature = cursor.whole(0, data.n_features - 1, "a feature id");
    if (!cursor.take(':')) cursor.fail("':' after a feature id");
    data.features.add(static_cast<std::int32_t>(feature), cursor.real());
    if (!cursor.done() && !cursor.at_blank()) cursor.fail("a blank after a value");
  }
}

inline void read_row(std::string_view line, std::int64_t number, XcData& data) {
  Cursor cursor(line, number);
  read_labels(cursor, data);
  read_features(cursor, data);
  if (const auto label = data.labels.finish_row())
    throw ParseError(number, "each label once", "label " + std::to_string(*label) + " twice");
  if (const auto feature = data.features.finish_row())
    throw ParseError(number, "each feature once", "feature " + std::to_string(*feature) + " twice");
}

inline bool is_all_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace xc

inline XcData parse_xc(std::string_view text,
                       const InterruptCheck& interrupted = never_interrupted) {
  XcData data;
  Lines lines(text);
  std::string_view line;
  if (!lines.next(line)) throw ParseError(1, "a header 'rows features labels'", "an empty file");
  xc::read_header(line, data);
  for (std::int64_t row = 0; row < data.n_rows; ++row) {
    if (!lines.next(line))
      throw ParseError(lines.number(), std::to_string(data.n_rows) + " rows, as the header says",
                       std::to_string(row));
    xc::read_row(line, lines.number(), data);
    if (row % xc::rows_between_interrupt_checks == 0 && interrupted()) throw Interrupted();
  }
  while (lines.next(line))
    if (!xc::is_all_blank(line))
      throw ParseError(lines.number(), std::to_string(data.n_rows) + " rows, as the header says",
                       "more");
  return data;
}

}  // namespace vicinal
