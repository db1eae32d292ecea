#pragma once
// Where requests begin and end in a stream of bytes (docs/protocol.md, F1 to F12, F22 to F25).
// Looks at bytes that the caller owns. Pure.

#include <cstdint>
#include <string_view>

#include "protocol/limits.hpp"

namespace exchange {

struct Frame {
  enum class State { incomplete, complete, bad };
  State state;
  std::size_t skip = 0;    // blank bytes before the length line: done with, whatever the state
  std::size_t header = 0;  // length known: bytes of the length line, after `skip`
  std::size_t bytes = 0;   // length known: bytes of XML after the header
  std::size_t bytes_wanted = 0;  // length known: skip + header + bytes
  std::string_view problem;      // bad: a sentence for the client
  std::string_view hint;         // bad: what the client may have sent; may be empty
};

// White space and NUL: ignored between frames. Known clients send the byte behind their text.
inline constexpr std::string_view frame_blanks(" \t\r\n\0", 5);
inline constexpr std::string_view request_too_long = "bad framing: request longer than the limit";
inline constexpr std::string_view binary_length_hint = "; the length is text, not a binary number";

// How many of these and byte order marks `buffer` begins with.
std::size_t blank_bytes(std::string_view buffer);

// The first frame in `buffer`.
Frame find_frame(std::string_view buffer, const ProtocolLimits& limits);

// Finds where a document ends that has no length line: behind its root element (F24). Looks at each
// byte once, however small the pieces are in which the document comes. What is not well-formed may
// end elsewhere, or not at all.
class DocumentEnd {
 public:
  // `text`: what has come, beginning with what it was in the last call. Returns the length of the
  // document, and is ready for another one; or 0 if the end has not come.
  std::size_t find(std::string_view text);
  // What has come are whole comments and processing instructions, such as those behind a document.
  bool has_comments_only() const { return at_ > 0 && !has_more_ && in_ == In::text; }

 private:
  enum class In : std::uint8_t {
    text,
    markup,       // behind '<'
    exclamation,  // behind "<!"
    comment,
    cdata,
    instruction,
    other,  // up to '>'
    start_tag,
    value,
    end_tag
  };
  // Goes on behind the next byte. Whether the document ends there.
  bool step(std::string_view text);

  std::size_t at_ = 0;      // bytes seen
  std::size_t markup_ = 0;  // where the newest '<' stands
  std::size_t depth_ = 0;   // open elements
  In in_ = In::text;
  char quote_ = 0;
  bool has_more_ = false;  // than comments and processing instructions
};

}  // namespace exchange
