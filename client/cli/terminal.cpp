#include "client/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <utility>

#include "client/cli/command.hpp"

namespace exchange::cli {
namespace {

// The first character of a text that is not empty. A byte that is not valid UTF-8 counts as one.
struct Character {
  std::size_t bytes = 1;
  utf8proc_int32_t code = -1;  // -1: not UTF-8
  std::size_t columns() const { return code < 0 ? 1 : std::size_t(utf8proc_charwidth(code)); }
};
Character first_character(std::string_view text) {
  Character found;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       utf8proc_ssize_t(text.size()), &found.code);
  if (bytes > 0)
    found.bytes = std::size_t(bytes);
  else
    found.code = -1;
  return found;
}

// Calls visit(piece, columns) for each character and each escape sequence of this client
// ("\x1b[…m", 0 columns).
template <class Visit>
void for_each_piece(std::string_view text, Visit visit) {
  while (!text.empty()) {
    std::size_t bytes = 0, columns = 0;
    if (text.starts_with("\x1b[")) {
      bytes = std::min(text.find('m'), text.size() - 1) + 1;
    } else {
      const Character character = first_character(text);
      bytes = character.bytes;
      columns = character.columns();
    }
    visit(text.substr(0, bytes), columns);
    text.remove_prefix(bytes);
  }
}

std::string formatted(std::int64_t seconds, const char* format,
                      std::tm* (*convert)(const std::time_t*, std::tm*)) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[64];
  if (convert(&time, &parts) == nullptr || std::strftime(text, sizeof text, format, &parts) == 0)
    return std::to_string(seconds);
  return text;
}

// Any answer except y or yes means no, and so do the end of the input and Ctrl-C.
bool ask_user(const std::string& question) {
  std::cout << question << " [y/N] " << std::flush;
  char typed[100];
  const ssize_t bytes = ::read(STDIN_FILENO, typed, sizeof typed);
  if (bytes <= 0) std::cout << std::endl;
  const std::string_view answer(typed, std::size_t(std::max<ssize_t>(bytes, 0)));
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

}  // namespace

std::string ask_secret(const std::string& prompt) {
  const char* const typed = ::getpass(prompt.c_str());
  return typed == nullptr ? "" : typed;
}

Console Console::of_process() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
  Console console{
      std::cout, std::cerr, {.colour = terminal && variable("NO_COLOR").empty()}, terminal};
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) console.confirm = ask_user;
  return console;
}

std::size_t text_columns() {
  return ::isatty(STDOUT_FILENO) == 1 ? terminal_size().columns : std::string::npos;
}

Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  if (text.find('\0') != std::string::npos)
    throw UsageError("a zero byte in the line; scripts are UTF-8, not UTF-16");
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) throw UsageError(std::string("the quote ") + quote + " does not end");
  if (in_word) words.push_back(word);
  return words;
}

std::size_t edit_distance(const std::string& from, const std::string& to) {
  std::vector<std::vector<std::size_t>> cost(from.size() + 1,
                                             std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i)
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (from[i - 1] != to[j - 1])});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[from.size()][to.size()];
}

std::string Style::paint(const char* code, const std::string& text) const {
  return colour && !text.empty() ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

std::string printable(std::string_view text) {
  constexpr utf8proc_int32_t non_joiner = 0x200c, joiner = 0x200d;  // parts of words and of emoji
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    const utf8proc_category_t category =
        character.code < 0 ? UTF8PROC_CATEGORY_CO : utf8proc_category(character.code);
    const bool is_blank = text[0] == '\n' || text[0] == '\t' || text[0] == '\r' ||
                          category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
    const bool is_control = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF;
    if (is_blank)
      out += ' ';
    else if (is_control && character.code != joiner && character.code != non_joiner)
      out += '?';
    else
      out += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::size_t width(std::string_view text) {
  std::size_t sum = 0;
  for_each_piece(text, [&](std::string_view, std::size_t columns) { sum += columns; });
  return sum;
}

std::string clipped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  for_each_piece(text, [&](std::string_view piece, std::size_t columns) {
    used += columns;
    if (used <= width || piece.starts_with('\x1b')) out += piece;
  });
  return out;
}

std::string padded(const std::string& text, std::size_t wanted, bool to_right) {
  const std::string blanks(wanted - std::min(wanted, width(text)), ' ');
  return to_right ? blanks + text : text + blanks;
}

std::string wrapped(std::string_view text, std::size_t columns) {
  constexpr std::size_t least = 20, narrow_indent = 6;  // characters for the description
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (width(line) <= columns) {
      out += std::string(line) + "\n";
      continue;
    }
    const std::size_t gap = line.rfind("  ");
    const std::string_view head = line.substr(0, gap == std::string_view::npos ? 0 : gap + 2);
    std::size_t indent = width(head);
    if (!head.empty() && indent + least > columns) {
      indent = narrow_indent;
      const std::size_t end = head.find_last_not_of(' ') + 1;
      if (end > 0) out += std::string(head.substr(0, end)) + "\n";
      out.append(indent, ' ');
    } else {
      out += head;
    }
    std::size_t used = indent;
    std::istringstream words{std::string(line.substr(head.size()))};
    for (std::string word; words >> word;) {
      if (used > indent && used + 1 + width(word) > columns) {
        out += "\n" + std::string(indent, ' ');
        used = indent;
      }
      if (used > indent) {
        out += ' ';
        ++used;
      }
      out += word;
      used += width(word);
    }
    out += "\n";
  }
  return out;
}

Table::Table(std::vector<std::string> headings, Style style)
    : headings_(std::move(headings)), style_(style) {
  for (std::string& heading : headings_) {
    to_right_.push_back(heading.starts_with('>'));
    if (to_right_.back()) heading.erase(0, 1);
  }
}

std::vector<std::string> Table::lines() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < headings_.size(); ++column) {
    widths.push_back(width(headings_[column]));
    for (const auto& row : rows_) widths.back() = std::max(widths.back(), width(row[column]));
  }
  std::vector<std::string> lines{style_.dim(line(headings_, widths))};
  for (const auto& row : rows_) lines.push_back(line(row, widths));
  return lines;
}

std::string Table::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + "\n";
  return text;
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    if (column > 0) text += "  ";
    const bool last = column + 1 == cells.size();
    text += last && !to_right_[column] ? cells[column]
                                       : padded(cells[column], widths[column], to_right_[column]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string local_time(std::int64_t seconds) {
  return formatted(seconds, "%Y-%m-%d %H:%M:%S", ::localtime_r);
}

std::string local_time_of_day(std::int64_t microseconds) {
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", int(microseconds / 1'000 % 1'000));
  return formatted(microseconds / 1'000'000, "%H:%M:%S", ::localtime_r) + fraction;
}

std::string utc_time(std::int64_t microseconds) {
  char fraction[12];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", int(microseconds % 1'000'000));
  return formatted(microseconds / 1'000'000, "%Y-%m-%dT%H:%M:%S", ::gmtime_r) + fraction;
}

}  // namespace exchange::cli
