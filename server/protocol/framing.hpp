#pragma once
// Finds where requests begin and end in a stream of bytes (docs/protocol.md, F1 to F12, F22 to
// F25). Reads bytes that the caller owns. Pure.

#include <cstdint>
#include <string_view>

#include "protocol/limits.hpp"

namespace exchange {

struct Frame {
  enum class State { incomplete, complete, bad };
  State state;
  std::size_t skip = 0;          // blank bytes before the length line; consumed in every state
  std::size_t header = 0;        // length known: bytes of the length line, after `skip`
  std::size_t bytes = 0;         // length known: bytes of XML after the header
  std::size_t bytes_wanted = 0;  // length known: skip + header + bytes
  std::string_view problem;      // bad: a sentence for the client
  std::string_view hint;         // bad: what the client may have sent; may be empty
};

// White space and NUL are ignored between frames. Known clients send the NUL byte that ends their
// text.
inline constexpr std::string_view frame_blanks(" \t\r\n\0", 5);
inline constexpr std::string_view request_too_long = "bad framing: request longer than the limit";
inline constexpr std::string_view binary_length_hint = "; the length is text, not a binary number";

// Returns the number of bytes of blanks and byte order marks at the beginning of `buffer`.
std::size_t blank_bytes(std::string_view buffer);

// Finds the first frame in `buffer`.
Frame find_frame(std::string_view buffer, const ProtocolLimits& limits);

// Finds the end of a document that has no length line: it ends after its root element (F24). Reads
// each byte once, even if the document arrives in small pieces. A document that is not well-formed
// may end elsewhere, or not at all.
class DocumentEnd {
 public:
  // `text`: all bytes received so far; it begins with the text of the last call. Returns the length
  // of the document and is then ready for the next document, or returns 0 if the end has not come.
  std::size_t find(std::string_view text);
  // Whether the text so far consists of whole comments and processing instructions, such as those
  // after a document.
  bool has_comments_only() const { return at_ > 0 && !has_more_ && in_ == In::text; }

 private:
  enum class In : std::uint8_t {
    text,
    markup,       // after '<'
    exclamation,  // after "<!"
    comment,
    cdata,
    instruction,
    other,  // up to '>'
    start_tag,
    value,
    end_tag
  };
  // Reads the next byte. Returns whether the document ends there.
  bool step(std::string_view text);

  std::size_t at_ = 0;      // bytes seen
  std::size_t markup_ = 0;  // where the newest '<' stands
  std::size_t depth_ = 0;   // open elements
  In in_ = In::text;
  char quote_ = 0;
  bool has_more_ = false;  // the text has more than comments and processing instructions
};

}  // namespace exchange
