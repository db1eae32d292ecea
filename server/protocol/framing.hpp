#pragma once
// Where requests begin and end in a stream of bytes (docs/protocol.md, F1 to F12). Pure: looks at
// bytes that the caller owns.

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
};

// White space and NUL: ignored between frames. Known clients send the byte behind their text.
inline constexpr std::string_view frame_blanks(" \t\r\n\0", 5);

// How many of these `buffer` begins with.
std::size_t blank_bytes(std::string_view buffer);

// The first frame in `buffer`.
Frame find_frame(std::string_view buffer, const ProtocolLimits& limits);

}  // namespace exchange
