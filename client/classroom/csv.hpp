#pragma once
// Tables as spreadsheets and course systems write them: CSV (RFC 4180) with a heading. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace exchange::classroom {

using CsvRow = std::vector<std::string>;

struct CsvTable {
  CsvRow heading;
  std::vector<CsvRow> rows;        // each as long as the heading
  std::vector<std::size_t> lines;  // of the text, where the rows begin; empty if it was not read
  char separator = ',';            // or a semicolon or a tab
  bool has_mark = false;           // a byte order mark, by which a spreadsheet knows UTF-8
};

// The separator is that of a first line "sep=;", else whichever the heading has most of. A byte
// order mark, blanks around the names of the columns, and empty lines do not count. Throws
// std::invalid_argument, with the line: a row is longer than the heading, a quote does not end,
// text follows its end, or there is no heading.
CsvTable parse_csv(std::string_view text);

// With the separator and the mark of the table.
std::string to_csv(const CsvTable& table);

// A cell whose text another person chose: spreadsheets take one that begins with = + - @ for a
// formula, so an apostrophe comes before it.
std::string harmless(const std::string& cell);
// The text of a cell that harmless() returned.
std::string without_guard(const std::string& cell);

}  // namespace exchange::classroom
