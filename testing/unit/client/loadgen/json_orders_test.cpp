// Orders in JSON: what a request contains, where a reply ends, which replies are right.
#include "client/loadgen/json_orders.hpp"

#include "catch.hpp"

using namespace exchange::loadgen;
using State = exchange::client::ReplyEnd::State;

namespace {

const Workload ten_accounts({.symbols = 3, .account_prefix = "9"}, 10);
const Action sale{
    .kind = Action::Kind::order, .symbol = 2, .amount = -7, .limit_cents = 99'50, .id = 12};
const ScriptedRequest sells{4, std::span(&sale, 1)};
const std::string sale_in_json =
    R"({"account":"94","symbol":"SYM2","side":"sell","shares":"7","limit":"99.50"})";

std::string request(Protocol protocol) {
  std::string bytes = "before";
  write_json_request(protocol, ten_accounts, sells, bytes);
  REQUIRE(bytes.starts_with("before"));
  return bytes.substr(6);
}

std::string response(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string message(const std::string& payload) {
  std::string bytes = "\x81";
  if (payload.size() > 125) bytes += {126, char(payload.size() >> 8)};
  return bytes + char(payload.size()) + payload;
}

ReplyCheck check(Protocol protocol, const std::string& reply) {
  ReplyCheck check;
  check_json_reply(protocol, sells, reply, check);
  return check;
}

}  // namespace

TEST_CASE("an order in JSON is a POST, or a masked message with its number as the id") {
  const std::string post = request(Protocol::rest);
  CHECK(post.starts_with("POST /api/orders HTTP/1.1\r\n"));
  CHECK(post.ends_with("Content-Length: " + std::to_string(sale_in_json.size()) + "\r\n\r\n" +
                       sale_in_json));

  const std::string sent = request(Protocol::websocket),
                    payload = R"({"id":12,"place":)" + sale_in_json + "}";
  REQUIRE(sent.size() == 6 + payload.size());
  CHECK(sent.substr(0, 1) == "\x81");
  CHECK(static_cast<unsigned char>(sent[1]) == (0x80 | payload.size()));
  std::string unmasked;
  for (std::size_t i = 0; i < payload.size(); ++i) unmasked += char(sent[6 + i] ^ sent[2 + i % 4]);
  CHECK(unmasked == payload);
}

TEST_CASE("a reply in JSON is found once it is whole, whatever follows it") {
  const std::string json = R"({"order":5})", longer(300, ' ');
  for (const auto& [protocol, reply, document] :
       {std::tuple(Protocol::rest, response("201 Created", json), response("201 Created", json)),
        std::tuple(Protocol::websocket, message(json), json),
        std::tuple(Protocol::websocket, message(longer), longer),
        std::tuple(Protocol::websocket, "\x89\x02hi\x89" + std::string(1, '\0') + message(json),
                   json)}) {
    for (std::size_t length = 0; length < reply.size(); ++length)
      CHECK(find_json_reply(protocol, reply.substr(0, length)).state == State::incomplete);
    const auto found = find_json_reply(protocol, reply + "next");
    REQUIRE(found.state == State::complete);
    CHECK(found.end == reply.size());
    CHECK(reply.substr(found.begin, found.end - found.begin) == document);
  }
  CHECK(find_json_reply(Protocol::rest, "HTTP/1.1 200 OK\r\n\r\n").state == State::bad);
  CHECK(find_json_reply(Protocol::websocket, "HTTP/1.1 200 OK").state == State::bad);
  CHECK(skip_pings(Protocol::websocket, "\x89\x02hi") == 4);
  CHECK(skip_pings(Protocol::websocket, "\x89\x02h") == 0);
  CHECK(skip_pings(Protocol::rest, "\x89\x02hi") == 0);
}

TEST_CASE("a right reply in JSON opens the order or refuses it") {
  const auto answer = [](const std::string& id, const std::string& rest) {
    return R"({"type":"response","id":)" + id + R"(,"status":)" + rest;
  };
  CHECK(check(Protocol::rest, response("201 Created", R"({"order":5})")).elements[0].opened == 5);
  CHECK(check(Protocol::websocket, answer("12", R"(201,"order":5})")).elements[0].opened == 5);
  for (const ReplyCheck& refused :
       {check(Protocol::rest, response("409 Conflict", R"({"error":"no"})")),
        check(Protocol::websocket, answer("12", R"(409,"error":"no"})"))}) {
    CHECK(refused.problem == "");
    CHECK(refused.elements[0].rejected);
  }
  CHECK(check(Protocol::websocket, answer("13", R"(201,"order":5})")).problem != "");
  CHECK(check(Protocol::websocket, answer("12", R"(201})")).problem != "");
  CHECK(check(Protocol::websocket, answer("12", R"(400,"error":"?"})")).problem != "");
  CHECK(check(Protocol::rest, response("503 Service Unavailable", "{}")).problem != "");
  CHECK(check(Protocol::websocket, R"({"type":"error"})").malformed);
}
