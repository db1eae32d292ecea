#include "protocol/framing.hpp"

#include <algorithm>

namespace exchange {

std::size_t blank_bytes(std::string_view buffer) {
  return std::min(buffer.find_first_not_of(frame_blanks), buffer.size());
}

Frame find_frame(std::string_view buffer, const ProtocolLimits& limits) {
  Frame frame{.state = Frame::State::incomplete, .skip = blank_bytes(buffer)};
  const std::string_view line = buffer.substr(frame.skip);
  const auto bad = [&](std::string_view problem) {
    frame.state = Frame::State::bad;
    frame.problem = problem;
    return frame;
  };

  std::size_t at = 0, length = 0;
  bool too_long = false;
  const std::size_t digits_max = std::min(line.size(), limits.length_line_bytes_max);
  for (; at < digits_max && line[at] >= '0' && line[at] <= '9'; ++at) {
    length = length * 10 + std::size_t(line[at] - '0');
    too_long |= length > limits.frame_bytes_max;
    if (too_long) length = limits.frame_bytes_max;
  }
  // Also if more bytes are here already: the error must not depend on how the bytes arrive.
  if (at >= limits.length_line_bytes_max) return bad("bad framing: length line too long");
  if (at == line.size()) return frame;
  if (at == 0) return bad("bad framing: a request begins with its length in digits");
  if (line[at] == '\r') {
    if (++at == line.size()) return frame;
  }
  if (line[at] != '\n') return bad("bad framing: the length must be followed by a newline");
  ++at;
  if (at > limits.length_line_bytes_max) return bad("bad framing: length line too long");
  if (too_long) return bad("bad framing: request longer than the limit");
  if (length == 0) return bad("bad framing: length is 0");

  frame.header = at;
  frame.bytes = length;
  frame.bytes_wanted = frame.skip + frame.header + frame.bytes;
  if (buffer.size() >= frame.bytes_wanted) frame.state = Frame::State::complete;
  return frame;
}

}  // namespace exchange
