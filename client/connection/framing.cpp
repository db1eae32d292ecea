#include "client/connection/framing.hpp"

#include <algorithm>
#include <charconv>

namespace exchange::client {
namespace {

constexpr std::string_view end_tag = "</results>", empty_results = "<results/>";
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

}  // namespace

std::string framed(std::string_view document) {
  return std::to_string(document.size()) + "\n" + std::string(document);
}

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

}  // namespace exchange::client
