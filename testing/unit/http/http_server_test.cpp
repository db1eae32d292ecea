// HTTP end to end: what docs/http-api.md promises, over real sockets.
#include "base/version.hpp"
#include "support/tcp_client.hpp"
#include "unit/http/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Market : HttpFixture {
  Market() {
    start();
    REQUIRE(post(small_market).status == 200);
    REQUIRE(post(first_bid).status == 200);
    await_view();  // one projection, and so one sequence number, for each
    REQUIRE(post(first_ask).status == 200);
    await_view();
  }
  Json without_times(const std::string& target) {
    const Exchanged got = get(target);
    INFO(target << ": " << got.body);
    REQUIRE(got.status == 200);
    CHECK(got.content_type == "application/json");
    std::string body = got.body;
    for (std::size_t at = 0; (at = body.find("_us\":1", at)) != std::string::npos; ++at) {
      const std::size_t digits = at + 5;
      body.replace(digits, body.find_first_not_of("0123456789", digits) - digits, "1");
    }
    return Json::parse(body);
  }
};

}  // namespace

TEST_CASE_METHOD(Market, "symbols, books, trades, accounts and orders are returned exactly") {
  CHECK(
      without_times("/api/symbols") ==
      Json::parse(
          R"({"batch": 3, "symbols": [{"symbol": "SPY", "bid": "145.67", "bid_shares": "60", "ask": null,
    "ask_shares": null, "last": "145.67", "last_time_us": 1, "shares_total": "500", "open_orders": 1, "trades": 1, "traded_shares": "40", "sequence": 2}]})"));
  CHECK(without_times("/api/books/SPY") ==
        Json::parse(
            R"({"symbol": "SPY", "sequence": 2, "bids": [["145.67", "60", 1]], "asks": []})"));
  CHECK(without_times("/api/trades?sym=SPY") ==
        Json::parse(R"({"symbol": "SPY", "sequence": 2, "trades":
    [{"id": 1, "price": "145.67", "shares": "40", "taker": "sell", "buy_order": 1, "sell_order": 2, "time_us": 1}]})"));
  CHECK(without_times("/api/accounts/1") ==
        Json::parse(R"({"account": "1", "balance": "85433", "reserved": "8740.2",
    "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}], "open_orders": 1, "orders":
    [{"order": 1, "symbol": "SPY", "side": "buy", "shares": "100", "limit": "145.67", "open": "60", "opened_at_us": 1}]})"));
  CHECK(
      without_times("/api/orders/1") ==
      Json::parse(
          R"({"order": 1, "account": "1", "symbol": "SPY", "side": "buy", "shares": "100", "limit": "145.67",
    "open": "60", "canceled": "0", "state": "open", "opened_at_us": 1, "canceled_at_us": null, "executions_total": 1,
    "executions": [{"shares": "40", "price": "145.67", "time_us": 1}]})"));
  CHECK(get("/api/orders/2").json()["state"] == "executed");
  post("<transactions id=\"1\"><cancel id=\"1\"/></transactions>");
  await_view();
  const Json canceled = without_times("/api/orders/1");
  CHECK((canceled["state"] == "canceled" && canceled["canceled"] == "60" &&
         canceled["canceled_at_us"] == 1));
  CHECK(get("/api/accounts/1").json()["orders"].empty());
  CHECK(get("/api/books/SPY").json()["bids"].empty());
}

TEST_CASE_METHOD(Market,
                 "a replaced order is returned as it is now, and listed in the order of places") {
  post(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"5\" limit=\"10\"/>"
      "<replace id=\"1\" amount=\"90\" limit=\"145.5\"/></transactions>");
  await_view();
  CHECK(
      without_times("/api/orders/1") ==
      Json::parse(
          R"({"order": 1, "account": "1", "symbol": "SPY", "side": "buy", "shares": "90", "limit": "145.5",
    "open": "50", "canceled": "0", "state": "open", "opened_at_us": 1, "canceled_at_us": null, "executions_total": 1,
    "executions": [{"shares": "40", "price": "145.67", "time_us": 1}]})"));
  CHECK(without_times("/api/accounts/1") ==
        Json::parse(R"({"account": "1", "balance": "86848.2", "reserved": "7325",
    "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}], "open_orders": 2, "orders":
    [{"order": 3, "symbol": "SPY", "side": "buy", "shares": "5", "limit": "10", "open": "5", "opened_at_us": 1},
     {"order": 1, "symbol": "SPY", "side": "buy", "shares": "90", "limit": "145.5", "open": "50", "opened_at_us": 1}]})"));
}

TEST_CASE_METHOD(
    Market, "counts in queries bound what is returned; best levels and newest trades come first") {
  post(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"3\"/><order sym=\"SPY\" amount=\"1\" limit=\"2.5\"/>"
      "<order sym=\"SPY\" amount=\"1\" limit=\"3\"/></transactions>");
  post("<transactions id=\"2\"><order sym=\"SPY\" amount=\"-10\" limit=\"145\"/></transactions>");
  await_view();
  CHECK(get("/api/books/SPY?levels=2").json()["bids"] ==
        Json::parse(R"([["145.67", "50", 1], ["3", "2", 2]])"));
  CHECK(get("/api/books/SPY").json()["bids"].size() == 3);
  CHECK(get("/api/trades?limit=1&sym=SPY").json()["trades"][0]["shares"] == "10");
  CHECK(get("/api/trades?limit=2&sym=SPY").json()["trades"][1]["shares"] == "40");
}

TEST_CASE_METHOD(Market, "an invalid request gets the right status and a sentence") {
  struct Case {
    http::verb verb;
    std::string target;
    unsigned status;
    std::string body;
  };
  const std::string digits65(65, '1');
  for (
      const Case& c : std::vector<Case>{
          {http::verb::get, "/nothing", 404, "there is no such path"},
          {http::verb::get, "/api/nothing", 404,
           "{\"error\":\"there is no such path; docs/http-api.md lists them\",\"code\":\"not_found\"}"},
          {http::verb::get, "/api/books/", 404, "{\"error\":"},
          {http::verb::get, "/api/books/SPY/x", 404, "{\"error\":"},
          {http::verb::get, "/api/books/XYZ", 404,
           "{\"error\":\"unknown symbol 'XYZ'\",\"code\":\"unknown_symbol\"}"},
          {http::verb::get, "/api/books/S%50Y", 404,
           "{\"error\":\"unknown symbol 'S%50Y'\",\"code\":\"unknown_symbol\"}"},
          {http::verb::get, "/api/books/\xff", 404,
           "{\"error\":\"unknown symbol '\xef\xbf\xbd'\",\"code\":\"unknown_symbol\"}"},
          {http::verb::get, "/api/books/SPY?levels=0", 400,
           "{\"error\":\"levels is a whole number from 1 to 1000\",\"code\":\"bad_request\"}"},
          {http::verb::get, "/api/books/SPY?levels=1001", 400, "{\"error\":\"levels is"},
          {http::verb::get, "/api/books/SPY?levels=", 400, "{\"error\":\"levels is"},
          {http::verb::get, "/api/books/SPY?levels=1x", 400, "{\"error\":\"levels is"},
          {http::verb::get, "/api/books/SPY?levels=99999999999999999999", 400,
           "{\"error\":\"levels is"},
          {http::verb::get, "/api/trades", 400, "{\"error\":\"the parameter sym is missing"},
          {http::verb::get, "/api/trades?sym=", 400, "{\"error\":\"the parameter sym is missing"},
          {http::verb::get, "/api/trades?sym=XYZ", 404,
           "{\"error\":\"unknown symbol 'XYZ'\",\"code\":\"unknown_symbol\"}"},
          {http::verb::get, "/api/trades?sym=SPY&limit=501", 400,
           "{\"error\":\"limit is a whole number from 1 to 500\",\"code\":\"bad_request\"}"},
          {http::verb::get, "/api/accounts/3", 404,
           "{\"error\":\"unknown account\",\"code\":\"unknown_account\"}"},
          {http::verb::get, "/api/accounts/x", 400,
           "{\"error\":\"an account id is 1 to 64 digits\",\"code\":\"malformed_id\"}"},
          {http::verb::get, "/api/accounts/" + digits65, 400, "{\"error\":"},
          {http::verb::get, "/api/orders/99", 404,
           "{\"error\":\"no such order\",\"code\":\"unknown_order\"}"},
          {http::verb::get, "/api/orders/9223372036854775807", 404,
           "{\"error\":\"no such order\",\"code\":\"unknown_order\"}"},
          {http::verb::get, "/api/orders/9223372036854775808", 404,
           "{\"error\":\"no such order\",\"code\":\"unknown_order\"}"},
          {http::verb::get, "/api/orders/18446744073709551615", 404,
           "{\"error\":\"no such order\",\"code\":\"unknown_order\"}"},
          {http::verb::get, "/api/orders/0", 400,
           "{\"error\":\"an order id is a whole number from 1\",\"code\":\"malformed_id\"}"},
          {http::verb::get, "/api/orders/99999999999999999999", 400, "{\"error\":\"an order id"},
          {http::verb::get, "/api/symbols?limit=0", 400,
           "{\"error\":\"limit is a whole number from 1 to 1000\","},
          {http::verb::get, "/api/symbols?limit=1001", 400, "{\"error\":\"limit is"},
          {http::verb::get, "/api/symbols?after=XYZ", 404,
           "{\"error\":\"unknown symbol 'XYZ'\",\"code\":\"unknown_symbol\"}"},
          {http::verb::get, "/api/symbols?after=", 404, "{\"error\":\"unknown symbol ''\","},
          {http::verb::get, "/api/accounts/1?positions_after=XYZ", 404,
           "{\"error\":\"this account has no such position\","},
          {http::verb::get, "/api/accounts/1?orders_after=2", 404,
           "{\"error\":\"this account has no such open order"},
          {http::verb::get, "/api/orders/1?limit=1001", 400, "{\"error\":\"limit is"},
          {http::verb::get, "/api/orders/1?before=0", 400, "{\"error\":\"before is"},
          {http::verb::get, "/ws", 426, "this path is for WebSocket"},
          {http::verb::post, "/metrics", 405, "this path takes GET, HEAD"},
          {http::verb::delete_, "/api/symbols", 405,
           "{\"error\":\"this path takes GET, HEAD\",\"code\":\"method_not_allowed\"}"},
          {http::verb::get, "/api/xml", 405,
           "<results><error>this path takes POST</error></results>"},
          {http::verb::post, "/api/xml", 400, "<results><error>the body is empty"},
      }) {
    const Exchanged got = request(c.verb, c.target);
    INFO(http::to_string(c.verb) << " " << c.target << ": " << got.body);
    CHECK(got.status == c.status);
    CHECK(got.body.find(c.body) == 0);
    if (c.status == 405)
      CHECK(got.fields[http::field::allow] == (c.target == "/api/xml" ? "POST" : "GET, HEAD"));
  }
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
  const Exchanged mixed = post(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"x\"/><query id=\"7\"/></transactions>");
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
  store.read_journal(0, [&](const JournalRow&) { ++rows; });
  CHECK(rows == 1);
  {
    asio::ip::tcp::socket socket = connect();  // asks, and is gone
    http::request<http::string_body> request{http::verb::post, "/api/xml", 11};
    request.set(http::field::host, "x");
    request.body() = first_bid;
    request.prepare_payload();
    http::write(socket, request);
  }
  while (metrics.batch < 2) std::this_thread::yield();
  await_view();
  CHECK(get("/api/orders/1").json()["open"] == "100");
}

TEST_CASE_METHOD(HttpFixture,
                 "a client that keeps its end open after a refusal is closed in time") {
  start();
  asio::ip::tcp::socket silent = connect();
  asio::write(silent, asio::buffer(std::string_view("no request\r\n\r\n")));
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

  asio::ip::tcp::socket chunked = connect();  // does not say ahead how long it gets
  http::request<http::string_body> request{http::verb::post, "/api/xml", 11};
  request.set(http::field::host, "x");
  request.chunked(true);
  request.body() = std::string(20'000, ' ');
  boost::system::error_code ignored;
  http::write(chunked, request, ignored);
  CHECK(read(chunked).status == 413);

  const auto malformed = [&](const std::string& text) {
    asio::ip::tcp::socket socket = connect();
    asio::write(socket, asio::buffer(text + "\r\n\r\n"));
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
  asio::ip::tcp::socket socket = connect();
  const std::string body = small_market;
  asio::write(
      socket,
      asio::buffer("POST /api/xml HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n"));
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
  while (true) {  // until the server has seen it
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

TEST_CASE_METHOD(
    HttpFixture,
    "readiness reports an unavailable store, a store that does not answer, and a stuck journal") {
  using Fault = FaultyStore::Fault;
  const auto unready = [&](const std::string& sentence) {
    const Exchanged response = get("/readyz");
    return response.status == 503 && response.body.starts_with(sentence);
  };
  start();
  CHECK(get("/readyz").body == "ready\n");

  store.append_faults.with([](auto& faults) { faults = {Fault::lost}; });
  store.resolve_faults.with([](auto& faults) { faults.assign(1'000, Fault::lost); });
  asio::ip::tcp::socket creation = send(http::verb::post, "/api/xml", small_market);
  while (!unready("the store is unavailable\n")) std::this_thread::yield();
  const Exchanged refused = post(first_bid);
  CHECK((refused.status == 503 &&
         refused.body == "<results><error>the store is unavailable</error></results>\n"));
  store.resolve_faults.with([](auto& faults) { faults.clear(); });
  CHECK(read(creation).status == 200);
  CHECK(get("/readyz").status == 200);

  options.http.store_answer_ms = 50;  // the server sees it: its options are ours
  options.http.journal_stall_ms = 50;
  store.hold_reads.begin();
  CHECK(get("/api/orders/1").json()["error"] == "the store does not answer");
  while (!unready("the store does not answer\n")) std::this_thread::yield();
  CHECK(get("/healthz").status == 200);
  store.hold_reads.end();
  while (get("/readyz").status != 200) std::this_thread::yield();

  options.http.journal_stall_ms = 20;
  store.hold_appends.begin();
  asio::ip::tcp::socket bid = send(http::verb::post, "/api/xml", first_bid);
  while (!unready("the journal has not moved for 0 s\n")) std::this_thread::yield();
  store.hold_appends.end();
  CHECK(read(bid).status == 200);
  options.http.journal_stall_ms = 60'000;  // a busy machine may be silent for 20 ms
  CHECK(get("/readyz").status == 200);
}

TEST_CASE_METHOD(HttpFixture, "order reads beyond the limit are refused at once") {
  options.http.order_reads_max = 3;
  options.http.store_answer_ms = 600'000;
  start();
  store.hold_reads.begin();
  std::vector<asio::ip::tcp::socket> waiting;
  for (int i = 0; i < 4; ++i) {  // one is being read, three wait
    waiting.push_back(connect());
    http::write(waiting.back(), get_request("/api/orders/1"));
  }
  for (int i = 0; i < 2; ++i) {  // at the latest the sixth is too many
    waiting.push_back(connect());
    http::write(waiting.back(), get_request("/api/orders/1"));
  }
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
  options.http.order_reads_max = 4;  // three of one address
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
    asio::ip::tcp::socket socket = connect();
    boost::system::error_code error;
    asio::write(
        socket,
        asio::buffer("POST /api/xml HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
                     endless),
        error);
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
  const Json order = get("/api/orders/1").json();
  CHECK(order["executions_total"] == 4);
  REQUIRE(order["executions"].size() == 2);
  CHECK((order["executions"][0]["shares"] == "2" && order["executions"][1]["shares"] == "3"));
  CHECK(order["next"] == 2);
  const Json older = get("/api/orders/1?before=2").json();
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
  post("<transactions id=\"1\">" + orders + "</transactions>");
  await_view();
  // What the pages list, and the number of pages.
  const auto pages = [&](const std::string& path, const char* parameter, const char* list,
                         const char* key, const char* next) {
    Json all = Json::array();
    for (std::string target = path;; all.push_back("next page")) {
      const Json page = get(target).json();
      CHECK(page[list].size() <= 2);
      for (const Json& one : page[list]) all.push_back(one[key]);
      if (!page.contains(next)) return all;
      const std::string from =
          page[next].is_string() ? page[next].get<std::string>() : page[next].dump();
      target = path + "?" + parameter + "=" + from;
    }
  };
  CHECK(pages("/api/symbols", "after", "symbols", "symbol", "next") ==
        Json::parse(R"(["SPY", "A", "next page", "B", "C", "next page", "D"])"));
  CHECK(get("/api/symbols?limit=1&after=SPY").json()["next"] == "A");
  CHECK(pages("/api/accounts/1", "positions_after", "positions", "symbol", "next_position") ==
        Json::parse(R"(["SPY", "A", "next page", "B", "C", "next page", "D"])"));
  CHECK(pages("/api/accounts/1", "orders_after", "orders", "order", "next_order") ==
        Json::parse(R"([1, 3, "next page", 4, 5, "next page", 6])"));
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
  for (const char* target : {"/api/symbols", "/api/accounts/1", "/api/orders/1"})
    CHECK(get(target).status == 200);
  CHECK(active());
  store.hold_appends.begin();  // and so the core
  asio::ip::tcp::socket bid = send(http::verb::post, "/api/xml", first_bid);
  while (server->core().health()->batch_age_ns(monotonic_ns()) == 0) std::this_thread::yield();
  for (const char* target : {"/api/symbols", "/api/books/SPY", "/api/trades?sym=SPY",
                             "/api/accounts/1", "/api/orders/1"})
    refused(target);
  CHECK_FALSE(active());
  options.http.stale_ms = 0;
  CHECK(get("/readyz").status == 503);
  CHECK(get("/healthz").status == 200);
  store.hold_appends.end();
  CHECK(read(bid).status == 200);
  CHECK(get("/api/symbols").status == 200);
  store.lease_end = INT64_MAX;
}

TEST_CASE_METHOD(HttpFixture, "a server without its store is alive, and neither ready nor able") {
  MarketFeed unused(1);
  HttpServer starting({options.net.bind, 0, options.http, options.protocol}, {}, unused, store,
                      metrics);
  const auto ask = [&](const std::string& target) {
    asio::ip::tcp::socket socket(context);
    socket.connect({asio::ip::make_address("127.0.0.1"), starting.port()});
    http::request<http::empty_body> request{http::verb::get, target, 11};
    request.set(http::field::host, "exchange");
    http::write(socket, request);
    return read(socket);
  };
  CHECK(ask("/healthz").status == 200);
  for (const char* target : {"/readyz", "/readyz?standby", "/api/symbols", "/api/accounts/1"}) {
    const Exchanged response = ask(target);
    CHECK((response.status == 503 && response.body.find("is starting") != std::string::npos));
  }
  CHECK(ask("/").status == 200);
  CHECK(ask("/api/orders/1").status == 503);

  const auto health = std::make_shared<Health>();
  health->note_journal_read(monotonic_ns());
  starting.show(MarketView(1, 1, 1), health);
  while (ask("/readyz").body != "standby\n") std::this_thread::yield();
  CHECK((ask("/readyz?standby").status == 200 && ask("/readyz?standby").body == "standby\n"));
  CHECK(ask("/api/symbols").status == 200);
  health->note_journal_read(1);  // long ago
  for (const char* target : {"/readyz?standby", "/api/symbols"})
    CHECK_THAT(ask(target).body, contains_text("this standby has not read the journal for "));
  CHECK(ask("/healthz").status == 200);
  starting.stop();
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

struct HangingSink final : CompletionSink {
  void completed(std::span<Submission* const>) override {
    entered = true;
    hold.pass();
    left = true;
  }
  Hold hold;
  std::atomic<bool> entered{false}, left{false};
};

// It hangs in its own code, not in a call of the store.
TEST_CASE_METHOD(HttpFixture,
                 "a core that hangs is not ready, and after a longer while not alive") {
  options.http.journal_stall_ms = 20;
  options.http.dead_ms = 1'000'000;
  start();
  HangingSink sink;
  sink.hold.begin();
  const std::vector<Command> commands{CreateAccount{AccountId("1"), Cash()}};
  Submission submission;
  submission.commands = commands;
  submission.sink = &sink;
  Submission* const one = &submission;
  server->core().submit({&one, 1});
  while (!sink.entered) std::this_thread::yield();
  while (get("/readyz").body.find("the core has been silent for ") != 0) std::this_thread::yield();
  CHECK(get("/healthz").status == 200);
  options.http.dead_ms = 20;
  CHECK_THAT(get("/healthz").body, contains_text("the core has been silent for "));
  CHECK(get("/healthz").status == 503);
  sink.hold.end();
  while (!sink.left) std::this_thread::yield();
  options.http.journal_stall_ms = options.http.dead_ms = 60'000;
  CHECK(get("/readyz").status == 200);
  CHECK(get("/healthz").status == 200);
}

// Its status is asked by the thread of answers alone. Each has a number.
struct BusyStore final : MemoryStore {
  StoreStatus status() const override {
    hold.pass();
    return {.epoch = ++asked};
  }
  mutable Hold hold;
  mutable std::atomic<Epoch> asked{0};
};

struct Busy : HttpFixture {
  Busy() {
    server = std::make_unique<Server>(
        options, Server::Surroundings{busy, system_clock(), metrics, keys}, OnFatal());
  }
  ~Busy() {
    busy.hold.end();
    server.reset();
  }
  void await_requests(std::uint64_t count) {
    while (metrics.http_requests < count) std::this_thread::yield();
  }
  BusyStore busy;
};

TEST_CASE_METHOD(Busy, "what one address asks for delays no health check and no other's answer") {
  constexpr std::uint64_t greedy_requests = 20;
  busy.hold.begin();
  std::vector<asio::ip::tcp::socket> greedy;
  for (std::uint64_t i = 0; i < greedy_requests; ++i)
    greedy.push_back(send(http::verb::get, "/metrics", ""));
  await_requests(greedy_requests);
  asio::ip::tcp::socket other(context);
  other.open(asio::ip::tcp::v4());
  other.bind({asio::ip::make_address("127.0.0.2"), 0});
  other.connect({asio::ip::make_address("127.0.0.1"), http_port()});
  http::write(other, get_request("/metrics"));
  await_requests(greedy_requests + 1);
  CHECK(get("/healthz").status == 200);
  CHECK(get("/readyz").status == 503);  // no store yet
  busy.hold.end();
  // Behind the answer that was being made, and one more.
  const std::string name = "\nexchange_epoch ", answer = read(other).body;
  CHECK(std::stoi(answer.substr(answer.find(name) + name.size())) <= 3);
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
  asio::ip::tcp::socket socket = connect();
  asio::write(socket,
              asio::buffer("POST /api/xml HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n" +
                           std::string(9'999, ' ')));
  for (int i = 0; i < 10; ++i) CHECK(get("/healthz").status == 200);
  stop();
}

TEST_CASE_METHOD(HttpFixture,
                 "a server that stops still reports its health, and takes no more requests") {
  start();
  post(small_market);
  server->http().stop();
  CHECK(get("/healthz").status == 200);
  CHECK((post(first_bid).status == 503 &&
         post(first_bid).body == "<results><error>the server is stopping</error></results>\n"));
  CHECK(get("/api/orders/1").status == 503);
  CHECK(get("/readyz").status == 503);
  for (const char* target : {"/api/symbols", "/api/accounts/1"})  // another server may be active
    CHECK(get(target).json()["error"] == "the server is stopping");
}

TEST_CASE_METHOD(Market, "after a restart the tape is still there, and counts begin again") {
  stop();
  start();
  CHECK(get("/api/symbols").json()["batch"] == 3);
  const Json symbol = get("/api/symbols").json()["symbols"][0];
  CHECK((symbol["last"] == "145.67" && symbol["trades"] == 0 && symbol["traded_shares"] == "0" &&
         symbol["sequence"] == 0 && symbol["bid"] == "145.67"));
  CHECK(get("/api/trades?sym=SPY").json()["trades"].size() == 1);
  CHECK(get("/api/accounts/1").json()["reserved"] == "8740.2");
}

TEST_CASE_METHOD(Market, "metrics count orders by kind, and canceled ones by reason") {
  stop();
  start();
  post(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"1\" post=\"true\"/>"
      "<order sym=\"SPY\" amount=\"1\" limit=\"1\" tif=\"ioc\"/>"
      "<order sym=\"SPY\" amount=\"1\" limit=\"1\" tif=\"ioc\"/>"
      "<order sym=\"SPY\" amount=\"1\" limit=\"1\" tif=\"fok\"/>"
      "<cancel id=\"3\"/><cancel id=\"3\"/></transactions>");
  post(
      "<transactions id=\"2\">"
      "<order sym=\"SPY\" amount=\"-1\" limit=\"1\" tif=\"fok\"/></transactions>");
  // Of the resting orders one is canceled by stp, two by a cancel of all, one with its connection.
  post(
      "<transactions id=\"1\">"
      "<order sym=\"S\" amount=\"1\" limit=\"1\"/>"
      "<order sym=\"S\" amount=\"1\" limit=\"1\"/>"
      "<order sym=\"S\" amount=\"1\" type=\"market\"/></transactions>");
  {
    TcpClient client(port());
    client.request(
        "<transactions id=\"1\" cancel-on-disconnect=\"true\">"
        "<order sym=\"S\" amount=\"1\" limit=\"1\"/></transactions>");
    client.end();
    CHECK(client.rest() == "");
  }
  post("<create><symbol sym=\"S\"><account id=\"1\">1</account></symbol></create>");
  post(
      "<transactions id=\"1\"><cancel sym=\"S\"/><order sym=\"S\" amount=\"1\" limit=\"1\"/>"
      "<order sym=\"S\" amount=\"-1\" limit=\"1\" stp=\"cancel-resting\"/></transactions>");
  await_view();
  const std::string metrics_page = get("/metrics").body;
  for (const char* line :
       {"orders_total{kind=\"limit\"} 7", "orders_total{kind=\"ioc\"} 2",
        "orders_total{kind=\"fok\"} 1", "orders_total{kind=\"post\"} 1",
        "orders_total{kind=\"market\"} 1", "canceled_orders_total{reason=\"client\"} 3",
        "canceled_orders_total{reason=\"disconnect\"} 1", "canceled_orders_total{reason=\"stp\"} 1",
        "canceled_orders_total{reason=\"immediate\"} 3"})
    CHECK_THAT(metrics_page, contains_text("\nexchange_" + std::string(line) + "\n"));
}

TEST_CASE_METHOD(Market, "metrics count commands by kind and result, batches, trades and times") {
  post("<create><account id=\"1\" balance=\"5\"/></create>");
  post(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"-900\" limit=\"1\"/><query id=\"2\"/><cancel id=\"9\"/><query id=\"x\"/></transactions>");
  await_view();
  const Exchanged got = get("/metrics");
  CHECK(got.content_type == "text/plain; version=0.0.4; charset=utf-8");
  const auto has = [&](const std::string& line) {
    INFO(line);
    CHECK(got.body.find("\n" + line + "\n") != std::string::npos);
  };
  const std::string version = exchange::version();
  has("exchange_info{policy=\"loop\",threads=\"2\",store=\"memory\",version=\"" +
      version.substr(0, version.find(' ')) + "\"} 1");
  has("exchange_requests_total 5");
  has("exchange_commands_total{kind=\"create_account\",result=\"ok\"} 2");
  has("exchange_commands_total{kind=\"create_account\",result=\"account_exists\"} 1");
  has("exchange_commands_total{kind=\"place_shares\",result=\"ok\"} 1");
  has("exchange_commands_total{kind=\"order\",result=\"ok\"} 2");
  has("exchange_commands_total{kind=\"order\",result=\"insufficient_shares\"} 1");
  has("exchange_commands_total{kind=\"query\",result=\"unknown_order\"} 1");
  has("exchange_commands_total{kind=\"cancel\",result=\"unknown_order\"} 1");
  has("exchange_client_errors_total 1");
  has("exchange_executions_total 1");
  has("exchange_batch_commands_count 5");
  has("exchange_batch_commands_sum 9");
  has("exchange_batch_commands_bucket{le=\"1\"} 3");
  has("exchange_batch_commands_bucket{le=\"3\"} 5");
  has("exchange_connections{policy=\"loop\"} 0");
  has("exchange_projection_lag_batches 0");
  has("exchange_projection_lag_seconds 0");
  has("exchange_store_available 1");
  CHECK(got.body.find("\nprocess_start_time_seconds 1") != std::string::npos);  // since 2001
  CHECK(got.body.ends_with("# EOF\n"));
}

TEST_CASE_METHOD(Market, "metrics count replaces by result, and they open and cancel no orders") {
  post(
      "<transactions id=\"1\"><replace id=\"1\" amount=\"90\" limit=\"145\"/>"
      "<replace id=\"1\" amount=\"-90\" limit=\"145\"/><replace id=\"1\" amount=\"40\" limit=\"145\"/>"
      "<replace id=\"1\" amount=\"80\" limit=\"145\"/></transactions>");
  await_view();
  const std::string metrics_page = get("/metrics").body;
  for (const char* line : {"commands_total{kind=\"replace\",result=\"ok\"} 2",
                           "commands_total{kind=\"replace\",result=\"other_side\"} 1",
                           "commands_total{kind=\"replace\",result=\"executed_more\"} 1",
                           "orders_total{kind=\"limit\"} 2",
                           "canceled_orders_total{reason=\"client\"} 0", "executions_total 1"})
    CHECK_THAT(metrics_page, contains_text("\nexchange_" + std::string(line) + "\n"));
}

TEST_CASE_METHOD(
    HttpFixture,
    "the age of changes that the tables lack is reported, and an early reader sees the state before") {
  start();
  store.hold_projections.begin();
  post(small_market);
  post(first_bid);
  const std::string text = get("/metrics").body;
  CHECK(text.find("exchange_projection_lag_batches 2\n") != std::string::npos);
  CHECK(text.find("exchange_projection_lag_seconds 0\n") == std::string::npos);
  CHECK(get("/api/symbols").json() == Json::parse(R"({"batch": 0, "symbols": []})"));
  store.hold_projections.end();
  await_view();
  CHECK(get("/metrics").body.find("exchange_projection_lag_seconds 0\n") != std::string::npos);
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
