// Sentences, tables and pictures of the terminal client.
#include "client/cli/views.hpp"

#include <cstdlib>
#include <ctime>

#include "catch.hpp"
#include "client/cli/watch.hpp"
#include "client/connection/results.hpp"

using namespace exchange;
using namespace exchange::cli;
using Lines = std::vector<std::string>;

namespace {

struct Utc {
  Utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
} utc;

Json trade(const char* price, const char* shares, const char* taker, int sell_order,
           std::int64_t time_us) {
  return {{"price", price}, {"shares", shares},         {"taker", taker},
          {"buy_order", 1}, {"sell_order", sell_order}, {"time_us", time_us}};
}

Json message(const char* type, int sequence, const char* bids, const char* asks,
             std::vector<Json> trades) {
  return {{"type", type},
          {"symbol", "SPY"},
          {"sequence", sequence},
          {"bids", Json::parse(bids)},
          {"asks", Json::parse(asks)},
          {"trades", trades}};
}
const Json first_book =
    message("snapshot", 3, R"([["145.67", "60", 1], ["9", "1", 1]])", R"([["146", "10.5", 2]])",
            {trade("145.67", "40", "sell", 2, 1700000001123456),
             trade("144", "1", "buy", 2, 1700000000000001)});

Json update(int sequence, const char* bids, const char* asks, std::vector<Json> trades = {}) {
  return message("update", sequence, bids, asks, std::move(trades));
}

const NewOrder buy{Side::buy, "SPY", "100", "145.67"}, sell{Side::sell, "SPY", "100", "140"};

Status state(const std::string& inner) {
  const std::string document = "<results><status id=\"7\">" + inner + "</status></results>";
  return std::get<Status>(client::read_outcomes(document, 1).front());
}
std::string shown(const std::string& inner, const NewOrder* terms) {
  return sentence("7", state(inner), terms);
}
std::string executed(const char* shares, const char* price) {
  return std::string("<executed shares=\"") + shares + "\" price=\"" + price +
         "\" time=\"1700000000\"/>";
}

}  // namespace

TEST_CASE("an order is described by what was executed and what remains") {
  const std::string open = "<open shares=\"60\"/>",
                    canceled = "<canceled shares=\"60\" time=\"1700000001\"/>",
                    some = executed("40", "145.67");
  CHECK(shown(open + some, &buy) ==
        "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67");
  CHECK(shown(open + some, &sell) == "order 7: sold 40 SPY @ 145.67, 60 still open at limit 140");
  CHECK(shown(some, &buy) == "order 7: bought 40 SPY @ 145.67");
  CHECK(shown(open, &buy) == "order 7: 60 SPY open, to buy at limit 145.67");
  CHECK(shown(open, &sell) == "order 7: 60 SPY open, to sell at limit 140");
  CHECK(shown(canceled, &sell) == "order 7: 60 SPY canceled");
  CHECK(shown(canceled + some, &buy) == "order 7: bought 40 SPY @ 145.67, 60 canceled");
  CHECK(shown(open + some, nullptr) == "order 7: executed 40 @ 145.67, 60 still open");
  CHECK(shown(some, nullptr) == "order 7: executed 40 @ 145.67");
  CHECK(shown(open, nullptr) == "order 7: 60 open");
  CHECK(shown(canceled, nullptr) == "order 7: 60 canceled");
  CHECK(shown("", nullptr) == "order 7: nothing open");
  const NewOrder replaced{Side::sell, "", "100", "140"};  // of another session: without a symbol
  CHECK(shown(open, &replaced) == "order 7: 60 open, to sell at limit 140");
  CHECK(shown(open + some, &replaced) == "order 7: sold 40 @ 145.67, 60 still open at limit 140");
  CHECK(shown(canceled, &replaced) == "order 7: 60 canceled");
}

TEST_CASE("several prices are shown with the exact sum") {
  CHECK(shown(executed("40", "145.67") + executed("0.5", "145.67"), &buy) ==
        "order 7: bought 40.5 SPY @ 145.67");
  CHECK(shown(executed("40", "0.00000003") + executed("60", "0.1"), &buy) ==
        "order 7: bought 100 SPY for 6.0000012 (40 @ 0.00000003, 60 @ 0.1)");
  const std::string many = executed("1", "5") + executed("1", "4") + executed("1", "3.5") +
                           executed("1", "3") + executed("1", "2");
  CHECK(shown(many, &sell) == "order 7: sold 5 SPY for 17.5 (@ 2 to 5)");
}

TEST_CASE("executions are listed with their times") {
  CHECK(execution_lines(
            state("<canceled shares=\"60\" time=\"1700000001\"/>" + executed("40", "145.67"))) ==
        "  2023-11-14 22:13:20  40 @ 145.67\n  2023-11-14 22:13:21  60 canceled\n");
}

TEST_CASE("an account is shown with cash, positions and open orders") {
  const Json account = Json::parse(
      R"({"account": "1", "balance": "85433.2", "reserved": "8740.2", "open_orders": 1,
          "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}],
          "orders": [{"order": 12, "symbol": "SPY", "side": "buy", "shares": "100",
                      "limit": "145.67", "open": "60", "opened_at_us": 1700000000000000}]})");
  CHECK(account_view(account, {}) ==
        "account 1\n"
        "balance 85433.2 free, 8740.2 reserved by open orders\n"
        "\n"
        "SYMBOL  SHARES  RESERVED\n"
        "SPY         40         0\n"
        "\n"
        "ORDER  SIDE  SYMBOL  SHARES   LIMIT  OPEN  OPENED\n"
        "   12  buy   SPY        100  145.67    60  2023-11-14 22:13:20\n");
  Json empty = account;
  empty["reserved"] = "0";
  empty["positions"] = empty["orders"] = Json::array();
  empty["open_orders"] = 0;
  CHECK(account_view(empty, {}) == "account 1\nbalance 85433.2\n\nno open orders\n");
  Json ruled = empty;
  ruled.update({{"access", "frozen"}, {"role", "operator"}, {"orders_max", 7}});
  CHECK(account_view(ruled, {}) ==
        "account 1\nbalance 85433.2\nfrozen: orders and replaces are refused\nrole operator\n"
        "at most 7 open orders\n\nno open orders\n");
  ruled["name"] = "Ada";
  CHECK_THAT(account_view(ruled, {}), contains_text("account 1, Ada\nbalance"));
  ruled = empty;
  ruled.update({{"orders_per_second_max", 3}, {"position_max", "99.5"}});
  CHECK_THAT(account_view(ruled, {}),
             contains_text("\nat most 3 orders a second, 99.5 shares of a symbol\n\n"));
  Json many = account;
  many["open_orders"] = 1500;
  CHECK_THAT(account_view(many, {}), contains_text("the oldest of 1500 open orders"));
}

TEST_CASE("a book has bids to the left of asks, best first") {
  CHECK(book_view(first_book, {}) ==
        "SPY\n"
        "ORDERS  SHARES     BID  ASK  SHARES  ORDERS\n"
        "     1      60  145.67  146    10.5       2\n"
        "     1       1       9\n");
  CHECK(book_view(Json::parse(R"({"symbol": "S", "bids": [], "asks": []})"), {}) ==
        "S: no open orders\n");
}

TEST_CASE("own orders are marked in the book, and listed alone") {
  Json account = Json::parse(
      R"({"open_orders": 4, "orders": [
          {"order": 1, "symbol": "SPY", "side": "buy", "shares": "9", "limit": "145.67",
           "open": "6", "opened_at_us": 1700000000000000},
          {"order": 2, "symbol": "SPY", "side": "buy", "shares": "9", "limit": "145.67",
           "open": "0.5", "opened_at_us": 1700000000000000},
          {"order": 3, "symbol": "SPY", "side": "sell", "shares": "1", "limit": "146", "open": "1",
           "opened_at_us": 1700000000000000},
          {"order": 4, "symbol": "ABC", "side": "buy", "shares": "9", "limit": "9", "open": "9",
           "opened_at_us": 1700000000000000}]})");
  CHECK(book_view(first_book, {}, account) ==
        "SPY\n"
        "YOURS  ORDERS  SHARES     BID  ASK  SHARES  ORDERS  YOURS\n"
        "  6.5       1      60  145.67  146    10.5       2      1\n"
        "            1       1       9\n");
  CHECK_THAT(orders_view(account, {}), contains_text("    4  buy   ABC"));
  account["orders"] = Json::array();
  CHECK(book_view(first_book, {}, account) == book_view(first_book, {}));
}

TEST_CASE("a book that is not open says so, and what its auction would execute") {
  Json book = Json::parse(R"({"symbol": "S", "bids": [], "asks": [], "trading": "auction",
    "auction": {"price": null, "volume": "0", "surplus": null, "market_buys": "5",
    "market_sells": "0"}})");
  CHECK(book_view(book, {}).starts_with(
      "S, auction: nothing would be executed; market orders: 5 to buy, 0 to sell\n"));
  book["auction"].update({{"price", "10.1"}, {"volume", "5"}, {"surplus", "-2"}});
  CHECK(
      book_view(book, {}).starts_with("S, auction: 5 @ 10.1 if it ended now, surplus -2; market"));
  book =
      Json::parse(R"({"symbol": "S", "bids": [["1", "2", 1]], "asks": [], "trading": "halted"})");
  CHECK(book_view(book, {}).starts_with("S, halted\n"));
  CHECK_THAT(orders_view(Json::parse(R"({"open_orders": 1, "orders": [{"order": 1, "symbol": "S",
    "side": "buy", "shares": "5", "limit": null, "open": "5", "opened_at_us": 1}]})"),
                         {}),
             contains_text("5  market     5"));
}

TEST_CASE("trades and symbols are tables") {
  CHECK(trades_view(first_book, {}) ==
        "TIME                 SHARES   PRICE  TAKER  BUY ORDER  SELL ORDER\n"
        "2023-11-14 22:13:21      40  145.67  sell           1           2\n"
        "2023-11-14 22:13:20       1     144  buy            1           2\n");
  CHECK(trades_view(Json::parse(R"({"symbol": "S", "trades": []})"), {}) == "S: no trades yet\n");
  CHECK(
      symbols_view(Json::parse(
                       R"({"symbols": [{"symbol": "SPY", "bid": "145.67", "ask": null, "last": null,
    "shares_total": "500", "open_orders": 1, "trades": 0, "traded_shares": "0"}]})"),
                   {}) ==
      "SYMBOL     BID  ASK  LAST  TRADES  TRADED  OPEN ORDERS  SHARES\n"
      "SPY     145.67    -     -       0       0            1     500\n");
  CHECK(symbols_view(Json::parse(R"({"symbols": []})"), {}) == "no symbols yet\n");
  CHECK(symbols_view(Json::parse(
                         R"({"symbols": [{"symbol": "SPY", "bid": null, "ask": null, "last": null,
    "shares_total": "5", "open_orders": 0, "trades": 0, "traded_shares": "0", "tick": "0.05",
    "trading": "halted"}, {"symbol": "ABC", "bid": null, "ask": null, "last": null,
    "shares_total": "7", "open_orders": 0, "trades": 0, "traded_shares": "0"}]})"),
                     {}) ==
        "SYMBOL  BID  ASK  LAST  TRADES  TRADED  OPEN ORDERS  SHARES  TICK  TRADING\n"
        "SPY       -    -     -       0       0            0       5  0.05  halted\n"
        "ABC       -    -     -       0       0            0       7     -  -\n");
}

TEST_CASE("answers that lack something are not understood") {
  for (const char* text : {"{}", "[]", "null", R"({"symbol": 3, "bids": [], "asks": []})",
                           R"({"symbol": "S", "bids": [["x", "1", 1]], "asks": []})",
                           R"({"symbol": "S", "bids": [["1", "1"]], "asks": []})",
                           R"({"symbol": "S", "bids": {}, "asks": []})"})
    CHECK_THROWS_AS(book_view(Json::parse(text), {}), client::BadReply);
  CHECK_THROWS_AS(parse_json("{"), client::BadReply);
}

TEST_CASE("a market follows its updates and notices a gap") {
  WatchedSymbol market;
  CHECK(!market.apply(update(4, "[]", "[]")));  // no snapshot came before it
  CHECK(market.apply(first_book));
  CHECK(market.top() == "145.67 60 146 10.5");
  CHECK(market.new_trades().empty());
  CHECK(
      market.apply(update(4, R"([["145.67", "0", 0], ["144", "10", 1]])", R"([["145.9", "3", 1]])",
                          {trade("145.67", "60", "sell", 9, 1700000002000000)})));
  CHECK(market.top() == "144 10 145.9 3");
  CHECK(market.bids().size() == 2);
  CHECK(market.asks().size() == 2);
  REQUIRE(market.new_trades().size() == 1);
  CHECK(market.tape().size() == 3);
  CHECK(market.tape().front().time_us == 1700000002000000);
  CHECK(!market.apply(update(6, "[]", "[]")));
  CHECK(!market.known());
  CHECK(market.apply(first_book));
  CHECK(market.top() == "145.67 60 146 10.5");
  CHECK(market.tape().size() == 2);
}

TEST_CASE(
    "without a terminal a change is a line: trades first, then the best prices where they are new") {
  WatchedSymbol market;
  std::string top;
  market.apply(first_book);
  CHECK(change_lines("SPY", market, top) == Lines{"top SPY 145.67 60 146 10.5"});
  market.apply(update(4, R"([["9", "2", 2]])", "[]"));
  CHECK(change_lines("SPY", market, top).empty());
  market.apply(
      update(5, "[]", R"([["146", "0", 0]])", {trade("146", "10.5", "buy", 6, 1700000002000003)}));
  CHECK(change_lines("SPY", market, top) ==
        Lines{"trade SPY 146 10.5 buy 2023-11-14T22:13:22.000003Z", "top SPY 145.67 60 - -"});
}

TEST_CASE("a leaderboard is shown by names, or by ids where there are none") {
  Json board = Json::parse(
      R"({"batch": 9, "round": null, "standings": [],
          "rounds": [{"round": 1, "name": "one", "began_at_us": 1700000000000000}]})");
  CHECK(leaderboard_view(board, {}) == "all rounds\nno trades yet\n");
  board["standings"] = Json::parse(
      R"([{"rank": 1, "name": "Zo\u00eb", "profit": "12.5", "volume": "300", "trades": 4,
           "largest_position": "100"},
          {"rank": 2, "account": "77", "profit": "-12.5", "volume": "3", "trades": 1,
           "largest_position": "3"}])");
  board["round"] = 1;
  CHECK(leaderboard_view(board, {}) ==
        "round 1, one, from 2023-11-14 22:13:20\n"
        "\n"
        "RANK  ACCOUNT  NAME  PROFIT  VOLUME  TRADES  LARGEST POSITION\n"
        "   1           Zo\u00eb     12.5     300       4               100\n"
        "   2       77         -12.5       3       1                 3\n");
  board["standings"].erase(1);
  CHECK(leaderboard_view(board, {}) ==
        "round 1, one, from 2023-11-14 22:13:20\n"
        "\n"
        "RANK  NAME  PROFIT  VOLUME  TRADES  LARGEST POSITION\n"
        "   1  Zo\u00eb     12.5     300       4               100\n");
  board["rounds"] = Json::array();
  CHECK(leaderboard_view(board, {}) == "no round has begun\n");
}

TEST_CASE("the picture fits the terminal at every size") {
  WatchedSymbol market, other;
  market.apply(first_book);
  other.apply(first_book);
  CHECK(picture({{"SPY", &market}}, {24, 80}, {}) ==
        Lines{"SPY  last 40 @ 145.67", "ORDERS  SHARES     BID  ASK  SHARES  ORDERS",
              "     1      60  145.67  146    10.5       2", "     1       1       9", "", "", "",
              "", "", "", "", "", "", "TIME          SYMBOL  TRADE        TAKER",
              "22:13:21.123  SPY     40 @ 145.67  sell", "22:13:20.000  SPY     1 @ 144      buy"});
  for (const Size size : {Size{1, 1}, Size{2, 10}, Size{5, 20}, Size{10, 40}, Size{50, 200}})
    for (const Style style : {Style{false}, Style{true}}) {
      const Lines lines = picture({{"SPY", &market}, {"ABC", &other}}, size, style);
      CHECK(lines.size() <= size.rows);
      for (const std::string& line : lines) CHECK(width(line) <= size.columns);
    }
}

TEST_CASE("colours take no room and are there only where wanted") {
  const Style style{true};
  CHECK(style.buy("x") == "\x1b[32mx\x1b[0m");
  CHECK(Style().buy("x") == "x");
  CHECK(width(style.buy("145") + "é") == 4);
  CHECK(clipped(style.buy("145") + "é", 2) == "\x1b[32m14\x1b[0m");
  CHECK(padded("é", 3, true) == "  é");
  Table table({"A", ">B"}, style);
  table.add({style.buy("long"), "1"});
  table.add({"s", "22"});
  CHECK(table.text() == style.dim("A      B") + "\n" + style.buy("long") + "   1\ns     22\n");
}

TEST_CASE("columns are as wide as a terminal shows their characters") {
  CHECK(width("abc") == 3);
  CHECK(width("\u738b\u5c0f\u660e") == 6);          // wide characters
  CHECK(width("\U0001f600") == 2);                  // an emoji
  CHECK(width("Zoe\u0301 \x1b[31mx\x1b[0m") == 5);  // an accent that combines, a colour
  CHECK(width("\xfc") == 1);                        // not UTF-8
  CHECK(clipped("\u738b\u5c0f\u660e", 5) == "\u738b\u5c0f");
  Table table({"NAME", ">TRADES"}, {});
  table.add({"\u738b\u5c0f\u660e", "1"});
  table.add({"Ada", "10"});
  CHECK(table.text() == "NAME    TRADES\n\u738b\u5c0f\u660e       1\nAda         10\n");
}

TEST_CASE("what is invisible or turns the direction of writing is not shown") {
  CHECK(printable("a\nb\u2028c\u2029d\te") == "a b c d e");
  CHECK(printable("\u200b") == "?");
  CHECK(printable("x\u202ey\u2066\u061c\u0092\x1b[0m") == "x?y????[0m");
  const std::string family = "\U0001f468\u200d\U0001f469 Zo\u00e9 \xfc";
  CHECK(printable(family) == family);
}

TEST_CASE("times are shown of every moment") {
  CHECK(local_time(1700000000) == "2023-11-14 22:13:20");
  CHECK(local_time_of_day(1700000000123999) == "22:13:20.123");
  CHECK(utc_time(1700000000000001) == "2023-11-14T22:13:20.000001Z");
  CHECK(local_time(INT64_MAX) == "9223372036854775807");
}
