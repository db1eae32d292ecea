#include "client/connection/reply.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "client/loadgen/options.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::string_view end_tag = "</results>", empty_results = "<results/>";
constexpr std::size_t length_line_bytes_max = 20;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// What counts as a name ends at a blank, '/' or the end of the tag.
std::size_t name_bytes(std::string_view tag) {
  std::size_t bytes = 0;
  while (bytes < tag.size() && !is_blank(tag[bytes]) && tag[bytes] != '/') ++bytes;
  return bytes;
}

ReplyEnd after_length_line(std::string_view buffer, std::size_t begin) {
  std::size_t bytes = 0;
  const char* const end = buffer.data() + buffer.size();
  const auto [digits_end, error] = std::from_chars(buffer.data() + begin, end, bytes);
  if (error != std::errc() || bytes == 0 || bytes > reply_bytes_max) return {ReplyEnd::State::bad};
  std::size_t at = std::size_t(digits_end - buffer.data());
  if (at - begin > length_line_bytes_max) return {ReplyEnd::State::bad};
  if (at < buffer.size() && buffer[at] == '\r') ++at;
  if (at == buffer.size()) return {ReplyEnd::State::incomplete};
  if (buffer[at] != '\n') return {ReplyEnd::State::bad};
  ++at;
  if (buffer.size() - at < bytes) return {ReplyEnd::State::incomplete};
  return {ReplyEnd::State::complete, at, at + bytes};
}

}  // namespace

ReplyEnd find_reply(std::string_view buffer, std::size_t& scanned) {
  const std::size_t begin = skip_blanks(buffer, 0);
  if (begin == buffer.size()) return {ReplyEnd::State::incomplete};
  if (buffer[begin] >= '0' && buffer[begin] <= '9') return after_length_line(buffer, begin);
  if (buffer[begin] != '<' || buffer.size() > reply_bytes_max) return {ReplyEnd::State::bad};

  const std::size_t from = std::max(begin, scanned);
  std::size_t end = buffer.find(end_tag, from);
  if (end != std::string_view::npos) {
    end += end_tag.size();
  } else if (buffer.substr(begin, empty_results.size()) == empty_results) {
    end = begin + empty_results.size();
  } else {
    if (buffer.size() >= end_tag.size()) scanned = buffer.size() - end_tag.size() + 1;
    return {ReplyEnd::State::incomplete};
  }
  return {ReplyEnd::State::complete, begin, skip_blanks(buffer, end)};
}

std::string_view ReplyElement::attribute(std::string_view wanted) const {
  std::string_view rest = attributes;
  while (true) {
    rest.remove_prefix(skip_blanks(rest, 0));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || equals + 1 >= rest.size()) return {};
    const char quote = rest[equals + 1];
    if (quote != '"' && quote != '\'') return {};
    const std::size_t value = equals + 2, value_end = rest.find(quote, value);
    if (value_end == std::string_view::npos) return {};
    if (rest.substr(0, equals) == wanted) return rest.substr(value, value_end - value);
    rest.remove_prefix(value_end + 1);
  }
}

ReplyElements::ReplyElements(std::string_view document) : rest_(document) {
  std::string_view tag;
  do {
    if (!take_tag(tag)) return;
  } while (tag.starts_with('?') || tag.starts_with('!'));
  if (tag.substr(0, name_bytes(tag)) != "results")
    state_ = State::bad;
  else if (tag.ends_with('/'))
    state_ = State::complete;
}

ReplyElements ReplyElements::within(const ReplyElement& element) {
  ReplyElements elements;
  elements.rest_ = element.content;
  elements.end_tag_ = {};
  return elements;
}

bool ReplyElements::stop(State state) {
  state_ = state;
  return false;
}

// The next "<…>", without its brackets. Text before it is skipped.
bool ReplyElements::take_tag(std::string_view& tag) {
  const std::size_t open = rest_.find('<');
  const std::size_t close = open == std::string_view::npos ? open : rest_.find('>', open);
  if (close == std::string_view::npos) return stop(State::bad);
  tag = rest_.substr(open + 1, close - open - 1);
  rest_.remove_prefix(close + 1);
  return tag.empty() ? stop(State::bad) : true;
}

bool ReplyElements::next(ReplyElement& element) {
  if (state_ != State::inside) return false;
  rest_.remove_prefix(skip_blanks(rest_, 0));
  if (rest_.empty() && end_tag_.empty()) return stop(State::complete);
  if (!rest_.starts_with('<')) return stop(State::bad);
  std::string_view tag;
  if (!take_tag(tag)) return false;
  if (tag.front() == '/') return stop(tag == end_tag_ ? State::complete : State::bad);

  const std::size_t name = name_bytes(tag);
  element = {.name = tag.substr(0, name), .attributes = tag.substr(name), .content = {}};
  if (tag.back() == '/') return true;
  const char* const content = rest_.data();
  for (unsigned depth = 1; depth > 0;) {
    std::string_view inner;
    if (!take_tag(inner)) return false;
    if (inner.front() == '/')
      --depth;
    else if (inner.back() != '/')
      ++depth;
    element.content = {content, std::size_t(inner.data() - 1 - content)};
  }
  return true;
}

}  // namespace exchange::loadgen
