// The fills of an account over HTTP, as docs/http-api.md promises them, over real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Fills : Market {
  // Account 1 buys one share of account 2 `count` times, at 150 and up.
  void trade(int count) {
    std::string sells, buys;
    for (int i = 0; i < count; ++i) {
      const std::string limit = "' limit='" + std::to_string(150 + i) + "'/>";
      sells += "<order sym='SPY' amount='-1" + limit;
      buys += "<order sym='SPY' amount='1" + limit;
    }
    REQUIRE(transact(2, sells).status == 200);
    REQUIRE(transact(1, buys).status == 200);
  }
  // Returns the executions of a page, and where the next page begins: "2 3 next 3".
  std::string page(const std::string& query, const std::string& account = "1") {
    const Exchanged got = get("/api/accounts/" + account + "/fills" + query);
    INFO(query << ": " << got.body);
    REQUIRE(got.status == 200);
    const nlohmann::json json = got.json();
    std::string text;
    for (const nlohmann::json& fill : json["fills"]) text += fill["execution"].dump() + " ";
    if (json.contains("next")) text += "next " + json["next"].dump();
    return text;
  }
};

}  // namespace

TEST_CASE_METHOD(Fills,
                 "an account has its fills from the first trade on, without being followed") {
  CHECK(without_times("/api/accounts/1/fills") ==
        R"({"account": "1", "fills": [{"execution": 1, "order": 1, "symbol": "SPY", "side": "buy",
    "shares": "40", "price": "145.67", "role": "maker", "time_us": 1}],
    "newest_execution": 1})"_json);
  CHECK(without_times("/api/accounts/2/fills") ==
        R"({"account": "2", "fills": [{"execution": 1, "order": 2, "symbol": "SPY", "side": "sell",
    "shares": "40", "price": "145.67", "role": "taker", "time_us": 1}],
    "newest_execution": 1})"_json);
  // an execution of the account with itself: two fills, the maker's first, and references
  transact(1, "<order sym='SPY' amount='-5' limit='140' ref='own'/>");
  CHECK(without_times("/api/accounts/1/fills?after=1") ==
        R"({"account": "1", "fills": [
    {"execution": 2, "order": 1, "symbol": "SPY", "side": "buy", "shares": "5", "price": "145.67",
     "role": "maker", "time_us": 1},
    {"execution": 2, "order": 3, "ref": "own", "symbol": "SPY", "side": "sell", "shares": "5",
     "price": "145.67", "role": "taker", "time_us": 1}], "newest_execution": 2})"_json);
  // an execution of an auction
  transact(1, "<cancel id='1'/>");
  post("<create><instrument sym='SPY' trading='auction'/></create>");
  transact(2, "<order sym='SPY' amount='-1' limit='10'/>");
  transact(1, "<order sym='SPY' amount='1' limit='10'/>");
  post("<create><instrument sym='SPY' trading='open'/></create>");
  CHECK(without_times("/api/accounts/2/fills?after=2")["fills"] ==
        R"([{"execution": 3, "order": 4, "symbol": "SPY", "side": "sell", "shares": "1",
    "price": "10", "role": "maker", "auction": true, "time_us": 1}])"_json);
  // they are still there after a restart
  stop();
  start();
  CHECK(page("") == "1 2 2 3 ");
  CHECK(request(http::verb::head, "/api/accounts/1/fills").status == 200);
}

TEST_CASE_METHOD(Fills, "fills have pages, from the oldest on or from the newest back") {
  trade(5);  // executions 2 to 6
  CHECK(page("") == "1 2 3 4 5 6 ");
  CHECK(page("?limit=2") == "1 2 next 2");
  CHECK(page("?limit=2&after=2") == "3 4 next 4");
  CHECK(page("?limit=2&after=4") == "5 6 ");
  CHECK(page("?limit=2&after=5") == "6 ");
  CHECK(page("?after=6") == "");
  CHECK(page("?after=7000") == "");
  CHECK(page("?before=newest&limit=2") == "6 5 next 5");
  CHECK(page("?before=5&limit=3") == "4 3 2 next 2");
  CHECK(page("?before=2&limit=3") == "1 ");
  CHECK(page("?before=1") == "");
  // an execution of two orders of the account stays together, and counts once
  post(
      "<create><account id='3' balance='100'/>"
      "<symbol sym='X'><account id='3'>9</account></symbol></create>");
  transact(3, "<order sym='X' amount='-9' limit='1'/>");
  for (int i = 0; i < 3; ++i) transact(3, "<order sym='X' amount='1' limit='1'/>");
  CHECK(page("?limit=1", "3") == "7 7 next 7");
  CHECK(page("?limit=2&before=newest", "3") == "9 9 8 8 next 8");
}

TEST_CASE_METHOD(Fills, "a page ends after so many executions of all accounts") {
  options.http.fills_read_max = 3;  // several reads for one page
  options.http.fills_reach = 8;
  post("<create><account id='3' balance='1000'/></create>");
  CHECK(page("", "3") == "");
  trade(20);                                                // executions 2 to 21
  transact(1, "<order sym='SPY' amount='-1' limit='1'/>");  // 22, with its own bid
  transact(2, "<order sym='SPY' amount='-1' limit='300'/>");
  transact(3, "<order sym='SPY' amount='1' limit='300'/>");  // 23
  CHECK(page("", "3") == "next 9");
  CHECK(page("?after=9", "3") == "next 18");
  CHECK(page("?after=18", "3") == "23 ");
  CHECK(page("?before=newest", "3") == "23 next 15");
  CHECK(page("?before=15", "3") == "next 6");
  CHECK(page("?before=6", "3") == "");
  // together the pages have each execution once
  for (const std::string limit : {"1", "2", "5", "7", "100"}) {
    std::string all, query = "?limit=" + limit;
    while (true) {
      const std::string text = page(query, "2");
      const std::size_t next = text.find("next ");
      all += text.substr(0, next);
      if (next == std::string::npos) break;
      query = "?limit=" + limit + "&after=" + text.substr(next + 5);
    }
    std::string expected;
    for (int i = 1; i <= 23; ++i) expected += i == 22 ? "" : std::to_string(i) + " ";
    CHECK(all == expected);
  }
}

TEST_CASE_METHOD(Fills, "a request for fills is refused with a reason") {
  const auto refused = [&](const std::string& target) { return answer(http::verb::get, target); };
  const auto sentence = [&](const std::string& target) {
    const Exchanged got = get(target);
    CHECK(got.status == 400);
    return got.json()["error"].get<std::string>();
  };
  CHECK(refused("/api/accounts/9/fills") == unknown_account);
  CHECK(sentence("/api/accounts/x/fills") == "an account id is 1 to 64 digits");
  CHECK(sentence("/api/accounts//fills") == "an account id is 1 to 64 digits");
  for (const char* wrong : {"", "x", "-1", "1.5", "9223372036854775808"})
    CHECK(sentence("/api/accounts/1/fills?after=" + std::string(wrong)) ==
          "after is a whole number from 0, of an execution");
  for (const char* wrong : {"", "0", "oldest"})
    CHECK(sentence("/api/accounts/1/fills?before=" + std::string(wrong)) ==
          "before is a whole number from 1, of an execution, or newest");
  for (const char* wrong : {"0", "1001", "x"})
    CHECK(sentence("/api/accounts/1/fills?limit=" + std::string(wrong)) ==
          "limit is a whole number from 1 to 1000");
  CHECK(sentence("/api/accounts/1/fills?after=1&before=3") == "give after or before, not both");
  CHECK(refused("/api/accounts/1/fills/2").substr(0, 3) == "404");
  CHECK(refused("/api/accounts/1/orders").substr(0, 3) == "404");
  CHECK(request(http::verb::post, "/api/accounts/1/fills", "{}").status == 405);
}

TEST_CASE_METHOD(HttpFixture, "with keys, fills are their account's and the operator's to see") {
  start_with_keys();
  REQUIRE(post("<create key='key-of-operator'><account id='1' balance='9' key='secret-of-1'/>"
               "<account id='2' balance='9' key='secret-of-2'/></create>")
              .status == 200);
  const auto asked = [&](const Fields& fields) {
    return answer(http::verb::get, "/api/accounts/1/fills", "", fields);
  };
  CHECK(asked({}) == unknown_account);
  CHECK(asked(as_2) == unknown_account);
  CHECK(asked(as_1).starts_with("200 "));
  CHECK(asked(as_operator).starts_with("200 "));
}

TEST_CASE_METHOD(Fills, "fills of a store that does not answer are refused") {
  options.http.store_answer_ms = 50;
  store.hold_reads.begin();
  CHECK(get("/api/accounts/1/fills").status == 503);
  store.hold_reads.end();
  CHECK(page("") == "1 ");
}
