#pragma once
// Where requests begin and end in a stream of bytes (PROTOCOL, "Framing"). Pure: looks at bytes
// that somebody else holds.

#include <string_view>

#include "protocol/limits.hpp"

namespace exchange {

struct Frame {
  enum class State { incomplete, complete, bad };
  State state;
  std::size_t skip = 0;    // blank bytes before the length line: done with, whatever the state
  std::size_t header = 0;  // complete: bytes of the length line, after `skip`
  std::size_t bytes = 0;   // complete: bytes of XML after the header
  // incomplete, length known: skip + header + bytes of the whole frame
  std::size_t bytes_wanted = 0;
  std::string_view problem;  // bad: a sentence for the client
};

// How many bytes of white space and NUL, as may stand between frames, `buffer` begins with.
std::size_t blank_bytes(std::string_view buffer);

// The first frame in `buffer`.
Frame find_frame(std::string_view buffer, const ProtocolLimits& limits);

}  // namespace exchange
