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
  std::vector<std::size_t> lines;  // of the text, where rows begin; empty if not parsed
  char separator = ',';            // or ';' or a tab
  bool has_mark = false;           // a byte order mark, which marks UTF-8 for spreadsheets
};

// The separator is that of a first line "sep=;", else the one that occurs most in the heading.
// Ignores a byte order mark, blanks around the names of the columns, and empty lines. Throws
// std::invalid_argument, with the line, if a row is longer than the heading, a quote does not end,
// text follows its end, or there is no heading.
CsvTable parse_csv(std::string_view text);

// Uses the separator and the mark of the table.
std::string to_csv(const CsvTable& table);

// Protects a cell whose text another person chose: spreadsheets read a cell that begins with = + -
// @ as a formula, so an apostrophe is put before it.
std::string harmless(const std::string& cell);
// Returns the original text of a cell that harmless() returned.
std::string without_guard(const std::string& cell);

}  // namespace exchange::classroom
