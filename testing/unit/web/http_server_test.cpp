// HTTP end to end, as docs/http-api.md promises it, over real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

TEST_CASE_METHOD(Market, "symbols, books, trades, accounts and orders are returned exactly") {
  CHECK(without_times("/api/symbols") ==
        R"({"batch": 3, "symbols": [{"symbol": "SPY", "bid": "145.67", "bid_shares": "60",
    "ask": null, "ask_shares": null, "last": "145.67", "last_time_us": 1, "shares_total": "500",
    "open_orders": 1, "trades": 1, "traded_shares": "40", "sequence": 2}]})"_json);
  CHECK(without_times("/api/books/SPY") ==
        R"({"symbol": "SPY", "sequence": 2, "bids": [["145.67", "60", 1]], "asks": []})"_json);
  CHECK(without_times("/api/trades?sym=SPY") ==
        R"({"symbol": "SPY", "sequence": 2, "trades":
    [{"id": 1, "price": "145.67", "shares": "40", "taker": "sell", "buy_order": 1, "sell_order": 2,
      "time_us": 1}]})"_json);
  CHECK(without_times("/api/accounts/1") ==
        R"({"account": "1", "balance": "85433", "reserved": "8740.2",
    "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}], "open_orders": 1, "orders":
    [{"order": 1, "symbol": "SPY", "side": "buy", "shares": "100", "limit": "145.67", "open": "60",
      "opened_at_us": 1}]})"_json);
  CHECK(without_times("/api/orders/1") ==
        R"({"order": 1, "account": "1", "symbol": "SPY", "side": "buy", "shares": "100",
    "limit": "145.67", "open": "60", "canceled": "0", "state": "open", "opened_at_us": 1,
    "canceled_at_us": null, "executions_total": 1,
    "executions": [{"shares": "40", "price": "145.67", "time_us": 1}]})"_json);
  CHECK(get("/api/orders/2").json()["state"] == "executed");
  transact(1, "<cancel id='1'/>");
  await_view();
  const nlohmann::json canceled = without_times("/api/orders/1");
  CHECK((canceled["state"] == "canceled" && canceled["canceled"] == "60" &&
         canceled["canceled_at_us"] == 1));
  CHECK(get("/api/accounts/1").json()["orders"].empty());
  CHECK(get("/api/books/SPY").json()["bids"].empty());
}

TEST_CASE_METHOD(Market,
                 "a replaced order is returned as it is now, and listed in the order of places") {
  transact(1,
           "<order sym='SPY' amount='5' limit='10'/><replace id='1' amount='90' limit='145.5'/>");
  await_view();
  CHECK(without_times("/api/orders/1") ==
        R"({"order": 1, "account": "1", "symbol": "SPY", "side": "buy", "shares": "90",
    "limit": "145.5", "open": "50", "canceled": "0", "state": "open", "opened_at_us": 1,
    "canceled_at_us": null, "executions_total": 1,
    "executions": [{"shares": "40", "price": "145.67", "time_us": 1}]})"_json);
  CHECK(without_times("/api/accounts/1") ==
        R"({"account": "1", "balance": "86848.2", "reserved": "7325",
    "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}], "open_orders": 2, "orders":
    [{"order": 3, "symbol": "SPY", "side": "buy", "shares": "5", "limit": "10", "open": "5",
      "opened_at_us": 1},
     {"order": 1, "symbol": "SPY", "side": "buy", "shares": "90", "limit": "145.5", "open": "50",
      "opened_at_us": 1}]})"_json);
}

TEST_CASE_METHOD(Market, "what the operator lets an account do is shown with it") {
  const auto rules = [&] {
    await_view();
    nlohmann::json account = without_times("/api/accounts/1");
    for (const char* other :
         {"account", "balance", "reserved", "positions", "open_orders", "orders"})
      REQUIRE(account.erase(other) == 1);
    return account;
  };
  CHECK(rules() == nlohmann::json::object());
  post(
      "<create><set-account id='1' role='operator' access='frozen' orders-max='7'"
      " orders-per-second-max='3' position-max='99.5'/></create>");
  const nlohmann::json all =
      R"({"role": "operator", "access": "frozen", "orders_max": 7, "orders_per_second_max": 3,
    "position_max": "99.5"})"_json;
  CHECK(rules() == all);
  stop();
  start();  // from the tables
  CHECK(rules() == all);
  post(
      "<create><set-account id='1' role='trader' access='active' orders-max='0'"
      " position-max='0'/></create>");
  CHECK(rules() == R"({"orders_per_second_max": 3})"_json);
}

TEST_CASE_METHOD(
    Market, "counts in queries bound what is returned; best levels and newest trades come first") {
  transact(1,
           "<order sym='SPY' amount='1' limit='3'/><order sym='SPY' amount='1' limit='2.5'/>"
           "<order sym='SPY' amount='1' limit='3'/>");
  transact(2, "<order sym='SPY' amount='-10' limit='145'/>");
  await_view();
  CHECK(get("/api/books/SPY?levels=2").json()["bids"] ==
        R"([["145.67", "50", 1], ["3", "2", 2]])"_json);
  CHECK(get("/api/books/SPY").json()["bids"].size() == 3);
  CHECK(get("/api/trades?limit=1&sym=SPY").json()["trades"][0]["shares"] == "10");
  CHECK(get("/api/trades?limit=2&sym=SPY").json()["trades"][1]["shares"] == "40");
}

TEST_CASE_METHOD(Market, "an invalid request gets the right status and a sentence") {
  struct Case {
    std::string request;  // GET if it has no method
    unsigned status;
    std::string sentence;  // how it begins; under /api it is JSON
    std::string code;
  };
  const std::string digits65(65, '1');
  const std::string not_allowed = "method_not_allowed",
                    levels = "levels is a whole number from 1 to 1000";
  for (const Case& c : std::vector<Case>{
           {"/nothing", 404, "there is no such path"},
           {"/api/nothing", 404, "there is no such path; docs/http-api.md lists them", "not_found"},
           {"/api/books/", 404, "unknown symbol ''", "unknown_symbol"},
           {"/api/accounts/", 400, "an account id is 1 to 64 digits", "malformed_id"},
           {"/api/orders/", 400, "an order id is a whole number from 1", "malformed_id"},
           {"DELETE /api/orders/?account=1", 400, "order must be a whole number from 1",
            "malformed_id"},
           {"/api/books/SPY/x", 404, "there is no such path", "not_found"},
           {"/api/books/XYZ", 404, "unknown symbol 'XYZ'", "unknown_symbol"},
           {"/api/books/S%2FY", 404, "unknown symbol 'S%2FY'", "unknown_symbol"},
           {"/api/books/\xff", 404, "unknown symbol '\xef\xbf\xbd'", "unknown_symbol"},
           {"/api/books/SPY?levels=0", 400, levels, "bad_request"},
           {"/api/books/SPY?levels=1001", 400, levels, "bad_request"},
           {"/api/books/SPY?levels=", 400, levels, "bad_request"},
           {"/api/books/SPY?levels=1x", 400, levels, "bad_request"},
           {"/api/books/SPY?levels=99999999999999999999", 400, levels, "bad_request"},
           {"/api/trades", 400, "the parameter sym is missing", "bad_request"},
           {"/api/trades?sym=", 400, "the parameter sym is missing", "bad_request"},
           {"/api/trades?sym=XYZ", 404, "unknown symbol 'XYZ'", "unknown_symbol"},
           {"/api/trades?sym=SPY&limit=501", 400, "limit is a whole number from 1 to 500",
            "bad_request"},
           {"/api/accounts/3", 404, "unknown account", "unknown_account"},
           {"/api/accounts/x", 400, "an account id is 1 to 64 digits", "malformed_id"},
           {"/api/accounts/" + digits65, 400, "an account id is", "malformed_id"},
           {"/api/accounts/1?positions_after=XYZ", 404, "this account has no such position",
            "not_found"},
           {"/api/accounts/1?orders_after=2", 404, "this account has no such open order",
            "not_found"},
           {"/api/orders/99", 404, "no such order", "unknown_order"},
           {"/api/orders/9223372036854775807", 404, "no such order", "unknown_order"},
           {"/api/orders/9223372036854775808", 404, "no such order", "unknown_order"},
           {"/api/orders/18446744073709551615", 404, "no such order", "unknown_order"},
           {"/api/orders/0", 400, "an order id is a whole number from 1", "malformed_id"},
           {"/api/orders/99999999999999999999", 400, "an order id is", "malformed_id"},
           {"/api/orders/1?limit=1001", 400, "limit is a whole number from 1 to 1000",
            "bad_request"},
           {"/api/orders/1?before=0", 400, "before is a whole number from 1", "bad_request"},
           {"/api/symbols?limit=0", 400, "limit is a whole number from 1 to 1000", "bad_request"},
           {"/api/symbols?limit=1001", 400, "limit is", "bad_request"},
           {"/api/symbols?after=XYZ", 404, "unknown symbol 'XYZ'", "unknown_symbol"},
           {"/api/symbols?after=", 404, "unknown symbol ''", "unknown_symbol"},
           {"/ws", 426, "this path is for WebSocket"},
           {"POST /metrics", 405, "this path takes GET, HEAD"},
           {"DELETE /api/symbols", 405, "this path takes GET, HEAD", not_allowed},
           {"/api/xml", 405, "<results><error>this path takes POST</error></results>"},
           {"POST /api/xml", 400, "<results><error>the body is empty"},
       }) {
    const std::size_t path = c.request.find('/');
    const http::verb verb =
        path == 0 ? http::verb::get : http::string_to_verb(c.request.substr(0, path - 1));
    const Exchanged got = request(verb, c.request.substr(path));
    INFO(c.request << ": " << got.body);
    CHECK(got.status == c.status);
    CHECK((c.code.empty() ? got.body : got.json()["error"].get<std::string>())
              .starts_with(c.sentence));
    if (!c.code.empty()) CHECK(got.json()["code"] == c.code);
    if (c.status == 405)
      CHECK(got.fields[http::field::allow] == (c.request == "/api/xml" ? "POST"
                                               : c.request == "DELETE /api/symbols"
                                                   ? "GET, HEAD, POST, PATCH"
                                                   : "GET, HEAD"));
  }
}

TEST_CASE_METHOD(Market,
                 "what needs no percent-encoding may have it, and the colon of a reference") {
  REQUIRE(transact(1, "<order sym='SPY' amount='1' limit='1' ref='a:b'/>").status == 200);
  await_view();
  for (const char* const target :
       {"/api/orders/ref%3Aa%3ab?account=1", "/%61pi/symbols", "/api/books/S%50Y",
        "/api/books/%53%50%59?%6cevels=1", "/api/trades?sym=S%50Y&limit=%31", "/api/orders/%31"})
    CHECK(get(target).status == 200);
  for (const char* const target :
       {"/api%2Fsymbols", "/api/symbols%3Flimit=1", "/api/books/SPY%00", "/api/books/SPY%253A",
        "/api/books/SPY%", "/api/books/SPY%5", "/api/books/SPY%-5", "/api/trades?sym=SPY%26limit=0",
        "/api/books/SP\xc3\x9f", "/api/books/%C3%9F"})
    CHECK(get(target).status == 404);
}

TEST_CASE_METHOD(Market, "a parameter that is unknown, or stands twice, is refused") {
  const auto refused = [&](const std::string& target) {
    const Exchanged got = get(target);
    CHECK(got.status == 400);
    return got.json()["code"].get<std::string>();
  };
  for (const std::string path :
       {"/api/symbols?", "/api/books/SPY?", "/api/trades?sym=SPY&", "/api/accounts/1?",
        "/api/orders/1?", "/api/leaderboard?", "/api/leaderboard.csv?", "/api/days?",
        "/api/days/monday?", "/api/moments?day=monday&sym=SPY&", "/api/openapi.json?"})
    for (const char* const unknown :
         {"x=1", "limits=1", "Limit=1", "_=1795256991", "=1", "sym%3D=1"})
      CHECK(refused(path + unknown) == "unexpected_content");
  CHECK(get("/api/books/SPY?depth=2").json()["error"] ==
        "unexpected parameter 'depth'; this path takes levels");
  CHECK(refused("/api/books/SPY?levels=1&levels=2") == "conflicting_attributes");
  CHECK(refused("/api/books/SPY?levels=1&level%73=1") == "conflicting_attributes");
  CHECK(refused("/api/trades?sym=SPY&sym=") == "conflicting_attributes");
  CHECK(refused("/api/orders/1?account=1&account") == "conflicting_attributes");
  // empty pairs, and the parameters that health checks and browsers add
  for (const char* const target : {"/api/books/SPY?", "/api/books/SPY?&levels=1&&", "/healthz?x=1",
                                   "/readyz?x=1&x=2", "/metrics?x=1", "/?v=2", "/style.css?v=2"})
    CHECK(get(target).status == 200);
}

TEST_CASE_METHOD(Market, "a body in a coding, or where there is none, is refused") {
  const std::string body = R"({"account": "9", "balance": "1"})";
  const auto status = [&](http::verb verb, const std::string& target, const std::string& text,
                          const char* coding) {
    return request(verb, target, text, {{"Content-Encoding", coding}}).status;
  };
  for (const char* const coding : {"gzip", "br", "identity, gzip", "x"}) {
    CHECK(status(http::verb::post, "/api/accounts", body, coding) == 415);
    CHECK(status(http::verb::post, "/api/xml", "<create/>", coding) == 415);
  }
  const Exchanged refused =
      request(http::verb::post, "/api/accounts", body, {{"Content-Encoding", "gzip"}});
  CHECK(refused.json()["code"] == "unsupported_media_type");
  CHECK(refused.fields[http::field::accept_encoding] == "identity");
  CHECK(status(http::verb::post, "/api/accounts", body, "Identity") == 201);
  for (const http::verb verb : {http::verb::delete_, http::verb::get}) {
    const Exchanged got = request(verb, "/api/orders/1?account=1", R"({"account": "1"})");
    CHECK((got.status == 400 && got.json()["code"] == "unexpected_content"));
  }
  CHECK(request(http::verb::get, "/healthz", "x").status == 200);
}

TEST_CASE_METHOD(Market, "a field that may stand once is refused if it stands twice") {
  for (const char* const name : {"Authorization", "Origin"})
    CHECK(read(*std::make_unique<asio::ip::tcp::socket>(
                   send_text(std::string("GET /api/symbols HTTP/1.1\r\nHost: exchange\r\n") + name +
                             ": http://exchange\r\n" + name + ": http://exchange\r\n\r\n")))
              .status == 400);
}

TEST_CASE_METHOD(Market, "HEAD returns the header that GET would, without the body") {
  const Exchanged got = get("/api/books/SPY"), head = request(http::verb::head, "/api/books/SPY");
  CHECK((head.status == 200 && head.body.empty() && head.content_type == got.content_type));
  CHECK(head.fields[http::field::content_length] == std::to_string(got.body.size()));
}

TEST_CASE_METHOD(
    HttpFixture,
    "requests over HTTP are answered as on the XML port, and malformed documents with 400") {
  start();
  CHECK(
      post(small_market).body ==
      "<results><created id=\"1\"/><created id=\"2\"/><created sym=\"SPY\" id=\"2\"/></results>\n");
  const Exchanged mixed = transact(1, "<order sym='SPY' amount='1' limit='x'/><query id='7'/>");
  CHECK(mixed.status == 200);
  CHECK(mixed.content_type == "application/xml; charset=utf-8");
  CHECK_THAT(mixed.body,
             contains_text("<error sym=\"SPY\" amount=\"1\" limit=\"x\">") &&
                 contains_text("<error id=\"7\">no such order of this account</error>"));
  const Exchanged broken = post("<transactions id=");
  CHECK(broken.status == 400);
  CHECK_THAT(broken.body, contains_text("<results><error>malformed XML"));
  CHECK(post("<other/>").status == 400);
  CHECK(metrics.requests == 4);
  CHECK(metrics.client_errors == 3);
}

TEST_CASE_METHOD(HttpFixture,
                 "a reply over HTTP waits for its commit, and outlives the client's waiting") {
  store.append_faults.with([](auto& faults) {
    faults = {FaultyStore::Fault::lost, FaultyStore::Fault::committed_but_lost};
  });
  start();
  std::size_t rows = 0;
  CHECK(post(small_market).status == 200);
  store.read(0, [&](const JournalRow&) { ++rows; });
  CHECK(rows == 1);
  send(http::verb::post, "/api/xml", first_bid);  // the client sends a request and disconnects
  while (metrics.batch < 2) std::this_thread::yield();
  await_view();
  CHECK(get("/api/orders/1").json()["open"] == "100");
}

TEST_CASE_METHOD(HttpFixture,
                 "a client that keeps its end open after a refusal is closed in time") {
  start();
  asio::ip::tcp::socket silent = send_text("no request\r\n\r\n");
  CHECK(read(silent).status == 400);
  boost::system::error_code error;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!error && std::chrono::steady_clock::now() < patience) {  // discarded until it is closed
    asio::write(silent, asio::buffer(std::string_view(" ")), error);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(error);
}

TEST_CASE_METHOD(HttpFixture,
                 "bodies and headers over their limits are refused, with an answer that arrives") {
  options.protocol.frame_bytes_max = 10'000;
  start();
  const std::string comment(9'000, 'x');
  CHECK(post("<!--" + comment + "-->" + small_market).status == 200);
  const Exchanged large = post(std::string(10'001, ' '));
  CHECK((large.status == 413 &&
         large.body == "<results><error>the body is over 10000 bytes</error></results>\n"));
  CHECK(request(http::verb::get, "/healthz", std::string(1'025, 'x')).status == 413);
  CHECK(request(http::verb::get, "/healthz", std::string(1'024, 'x')).status == 200);
  CHECK(request(http::verb::get, "/healthz", "", {{"X-Long", std::string(9'000, 'x')}}).status ==
        431);

  asio::ip::tcp::socket chunked = connect();  // does not announce its length
  http::request<http::string_body> request{http::verb::post, "/api/xml", 11};
  request.set(http::field::host, "x");
  request.chunked(true);
  request.body() = std::string(20'000, ' ');
  boost::system::error_code ignored;
  http::write(chunked, request, ignored);
  CHECK(read(chunked).status == 413);

  const auto malformed = [&](const std::string& text) {
    asio::ip::tcp::socket socket = send_text(text + "\r\n\r\n");
    const Exchanged got = read(socket);
    CHECK(got.status == 400);
    return got.body;
  };
  const std::string xml = "<create><account id=\"7\" balance=\"1\"/></create>";
  CHECK_THAT(malformed("46\n" + xml), contains_text("this is the HTTP port"));
  CHECK_THAT(malformed(xml), contains_text("this is the HTTP port"));
  CHECK_THAT(malformed("no request"), contains_text("not an HTTP request"));
}

TEST_CASE_METHOD(HttpFixture,
                 "a client that expects 100-continue gets it before it sends the body") {
  start();
  const std::string body = small_market;
  asio::ip::tcp::socket socket =
      send_text("POST /api/xml HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n");
  std::string invitation(25, ' ');
  asio::read(socket, asio::buffer(invitation));
  CHECK(invitation == "HTTP/1.1 100 Continue\r\n\r\n");
  asio::write(socket, asio::buffer(body));
  CHECK(read(socket).status == 200);
}

TEST_CASE_METHOD(HttpFixture,
                 "one connection carries many requests, and one more than the limit is closed") {
  options.http.connections_max = 2;
  start();
  asio::ip::tcp::socket first = connect(), second = connect();
  for (int i = 0; i < 3; ++i)
    for (asio::ip::tcp::socket* socket : {&first, &second}) {
      http::write(*socket, get_request("/healthz"));
      CHECK(read(*socket).body == "alive\n");
    }
  asio::ip::tcp::socket third = connect();
  char byte;
  boost::system::error_code error;
  third.read_some(asio::buffer(&byte, 1), error);
  CHECK((error == asio::error::eof || error == asio::error::connection_reset));
  first.close();
  while (true) {  // until the server has noticed it
    asio::ip::tcp::socket again = connect();
    http::write(again, get_request("/healthz"), error);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    if (!error) http::read(again, buffer, response, error);
    if (!error) break;
  }
}

TEST_CASE_METHOD(Market,
                 "pages of other sites can neither trade nor listen; those of our own can") {
  const auto from = [&](const std::string& origin) {
    return request(http::verb::post, "/api/xml", first_bid, {{"Origin", origin}}).status;
  };
  CHECK(from("http://exchange") == 200);
  CHECK(from("http://Exchange") == 200);
  CHECK(from("http://evil.example") == 403);
  CHECK(from("http://exchange.evil.example") == 403);
  CHECK(from("null") == 403);
  CHECK(request(http::verb::get, "/ws", "", {{"Origin", "http://evil.example"}}).status == 403);
  CHECK(
      request(http::verb::get, "/api/accounts/1", "", {{"Origin", "http://evil.example"}}).status ==
      403);
  CHECK(metrics.commands[3][0] == 4);  // no order of theirs
}

TEST_CASE_METHOD(HttpFixture, "order reads beyond the limit are refused at once") {
  options.http.order_reads_max = 3;
  options.http.store_answer_ms = 600'000;
  start();
  store.hold_reads.begin();
  std::vector<asio::ip::tcp::socket> waiting;
  for (int i = 0; i < 6; ++i)  // one is being read, three wait: at the latest the sixth is too many
    waiting.push_back(send(http::verb::get, "/api/orders/1", ""));
  const auto refused = [&] {
    return std::find_if(waiting.begin(), waiting.end(),
                        [](auto& socket) { return socket.available() > 0; });
  };
  while (refused() == waiting.end()) std::this_thread::yield();
  const Exchanged response = read(*refused());
  CHECK((response.status == 503 && response.json()["error"] == "too many orders are being read"));
  store.hold_reads.end();
  CHECK(read(waiting.front()).status == 404);
}

TEST_CASE_METHOD(HttpFixture, "an address has its share of order reads until they end") {
  options.http.order_reads_max = 4;  // at most three of one address
  options.http.store_answer_ms = 20;
  start();
  store.hold_reads.begin();
  const auto problem = [&] { return get("/api/orders/1").json()["error"]; };
  for (int i = 0; i < 3; ++i) CHECK(problem() == "the store does not answer");
  for (int i = 0; i < 3; ++i) CHECK(problem() == "too many orders are being read");
  store.hold_reads.end();
  while (get("/api/orders/1").status != 404) std::this_thread::yield();
}

TEST_CASE_METHOD(HttpFixture, "input without end is refused: the extension of a chunk, a trailer") {
  start();
  for (const std::string& endless : {std::string("1;"), std::string("0\r\nX: ")}) {
    asio::ip::tcp::socket socket = send_text(
        "POST /api/xml HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + endless);
    boost::system::error_code error;
    const std::string more(65'536, 'a');
    for (int i = 0; i < 100 && !error && socket.available() == 0; ++i)
      asio::write(socket, asio::buffer(more), error);
    CHECK(read(socket).status == 400);
  }
}

TEST_CASE_METHOD(Market, "of an order's executions the newest are listed, with the number of all") {
  options.http.order_executions_max = 2;
  for (const char* shares : {"1", "2", "3"})
    post(std::string("<transactions id=\"2\"><order sym=\"SPY\" amount=\"-") + shares +
         "\" limit=\"1\"/></transactions>");
  await_view();
  const nlohmann::json order = get("/api/orders/1").json();
  CHECK(order["executions_total"] == 4);
  REQUIRE(order["executions"].size() == 2);
  CHECK((order["executions"][0]["shares"] == "2" && order["executions"][1]["shares"] == "3"));
  CHECK(order["next"] == 2);
  const nlohmann::json older = get("/api/orders/1?before=2").json();
  REQUIRE(older["executions"].size() == 2);
  CHECK((older["executions"][0]["shares"] == "40" && older["executions"][1]["shares"] == "1"));
  CHECK((older["executions_total"] == 4 && !older.contains("next")));
  CHECK(get("/api/orders/1?before=2&limit=1").json()["executions"][0]["shares"] == "1");
}

TEST_CASE_METHOD(Market, "lists have pages, each with what the next one begins behind") {
  options.http.symbols_max = 2;
  options.http.positions_max = options.http.account_orders_max = 2;
  std::string created;
  for (const char* symbol : {"A", "B", "C", "D"})
    created += std::string("<symbol sym=\"") + symbol + "\"><account id=\"1\">5</account></symbol>";
  post("<create>" + created + "</create>");
  std::string orders;
  for (int i = 1; i <= 4; ++i)
    orders += "<order sym=\"A\" amount=\"1\" limit=\"" + std::to_string(i) + "\"/>";
  transact(1, orders);
  await_view();
  // Returns what the pages list, and the number of pages.
  const auto pages = [&](const std::string& path, const char* parameter, const char* list,
                         const char* key, const char* next) {
    nlohmann::json all = nlohmann::json::array();
    for (std::string target = path;; all.push_back("next page")) {
      const nlohmann::json page = get(target).json();
      CHECK(page[list].size() <= 2);
      for (const nlohmann::json& one : page[list]) all.push_back(one[key]);
      if (!page.contains(next)) return all;
      const std::string from =
          page[next].is_string() ? page[next].get<std::string>() : page[next].dump();
      target = path + "?" + parameter + "=" + from;
    }
  };
  CHECK(pages("/api/symbols", "after", "symbols", "symbol", "next") ==
        R"(["SPY", "A", "next page", "B", "C", "next page", "D"])"_json);
  CHECK(get("/api/symbols?limit=1&after=SPY").json()["next"] == "A");
  CHECK(pages("/api/accounts/1", "positions_after", "positions", "symbol", "next_position") ==
        R"(["SPY", "A", "next page", "B", "C", "next page", "D"])"_json);
  CHECK(pages("/api/accounts/1", "orders_after", "orders", "order", "next_order") ==
        R"([1, 3, "next page", 4, 5, "next page", 6])"_json);
}

TEST_CASE_METHOD(Market, "an order's executions are not read before its key is checked") {
  CHECK(get("/api/orders/1").status == 200);
  CHECK(store.executions_read == 1);
  stop();
  options.auth.required = options.protocol.keys = true;
  start();
  CHECK(get("/api/orders/1").status == 404);
  CHECK(request(http::verb::get, "/api/orders/1", "", {{"Authorization", "Basic MTp3cm9uZw=="}})
            .status == 404);  // 1:wrong
  CHECK(store.executions_read == 1);
}

TEST_CASE_METHOD(Market, "a server that cannot know whether it was replaced shows nothing") {
  options.http.store_answer_ms = 50;
  const auto refused = [&](const std::string& target) {
    const Exchanged response = get(target);
    INFO(target << ": " << response.body);
    CHECK(response.status == 503);
    CHECK_THAT(response.body, contains_text("cannot know now whether it is still the active one"));
  };
  const auto active = [&] {
    return get("/metrics").body.find("\nexchange_active 1\n") != std::string::npos;
  };
  store.lease_end = 0;  // each read asks the store, which confirms
  for (const char* target :
       {"/api/symbols", "/api/accounts/1", "/api/accounts/1/fills", "/api/orders/1"})
    CHECK(get(target).status == 200);
  CHECK(active());
  asio::ip::tcp::socket bid = send_to_held_store("/api/xml", first_bid);
  // both for existing data, and for data that another server may have created
  for (const char* target :
       {"/api/symbols", "/api/books/SPY", "/api/trades?sym=SPY", "/api/accounts/1", "/api/orders/1",
        "/api/leaderboard", "/api/days", "/api/symbols?after=XYZ", "/api/books/XYZ",
        "/api/trades?sym=XYZ", "/api/accounts/99", "/api/accounts/1?positions_after=XYZ",
        "/api/accounts/1?orders_after=99", "/api/orders/99", "/api/orders/ref:x?account=1",
        "/api/leaderboard?round=9", "/api/leaderboard.csv?round=9", "/api/days/monday",
        "/api/moments?day=monday&sym=SPY"})
    refused(target);
  for (const char* account : {"1", "99"})
    refused("/api/accounts/" + std::string(account) + "/fills");
  CHECK_FALSE(active());
  options.http.stale_ms = 0;
  CHECK(get("/readyz").status == 503);
  CHECK(get("/healthz").status == 200);
  store.hold_appends.end();
  CHECK(read(bid).status == 200);
  CHECK(get("/api/symbols").status == 200);
  store.lease_end = INT64_MAX;
}

TEST_CASE_METHOD(HttpFixture, "a server that is starting checks no key") {
  options.auth.required = options.protocol.keys = true;
  server = std::make_unique<Server>(
      options, Server::Surroundings{store, system_clock(), metrics, keys}, OnFatal());
  for (const char* target : {"/api/accounts/1", "/api/orders/1"})
    CHECK(request(http::verb::get, target, "", {{"Authorization", "Basic MTprZXktb2YtMQ=="}})
              .status == 503);  // 1:key-of-1
  CHECK(metrics.key_hashes == 0);
}

TEST_CASE_METHOD(
    Market, "an order that is in the tables before its account is in the view is not shown yet") {
  Rows rows;
  rows.orders.push_back({.id = 77,
                         .account = 9,
                         .symbol = 9,
                         .side = Side::buy,
                         .shares = Shares::whole(1),
                         .limit = Price::whole(1)});
  store.MemoryStore::project(rows, metrics.batch);
  CHECK(get("/api/orders/77").status == 404);
}

TEST_CASE_METHOD(HttpFixture, "a server stops during a body that it holds memory for") {
  start();
  asio::ip::tcp::socket socket =
      send_text("POST /api/xml HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n" +
                std::string(9'999, ' '));
  for (int i = 0; i < 10; ++i) CHECK(get("/healthz").status == 200);
  stop();
}

TEST_CASE_METHOD(Market, "after a restart the tape is still there, and counts begin again") {
  stop();
  start();
  CHECK(get("/api/symbols").json()["batch"] == 3);
  const nlohmann::json symbol = get("/api/symbols").json()["symbols"][0];
  CHECK((symbol["last"] == "145.67" && symbol["trades"] == 0 && symbol["traded_shares"] == "0" &&
         symbol["sequence"] == 0 && symbol["bid"] == "145.67"));
  CHECK(get("/api/trades?sym=SPY").json()["trades"].size() == 1);
  CHECK(get("/api/accounts/1").json()["reserved"] == "8740.2");
}

TEST_CASE_METHOD(Market, "orders cannot end with an HTTP connection") {
  const std::string reply =
      post(
          "<transactions id=\"1\" cancel-on-disconnect=\"true\"><order sym=\"SPY\" amount=\"1\" "
          "limit=\"1\"/><query id=\"1\"/></transactions>")
          .body;
  CHECK_THAT(reply, contains_text("cancel-on-disconnect needs a connection to the XML port"));
  CHECK_THAT(reply, contains_text("<status id=\"1\">"));
}
