// The market over WebSocket, through real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE_METHOD(Follow,
                 "a subscriber gets a snapshot, then every change with the next sequence number") {
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(receive(socket) ==
        R"({"type": "snapshot", "symbol": "SPY", "sequence": 1, "bids": [["145.67", "100", 1]],
    "asks": [], "trades": []})"_json);
  post(first_ask);
  nlohmann::json update = receive(socket);
  CHECK(update["trades"][0]["time_us"].get<std::int64_t>() > 0);
  update["trades"][0].erase("time_us");
  CHECK(update ==
        R"({"type": "update", "symbol": "SPY", "sequence": 2, "bids": [["145.67", "60", 1]],
    "asks": [], "trades": [{"id": 1, "price": "145.67", "shares": "40", "taker": "sell",
      "buy_order": 1, "sell_order": 2}]})"_json);
  transact(1, "<cancel id='1'/>");
  CHECK(receive(socket) ==
        R"({"type": "update", "symbol": "SPY", "sequence": 3, "bids": [["145.67", "0", 0]],
    "asks": [], "trades": []})"_json);
  send(socket, R"({"unsubscribe": "SPY"})");
  CHECK(receive(socket) == R"({"type": "unsubscribed", "symbol": "SPY"})"_json);
  post(first_ask);
  await_view();
  send(socket, subscribe("SPY"));
  const nlohmann::json again = receive(socket);
  CHECK((again["type"] == "snapshot" && again["sequence"] == 4 &&
         again["asks"] == R"([["140", "40", 1]])"_json && again["trades"].size() == 1));
}

TEST_CASE_METHOD(Follow,
                 "a replaced order changes both its levels, and is the taker if it executes then") {
  start();
  trade();
  transact(2, "<order sym='SPY' amount='-30' limit='146'/>");
  await_view();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["asks"] == R"([["146", "30", 1]])"_json);
  transact(1, "<replace id='1' amount='100' limit='146.5'/>");
  nlohmann::json update = receive(socket);
  CHECK(update["trades"][0].erase("time_us") == 1);
  CHECK(update ==
        R"({"type": "update", "symbol": "SPY", "sequence": 3,
    "bids": [["146.5", "70", 1], ["145.67", "0", 0]], "asks": [["146", "0", 0]],
    "trades": [{"id": 1, "price": "146", "shares": "30", "taker": "buy",
      "buy_order": 1, "sell_order": 2}]})"_json);
}

TEST_CASE_METHOD(Follow,
                 "while a symbol is not open, its book says so, and what its auction would do") {
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(!receive(socket).contains("trading"));
  const auto trading = [&](const std::string& state) {
    post("<create><instrument sym='SPY' trading='" + state + "'/></create>");
  };
  trading("auction");
  CHECK(receive(socket) ==
        R"({"type": "update", "symbol": "SPY", "sequence": 2, "bids": [], "asks": [],
    "trading": "auction", "auction": {"price": null, "volume": "0", "surplus": null,
      "market_buys": "0", "market_sells": "0"}, "trades": []})"_json);
  transact(2, "<order sym='SPY' amount='-140' type='market'/>");
  const nlohmann::json auction =
      R"({"price": "145.67", "volume": "100", "surplus": "-40", "market_buys": "0",
    "market_sells": "140"})"_json;
  const nlohmann::json update = receive(socket);
  CHECK((update["auction"] == auction && update["asks"].empty()));
  CHECK(get("/api/books/SPY").json()["auction"] == auction);
  const nlohmann::json symbol = get("/api/symbols").json()["symbols"][0];
  CHECK((symbol["auction"] == auction && symbol["trading"] == "auction" &&
         symbol["ask"].is_null() && symbol["trading_since_us"].get<std::int64_t>() > 0));
  CHECK(get("/api/accounts/2").json()["orders"][0]["limit"].is_null());
  trading("halted");
  nlohmann::json halted = receive(socket);
  CHECK((halted["trading"] == "halted" && !halted.contains("auction")));
  trading("auction");
  receive(socket);
  transact(2, "<order sym='SPY' amount='-30' type='market'/>");
  receive(socket);
  trading("open");
  nlohmann::json opened = receive(socket);
  CHECK(opened["trades"][0].erase("time_us") == 1);
  CHECK(opened ==
        R"({"type": "update", "symbol": "SPY", "sequence": 7, "bids": [["145.67", "70", 1]],
    "asks": [], "trades": [{"id": 1, "price": "145.67", "shares": "30", "taker": "sell",
      "buy_order": 1, "sell_order": 3, "auction": true}]})"_json);
}

TEST_CASE_METHOD(Follow, "subscribers get the symbols that they subscribed to and no other") {
  start();
  trade();
  post("<create><symbol sym=\"QQQ\"><account id=\"2\">5</account></symbol></create>");
  await_view();
  Socket spy = follow(), both = follow();
  send(spy, subscribe("SPY"));
  send(both, subscribe("SPY"));
  send(both, subscribe("QQQ"));
  CHECK(receive(spy)["type"] == "snapshot");
  CHECK(receive(both)["symbol"] == "SPY");
  CHECK(receive(both)["symbol"] == "QQQ");
  transact(2, "<order sym='QQQ' amount='-1' limit='9'/>");
  CHECK(receive(both)["asks"] == R"([["9", "1", 1]])"_json);
  post(first_ask);
  CHECK(receive(spy)["sequence"] == 2);
  CHECK(receive(both)["symbol"] == "SPY");
  CHECK(metrics.websockets == 2);
}

TEST_CASE_METHOD(
    Follow,
    "an invalid message gets an error, and one that is not JSON text ends the connection with a reason") {
  start();
  trade();
  Socket socket = follow();
  const auto error_of = [&](const std::string& message) {
    send(socket, message);
    const nlohmann::json reply = receive(socket);
    CHECK(reply["type"] == "error");
    return reply["error"].get<std::string>() + ": " + reply["code"].get<std::string>();
  };
  const std::string expected =
      R"(expected {"subscribe": "SYMBOL"} or {"subscribe": {"account": "ID", "key": "KEY", )"
      R"("from": NUMBER}}, or "unsubscribe" for either, or a request with an "id": )"
      R"(unknown_message)";
  CHECK(error_of("[]") == expected);
  CHECK(error_of("7") == expected);
  CHECK(error_of("{}") == expected);
  CHECK(error_of(R"({"subscribe": 5})") == expected);
  CHECK(error_of(R"({"subscribe": "SPY", "x": "y"})") == expected);
  CHECK(error_of(R"({"follow": "SPY"})") == expected);
  for (const char* account :
       {R"({})", R"({"account": 1})", R"({"key": "k"})", R"({"account": "1", "from": 0})",
        R"({"account": "1", "from": -1})", R"({"account": "1", "from": "1"})",
        R"({"account": "1", "from": 1.5})", R"({"account": "1", "key": 7})",
        R"({"account": "1", "to": 2})"})
    CHECK(error_of(R"({"subscribe": )" + std::string(account) + "}") == expected);
  CHECK(error_of(R"({"unsubscribe": {"account": "1", "from": 1}})") == expected);
  CHECK(error_of(subscribe("XYZ")) == "unknown symbol 'XYZ': unknown_symbol");
  CHECK(error_of(subscribe("")) == "unknown symbol '': unknown_symbol");
  CHECK(error_of(R"({"unsubscribe": "XYZ"})") == "unknown symbol 'XYZ': unknown_symbol");
  CHECK(error_of("{\"subscribe\"") == "not JSON: malformed_json");
  CHECK(closed(socket) == websocket::close_code::bad_payload);

  Socket deep = follow();
  send(deep, std::string(16'384, '['));
  CHECK(receive(deep)["error"] == "not JSON");
  CHECK(closed(deep) == websocket::close_code::bad_payload);

  Socket long_one = follow();
  send(long_one, std::string(16'385, ' '));
  CHECK(closed(long_one) == websocket::close_code::too_big);

  Socket binary = follow();
  binary.binary(true);
  binary.write(asio::buffer(subscribe("SPY")));
  CHECK(closed(binary) == websocket::close_code::unknown_data);
  while (metrics.websockets != 0) std::this_thread::yield();
}

TEST_CASE_METHOD(Follow, "subscriptions of one subscriber are limited") {
  options.http.websocket_subscriptions_max = 1;
  start();
  trade();
  post("<create><symbol sym=\"QQQ\"/></create>");
  await_view();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["type"] == "snapshot");
  send(socket, subscribe("QQQ"));
  const nlohmann::json refusal = receive(socket);
  CHECK(refusal["error"] == "at most 1 subscriptions a connection");
  CHECK(refusal["code"] == "too_many_subscriptions");
  send(socket, subscribe("SPY"));
  CHECK(receive(socket)["type"] == "snapshot");
}

TEST_CASE_METHOD(
    Follow,
    "a subscriber that requests more snapshots than fit the backlog gets them all, if it reads") {
  options.http.websocket_backlog_bytes_max = 4'000;
  start();
  trade();
  Socket socket = follow();
  for (int i = 0; i < 200; ++i) send(socket, subscribe("SPY"));
  for (int i = 0; i < 200; ++i) CHECK(receive(socket)["type"] == "snapshot");
}

TEST_CASE_METHOD(Follow, "a subscriber that does not read is disconnected, and the others go on") {
  options.http.websocket_backlog_bytes_max = 200'000;
  options.http.websocket_idle_ms = 600'000;  // the client does not answer pings either
  options.http.update_entries_max = 100'000;
  start();
  post(small_market);
  await_view();
  Socket slow(connect());
  slow.next_layer().set_option(asio::socket_base::receive_buffer_size(4'096));
  slow.handshake("exchange", "/ws");
  send(slow, subscribe("SPY"));
  Socket quick = follow();
  send(quick, subscribe("SPY"));
  CHECK(receive(quick)["sequence"] == 0);
  // Both sides of the book move in every update, until the kernel's buffers and the backlog of the
  // slow one are full.
  std::uint64_t sequence = 0;
  for (int round = 0; metrics.websockets_dropped == 0; ++round) {
    REQUIRE(round < 2'000);
    std::string orders;
    for (int i = 1; i <= 500; ++i)
      orders += "<order sym=\"SPY\" amount=\"0.00000001\" limit=\"" + std::to_string(i) + "." +
                std::to_string(10'000 + round) + "\"/>";
    transact(1, orders);
    const nlohmann::json update = receive(quick);
    CHECK(update["sequence"] == ++sequence);
    CHECK(update["bids"].size() == 500);
  }
  CHECK(metrics.websockets_dropped == 1);
  CHECK(closed(slow) == websocket::close_code::none);  // no close frame: it takes time
  while (metrics.websockets != 1) std::this_thread::yield();
}

TEST_CASE_METHOD(Follow, "an update that would be too long is a snapshot instead") {
  options.http.update_entries_max = 3;
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["sequence"] == 1);
  transact(1,
           "<order sym='SPY' amount='1' limit='1'/><order sym='SPY' amount='1' limit='2'/>"
           "<order sym='SPY' amount='1' limit='3'/>");
  CHECK(receive(socket)["type"] == "update");
  transact(1,
           "<order sym='SPY' amount='1' limit='1'/><order sym='SPY' amount='1' limit='2'/>"
           "<order sym='SPY' amount='1' limit='3'/><order sym='SPY' amount='1' limit='4'/>");
  const nlohmann::json snapshot = receive(socket);
  CHECK((snapshot["type"] == "snapshot" && snapshot["sequence"] == 3 &&
         snapshot["bids"].size() == 5));
}

TEST_CASE_METHOD(
    Follow,
    "a client that closes its half of a connection and reads nothing does not keep the other half") {
  options.http.websocket_backlog_bytes_max = 50'000'000;
  options.http.update_entries_max = 100'000;
  start();
  trade();
  std::string orders;
  for (int i = 1; i <= 800; ++i)
    orders +=
        "<order sym=\"SPY\" amount=\"0.00000001\" limit=\"1." + std::to_string(10'000 + i) + "\"/>";
  transact(1, orders);
  await_view();
  Socket socket(connect());
  socket.next_layer().set_option(asio::socket_base::receive_buffer_size(4'096));
  socket.handshake("exchange", "/ws");
  // more snapshots than the kernel's buffers hold
  for (int i = 0; i < 500; ++i) send(socket, subscribe("SPY"));
  socket.next_layer().shutdown(asio::socket_base::shutdown_send);
  while (metrics.websockets != 0) std::this_thread::yield();
  CHECK(metrics.websockets_dropped == 0);
}

TEST_CASE_METHOD(Follow, "half of the connections may subscribe, and one more is refused") {
  options.http.connections_max = 4;
  start();
  Socket first = follow(), second = follow();
  CHECK(refusal() == 503);
}

TEST_CASE_METHOD(Follow, "three quarters of the subscribers may be of one address") {
  options.http.connections_max = 16;
  start();
  std::vector<Socket> sockets;
  for (int i = 0; i < 6; ++i) sockets.push_back(follow());
  CHECK(refusal() == 503);
  Socket(connect("127.0.0.2")).handshake("exchange", "/ws");
}

TEST_CASE_METHOD(Follow, "a handshake needs one key, the base64 of 16 bytes") {
  start();
  const auto status = [&](const std::string& fields) {
    asio::ip::tcp::socket socket = send_text(
        "GET /ws HTTP/1.1\r\nHost: exchange\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
        fields + "\r\n");
    std::string line(12, ' ');
    asio::read(socket, asio::buffer(line));
    return line.substr(9);
  };
  const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  CHECK(status(key) == "101");
  CHECK(status(key + key) == "400");
  for (const char* bad :
       {"dGhlIHNhbXBsZSBub25jZ==", "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25jZQA=", "dGhlIHNhbXBsZSBub25j_Q==", "dGhlIHNhbXBsZSBub25jZQAA"})
    CHECK(status("Sec-WebSocket-Key: " + std::string(bad) + "\r\n") == "400");
}

TEST_CASE_METHOD(Follow,
                 "codes that are not for the wire are not echoed, nor a reason not in UTF-8") {
  start();
  const auto echo = [&](unsigned code, const std::string& reason) {
    Socket socket = follow();
    const std::string payload = std::string{char(code >> 8), char(code & 0xff)} + reason;
    const std::string frame = "\x88" + std::string(1, char(0x80 | payload.size())) +
                              std::string(4, '\0') + payload;  // a mask that changes nothing
    asio::write(socket.next_layer(), asio::buffer(frame));
    std::string reply(4, ' ');
    asio::read(socket.next_layer(), asio::buffer(reply));
    CHECK(reply[0] == '\x88');
    return unsigned(std::uint8_t(reply[2])) << 8 | std::uint8_t(reply[3]);
  };
  for (const unsigned code : {1000u, 1001u, 1003u, 1007u, 1011u, 3000u, 4999u})
    CHECK(echo(code, "bye") == code);
  for (const unsigned code : {0u, 999u, 1004u, 1005u, 1006u, 1015u, 2999u})
    CHECK(echo(code, "bye") == 1002);
  CHECK(echo(1000, "\xc3\x28") == 1002);
}

TEST_CASE_METHOD(Follow, "subscribers of a server that may have been replaced are closed") {
  options.http.stale_ms = 0;
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["type"] == "snapshot");
  store.lease_end = 1;
  CHECK(closed(socket) == websocket::close_code::try_again_later);
  CHECK(refusal() == 503);
}

TEST_CASE_METHOD(Follow,
                 "a server that cannot know whether it was replaced answers no subscription") {
  options.http.store_answer_ms = 50;
  options.http.stale_ms = 600'000;  // stale subscribers are not closed
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["type"] == "snapshot");
  store.lease_end = 0;  // each read asks the store
  asio::ip::tcp::socket bid = send_to_held_store("/api/xml", first_bid);
  for (const char* message :
       {R"({"subscribe": "XYZ"})", R"({"unsubscribe": "XYZ"})", R"({"subscribe": "SPY"})"}) {
    send(socket, message);
    CHECK(receive(socket)["code"] == "service_unavailable");
  }
  store.hold_appends.end();
  read(bid);
  while (receive(socket)["type"] != "update") continue;
  send(socket, R"({"subscribe": "XYZ"})");
  CHECK(receive(socket)["code"] == "unknown_symbol");
}

TEST_CASE_METHOD(Follow, "a symbol may be subscribed to once it is created") {
  options.core.projection_interval_ms = 300;
  start();
  post("<create><account id='1' balance='1'/></create>");  // the next projection then waits
  post("<create><symbol sym='NEW'/></create>");
  Socket socket = follow("NEW");
  CHECK(receive(socket)["symbol"] == "NEW");
}

TEST_CASE_METHOD(Follow, "a server that stops closes its subscribers with a reason") {
  start();
  trade();
  Socket socket = follow("SPY");
  CHECK(receive(socket)["type"] == "snapshot");
  server->http().stop();
  CHECK(closed(socket) == websocket::close_code::going_away);
}
