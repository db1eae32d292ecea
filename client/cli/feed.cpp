#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "client/cli/base64.hpp"
#include "client/cli/ports.hpp"
#include "client/connection/framing.hpp"

// A frame of RFC 6455: opcode (with the bit `last`), length, mask (of clients only), payload.
//
//   byte 0      last | opcode
//   byte 1      masked | length, or 126: 2 bytes of length follow, or 127: 8 bytes
//   4 bytes     mask, where masked; the payload is XORed with it

namespace exchange::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint8_t last = 0x80, masked = 0x80;
constexpr std::size_t control_payload_max = 125;

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  ::RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), int(count));
  return bytes;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// The value of the server's Sec-WebSocket-Accept for our key.
std::string accept_for(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::string digest(SHA_DIGEST_LENGTH, '\0');
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return base64(digest);
}

}  // namespace

Feed::Feed(const std::string& address, double timeout_s, const client::StopFlag& stop,
           const client::Security& security)
    : timeout_s_(timeout_s), stream_(connect(address, "--http", timeout_s, stop, security)) {
  handshake(address);
  heard_ = Clock::now();
}

void Feed::handshake(const std::string& address) {
  constexpr std::string_view header_end = "\r\n\r\n";
  const std::string key = base64(random_bytes(16));
  received_ = stream_.send_and_receive(
      "GET /ws HTTP/1.1\r\nHost: " + address +
          "\r\nUser-Agent: exchange-cli\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
          key + "\r\n\r\n",
      [&](std::string_view bytes) { return bytes.find(header_end) != std::string_view::npos; });
  const std::size_t end = received_.find(header_end) + header_end.size();
  const std::string header = received_.substr(0, end);
  if (!header.starts_with("HTTP/1.1 101 ") || header.find(accept_for(key)) == std::string::npos)
    throw client::BadReply(address + " has no WebSocket at /ws");
  received_.erase(0, end);
}

void Feed::send(const std::string& text) { send_frame(Opcode::text, text); }

void Feed::send_frame(Opcode opcode, std::string_view payload) {
  std::string frame{char(last | std::uint8_t(opcode))};
  if (payload.size() <= control_payload_max) {
    frame += char(masked | payload.size());
  } else {  // what a client sends here is short
    frame += char(masked | 126);
    frame += char(payload.size() >> 8);
    frame += char(payload.size());
  }
  const std::string mask = random_bytes(4);
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += char(payload[i] ^ mask[i % 4]);
  stream_.write(frame);
}

std::optional<std::string> Feed::next(double wait_s) try {
  const auto end = Clock::now() + std::chrono::duration<double>(wait_s);
  while (true) {
    if (std::optional<std::string> message = take_message()) return message;
    const double left_s = std::chrono::duration<double>(end - Clock::now()).count();
    if (left_s <= 0) return {};
    receive(left_s);
  }
} catch (const client::NoReply& error) {
  const bool closed = dynamic_cast<const client::ConnectionEnded*>(&error) != nullptr;
  throw client::Unreachable(closed ? "the server at " + stream_.peer() + " ended the connection"
                                   : "lost the server at " + stream_.peer() + ": timeout");
}

// Pings find out that a server went away without a word.
void Feed::receive(double wait_s) {
  if (!stream_.wait_readable(wait_s)) {
    if (Clock::now() < heard_ + std::chrono::duration<double>(timeout_s_)) return;
    if (pinged_) throw client::NoReply("");
    send_frame(Opcode::ping, "");
    pinged_ = true;
    heard_ = Clock::now();
    return;
  }
  char bytes[16u << 10];
  const std::size_t count = stream_.read(bytes, sizeof bytes);
  if (count == 0) throw client::ConnectionEnded("");
  received_.append(bytes, count);
  heard_ = Clock::now();
  pinged_ = false;
}

// Takes frames off what was received, up to the end of a message.
std::optional<std::string> Feed::take_message() {
  while (received_.size() >= 2) {
    const auto first = static_cast<std::uint8_t>(received_[0]),
               second = static_cast<std::uint8_t>(received_[1]);
    const std::size_t short_length = second & ~unsigned(masked);
    const std::size_t length_bytes = short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
    const std::size_t header = 2 + length_bytes;
    if (received_.size() < header) return {};
    const std::uint64_t length =
        length_bytes == 0 ? short_length
                          : big_endian(std::string_view(received_).substr(2, length_bytes));
    if ((second & masked) != 0 || length > http_body_bytes_max - message_.size())
      throw client::BadReply("a WebSocket frame that no server sends");
    if (received_.size() < header + length) return {};
    const std::string payload = received_.substr(header, length);
    received_.erase(0, header + length);
    switch (Opcode(first & 0x0F)) {
      case Opcode::ping: send_frame(Opcode::pong, payload); continue;
      case Opcode::pong: continue;
      case Opcode::close: throw client::ConnectionEnded("");
      case Opcode::more:
      case Opcode::text:
        message_ += payload;
        if ((first & last) != 0) return std::exchange(message_, {});
        continue;
    }
    throw client::BadReply("a WebSocket message that is no text");
  }
  return {};
}

}  // namespace exchange::cli
