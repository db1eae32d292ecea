#include "client/classroom/csv.hpp"

#include <algorithm>
#include <stdexcept>

namespace exchange::classroom {
namespace {

[[noreturn]] void fail(std::size_t line, const std::string& why) {
  throw std::invalid_argument("line " + std::to_string(line) + ": " + why);
}

char separator_of(std::string_view text) {
  const std::string_view heading = text.substr(0, text.find_first_of("\r\n"));
  char best = ',';
  for (const char one : {';', '\t'})
    if (std::count(heading.begin(), heading.end(), one) >
        std::count(heading.begin(), heading.end(), best))
      best = one;
  return best;
}

bool is_blank(const CsvRow& row) {
  return std::all_of(row.begin(), row.end(), [](const std::string& cell) {
    return cell.find_first_not_of(' ') == std::string::npos;
  });
}

// With commas, quotes where they are needed, and the end of the line.
std::string csv_line(const CsvRow& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    if (cell.find_first_of(",;\"\t\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char one : cell) line += one == '"' ? "\"\"" : std::string(1, one);
    line += '"';
  }
  return line + "\n";
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), separator_(separator_of(text)) {}

  bool at_end() const { return at_ == text_.size(); }
  std::size_t line() const { return line_; }

  CsvRow row() {
    CsvRow cells;
    do cells.push_back(cell());
    while (take(separator_));
    const bool ends = take('\r') | at_end();
    if (take('\n'))
      ++line_;
    else if (!ends)
      fail(line_, "text behind a closing quote");
    return cells;
  }

 private:
  bool take(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string cell() {
    std::string value;
    if (!take('"')) {
      while (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
        value += text_[at_++];
      return value;
    }
    const std::size_t begin = line_;
    for (; !at_end(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (take('"') && (at_end() || text_[at_] != '"')) return value;
      value += text_[at_];
    }
    fail(begin, "a quote that does not end");
  }

  const std::string_view text_;
  const char separator_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

CsvTable parse_csv(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  Reader reader(text);
  CsvTable table;
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    CsvRow row = reader.row();
    if (is_blank(row)) continue;
    if (table.heading.empty()) {
      table.heading = std::move(row);
      continue;
    }
    if (row.size() > table.heading.size())
      fail(line, std::to_string(row.size()) + " cells, but the heading has " +
                     std::to_string(table.heading.size()));
    row.resize(table.heading.size());
    table.rows.push_back(std::move(row));
  }
  if (table.heading.empty()) fail(1, "a heading with the names of the columns is missing");
  return table;
}

std::string to_csv(const CsvTable& table) {
  std::string text = csv_line(table.heading);
  for (const CsvRow& row : table.rows) text += csv_line(row);
  return text;
}

}  // namespace exchange::classroom
