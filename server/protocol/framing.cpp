#include "protocol/framing.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace exchange {

std::size_t blank_bytes(std::string_view buffer) {
  std::size_t blanks = 0;
  while (true) {
    blanks = std::min(buffer.find_first_not_of(frame_blanks, blanks), buffer.size());
    if (blanks == buffer.size() || buffer[blanks] != byte_order_mark[0] ||
        !buffer.substr(blanks).starts_with(byte_order_mark))
      return blanks;
    blanks += byte_order_mark.size();
  }
}

// Returns a hint about what the client may have sent, if a request begins with this byte, which is
// not a digit.
static std::string_view hint_of(char first) {
  if (first == '<')
    return "; a document without a length line needs a server with --request-framing lenient";
  const bool is_text = first >= ' ' && first <= '~';
  return is_text ? "" : binary_length_hint;
}

Frame find_frame(std::string_view buffer, const ProtocolLimits& limits) {
  Frame frame{.state = Frame::State::incomplete, .skip = blank_bytes(buffer)};
  const std::string_view line = buffer.substr(frame.skip);
  const auto bad = [&](std::string_view problem, std::string_view hint = {}) {
    frame.state = Frame::State::bad;
    frame.problem = problem;
    frame.hint = hint;
    return frame;
  };

  std::size_t at = 0, length = 0;
  bool too_long = false;
  const std::size_t digits_max = std::min(line.size(), limits.length_line_bytes_max);
  for (; at < digits_max && is_digit(line[at]); ++at) {
    length = length * 10 + std::size_t(line[at] - '0');
    too_long |= length > limits.frame_bytes_max;
    if (too_long) length = limits.frame_bytes_max;
  }
  // This check does not ask whether more bytes are here: the error must not depend on how the bytes
  // arrive.
  if (at >= limits.length_line_bytes_max) return bad("bad framing: length line too long");
  if (at == line.size()) return frame;
  if (at == 0) {
    if (byte_order_mark.starts_with(line)) return frame;  // the rest of it may come
    return bad("bad framing: a request begins with its length in digits", hint_of(line[0]));
  }
  if (line[at] == '\r') {
    if (++at == line.size()) return frame;
  }
  if (line[at] != '\n')
    return bad("bad framing: the length must be followed by a newline",
               line[at] == '\0' ? binary_length_hint : "");
  ++at;
  if (at > limits.length_line_bytes_max) return bad("bad framing: length line too long");
  if (too_long) return bad(request_too_long);
  if (length == 0) return bad("bad framing: length is 0");

  frame.header = at;
  frame.bytes = length;
  frame.bytes_wanted = frame.skip + frame.header + frame.bytes;
  if (buffer.size() >= frame.bytes_wanted) frame.state = Frame::State::complete;
  return frame;
}

std::size_t DocumentEnd::find(std::string_view text) {
  while (at_ < text.size())
    if (step(text)) return std::exchange(*this, {}).at_;
  return 0;
}

bool DocumentEnd::step(std::string_view text) {
  const char c = text[at_++];
  const std::string_view markup = text.substr(markup_, at_ - markup_);  // up to here
  const auto ends = [&](std::string_view begin, std::string_view end) {
    if (markup.size() >= begin.size() + end.size() && markup.ends_with(end)) in_ = In::text;
    return false;
  };
  switch (in_) {
    case In::text:
      if (c == '<') {
        in_ = In::markup;
        markup_ = at_ - 1;
      }
      return false;
    case In::markup:
      in_ = c == '!'   ? In::exclamation
            : c == '?' ? In::instruction
            : c == '/' ? In::end_tag
                       : In::start_tag;
      has_more_ |= in_ == In::start_tag || in_ == In::end_tag;
      if (in_ != In::start_tag) return false;
      break;
    case In::exclamation:
      if (markup == "<!--")
        in_ = In::comment;
      else if (markup == "<![CDATA[")
        in_ = In::cdata;
      else if (!std::string_view("<!--").starts_with(markup) &&
               !std::string_view("<![CDATA[").starts_with(markup))
        in_ = In::other;
      return in_ == In::other && ends("<!", ">");
    case In::comment: return ends("<!--", "-->");
    case In::cdata: return ends("<![CDATA[", "]]>");
    case In::instruction: return ends("<?", "?>");
    case In::other: return ends("<!", ">");
    case In::value:
      if (c == quote_) in_ = In::start_tag;
      return false;
    case In::end_tag: ends("</", ">"); return in_ == In::text && (depth_ == 0 || --depth_ == 0);
    case In::start_tag: break;
  }
  if (c == '"' || c == '\'') {
    in_ = In::value;
    quote_ = c;
  }
  if (c != '>') return false;
  in_ = In::text;
  if (markup.ends_with("/>")) return depth_ == 0;
  ++depth_;
  return false;
}

}  // namespace exchange
