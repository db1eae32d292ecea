// Requests on a WebSocket (docs/http-api.md, "Orders over the WebSocket"), through real sockets.
#include "support/wait_for.hpp"
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Enter : Follow {
  // A connection on a market of two accounts.
  Socket enter() {
    start();
    post(small_market);
    Socket socket = follow();
    log_in(socket, "1");
    return socket;
  }
  static void log_in(Socket& socket, const std::string& account) {
    CHECK(ask(socket, "login", nlohmann::json{{"account", account}}.dump()) ==
          R"(200 {"account":")" + account + "\"}");
  }
  static std::string buy(int shares, int limit, const std::string& more = "") {
    return R"({"symbol": "SPY", "side": "buy", "shares": ")" + std::to_string(shares) +
           R"(", "limit": ")" + std::to_string(limit) + "\"" + more + "}";
  }
  static constexpr const char* tied = R"(, "cancel_on_disconnect": true)";
  // Returns the code of the close frame, which is not answered.
  static websocket::close_code closed_by_server(Socket& socket) {
    std::string frame(4, ' ');
    asio::read(socket.next_layer(), asio::buffer(frame));
    CHECK(frame[0] == '\x88');
    return websocket::close_code(std::uint8_t(frame[2]) << 8 | std::uint8_t(frame[3]));
  }
  // Returns the open shares of the order, once the cancels at the end of a connection are
  // committed.
  std::string open_of(int account, int order, std::uint64_t canceled) {
    while (metrics.canceled_orders[CancelCause::disconnect] < canceled) std::this_thread::yield();
    const std::string body = transact(account, "<query id='" + std::to_string(order) + "'/>").body;
    const std::size_t at = body.find("<open shares=\"");
    return at == std::string::npos ? "0" : body.substr(at + 14, body.find('"', at + 14) - at - 14);
  }
};

}  // namespace

TEST_CASE_METHOD(Enter, "one WebSocket places, queries, replaces and cancels orders") {
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(10, 5, R"(, "ref": "mine")")) == R"(201 {"order":1})");
  CHECK(ask(socket, "place", buy(10, 5, R"(, "ref": "mine")")) ==
        R"(200 {"order":1,"repeated":true})");
  CHECK(
      ask(socket, "place",
          R"({"account": "2", "symbol": "SPY", "side": "sell", "shares": 4, "type": "market"})") ==
      R"(201 {"order":2})");
  CHECK(ask(socket, "query", R"({"order": "ref:mine"})") ==
        R"(200 {"order":1,"open":"6","canceled":"0","executions":[{"shares":"4","price":"5"}]})");
  CHECK(ask(socket, "replace", R"({"order": 1, "side": "buy", "shares": "12", "limit": "4"})") ==
        R"(200 {"order":1})");
  CHECK(ask(socket, "cancel", R"({"order": "1"})") ==
        R"(200 {"order":1,"open":"0","canceled":"8","executions":[{"shares":"4","price":"5"}]})");
  CHECK(ask(socket, "query", R"({"order": 1, "from": 2})") ==
        R"(200 {"order":1,"open":"0","canceled":"8","executions":[]})");
  CHECK(ask(socket, "place",
            R"({"account": "1", "orders": [)"
            R"({"symbol": "SPY", "side": "buy", "shares": 1, "limit": 1},)"
            R"( {"symbol": "SPY", "side": "buy", "limit": 1}]})") ==
        R"(200 {"orders":[{"order":4},{"error":"missing member 'shares'",)"
        R"("code":"missing_attribute"}]})");
  CHECK(ask(socket, "cancel_all", R"({"symbol": "SPY"})") ==
        R"(200 {"orders":[{"order":4,"open":"0","canceled":"1","executions":[]}]})");
  CHECK(ask(socket, "cancel_all", "{}") ==
        R"(409 {"error":"no open orders","code":"no_open_orders"})");
  CHECK(ask(socket, "create_account", R"({"account": "3", "balance": "1"})") ==
        R"(201 {"account":"3"})");
  CHECK(ask(socket, "create_symbol", R"({"symbol": "QQQ", "holdings": {"3": 5}})") ==
        R"(201 {"symbol":"QQQ"})");
  CHECK(ask(socket, "set_instrument", R"({"symbol": "QQQ", "tick": "0.5"})") ==
        R"(200 {"symbol":"QQQ"})");
}

TEST_CASE_METHOD(Enter, "requests of a WebSocket are executed in their order without waiting") {
  Socket socket = enter();
  constexpr int count = 1'000;
  for (int i = 0; i < count; ++i) {  // each request needs the one before
    send(socket, message("place " + std::to_string(i), "place",
                         buy(1, 1, R"(, "ref": "r)" + std::to_string(i) + "\"")));
    send(socket, message(i, "cancel", R"({"order": "ref:r)" + std::to_string(i) + "\"}"));
  }
  for (int i = 1; i <= count; ++i) {
    REQUIRE(response(socket, "place " + std::to_string(i - 1)) ==
            R"(201 {"order":)" + std::to_string(i) + "}");
    REQUIRE(response(socket, i - 1) == R"(200 {"order":)" + std::to_string(i) +
                                           R"(,"open":"0","canceled":"1","executions":[]})");
  }
  CHECK(metrics.batch < 1 + 2 * count);  // some requests shared a commit
}

TEST_CASE_METHOD(Enter, "a request of a WebSocket is refused with its id, a status and a code") {
  Socket socket = enter();
  const auto refused = [&](const std::string& verb, const std::string& members) {
    const std::string got = ask(socket, verb, members);
    CHECK(got.starts_with("400 "));
    return nlohmann::json::parse(got.substr(4))["code"].get<std::string>();
  };
  CHECK(refused("place", "7") == "unexpected_content");
  CHECK(refused("place", R"({"symbol": "SPY"})") == "missing_attribute");
  CHECK(refused("place", buy(1, 1, R"(, "cancel_on_disconnect": "true")")) == "unknown_value");
  CHECK(refused("place", R"({"orders": [{}], "symbol": "SPY"})") == "unexpected_content");
  CHECK(refused("place", R"({"orders": []})") == "unexpected_content");
  CHECK(refused("cancel", "{}") == "missing_attribute");
  CHECK(refused("cancel", R"({"id": 1})") == "unexpected_content");
  CHECK(refused("cancel", R"({"order": "one"})") == "malformed_id");
  CHECK(refused("cancel", R"({"order": 1, "side": "buy"})") == "unexpected_content");
  CHECK(refused("query", R"({"order": 1, "from": 0})") == "malformed_number");
  CHECK(refused("cancel_all", R"({"symbol": "S-P"})") == "malformed_symbol");
  CHECK(refused("login", "[]") == "unexpected_content");
  CHECK(refused("login", R"({"account": 1})") == "malformed_id");
  CHECK(refused("login", R"({"key": "secret-of-1"})") == "missing_attribute");
  CHECK(refused("subscribe", R"("SPY")") == "unexpected_content");
  CHECK(ask(socket, "place", buy(1, 9'999'999)) ==
        R"(409 {"error":"insufficient funds","code":"insufficient_funds"})");
  CHECK(ask(socket, "cancel", R"({"order": 77})").starts_with("404 "));
  for (const char* message :
       {R"({"place": {}})", R"({"id": 1.5, "place": {}})", R"({"id": "", "place": {}})",
        R"({"id": null, "login": {}})", R"({"id": [], "query": {}})", R"({"id": true})"}) {
    send(socket, message);
    const nlohmann::json reply = receive(socket);
    CHECK((reply["type"] == "error" && reply["code"] == "malformed_id"));
  }
  for (const char* message : {R"({"id": 7})", R"({"id": 7, "place": {}, "cancel": {}})",
                              R"({"id": 7, "x": 1, "place": {}})"}) {
    send(socket, message);
    CHECK(response(socket, 7).ends_with(R"("code":"unexpected_content"})"));
  }
  CHECK(metrics.batch == 1);
}

TEST_CASE_METHOD(Enter, "a refused message of a WebSocket has no stage times") {
  Socket socket = enter();
  const auto samples = [&] { return metrics.stage_times.total_nanoseconds().count(); };
  const auto ask_later = [&](const std::string& verb, const std::string& members) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // one request in 10 ms is sampled
    ask(socket, verb, members);
  };
  std::uint64_t before = samples();
  ask_later("place", buy(1, 1));
  ask_later("place", buy(1, 1));
  ask_later("foo", "{}");  // answered once the times of the previous request are recorded
  CHECK(samples() > before);
  before = samples();
  for (int i = 0; i < 3; ++i) ask_later("foo", "{}");
  CHECK(samples() == before);
}

TEST_CASE_METHOD(Enter, "a request without an account, and without a login, names none") {
  start();
  Socket socket = follow();
  CHECK(ask(socket, "cancel_all", "{}") ==
        R"(400 {"error":"missing member 'account'","code":"missing_attribute"})");
  CHECK(ask(socket, "cancel_all", R"({"account": "1"})") == unknown_account);
}

TEST_CASE_METHOD(Enter, "orders end with a WebSocket that is closed or lost") {
  const bool reset = GENERATE(false, true);
  std::optional<Socket> socket(enter());
  CHECK(ask(*socket, "place", buy(10, 5, tied)) == R"(201 {"order":1})");
  CHECK(ask(*socket, "place", buy(10, 5)) == R"(201 {"order":2})");
  CHECK(ask(*socket, "place",
            R"({"account": "2", "symbol": "SPY", "side": "sell", "shares": 4, )"
            R"("limit": 9, "cancel_on_disconnect": true})") == R"(201 {"order":3})");
  CHECK(ask(*socket, "place", buy(10, 5, tied)) == R"(201 {"order":4})");
  CHECK(ask(*socket, "cancel", R"({"order": 4})").starts_with("200"));
  // not answered, since the connection ends, but executed
  send(*socket, message(9, "place", buy(3, 3, tied)));
  if (reset) {
    socket->next_layer().set_option(asio::socket_base::linger(true, 0));
    response(*socket, 9);
  } else {
    socket->close(websocket::close_code::normal);
  }
  socket.reset();
  CHECK(open_of(1, 1, 3) == "0");
  CHECK(open_of(1, 2, 3) == "10");
  CHECK(open_of(2, 3, 3) == "0");
  CHECK(open_of(1, 5, 3) == "0");
  CHECK(metrics.canceled_orders[CancelCause::disconnect] == 3);
}

TEST_CASE_METHOD(Enter, "messages of one packet are answered in order, whatever their frames") {
  start();
  const std::string mask(4, '\0');  // changes nothing
  const auto frame = [&](unsigned char first, const std::string& payload) {
    return std::string{char(first), char(0x80 | payload.size())} + mask + payload;
  };
  const std::string longer = message(3, "cancel_all", "{" + std::string(200, ' ') + "}");
  const std::string packet = frame(0x81, message(1, "cancel_all", "{}")) + frame(0x89, "ping") +
                             frame(0x01, "{\"id\":2,") + frame(0x80, "\"cancel_all\":{}}") +
                             "\x81\xfe" + std::string{0, char(longer.size())} + mask + longer +
                             frame(0x81, message(4, "cancel_all", "{}"));
  const std::string handshake =
      "GET /ws HTTP/1.1\r\nHost: exchange\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  // all at once, even behind the handshake, and byte by byte
  const std::size_t step = GENERATE(10'000u, 1u, 100u);
  asio::ip::tcp::socket socket = connect();
  socket.set_option(asio::ip::tcp::no_delay(true));
  const std::string bytes = handshake + packet;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    asio::write(socket, asio::buffer(bytes.substr(at, step)));
  std::string got;
  std::size_t at = 0;
  for (int id = 1; id <= 4; ++id) {
    const std::string response = "{\"type\":\"response\",\"id\":" + std::to_string(id) + ",";
    char bytes_read[4'096];
    while ((at = got.find(response)) == got.npos)
      got.append(bytes_read, socket.read_some(asio::buffer(bytes_read)));
    if (id > 1) CHECK(got.find("\"id\":" + std::to_string(id - 1)) < at);
  }
  CHECK(got.find("\x8a\x04ping") != got.npos);
}

TEST_CASE_METHOD(Enter, "many messages that arrive in parts are answered in order") {
  Socket socket = enter();
  std::string bytes;
  constexpr int messages = 3'000;
  for (int id = 0; id < messages; ++id) {
    const std::string text =
        message(id, "cancel_all", "{" + std::string(std::size_t(id % 90), ' ') + "}");
    bytes += {'\x81', char(0x80 | std::min<std::size_t>(text.size(), 126))};
    if (text.size() > 125) bytes += {'\0', char(text.size())};
    bytes += std::string(4, '\0') + text;
  }
  std::thread sender([&] { asio::write(socket.next_layer(), asio::buffer(bytes)); });
  for (int id = 0; id < messages; ++id) CHECK(response(socket, id).starts_with("409 "));
  sender.join();
}

TEST_CASE_METHOD(Enter, "orders end with a WebSocket that is over, though its TCP stays open") {
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(10, 5, tied)) == R"(201 {"order":1})");
  const std::string mask(4, '\0');  // changes nothing
  const auto frame = [&](unsigned char first, const std::string& payload) {
    return std::string{char(first), char(0x80 | payload.size())} + mask + payload;
  };
  const std::string end =
      GENERATE_COPY(frame(0x88, "\x03\xe8"),    // closed by the client
                    frame(0x88, ""),            // the same without a code
                    frame(0xc1, "{}"),          // a reserved bit
                    std::string("\x81\x02{}"),  // no mask
                    frame(0x83, ""),            // a reserved kind of frame
                    frame(0x80, "{}"),          // the rest of a message that has not begun
                    frame(0x82, "{}"),          // a binary message
                    frame(0x81, "{"),           // not JSON
                    frame(0x81, "\xc3\x28"),    // not UTF-8
                    std::string("\x81\xff\0\0\0\0\0\1\0\0", 10) + mask);  // too large
  asio::write(socket.next_layer(), asio::buffer(end));
  CHECK(open_of(1, 1, 1) == "0");
  // The server still waits for the client's end of TCP: it would reset a connection that it closed.
  CHECK(metrics.websockets == 1);
  for (int i = 0; i < 2; ++i) asio::write(socket.next_layer(), asio::buffer(std::string(1, '\0')));
}

TEST_CASE_METHOD(Enter, "orders end with a WebSocket that is reset amid its subscriptions") {
  for (OrderId order = 1; order <= 20; ++order) {
    Socket socket = enter();
    REQUIRE(ask(socket, "place", buy(10, 5, tied)) ==
            "201 {\"order\":" + std::to_string(order) + "}");
    for (int i = 0; i < 20; ++i) send(socket, R"({"subscribe": {"account": "1"}})");
    socket.next_layer().set_option(asio::socket_base::linger(true, 0));
    socket.next_layer().close();
    REQUIRE(wait_for([&] { return metrics.canceled_orders[CancelCause::disconnect] >= order; }));
    CHECK(open_of(1, int(order), order) == "0");
  }
  CHECK(wait_for([&] { return metrics.websockets == 0; }));
}

TEST_CASE_METHOD(Enter, "orders end with a WebSocket that the server closes") {
  options.http.stale_ms = 0;
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(10, 5, tied)) == R"(201 {"order":1})");
  store.lease_end = 1;  // another server may have taken over
  CHECK(closed_by_server(socket) == websocket::close_code::try_again_later);
  store.lease_end = INT64_MAX;
  CHECK(open_of(1, 1, 1) == "0");
}

TEST_CASE_METHOD(Enter, "a message with a member twice, or a number too large, is refused") {
  Socket socket = enter();
  send(socket, R"({"id": 7, "place": {"symbol": "SPY", "side": "buy", "side": "sell"}})");
  CHECK(response(socket, 7).ends_with(R"("code":"malformed_json"})"));
  send(socket, R"({"place": {}, "place": {}})");
  CHECK(receive(socket)["code"] == "malformed_json");
  // the connection continues, with the orders that are tied to it
  send(socket, R"({"id": 7, "place": {"shares": 1e400}})");
  CHECK(response(socket, 7).ends_with(R"("code":"malformed_number"})"));
  send(socket, R"({"id": 1e3, "cancel_all": {}})");
  CHECK(receive(socket)["code"] == "malformed_id");
  send(socket, R"({"id": 7.0, "cancel_all": {}})");
  CHECK(response(socket, 7).starts_with("409 "));
  CHECK(metrics.batch == 1);
}

TEST_CASE_METHOD(Enter, "orders end with a WebSocket when the server stops") {
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(10, 5, tied)) == R"(201 {"order":1})");
  CHECK(ask(socket, "place", buy(10, 5)) == R"(201 {"order":2})");
  server->http().stop();
  CHECK(metrics.canceled_orders[CancelCause::disconnect] == 1);
  CHECK(closed(socket) == websocket::close_code::going_away);
  stop();
  start();
  CHECK(open_of(1, 1, 1) == "0");
  CHECK(open_of(1, 2, 1) == "10");
}

TEST_CASE_METHOD(Enter, "so many orders end with one WebSocket, and none with HTTP") {
  options.protocol.tied_orders_max = 2;
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(1, 1, tied)).starts_with("201"));
  CHECK(ask(socket, "place", buy(1, 1, tied)).starts_with("201"));
  CHECK(ask(socket, "place", buy(1, 1, tied)) ==
        R"(400 {"error":"too many orders of this connection end with it; use another connection",)"
        R"("code":"no_cancel_on_disconnect"})");
  CHECK(ask(socket, "place", buy(1, 1)).starts_with("201"));
  const Exchanged http =
      Follow::request(http::verb::post, "/api/orders?account=1", buy(1, 1, tied));
  CHECK((http.status == 400 && http.json()["code"] == "no_cancel_on_disconnect"));
}

TEST_CASE_METHOD(Enter, "a response lists so many executions, and names the next") {
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(100, 9)) == R"(201 {"order":1})");
  const std::string one = "<order sym='SPY' amount='-0.01' limit='9'/>";
  std::string many;
  for (int i = 0; i < 1'001; ++i) many += one;
  transact(2, many);
  const auto query = [&](const std::string& members) {
    const std::string got = ask(socket, "query", members);
    REQUIRE(got.starts_with("200 "));
    return nlohmann::json::parse(got.substr(4));
  };
  const auto first = query(R"({"order": 1})");
  CHECK((first["executions"].size() == 1'000 && first["next"] == 1'001));
  const auto rest = query(R"({"order": 1, "from": 1001})");
  CHECK((rest["executions"].size() == 1 && !rest.contains("next")));
}

TEST_CASE_METHOD(Enter, "with keys, a WebSocket trades and creates once it is logged in") {
  start_with_keys();
  Socket socket = follow();
  const std::string account = R"({"account": "1", "balance": "1000", "key": "secret-of-1"})";
  CHECK(ask(socket, "create_account", account).starts_with("403 "));
  CHECK(ask(socket, "login", R"({"operator_key": "wrong-key"})").starts_with("403 "));
  CHECK(ask(socket, "login", R"({"operator_key": ""})").starts_with("403 "));
  CHECK(ask(socket, "login", R"({"operator_key": "key-of-operator"})") == "200 {}");
  CHECK(ask(socket, "create_account", R"({"account": "1", "balance": "1"})").starts_with("400 "));
  CHECK(ask(socket, "cancel_all", R"({"account": "1"})") == unknown_account);
  // a login takes effect for later requests, and a key once its account is created
  send(socket, message(1, "create_account", account));
  send(socket, message(2, "login", R"({"account": "1", "key": "secret-of-1"})"));
  send(socket, message(3, "place", buy(1, 5)));
  send(socket, message(4, "create_symbol", R"({"symbol": "QQQ"})"));
  CHECK(response(socket, 1) == R"(201 {"account":"1"})");
  CHECK(response(socket, 2) == R"(200 {"account":"1"})");
  CHECK(response(socket, 3) == R"(201 {"order":1})");
  CHECK(response(socket, 4) == R"(201 {"symbol":"QQQ"})");

  Socket other = follow();
  CHECK(ask(other, "place", buy(1, 5)).starts_with("400 "));
  for (const char* login :
       {R"({"account": "1", "key": "secret-of-2"})", R"({"account": "1"})",
        R"({"account": "1", "key": ""})", R"({"account": "9", "key": "secret-of-9"})"})
    CHECK(ask(other, "login", login) == unknown_account);
  CHECK(ask(other, "login", R"({"account": "1", "key": 7})").starts_with("400 "));
  CHECK(ask(other, "cancel", R"({"account": "1", "order": 1})") == unknown_account);
  CHECK(ask(other, "create_symbol", R"({"symbol": "DIA"})").starts_with("403 "));
  CHECK(ask(other, "set_instrument", R"({"symbol": "QQQ"})").starts_with("403 "));
  CHECK(ask(other, "login", R"({"account": "1", "key": "secret-of-1"})") ==
        R"(200 {"account":"1"})");
  CHECK(ask(other, "cancel", R"({"order": 1})").starts_with("200 "));
  CHECK(metrics.canceled_orders[CancelCause::client] == 1);
  store.lease_end = 0;  // each read asks the store
  CHECK(ask(other, "login", R"({"account": "2", "key": "secret-of-2"})") == unknown_account);
  asio::ip::tcp::socket bid = send_to_held_store("/api/orders", buy(1, 5), as_1);
  // refusals wait for the store as orders do: a server that was replaced does not know the newest
  // keys
  const int confirmations = store.confirmations;
  send(other, message(8, "login", R"({"account": "2", "key": "secret-of-2"})"));
  send(other, message(9, "login", R"({"operator_key": "wrong-key"})"));
  store.hold_appends.end();
  CHECK(response(other, 8) == unknown_account);
  CHECK(response(other, 9).starts_with("403 "));
  CHECK(store.confirmations > confirmations);
  read(bid);
}

TEST_CASE_METHOD(Enter, "a server stops though a client does not take its responses") {
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(100, 9, tied)) == R"(201 {"order":1})");
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "<order sym='SPY' amount='-0.01' limit='9'/>";
  transact(2, many);
  boost::system::error_code error;  // some 70 KB each: until the server reads no more
  socket.next_layer().non_blocking(true);
  for (int i = 0; i < 1'000 && !error; ++i)
    socket.write(asio::buffer(message(i, "query", R"({"order": 1})")), error);
  server->http().stop();
  CHECK(metrics.canceled_orders[CancelCause::disconnect] == 1);
}

TEST_CASE_METHOD(Enter, "many members are read, and the first unknown one is named") {
  start();
  std::string members = R"("account": "1")";
  for (int i = 0; i < 60'000; ++i) members += ",\"a" + std::to_string(i) + "\":0";
  const Exchanged got = Follow::request(http::verb::post, "/api/orders", "{" + members + "}");
  CHECK((got.status == 400 && got.json()["code"] == "unexpected_content"));
}

TEST_CASE_METHOD(Enter, "pages of a long history are not limited together") {
  options.core.reply_executions_max = 30;
  Socket socket = enter();
  CHECK(ask(socket, "place", buy(100, 9)) == R"(201 {"order":1})");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "<order sym='SPY' amount='-0.01' limit='9'/>";
  transact(2, many);
  for (int i = 0; i < 20; ++i) send(socket, message(i, "query", R"({"order": 1})"));
  for (int i = 0; i < 20; ++i) CHECK(response(socket, i).starts_with("200 "));
}
