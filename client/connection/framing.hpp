#pragma once
// Where requests and replies begin and end in a stream of bytes (docs/protocol.md, framing). Pure.
//
//   request   length line, document:  "52\n<transactions …>…</transactions>\n"
//   reply     document, bare or after a length line; blanks and NUL bytes may follow. Its root may
//             have another name, and a byte order mark may stand before it: other servers send both

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace exchange::client {

inline constexpr std::size_t reply_bytes_max = 64u << 20;  // a longer reply is a server error

// The white space characters of XML.
inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline std::size_t skip_blanks(std::string_view text, std::size_t at = 0) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}
// Skips what may stand between two replies: a server written in C may send the NUL that ends its
// text.
inline std::size_t skip_padding(std::string_view text, std::size_t at = 0) {
  while (at < text.size() && (is_blank(text[at]) || text[at] == '\0')) ++at;
  return at;
}

// The reply is not one of this protocol. what() may quote it, with any bytes.
struct BadReply : std::runtime_error {
  using runtime_error::runtime_error;
};

// Returns the request frame of a document.
std::string framed(std::string_view document);

struct ReplyEnd {
  enum class State { incomplete, complete, bad };
  State state;
  std::size_t begin = 0, end = 0;  // if complete: of the document; of its padding
};

// Finds the first reply in `buffer`. `scanned` starts at 0 for each reply. Between calls with a
// growing buffer it holds the position up to which the bytes need not be scanned again.
ReplyEnd find_reply(std::string_view buffer, std::size_t& scanned);

}  // namespace exchange::client
