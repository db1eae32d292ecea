#include "client/classroom/csv.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "client/classroom/unicode.hpp"

namespace exchange::classroom {
namespace {

[[noreturn]] void fail(std::size_t line, const std::string& why) {
  throw std::invalid_argument("line " + std::to_string(line) + ": " + why);
}

constexpr char separators[] = {',', ';', '\t'};

// Returns the separator in a first line "sep=;", which Excel reads and some programs write.
std::optional<char> named_separator(std::string_view text) {
  constexpr std::string_view word = "sep=";
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  if (!line.starts_with(word) || line.size() != word.size() + 1) return {};
  const auto* const found = std::find(std::begin(separators), std::end(separators), line.back());
  return found == std::end(separators) ? std::nullopt : std::optional(*found);
}

char separator_of(std::string_view text) {
  if (const auto named = named_separator(text)) return *named;
  const std::string_view heading = text.substr(0, text.find_first_of("\r\n"));
  return *std::max_element(std::begin(separators), std::end(separators), [&](char one, char other) {
    return std::count(heading.begin(), heading.end(), one) <
           std::count(heading.begin(), heading.end(), other);
  });
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool begins_formula(std::string_view cell) { return cell.find_first_of("=+-@\t\r") == 0; }

bool is_blank(const CsvRow& row) {
  return std::all_of(row.begin(), row.end(), [](const std::string& cell) {
    return cell.find_first_not_of(' ') == std::string::npos;
  });
}

// Returns a line with its end, with quotes where they are needed.
std::string csv_line(const CsvRow& cells, char separator) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += separator;
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
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {}

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
  CsvTable table;
  table.has_mark = text.starts_with(utf8_mark);
  if (table.has_mark) text.remove_prefix(utf8_mark.size());
  table.separator = separator_of(text);
  Reader reader(text, table.separator);
  if (named_separator(text)) reader.row();
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    CsvRow row = reader.row();
    if (is_blank(row)) continue;
    if (table.heading.empty()) {
      for (const std::string& name : row) table.heading.push_back(trimmed(name));
      continue;
    }
    if (row.size() > table.heading.size())
      fail(line, std::to_string(row.size()) + " cells, but the heading has " +
                     std::to_string(table.heading.size()));
    row.resize(table.heading.size());
    table.rows.push_back(std::move(row));
    table.lines.push_back(line);
  }
  if (table.heading.empty()) fail(1, "a heading with the names of the columns is missing");
  return table;
}

std::string to_csv(const CsvTable& table) {
  std::string text(table.has_mark ? utf8_mark : "");
  text += csv_line(table.heading, table.separator);
  for (const CsvRow& row : table.rows) text += csv_line(row, table.separator);
  return text;
}

std::string harmless(const std::string& cell) { return begins_formula(cell) ? "'" + cell : cell; }

std::string without_guard(const std::string& cell) {
  const bool has_guard = cell.starts_with('\'') && begins_formula(std::string_view(cell).substr(1));
  return has_guard ? cell.substr(1) : cell;
}

}  // namespace exchange::classroom
