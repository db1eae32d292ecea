#pragma once
// The terminal: its streams, which tests can replace, its size, and text for it: typed words,
// colours and columns, times, and text of servers that is made printable.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace exchange::cli {

// Splits a text into words; quotes keep blanks together, # begins a comment. Throws UsageError if a
// quote does not end.
std::vector<std::string> split_words(const std::string& text);

// Counts the letters to insert, remove, replace or swap with the next one.
std::size_t edit_distance(const std::string& from, const std::string& to);

// Escape sequences; empty without colour.
struct Style {
  bool colour = false;
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string dim(const std::string& text) const { return paint("2", text); }
  std::string buy(const std::string& text) const { return paint("32", text); }
  std::string sell(const std::string& text) const { return paint("31", text); }

 private:
  std::string paint(const char* code, const std::string& text) const;
};

// Reads a secret from the terminal of the process.
std::string ask_secret(const std::string& prompt);

struct Console {
  std::ostream& out;
  std::ostream& err;
  Style style;        // of `out`
  bool live = false;  // `out` is a terminal that can be redrawn
  // Asks the user, who may refuse; empty if there is no user to ask.
  std::function<bool(const std::string& question)> confirm = {};
  // Reads a line without echo, such as a key.
  std::function<std::string(const std::string& prompt)> secret = ask_secret;

  // Returns the streams of the process; with colour only on a terminal, and not with NO_COLOR or
  // TERM=dumb.
  static Console of_process();
};

// The size of the terminal on stdout; 24 rows and 80 columns if it does not report one.
struct Size {
  std::size_t rows = 24, columns = 80;
  bool operator==(const Size&) const = default;
};
Size terminal_size();
// The columns at which text wraps: those of the terminal if stdout is one, else no limit.
std::size_t text_columns();

// Returns a server's text on one line, without control characters, and without characters that are
// invisible or change the writing direction: it must not control the terminal, or hide a name.
std::string printable(std::string_view text);

// Returns the columns that the text takes on a terminal: escape sequences and combining accents
// take none, wide characters and emoji two.
std::size_t width(std::string_view text);
// Cuts the text to `width` columns, and keeps escape sequences.
std::string clipped(std::string_view text, std::size_t width);
std::string padded(const std::string& text, std::size_t width, bool to_right = false);

// Breaks long lines between words. The rest of a line is placed below its description: the text
// after the last gap of two blanks. For help.
std::string wrapped(std::string_view text, std::size_t width);

// Rows under a heading. Each column is as wide as its widest cell, with two blanks between columns.
class Table {
 public:
  // A heading that starts with '>' aligns its column to the right.
  Table(std::vector<std::string> headings, Style style);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::vector<std::string> lines() const;
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells,
                   const std::vector<std::size_t>& widths) const;

  std::vector<std::string> headings_;
  std::vector<bool> to_right_;
  std::vector<std::vector<std::string>> rows_;
  Style style_;
};

// Returns "2026-11-21 10:09:51", in the time zone of this machine.
std::string local_time(std::int64_t seconds);
// "10:09:51.123".
std::string local_time_of_day(std::int64_t microseconds);
// "2026-11-21T10:09:51.123456Z".
std::string utc_time(std::int64_t microseconds);

}  // namespace exchange::cli
