// What becomes of the close frames that a WebSocket client sends, cut in any places.
#include "http/close_frames.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace exchange;

namespace {

const std::string mask = "\x11\x82\x33\xc4";

std::string masked(std::string payload) {
  for (std::size_t at = 0; at < payload.size(); ++at) payload[at] ^= mask[at % 4];
  return payload;
}
std::string frame(int opcode, const std::string& payload) {
  std::string header{char(0x80 | opcode)};
  if (payload.size() < 126)
    header += char(0x80 | payload.size());
  else
    header += {char(0x80 | 126), char(payload.size() >> 8), char(payload.size() & 0xff)};
  return header + mask + masked(payload);
}
std::string close_payload(unsigned code, const std::string& reason) {
  return std::string{char(code >> 8), char(code & 0xff)} + reason;
}
std::string close_frame(unsigned code, const std::string& reason) {
  return frame(8, close_payload(code, reason));
}

}  // namespace

TEST_CASE("a close frame that must not be echoed is changed, and nothing else, in any pieces") {
  struct Case {
    unsigned code;
    std::string reason;
    unsigned echoed;
  };
  const Case cases[] = {
      {1000, "", 1000},         {1000, "gone", 1000},         {4999, "\xc3\xa9", 4999},
      {5000, "", 1002},         {5000, "gone", 1002},         {65535, "", 1002},
      {1000, "\xc3\x28", 1007}, {3000, "cut \xe2\x82", 1007}, {1000, std::string(123, 'x'), 1000}};
  for (const Case& c : cases) {
    const bool changed = c.code != c.echoed;
    const std::string before = frame(1, "text") + frame(2, std::string(300, '\x88')) + frame(9, "");
    const std::string received = before + close_frame(c.code, c.reason);
    const std::string expected =
        before + close_frame(c.echoed, changed ? std::string(c.reason.size(), ' ') : c.reason);
    for (std::size_t cut = 0; cut <= received.size(); ++cut) {
      CloseFrames frames;
      std::string bytes = received;
      frames.check({bytes.data(), cut});
      CHECK(frames.is_inside() == (cut >= before.size() + 6 && cut < received.size()));
      frames.check({bytes.data() + cut, bytes.size() - cut});
      CHECK_FALSE(frames.is_inside());
      INFO(c.code << " cut at " << cut);
      CHECK(bytes == expected);
    }
  }
}

TEST_CASE("a close frame whose pieces are not passed on together stays as it is") {
  CloseFrames frames;
  const std::string received = close_frame(1000, "\xc3\x28");
  std::string first = received.substr(0, 9), second = received.substr(9);
  frames.check({first.data(), first.size()});
  frames.check({second.data(), second.size()});
  CHECK(first + second == received);
}
