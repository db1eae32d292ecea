#include "client/connection/framing.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.hpp"

namespace exchange::client {
namespace {

constexpr std::string_view results_end = "</results>";
constexpr std::size_t length_line_bytes_max = 20;

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

// A name begins with a letter, and ends at a blank, '/' or '>'. Empty if no name begins at `at`.
std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && !is_blank(text[end]) && text[end] != '/' && text[end] != '>') ++end;
  const bool is_name = end > at && std::isalpha(static_cast<unsigned char>(text[at]));
  return is_name ? text.substr(at, end - at) : std::string_view();
}

// Returns the tag that ends the reply. Its root begins at `at`, or follows the declaration at `at`.
// Sets `end` to the end of the root if the root is empty. While the buffer does not show this yet,
// returns an empty string and leaves `end` unchanged.
std::string end_tag_of(std::string_view buffer, std::size_t at, std::size_t& end) {
  if (buffer.substr(at).starts_with("<results>")) return std::string(results_end);  // nearly always
  if (buffer.substr(at).starts_with("<?")) {
    at = buffer.find("?>", at);
    if (at == std::string_view::npos) return {};
    at = skip_blanks(buffer, at + 2);
  }
  const std::size_t tag_end = buffer.find('>', at);
  if (tag_end == std::string_view::npos) return {};
  const std::string_view name = buffer[at] == '<' ? name_at(buffer, at + 1) : std::string_view();
  if (name.empty()) return std::string(results_end);
  if (buffer[tag_end - 1] == '/') end = tag_end + 1;
  return "</" + std::string(name) + ">";
}

}  // namespace

std::string framed(std::string_view document) {
  return std::to_string(document.size()) + "\n" + std::string(document);
}

ReplyEnd find_reply(std::string_view buffer, std::size_t& scanned) {
  std::size_t begin = skip_padding(buffer);
  if (const std::string_view rest = buffer.substr(begin); rest.starts_with(byte_order_mark))
    begin += byte_order_mark.size();
  else if (byte_order_mark.starts_with(rest))
    return {ReplyEnd::State::incomplete};
  if (begin == buffer.size()) return {ReplyEnd::State::incomplete};
  if (is_digit(buffer[begin])) return after_length_line(buffer, begin);
  if (buffer[begin] != '<' || buffer.size() > reply_bytes_max) return {ReplyEnd::State::bad};

  // looks for an empty root first: a reply with content may follow an empty one
  std::size_t end = std::string_view::npos;
  const std::string end_tag = end_tag_of(buffer, begin, end);
  if (end_tag.empty()) return {ReplyEnd::State::incomplete};
  if (end == std::string_view::npos) {
    end = buffer.find(end_tag, std::max(begin, scanned));
    if (end == std::string_view::npos) {
      if (buffer.size() >= end_tag.size()) scanned = buffer.size() - end_tag.size() + 1;
      return {ReplyEnd::State::incomplete};
    }
    end += end_tag.size();
  }
  return {ReplyEnd::State::complete, begin, skip_padding(buffer, end)};
}

}  // namespace exchange::client
