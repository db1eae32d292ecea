#pragma once
// Text for a terminal: words that were typed, colours, columns, times, and text of others made
// printable. Pure, but for the time zone.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exchange::cli {

// The text in words; quotes hold blanks together, # begins a comment. Throws UsageError if a
// quote does not end.
std::vector<std::string> split_words(const std::string& text);

// Letters to insert, remove, replace or swap with the next.
std::size_t edit_distance(const std::string& from, const std::string& to);

// Escape sequences, or nothing without colour.
struct Style {
  bool colour = false;
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string dim(const std::string& text) const { return paint("2", text); }
  std::string buy(const std::string& text) const { return paint("32", text); }
  std::string sell(const std::string& text) const { return paint("31", text); }

 private:
  std::string paint(const char* code, const std::string& text) const;
};

// Text of a server, on one line, without control characters, and without those that are invisible
// or turn the direction of writing: it must not control the terminal, or hide a name.
std::string printable(std::string_view text);

// Columns that it takes on a terminal: escape sequences and accents that combine take none, wide
// characters and emoji two.
std::size_t width(std::string_view text);
// Cut to `width` columns, escape sequences kept.
std::string clipped(std::string_view text, std::size_t width);
std::string padded(const std::string& text, std::size_t width, bool to_right = false);

// Lines that are longer broken between words, each rest below what the line describes: the text
// after its last gap of two blanks. For help.
std::string wrapped(std::string_view text, std::size_t width);

// Rows under a heading, each column as wide as its widest cell, two blanks between them.
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

// "2026-11-21 10:09:51", in the zone of this machine.
std::string local_time(std::int64_t seconds);
// "10:09:51.123".
std::string local_time_of_day(std::int64_t microseconds);
// "2026-11-21T10:09:51.123456Z".
std::string utc_time(std::int64_t microseconds);

}  // namespace exchange::cli
