// The operator's requests, over HTTP and on a WebSocket (docs/http-api.md), through real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const std::string no_operator =
    R"(403 {"error":"creating needs the operator's key","code":"operator_key"})";
const std::string buy_1 = R"({"symbol": "SPY", "side": "buy", "shares": "1", "limit": "5"})";

struct Operate : Follow {
  std::string set_account(const std::string& members, const Fields& fields = {}) {
    return answer(http::verb::patch, "/api/accounts/1", "{" + members + "}", fields);
  }
  std::string post_json(const std::string& path, const std::string& members,
                        const Fields& fields = {}) {
    return answer(http::verb::post, "/api/" + path, "{" + members + "}", fields);
  }
  // Creates accounts 1 and 2 and a symbol.
  void create_market(bool with_keys) {
    if (with_keys)
      start_with_keys();
    else
      start();
    for (const std::string account : {"1", "2"})
      REQUIRE(post_json("accounts",
                        R"("account": ")" + account + R"(", "balance": "1000")" +
                            (with_keys ? R"(, "key": "secret-of-)" + account + "\"" : ""),
                        as_operator)
                  .starts_with("201 "));
    REQUIRE(post_json("symbols", R"("symbol": "SPY", "holdings": {"2": "100"})", as_operator)
                .starts_with("201 "));
  }
  std::string balance() {
    await_view();
    return get("/api/accounts/1").json()["balance"];
  }
};

}  // namespace

TEST_CASE_METHOD(Operate, "the operator freezes an account, limits it, and adjusts what it has") {
  create_market(false);
  CHECK(set_account(R"("access": "frozen")") == R"(200 {"account":"1"})");
  CHECK(post_json("orders", R"("account": "1", )" + buy_1.substr(1, buy_1.size() - 2))
            .ends_with(R"("code":"account_frozen"})"));
  CHECK(set_account(R"("access": "active", "orders_max": 1, "position_max": "10.5")") ==
        R"(200 {"account":"1"})");
  const std::string order = R"("account": "1", )" + buy_1.substr(1, buy_1.size() - 2);
  CHECK(post_json("orders", order) == R"(201 {"order":1})");
  CHECK(post_json("orders", order).ends_with(R"("code":"too_many_orders_of_account"})"));
  CHECK(set_account(R"("orders_max": "0", "cancel_orders": true)") == R"(200 {"account":"1"})");
  CHECK(balance() == "1000");

  CHECK(post_json("adjustments/cash", R"("account": "1", "cash": "-0.5", "reason": "fee")") ==
        R"(200 {"account":"1"})");
  CHECK(post_json("adjustments/cash", R"("account": "1", "cash": 2)") == R"(200 {"account":"1"})");
  CHECK(balance() == "1001.5");
  CHECK(post_json("adjustments/cash", R"("account": "1", "cash": "-1001.6")")
            .ends_with(R"("code":"insufficient_funds"})"));
  CHECK(post_json("adjustments/shares", R"("account": "1", "symbol": "SPY", "shares": "3")") ==
        R"(200 {"symbol":"SPY","account":"1"})");
  CHECK(post_json("adjustments/shares", R"("account": "1", "symbol": "SPY", "shares": "-4")")
            .ends_with(R"("code":"insufficient_shares"})"));

  const auto refused = [](const std::string& got, const std::string& code) {
    return got.starts_with("400 ") && got.ends_with(R"("code":")" + code + "\"}");
  };
  CHECK(refused(set_account(R"("access": "melted")"), "unknown_value"));
  CHECK(refused(set_account(R"("cancel_orders": "maybe")"), "unknown_value"));
  CHECK(refused(set_account(R"("orders_max": -1)"), "malformed_number"));
  CHECK(set_account(R"("name": "Zo\u00eb")") == R"(200 {"account":"1"})");
  CHECK(refused(set_account(R"("name": "a\nb")"), "malformed_name"));
  CHECK(refused(set_account(R"("name": 7)"), "unexpected_content"));
  CHECK(refused(set_account(R"("account": "1")"), "conflicting_attributes"));
  CHECK(refused(set_account(R"("balance": "1")"), "unexpected_content"));
  CHECK(refused(post_json("adjustments/cash", R"("account": "1")"), "missing_attribute"));
  CHECK(refused(post_json("adjustments/cash", R"("cash": "1")"), "missing_attribute"));
  CHECK(
      refused(post_json("adjustments/cash", R"("account": 1, "cash": "1")"), "unexpected_content"));
  CHECK(refused(post_json("adjustments/cash", R"("account": "1", "cash": "1", "reason": "a b")"),
                "malformed_reference"));
  CHECK(refused(post_json("keys", R"("account": "1", "key": "long enough")"), "no_keys"));
  CHECK(answer(http::verb::patch, "/api/accounts/9", R"({"access": "frozen"})") == unknown_account);
}

TEST_CASE_METHOD(Operate, "ids of accounts that have a name are the operator's to see") {
  create_market(true);
  CHECK(set_account(R"("name": "Ada")", as_operator) == R"(200 {"account":"1"})");
  for (const std::string path : {"/api/leaderboard", "/api/leaderboard.csv"}) {
    const auto asked = [&](const Fields& fields) {
      return request(http::verb::get, path + "?ids=true", "", fields).status;
    };
    CHECK(get(path).status == 200);
    CHECK(asked({}) == 403);
    CHECK(asked({{"Authorization", "Bearer another-key"}}) == 403);
    CHECK(asked(as_1) == 403);
    CHECK(asked(as_operator) == 200);
    CHECK(set_account(R"("role": "operator")", as_operator) == R"(200 {"account":"1"})");
    CHECK(asked(as_1) == 200);
    CHECK(asked(as_2) == 403);
    CHECK(set_account(R"("role": "trader")", as_operator) == R"(200 {"account":"1"})");
  }
}

TEST_CASE_METHOD(Operate, "an auction that a change of its symbol executes is in the response") {
  create_market(false);
  CHECK(answer(http::verb::patch, "/api/symbols/SPY", R"({"trading": "auction"})") ==
        R"(200 {"symbol":"SPY"})");
  transact(2, "<order sym='SPY' amount='-4' limit='4'/>");
  transact(1, "<order sym='SPY' amount='3' limit='5'/>");
  CHECK(answer(http::verb::patch, "/api/symbols/SPY", R"({"trading": "open"})") ==
        R"(200 {"symbol":"SPY","price":"4","volume":"3"})");
}

TEST_CASE_METHOD(Operate, "what the operator does needs its key, or that of an operator account") {
  create_market(true);
  const std::string freeze = R"("access": "active")", fee = R"("account": "1", "cash": "1")",
                    split = R"("account": "1", "symbol": "SPY", "shares": "1")",
                    key = R"("account": "1", "key": "secret-of-1")";
  const auto all_answer = [&](const Fields& fields, const std::string& start) {
    return set_account(freeze, fields).starts_with(start) &&
           post_json("adjustments/cash", fee, fields).starts_with(start) &&
           post_json("adjustments/shares", split, fields).starts_with(start) &&
           post_json("keys", key, fields).starts_with(start) &&
           answer(http::verb::patch, "/api/symbols/SPY", "{}", fields).starts_with(start);
  };
  CHECK(all_answer(as_2, no_operator));
  CHECK(all_answer({{"Authorization", "Bearer wrong-key"}}, no_operator));
  CHECK(all_answer({}, no_operator));
  CHECK(all_answer(as_operator, "200 "));
  CHECK(answer(http::verb::patch, "/api/accounts/2", R"({"role": "operator"})", as_operator) ==
        R"(200 {"account":"2"})");
  CHECK(all_answer(as_2, "200 "));
  CHECK(post_json("accounts", R"("account": "3", "balance": "1", "key": "secret-of-3")", as_2) ==
        R"(201 {"account":"3"})");
  // accounts end with the day, and a store in memory does not have days
  CHECK(post_json("admin/new-day", R"("day": "monday")", as_2).starts_with("403 "));
  CHECK(post_json("admin/new-day", R"("day": "monday")", as_operator).starts_with("409 "));
  CHECK(answer(http::verb::patch, "/api/accounts/2", R"({"role": "trader"})", as_2)
            .starts_with("200 "));
  CHECK(all_answer(as_2, no_operator));
}

TEST_CASE_METHOD(Operate, "an account changes its own key over HTTP, and the operator any") {
  create_market(true);
  CHECK(post_json("keys", R"("key": "another-of-1")", as_1) == R"(200 {"account":"1"})");
  CHECK(post_json("keys", R"("key": "one more of 1")", as_1) == unknown_account);
  CHECK(post_json("keys", R"("account": "2", "key": "another-of-2")", as_2) ==
        R"(200 {"account":"2"})");
  CHECK(post_json("orders", buy_1.substr(1, buy_1.size() - 2), as_2) == unknown_account);
  CHECK(post_json("keys", R"("account": "1", "key": "secret-of-1")", as_operator) ==
        R"(200 {"account":"1"})");
  CHECK(post_json("orders", buy_1.substr(1, buy_1.size() - 2), as_1) == R"(201 {"order":1})");
  CHECK(post_json("keys", R"("account": "1", "revoke": true)", as_operator) ==
        R"(200 {"account":"1"})");
  CHECK(post_json("orders", buy_1.substr(1, buy_1.size() - 2), as_1) == unknown_account);

  const auto refused = [&](const std::string& members) {
    return post_json("keys", members, as_operator).substr(0, 4);
  };
  CHECK(refused(R"("key": "long enough")") == "400 ");  // the account is missing
  CHECK(refused(R"("account": "1", "key": "short")") == "400 ");
  CHECK(refused(R"("account": "1", "key": 12345678)") == "400 ");
  CHECK(refused(R"("account": "1", "revoke": "yes")") == "400 ");
  CHECK(refused(R"("account": "1", "revoke": false)") == "400 ");
  CHECK(refused(R"("account": "1", "revoke": true, "key": "long enough")") == "400 ");
  CHECK(refused(R"("account": "9", "key": "long enough")") == "404 ");
}

TEST_CASE_METHOD(Operate,
                 "a WebSocket operates with the operator's key, or as an operator account") {
  create_market(true);
  Socket by_key = follow(), by_account = follow(), trader = follow();
  CHECK(ask(by_key, "login", R"({"operator_key": "key-of-operator"})") == "200 {}");
  CHECK(ask(by_account, "login", R"({"account": "2", "key": "secret-of-2"})").starts_with("200 "));
  CHECK(ask(trader, "login", R"({"account": "1", "key": "secret-of-1"})").starts_with("200 "));
  const std::string freeze = R"({"account": "1", "access": "frozen"})",
                    thaw = R"({"account": "1", "access": "active"})";
  CHECK(ask(by_account, "set_account", freeze) == no_operator);
  CHECK(ask(by_key, "set_account", R"({"account": "2", "role": "operator"})") ==
        R"(200 {"account":"2"})");
  CHECK(ask(by_account, "set_account", freeze) == R"(200 {"account":"1"})");
  CHECK(ask(trader, "place", buy_1).ends_with(R"("code":"account_frozen"})"));
  CHECK(ask(by_account, "set_account", thaw).starts_with("200 "));
  CHECK(ask(by_account, "adjust_cash", R"({"account": "1", "cash": 5})") ==
        R"(200 {"account":"1"})");
  CHECK(ask(by_account, "adjust_shares", R"({"account": "1", "symbol": "SPY", "shares": 5})")
            .starts_with("200 "));
  CHECK(ask(by_account, "create_symbol", R"({"symbol": "QQQ"})").starts_with("201 "));
  CHECK(ask(by_key, "set_account", R"({"account": "2", "role": "trader"})").starts_with("200 "));
  CHECK(ask(by_account, "set_account", freeze) == no_operator);
  CHECK(ask(by_account, "place", buy_1).starts_with("201 "));
}

TEST_CASE_METHOD(Operate,
                 "a key that changes logs out the connections of its account, and no other") {
  create_market(true);
  Socket by_key = follow(), changed = follow(), other = follow();
  CHECK(ask(by_key, "login", R"({"operator_key": "key-of-operator"})") == "200 {}");
  CHECK(ask(changed, "login", R"({"account": "1", "key": "secret-of-1"})").starts_with("200 "));
  CHECK(ask(other, "login", R"({"account": "2", "key": "secret-of-2"})").starts_with("200 "));
  CHECK(ask(changed, "place", buy_1) == R"(201 {"order":1})");
  CHECK(ask(by_key, "set_key", R"({"account": "1", "key": "another-of-1"})") ==
        R"(200 {"account":"1"})");
  CHECK(ask(changed, "cancel", R"({"order": 1})") == unknown_account);
  CHECK(ask(changed, "query", R"({"order": 1})") == unknown_account);
  CHECK(ask(other, "place", buy_1) == R"(201 {"order":2})");
  CHECK(ask(by_key, "create_symbol", R"({"symbol": "QQQ"})").starts_with("201 "));
  CHECK(ask(changed, "login", R"({"account": "1", "key": "another-of-1"})").starts_with("200 "));
  CHECK(ask(changed, "set_key", R"({"key": "one more of 1"})") == R"(200 {"account":"1"})");
  CHECK(ask(changed, "cancel", R"({"order": 1})") == unknown_account);
  CHECK(ask(other, "set_key", R"({"account": "1", "revoke": true})") == no_operator);
  CHECK(ask(other, "set_key", R"({"revoke": true})") == R"(200 {"account":"2"})");
  CHECK(ask(other, "place", buy_1) == unknown_account);
  CHECK(ask(other, "login", R"({"account": "2", "key": "secret-of-2"})") == unknown_account);
}
