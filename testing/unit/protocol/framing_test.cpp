// Limits and memory of framing; testing/wire has its rules, and fuzz/framing.cpp compares it with
// an oracle.
#include "protocol/framing.hpp"

#include "unit/protocol/support.hpp"

using namespace exchange;

namespace {

const std::string create = R"(<create><account id="1" balance="5"/></create>)";
const std::string created = results(R"(<created id="1"/>)");
const std::string again = R"(<create><symbol sym="S"/></create>)";
const std::string again_created = results(R"(<created sym="S"/>)");
const ProtocolLimits lenient{.lenient_framing = true};

}  // namespace

TEST_CASE("a document without a length line has the limit of others") {
  const auto of_bytes = [](std::size_t bytes) {
    return "<create>" + std::string(bytes - 17, ' ') + "</create>";
  };
  const std::string refused =
      error_reply("bad framing: request longer than the limit") + " [closed]";
  const ProtocolLimits small{.frame_bytes_max = 99,
                             .read_buffer_bytes_min = 32,
                             .read_buffer_bytes_max = 64,
                             .lenient_framing = true};
  for (const std::size_t slice : {1, 7, 1'000}) {
    CHECK(serve_requests(of_bytes(99) + again, {slice}, small) == results("") + again_created);
    CHECK(serve_requests(of_bytes(100) + again, {slice}, small) == refused);
    CHECK(serve_requests("<" + std::string(1'000, '<'), {slice}, small) == refused);
  }
  const std::size_t most = 1u << 20;
  CHECK(serve_requests(of_bytes(most) + again, {65'536}, lenient) == results("") + again_created);
  CHECK(serve_requests(of_bytes(most + 1), {65'536}, lenient) == refused);
}

TEST_CASE(
    "a session's memory grows with the bytes that came, not with the length that was claimed") {
  const ProtocolLimits limits;
  XmlSession session(limits);
  const auto feed = [&](std::string_view bytes) {
    REQUIRE(session.read_space().size() >= bytes.size());
    REQUIRE(!receive(session, bytes));
  };
  feed("1048576\n");
  CHECK(session.read_space().size() <= limits.read_buffer_bytes_min);
  feed("<create>");
  CHECK(session.read_space().size() <= limits.read_buffer_bytes_min);
  std::size_t sent = 16;
  while (sent < 1'000'000) {
    const std::size_t piece = std::min<std::size_t>(session.read_space().size(), 1'000'000 - sent);
    REQUIRE(piece > 0);
    REQUIRE(piece <= 4 * std::max(sent, limits.read_buffer_bytes_min));
    feed(std::string(piece, ' '));
    sent += piece;
  }
}

TEST_CASE("after a large request a connection goes back to its size at rest") {
  LocalService service;
  const ProtocolLimits limits;
  LocalClient client(service, limits);
  client.send(framed("<create>" + std::string(1'000'000, ' ') + "</create>"));
  CHECK(client.replies() == results(""));
  CHECK(client.session().read_space().size() == limits.read_buffer_bytes_min);
  client.send(framed(create));
  CHECK(client.replies() == created);
}

TEST_CASE("a request of exactly the limit is read, also with others around it") {
  const std::string large = "<create>" + std::string((1u << 20) - 17, ' ') + "</create>";
  REQUIRE(large.size() == 1u << 20);
  CHECK(serve_requests(framed(create) + framed(large) + framed(again), {65'536, 1, 4'000}) ==
        created + results("") + again_created);
}
