#pragma once
// Tables as spreadsheets and course systems write them: CSV (RFC 4180) with a heading. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace exchange::classroom {

using CsvRow = std::vector<std::string>;

struct CsvTable {
  CsvRow heading;
  std::vector<CsvRow> rows;  // each as long as the heading
};

// Commas, semicolons or tabs, whichever the heading has most of; a byte order mark and empty lines
// do not count. Throws std::invalid_argument, with the line: a row is longer than the heading, a
// quote does not end, text follows its end, or there is no heading.
CsvTable parse_csv(std::string_view text);

// With commas.
std::string to_csv(const CsvTable& table);

}  // namespace exchange::classroom
