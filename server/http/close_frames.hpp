#pragma once
// CloseFrames checks the close frames in what a WebSocket client sends, before Beast reads it:
// Beast echoes codes that are not for the wire, and answers a reason that is not UTF-8 with code
// 1002. A frame that must not be echoed is changed into one whose echo is the right answer: code
// 1002 for such a code (RFC 6455 7.4), 1007 for such a reason (5.5.1, 8.1). Pure. Owner: a
// connection.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace exchange {

class CloseFrames {
 public:
  // Bytes received, in order. Changes a close frame among them if it must be, once all of it is
  // here.
  void check(std::span<char> received);
  // Whether what was received ends inside a close frame. Pass it on with the rest, which is to come
  // behind it in memory; else the frame stays as it is.
  bool is_inside() const { return payload_left_ > 0 && is_close(); }

 private:
  std::size_t header_bytes() const;
  bool is_masked() const { return (header_[1] & 0x80) != 0; }
  bool is_close() const { return (header_[0] & 0x0f) == 8; }
  std::uint64_t payload_bytes() const;
  void judge(std::span<char> payload) const;

  std::array<std::uint8_t, 14> header_{};  // of the frame under way
  std::size_t header_received_ = 0;
  std::uint64_t payload_left_ = 0;
  std::span<char> close_;  // what was received of its payload, if that is in one place
};

}  // namespace exchange
