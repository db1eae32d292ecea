#pragma once
// The framing of docs/protocol.md, F1 to F12 and F22 in its plainest form, over a whole stream. The
// incremental code is compared with it.

#include <string_view>
#include <vector>

#include "protocol/limits.hpp"

namespace exchange::fuzz {

struct FramedDocument {
  std::string_view xml;
  std::size_t end;  // of it, in the stream
};

inline constexpr std::string_view mark = "\xEF\xBB\xBF";

struct Framed {
  std::vector<FramedDocument> documents;
  std::string_view rest;  // after skipped blank space; begins with an incomplete or wrong frame

  // Returns whether more bytes could still make the rest a frame.
  bool rest_can_become_a_frame(const ProtocolLimits& limits) const {
    if (rest == mark.substr(0, rest.size())) return true;
    std::size_t digits = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
    if (digits == rest.size()) return digits < limits.length_line_bytes_max;
    return digits > 0 && rest.size() == digits + 1 && rest[digits] == '\r' &&
           rest.size() < limits.length_line_bytes_max;
  }
  bool rest_is_cut_short = false;  // it has a good length line, and too few bytes after it
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

// Returns the end of the blanks and byte order marks from `at` on, which may stand between
// requests.
inline std::size_t end_of_skipped(std::string_view stream, std::size_t at) {
  for (bool skipped = true; skipped;) {
    skipped = false;
    if (at < stream.size() && is_blank(stream[at])) skipped = ++at;
    if (stream.substr(at).starts_with(mark)) skipped = at += mark.size();
  }
  return at;
}

inline Framed read_frames(std::string_view stream, const ProtocolLimits& limits) {
  Framed framed;
  for (std::size_t at = 0;;) {
    at = end_of_skipped(stream, at);
    framed.rest = stream.substr(at);
    const std::size_t newline = framed.rest.find('\n');
    if (newline == std::string_view::npos || newline + 1 > limits.length_line_bytes_max)
      return framed;
    std::string_view digits = framed.rest.substr(0, newline);
    if (digits.ends_with('\r')) digits.remove_suffix(1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
      return framed;
    const std::size_t significant = digits.find_first_not_of('0');
    if (significant == std::string_view::npos) return framed;
    unsigned __int128 length = 0;  // a length line is short, so it cannot overflow
    for (const char digit : digits.substr(significant))
      length = length * 10 + unsigned(digit - '0');
    if (length > limits.frame_bytes_max) return framed;
    if (length > framed.rest.size() - newline - 1) {
      framed.rest_is_cut_short = true;
      return framed;
    }
    at += newline + 1 + std::size_t(length);
    framed.documents.push_back({framed.rest.substr(newline + 1, std::size_t(length)), at});
  }
}

}  // namespace exchange::fuzz
