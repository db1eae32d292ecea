// Accounts, symbols and orders in JSON (docs/http-api.md), through real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct JsonOrders : HttpFixture {
  std::string order(const std::string& members, const Fields& fields = {}) {
    return answer(http::verb::post, "/api/orders", "{" + members + "}", fields);
  }
  void create_market() {
    start();
    const auto create = [&](const std::string& what, const std::string& body) {
      return answer(http::verb::post, "/api/" + what, body);
    };
    CHECK(create("accounts", R"({"account": "1", "balance": "1000"})") == R"(201 {"account":"1"})");
    CHECK(create("accounts", R"({"account": "2", "balance": 1000.0})") == R"(201 {"account":"2"})");
    CHECK(create("symbols", R"({"symbol": "SPY", "holdings": {"2": "100", "1": "7"}})") ==
          R"(201 {"symbol":"SPY"})");
    CHECK(create("symbols", R"({"symbol": "QQQ"})") == R"(201 {"symbol":"QQQ"})");
  }
};

const std::string buy_10 =
    R"("account": "1", "symbol": "SPY", "side": "buy", "shares": "10", "limit": "5")";

}  // namespace

TEST_CASE_METHOD(JsonOrders,
                 "orders in JSON are those of XML: placed, executed, replaced, canceled") {
  create_market();
  CHECK(order(buy_10 + R"(, "ref": "mine")") == R"(201 {"order":1})");
  CHECK(order(buy_10 + R"(, "ref": "mine")") == R"(200 {"order":1,"repeated":true})");
  CHECK(
      order(R"("account": "2", "symbol": "SPY", "side": "sell", "shares": 4, "type": "market")") ==
      R"(201 {"order":2})");
  CHECK_THAT(transact(1, "<query id='1'/>").body,
             contains_text("<open shares=\"6\"/><executed shares=\"4\" price=\"5\""));
  await_view();
  const nlohmann::json found = get("/api/orders/ref:mine?account=1").json();
  CHECK((found["order"] == 1 && found["open"] == "6"));
  CHECK(get("/api/orders/ref:mine?account=2").status == 404);
  CHECK(get("/api/orders/ref:mine").status == 400);
  CHECK(get("/api/orders/1?account=one").status == 400);
  CHECK(answer(http::verb::patch, "/api/orders/1?account=2",
               R"({"account": "1", "side": "buy", "shares": "12", "limit": "4"})")
            .ends_with(R"("code":"conflicting_attributes"})"));
  CHECK(answer(http::verb::patch, "/api/orders/ref:mine?account=1",
               R"({"side": "buy", "shares": "12", "limit": "4"})") == R"(200 {"order":1})");
  CHECK(answer(http::verb::patch, "/api/orders/1",
               R"({"account": "1", "side": "buy", "shares": "11", "limit": "4"})") ==
        R"(200 {"order":1})");
  const Exchanged canceled = request(http::verb::delete_, "/api/orders/1?account=1");
  CHECK(canceled.status == 200);
  nlohmann::json status = canceled.json();
  CHECK(status["executions"][0].erase("time_us") == 1);
  CHECK(status ==
        R"({"order": 1, "open": "0", "canceled": "7",
    "executions": [{"shares": "4", "price": "5"}]})"_json);
  CHECK(answer(http::verb::delete_, "/api/orders/ref:mine?account=1") ==
        R"(409 {"error":"order has nothing open","code":"nothing_open"})");
}

TEST_CASE_METHOD(JsonOrders, "an order in JSON has every term of orders") {
  create_market();
  CHECK(order(buy_10 + R"(, "tif": "fok")") ==
        R"(409 {"error":"the order cannot be filled at once","code":"cannot_fill"})");
  CHECK(order(buy_10 + R"(, "tif": "ioc")") == R"(201 {"order":1})");
  CHECK(order(buy_10 + R"(, "post": true)") == R"(201 {"order":2})");
  CHECK(order(R"("account": "1", "symbol": "SPY", "side": "sell", "shares": "1", "limit": "5")"
              R"(, "stp": "cancel-taking")") == R"(201 {"order":3})");
  await_view();
  CHECK(get("/api/orders/3").json()["canceled"] == "1");
  CHECK(get("/api/orders/2").json()["open"] == "10");
}

TEST_CASE_METHOD(JsonOrders, "of a batch in JSON, each order succeeds or fails alone") {
  create_market();
  CHECK(
      order(R"("account": "1", "orders": [
      {"symbol": "SPY", "side": "buy", "shares": "1", "limit": "2"},
      {"symbol": "SPY", "side": "buy", "shares": "1"},
      {"symbol": "SPY", "side": "buy", "shares": "1", "limit": "9999"},
      {"symbol": "QQQ", "side": "buy", "shares": "1", "limit": "3"}])") ==
      R"(200 {"orders":[{"order":1},{"error":"missing member 'limit'","code":"missing_attribute"},)"
      R"({"error":"insufficient funds","code":"insufficient_funds"},{"order":2}]})");
  CHECK(metrics.batch == 5);  // one for the batch
  const auto count = [&](const std::string& target) {
    return nlohmann::json::parse(request(http::verb::delete_, target).body)["orders"].size();
  };
  CHECK(count("/api/orders?account=1&sym=QQQ") == 1);
  CHECK(count("/api/orders?account=1") == 1);
  CHECK(answer(http::verb::delete_, "/api/orders?account=1") ==
        R"(409 {"error":"no open orders","code":"no_open_orders"})");
}

TEST_CASE_METHOD(JsonOrders, "a request in JSON is refused with a status and a code") {
  create_market();
  const auto refused = [&](const std::string& members, const std::string& code) {
    const std::string got = order(members);
    INFO(members << ": " << got);
    CHECK(got.starts_with("400 "));
    CHECK(got.ends_with("\"code\":\"" + code + "\"}"));
  };
  const std::string order_of = R"("account": "1", "symbol": "SPY", "side": "buy")";
  refused(R"("symbol": "SPY", "side": "buy", "shares": "1", "limit": "1")", "missing_attribute");
  refused(order_of + R"(, "limit": "1")", "missing_attribute");
  refused(order_of + R"(, "shares": "1")", "missing_attribute");
  refused(order_of + R"(, "shares": 1.5, "limit": "1")", "malformed_number");
  refused(order_of + R"(, "shares": 9007199254740992, "limit": "1")", "malformed_number");
  refused(order_of + R"(, "shares": true, "limit": "1")", "malformed_number");
  refused(order_of + R"(, "shares": "1e3", "limit": "1")", "malformed_number");
  refused(order_of + R"(, "shares": "1", "limit": "1", "ref": 1)", "unexpected_content");
  refused(order_of + R"(, "shares": "1", "limit": "1", "post": 1)", "unexpected_content");
  refused(R"("account": "1", "symbol": true, "side": "buy", "shares": "1", "limit": "1")",
          "unexpected_content");
  refused(R"("account": 1, "symbol": "SPY", "side": "buy", "shares": "1", "limit": "1")",
          "malformed_id");
  refused(order_of + R"(, "shares": "-1", "limit": "1")", "number_out_of_range");
  refused(order_of + R"(, "shares": "0", "limit": "1")", "number_out_of_range");
  refused(order_of + R"(, "shares": "1", "limit": "0")", "number_out_of_range");
  refused(order_of + R"(, "shares": "1", "limit": "1", "price": "1")", "unexpected_content");
  refused(order_of + R"(, "shares": "1", "limit": "1", "tif": "day")", "unknown_value");
  refused(order_of + R"(, "shares": "1", "limit": "1", "post": true, "tif": "ioc")",
          "conflicting_attributes");
  refused(order_of + R"(, "shares": "1", "limit": "1", "type": "market")",
          "conflicting_attributes");
  refused(R"("account": "1", "symbol": "S-P", "side": "buy", "shares": "1", "limit": "1")",
          "malformed_symbol");
  refused(R"("account": "x", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "1")",
          "malformed_id");
  refused(R"("account": "1", "symbol": "SPY", "side": "long", "shares": "1", "limit": "1")",
          "unknown_value");
  refused(R"("account": "1", "orders": [])", "unexpected_content");
  refused(R"("account": "1", "orders": 7)", "unexpected_content");
  for (const char* body : {"", "[]", "7", "{", "\xff"})
    CHECK(answer(http::verb::post, "/api/orders", body) ==
          R"(400 {"error":"the body is no JSON object","code":"malformed_json"})");
  CHECK(order(R"("account": "9", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "1")") ==
        R"(404 {"error":"unknown account","code":"unknown_account"})");
  CHECK(answer(http::verb::delete_, "/api/orders/77?account=1").starts_with("404 "));
  CHECK(answer(http::verb::delete_, "/api/orders/1").starts_with("400 "));
  CHECK(answer(http::verb::delete_, "/api/orders/one?account=1").starts_with("400 "));
  CHECK(answer(http::verb::post, "/api/accounts", R"({"account": "1", "balance": "1"})")
            .starts_with("409 "));
  CHECK(answer(http::verb::post, "/api/accounts", R"({"account": "5"})").starts_with("400 "));
  CHECK(answer(http::verb::post, "/api/accounts", R"({"account": "5", "balance": "1", "x": 1})")
            .starts_with("400 "));
  CHECK(answer(http::verb::post, "/api/symbols", R"({"symbol": "A", "holdings": {"9": "1"}})")
            .starts_with("404 "));
  for (const char* const body : {R"({"symbol": 5})", R"({"symbol": "A", "holdings": null})",
                                 R"({"symbol": "A", "holdings": []})"})
    CHECK(answer(http::verb::post, "/api/symbols", body).starts_with("400 "));
  const Exchanged other = request(http::verb::put, "/api/orders");
  CHECK((other.status == 405 && other.fields[http::field::allow] == "POST, DELETE"));
  CHECK(get("/api/orders").status == 405);
}

TEST_CASE_METHOD(JsonOrders, "a cancel of all that is not understood cancels nothing") {
  create_market();
  for (const char* symbol : {"SPY", "QQQ"})
    CHECK(order(R"("account": "1", "side": "buy", "shares": "1", "limit": "1", "symbol": ")" +
                std::string(symbol) + "\"")
              .starts_with("201 "));
  for (const char* target : {"?account=1&symbol=SPY", "?account=1&SYM=SPY", "?account=1&order=1",
                             "?account=1&sym", "?account=1&sym=", "?account=1&sym=SPY&sym=QQQ",
                             "?account=1&account=2", "?account=1&sym=S%20Y"})
    CHECK(answer(http::verb::delete_, std::string("/api/orders") + target).starts_with("400 "));
  CHECK(answer(http::verb::delete_, "/api/orders?account=1", R"({"symbol": "SPY"})")
            .starts_with("400 "));
  CHECK(metrics.canceled_orders[CancelCause::client] == 0);
  CHECK(answer(http::verb::delete_, "/api/orders?account=1&sym=SPY").starts_with("200 "));
  CHECK(metrics.canceled_orders[CancelCause::client] == 1);
}

TEST_CASE_METHOD(JsonOrders, "a member that stands twice makes a body malformed") {
  create_market();
  const auto batch = metrics.batch.load();
  const std::string malformed = R"(,"code":"malformed_json"})";
  for (const char* twice : {R"("account": "2")", R"("account": "1")", R"("side": "sell")",
                            R"("shares": "2")", R"("acco\u0075nt": "2")"})
    CHECK(order(buy_10 + ", " + twice).ends_with(malformed));
  CHECK(order(buy_10 + R"(, "ref": {"a": [{"b": 1, "b": 2}]})").ends_with(malformed));
  CHECK(order(R"("account": "1", "orders": [{"symbol": "SPY", "symbol": "QQQ"}])")
            .ends_with(malformed));
  CHECK(answer(http::verb::post, "/api/symbols",
               R"({"symbol": "A", "holdings": {"1": "5", "1": "7"}})")
            .ends_with(malformed));
  CHECK(order(buy_10 + R"(, "side": "buy")") ==
        R"(400 {"error":"the member 'side' stands twice")" + malformed);
  std::string many = R"("17": "1")";
  for (int i = 1; i <= 20; ++i) many += ", \"" + std::to_string(i) + R"(": "1")";
  CHECK(
      answer(http::verb::post, "/api/symbols", R"({"symbol": "A", "holdings": {)" + many + "}}") ==
      R"(400 {"error":"the member '17' stands twice")" + malformed);
  CHECK(metrics.batch == batch);
}

TEST_CASE_METHOD(JsonOrders, "a body is no JSON if it is too deep, or has too many values") {
  create_market();
  const auto refused = [&](const std::string& list) {
    return order(buy_10 + R"(, "ref": )" + list).ends_with(R"(,"code":"malformed_json"})");
  };
  const auto repeated = [](std::size_t times, const std::string& text) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
  };
  CHECK(!refused(repeated(250, "[") + repeated(250, "]")));
  CHECK(refused(repeated(300, "[") + repeated(300, "]")));
  CHECK(!refused("[0" + repeated(1'000, ",0") + "]"));
  CHECK(refused("[0" + repeated(10'000, ",0") + "]"));
  CHECK(!refused("[0" + repeated(10'000, ",0       ") + "]"));
}

TEST_CASE_METHOD(JsonOrders, "a number in JSON is whole as it is written, or refused") {
  create_market();
  const auto shares = [&](const std::string& number) {
    const std::string got = order(
        R"("account": "2", "symbol": "SPY", "side": "sell", "limit": "9", "shares": )" + number);
    return got.starts_with("201 ") ? "opened" : nlohmann::json::parse(got.substr(4))["code"];
  };
  for (const char* number : {"1", "1.0", "1.000", "10"}) CHECK(shares(number) == "opened");
  for (const char* number : {"0.99999999999999999", "9.99999999999999999", "1.5", "1e0", "1e2",
                             "1E+1", "10e-1", "9007199254740992", "9007199254740993",
                             "9007199254740991.5", "18446744073709551617", "1e400"})
    CHECK(shares(number) == "malformed_number");
  CHECK(shares(std::string(400, '9')) == "malformed_number");
  CHECK(shares("0") == "number_out_of_range");
  for (const char* no_json : {"01", "+1", ".5", "5.", "NaN", "Infinity", "0x1", "1_000"})
    CHECK(shares(no_json) == "malformed_json");
}

TEST_CASE_METHOD(JsonOrders, "a value of the wrong kind is refused with what is wanted") {
  create_market();
  const auto error = [&](http::verb verb, const std::string& target, const std::string& body) {
    const std::string got = answer(verb, target, body);
    CHECK(got.starts_with("400 "));
    return nlohmann::json::parse(got.substr(4))["error"].get<std::string>();
  };
  const auto post = [&](const std::string& target, const std::string& body) {
    return error(http::verb::post, "/api/" + target, body);
  };
  const auto of_order = [&](const std::string& members) {
    return post("orders", R"({"account": "1", "symbol": "SPY", "side": "buy", )" + members + "}");
  };
  CHECK(post("accounts", R"({"account": "5", "balance": 0.1})") ==
        R"(balance must be a string, as "9.5")");
  CHECK(post("accounts", R"({"account": "5", "balance": null})") ==
        "balance is null; leave out what has no value");
  CHECK(post("accounts", R"({"account": 5, "balance": "1"})") == "account must be a string");
  CHECK(post("symbols", R"({"symbol": "A", "holdings": {"1": 0.5}})") ==
        R"(shares must be a string, as "9.5")");
  CHECK(post("symbols", R"({"symbol": 7})") == "symbol must be a string");
  CHECK(of_order(R"("shares": "1", "limit": "1", "ref": null)") ==
        "ref is null; leave out what has no value");
  CHECK(of_order(R"("shares": "1", "limit": "1", "post": "true")") == "post must be true or false");
  CHECK(of_order(R"("shares": "1")") == "missing member 'limit'");
  CHECK(of_order(R"("shares": "0", "limit": "1")") == "shares is zero");
  CHECK(of_order(R"("shares": "1", "limit": 1e400)") ==
        "a number is too large; send it as a string");
  CHECK(error(http::verb::patch, "/api/accounts/1", R"({"orders_max": 2.5})") ==
        R"(orders_max must be a whole number, as 9 or "9")");
  CHECK(error(http::verb::patch, "/api/accounts/1", R"({"cancel_orders": "true"})") ==
        "cancel_orders must be true or false");
}

TEST_CASE_METHOD(JsonOrders, "of several holdings, a part that is refused is an error of its own") {
  create_market();
  const auto give = [&](const std::string& holdings) {
    return answer(http::verb::post, "/api/symbols",
                  R"({"symbol": "DIA", "holdings": )" + holdings + "}");
  };
  CHECK(give(R"({"1": "5", "9": "1"})") ==
        R"(200 {"symbol":"DIA","holdings":[{"account":"1"},)"
        R"({"account":"9","error":"unknown account","code":"unknown_account"}]})");
  CHECK(give(R"({"8": "5", "9": "1"})") ==
        R"(404 {"error":"unknown account","code":"unknown_account"})");
  CHECK(give(R"({"1": "5", "2": "abc"})").starts_with("400 "));
  CHECK(give(R"({"1": "1", "2": "1"})") == R"(201 {"symbol":"DIA"})");
  await_view();
  CHECK(get("/api/symbols").json()["symbols"][2]["shares_total"] == "7");
}

TEST_CASE_METHOD(JsonOrders, "the rules of a symbol are changed in JSON, and shown with it") {
  create_market();
  const auto change = [&](const std::string& members) {
    return answer(http::verb::patch, "/api/symbols/SPY", "{" + members + "}");
  };
  CHECK(change(R"("tick": "0.05", "lot": 5, "trading": "halted")") == R"(200 {"symbol":"SPY"})");
  CHECK(order(buy_10) ==
        R"(409 {"error":"trading of this symbol is halted","code":"trading_halted"})");
  await_view();
  const auto rules_of = [&](std::size_t number) {
    nlohmann::json symbol = get("/api/symbols").json()["symbols"][number],
                   rules = nlohmann::json::object();
    for (const char* rule : {"tick", "price_min", "price_max", "lot", "order_max", "trading"})
      if (symbol.contains(rule)) rules[rule] = symbol[rule];
    return rules;
  };
  CHECK(rules_of(0) == R"({"tick": "0.05", "lot": "5", "trading": "halted"})"_json);
  CHECK(rules_of(1) == nlohmann::json::object());
  CHECK(change(R"("tick": 0, "trading": "open")") == R"(200 {"symbol":"SPY"})");
  CHECK(order(R"("account": "1", "symbol": "SPY", "side": "buy", "shares": "7", "limit": "5")") ==
        R"(409 {"error":"the number of shares is not a multiple of the lot 5","code":"off_lot"})");
  await_view();
  CHECK(rules_of(0) == R"({"lot": "5"})"_json);
  CHECK(change(R"("price_min": 3, "price_max": 2)").starts_with("409 "));
  CHECK(change(R"("tick": -1)").starts_with("400 "));
  CHECK(change(R"("trading": "later")").starts_with("400 "));
  CHECK(change(R"("symbol": "SPY")").starts_with("400 "));
  CHECK(answer(http::verb::patch, "/api/symbols/S-P", "{}").starts_with("400 "));
}

TEST_CASE_METHOD(JsonOrders, "with keys, JSON trades and creates with the right key alone") {
  start_with_keys();
  const std::string account = R"({"account": "1", "balance": "1000", "key": "secret-of-1"})";
  CHECK(answer(http::verb::post, "/api/accounts", account).starts_with("403 "));
  CHECK(answer(http::verb::post, "/api/accounts", account, {{"Authorization", "Bearer wrong-key"}})
            .starts_with("403 "));
  CHECK(
      answer(http::verb::post, "/api/accounts", R"({"account": "1", "balance": "1"})", as_operator)
          .starts_with("400 "));
  CHECK(answer(http::verb::post, "/api/accounts", account, as_operator) ==
        R"(201 {"account":"1"})");
  CHECK(answer(http::verb::post, "/api/symbols", R"({"symbol": "SPY"})").starts_with("403 "));
  CHECK(answer(http::verb::post, "/api/symbols", R"({"symbol": "SPY"})", as_operator) ==
        R"(201 {"symbol":"SPY"})");
  CHECK(answer(http::verb::patch, "/api/symbols/SPY", "{}").starts_with("403 "));
  CHECK(answer(http::verb::patch, "/api/symbols/SPY", "{}", as_operator) ==
        R"(200 {"symbol":"SPY"})");
  const std::string members = R"("symbol": "SPY", "side": "buy", "shares": "1", "limit": "5")";
  const Fields wrong{{"Authorization", "Basic MTpzZWNyZXQtb2YtMg=="}};  // 1:secret-of-2
  CHECK(order(members, as_1) == R"(201 {"order":1})");
  CHECK(order(members, wrong) == unknown_account);
  CHECK(order(R"("account": "1", )" + members) == unknown_account);
  CHECK(order(R"("account": "2", )" + members, as_1).starts_with("400 "));
  CHECK(answer(http::verb::delete_, "/api/orders/1?account=1") == unknown_account);
  CHECK(answer(http::verb::delete_, "/api/orders/1", "", as_1).starts_with("200 "));
}
