#include "client/connection/framing.hpp"

#include <algorithm>
#include <charconv>

namespace exchange::client {
namespace {

constexpr std::string_view end_tag = "</results>";
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

// Where an empty <results/> ends that begins at `at`, with or without a declaration before it; npos
// where there is none.
std::size_t end_of_empty_results(std::string_view buffer, std::size_t at) {
  constexpr std::string_view start = "<results", end = "/>";
  if (at + start.size() < buffer.size() && buffer[at + start.size()] == '>')  // nearly always
    return std::string_view::npos;
  if (buffer.substr(at).starts_with("<?")) {
    at = buffer.find("?>", at);
    if (at == std::string_view::npos) return at;
    at = skip_blanks(buffer, at + 2);
  }
  if (!buffer.substr(at).starts_with(start)) return std::string_view::npos;
  at = skip_blanks(buffer, at + start.size());
  return buffer.substr(at).starts_with(end) ? at + end.size() : std::string_view::npos;
}

}  // namespace

std::string framed(std::string_view document) {
  return std::to_string(document.size()) + "\n" + std::string(document);
}

ReplyEnd find_reply(std::string_view buffer, std::size_t& scanned) {
  const std::size_t begin = skip_padding(buffer);
  if (begin == buffer.size()) return {ReplyEnd::State::incomplete};
  if (buffer[begin] >= '0' && buffer[begin] <= '9') return after_length_line(buffer, begin);
  if (buffer[begin] != '<' || buffer.size() > reply_bytes_max) return {ReplyEnd::State::bad};

  // first, since a reply that is not empty may follow it
  std::size_t end = end_of_empty_results(buffer, begin);
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
