#include "http/close_frames.hpp"

#include <algorithm>
#include <boost/beast/websocket/detail/utf8_checker.hpp>
#include <string>

namespace exchange {

namespace {

// Beast knows the other codes below this (RFC 6455 7.4.2).
constexpr unsigned codes_end = 5'000;

}  // namespace

std::size_t CloseFrames::header_bytes() const {
  if (header_received_ < 2) return 2;
  const int length = header_[1] & 0x7f;
  return 2 + (length == 127 ? 8 : length == 126 ? 2 : 0) + (is_masked() ? 4 : 0);
}

std::uint64_t CloseFrames::payload_bytes() const {
  const int length = header_[1] & 0x7f;
  if (length < 126) return std::uint64_t(length);
  std::uint64_t bytes = 0;
  for (std::size_t i = 2; i < (length == 127 ? 10u : 4u); ++i) bytes = bytes << 8 | header_[i];
  return bytes;
}

void CloseFrames::check(std::span<char> received) {
  if (close_.data() + close_.size() != received.data()) close_ = {};
  while (!received.empty()) {
    if (payload_left_ == 0) {
      header_[header_received_++] = std::uint8_t(received[0]);
      received = received.subspan(1);
      if (header_received_ < header_bytes()) continue;
      payload_left_ = payload_bytes();
      header_received_ = 0;
      close_ = received.first(0);
      continue;
    }
    const std::size_t count = std::min<std::uint64_t>(payload_left_, received.size());
    payload_left_ -= count;
    if (is_close() && close_.data() != nullptr) {
      close_ = {close_.data(), close_.size() + count};
      if (payload_left_ == 0) judge(close_);
    }
    received = received.subspan(count);
  }
}

void CloseFrames::judge(std::span<char> payload) const {
  if (payload.size() < 2 || payload.size() > 125 || !is_masked()) return;  // Beast refuses it
  constexpr std::size_t mask = 2;  // where it is in the header of a frame so short
  const auto masked = [&](std::size_t at, char byte) {
    return char(std::uint8_t(byte) ^ header_[mask + at % 4]);
  };
  std::string plain(payload.begin(), payload.end());
  for (std::size_t at = 0; at < plain.size(); ++at) plain[at] = masked(at, plain[at]);
  unsigned code = unsigned(std::uint8_t(plain[0])) << 8 | std::uint8_t(plain[1]);
  const bool is_utf8 =
      boost::beast::websocket::detail::check_utf8(plain.data() + 2, plain.size() - 2);
  if (code < codes_end && is_utf8) return;
  code = code >= codes_end ? 1'002 : 1'007;
  plain.assign(plain.size(), ' ');
  plain[0] = char(code >> 8);
  plain[1] = char(code & 0xff);
  for (std::size_t at = 0; at < plain.size(); ++at) payload[at] = masked(at, plain[at]);
}

}  // namespace exchange
