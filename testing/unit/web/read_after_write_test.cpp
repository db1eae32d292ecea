// A client finds what a reply has shown to it, in every later read.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// What a client may read about its own requests, after each: target and the text that must be in
// the response.
struct Read {
  std::string target, text;
};

}  // namespace

TEST_CASE_METHOD(HttpFixture, "what was acknowledged is found by the next request") {
  options.core.projection_interval_ms = 60'000;  // each pause lasts until a reader waits
  start();
  post(small_market);
  for (int i = 1; i <= 20; ++i) {
    const std::string number = std::to_string(i), ref = "mine-" + number, symbol = "S" + number;
    REQUIRE(transact(2, "<order sym='SPY' amount='-1' limit='1'/>").status == 200);
    const Exchanged placed = request(http::verb::post, "/api/orders",
                                     nlohmann::json{{"account", "1"},
                                                    {"symbol", "SPY"},
                                                    {"side", "buy"},
                                                    {"shares", "1"},
                                                    {"limit", "1"},
                                                    {"ref", ref}}
                                         .dump());
    REQUIRE(placed.status == 201);
    const std::string order = placed.json()["order"].dump();
    const std::vector<Read> reads = {
        {"/api/orders/" + order, "\"executions_total\":1"},
        {"/api/orders/ref:" + ref + "?account=1", "\"executions_total\":1"},
        {"/api/accounts/1", "\"shares\":\"" + number + "\""},
        {"/api/accounts/1/fills", "\"ref\":\"" + ref + "\""},
        {"/api/accounts/1/fills?before=newest&limit=1", "\"execution\":" + number + ","}};
    const Read& read = reads[std::size_t(i) % reads.size()];
    const Exchanged got = get(read.target);
    INFO(read.target << ": " << got.body);
    CHECK(got.status == 200);
    CHECK_THAT(got.body, contains_text(read.text));
    post("<create><symbol sym='" + symbol + "'/></create>");
    CHECK(get("/api/books/" + symbol).status == 200);
    post("<create><account id='" + std::to_string(100 + i) + "' balance='1'/></create>");
    CHECK(get("/api/accounts/" + std::to_string(100 + i)).status == 200);
  }
}

TEST_CASE_METHOD(Market, "a read waits for the tables, and is refused if they stay behind") {
  store.hold_projections.begin();
  transact(1, "<order sym='SPY' amount='7' limit='2' ref='mine'/>");
  // readers of the market do not wait
  CHECK(get("/api/books/SPY").json()["bids"].size() == 1);
  CHECK(get("/api/trades?sym=SPY").status == 200);
  CHECK(get("/api/symbols").status == 200);
  asio::ip::tcp::socket waiting[] = {send(http::verb::get, "/api/orders/3", ""),
                                     send(http::verb::get, "/api/orders/ref:mine?account=1", ""),
                                     send(http::verb::get, "/api/accounts/1", ""),
                                     send(http::verb::get, "/api/accounts/1/fills", ""),
                                     send(http::verb::get, "/api/books/NEW", "")};
  CHECK(get("/api/books/SPY").json()["bids"].size() == 1);
  for (asio::ip::tcp::socket& one : waiting) CHECK(one.available() == 0);
  store.hold_projections.end();
  CHECK(read(waiting[0]).json()["limit"] == "2");
  CHECK(read(waiting[1]).json()["order"] == 3);
  CHECK(read(waiting[2]).json()["open_orders"] == 2);
  CHECK(read(waiting[3]).status == 200);
  CHECK(read(waiting[4]).status == 404);

  options.http.stale_ms = 20;
  store.hold_projections.begin();
  transact(1, "<order sym='SPY' amount='7' limit='2'/>");
  for (const char* target :
       {"/api/orders/4", "/api/orders/9", "/api/orders/ref:mine?account=1", "/api/accounts/1",
        "/api/accounts/9", "/api/accounts/1/fills", "/api/books/NEW"}) {
    const Exchanged got = get(target);
    INFO(target << ": " << got.body);
    CHECK(got.status == 503);
    CHECK(got.json()["error"] == "the tables are far behind; ask again later");
    CHECK(got.fields[http::field::retry_after] == "1");
  }
  CHECK(get("/api/books/SPY").status == 200);
  store.hold_projections.end();
  // after a request that changes nothing, no reader waits
  await_view();
  transact(1, "<query id='1'/><cancel id='99'/>");
  CHECK(get("/api/orders/4").status == 200);
}
