// Commands of the client, executed: over XML with an honest exchange in this process, over HTTP
// with a port that answers as docs/http-api.md describes.
#include "catch.hpp"
#include "client/cli/shell.hpp"
#include "unit/client/cli/seat.hpp"

using namespace exchange;
using namespace exchange::cli;
using namespace exchange::testing;

namespace {

std::string snapshot(const std::string& symbol, int sequence = 3) {
  return R"({"type": "snapshot", "symbol": ")" + symbol + R"(", "sequence": )" +
         std::to_string(sequence) + R"(, "bids": [["145.67", "60", 1]], "asks": [], "trades": []})";
}
std::string update(int sequence, const std::string& shares) {
  return R"({"type": "update", "symbol": "SPY", "sequence": )" + std::to_string(sequence) +
         R"(, "bids": [["145.67", ")" + shares + R"(", 1]], "asks": [], "trades": []})";
}

}  // namespace

TEST_CASE("a script trades, with a sentence for each command") {
  Trader seat;
  CHECK(seat.script("# a first trade\n\n" + set_up +
                    "buy SPY 100 145.67\naccount 2\nsell SPY 40@140\naccount\n"
                    "account 1\nstatus 1\ncancel 1\n") == exit_ok);
  CHECK(seat.complained() == "");
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  CHECK(seat.said() ==
        "account 1: created with balance 100000\n"
        "account 2: created with balance 0\n"
        "symbol SPY: account 2 got 500 shares\n"
        "order 1: 100 SPY open, to buy at limit 145.67\n"
        "order 2: sold 40 SPY @ 145.67\n"
        "account 2\n"
        "order 1: bought 40 SPY @ 145.67, 60 still open at limit 145.67\n"
        "  2023-11-14 22:13:20  40 @ 145.67\n"
        "order 1: bought 40 SPY @ 145.67, 60 canceled\n");
}

TEST_CASE("an order may have terms, and take the prices there are") {
  Trader seat;
  seat.start("account 2\nsell SPY 40@140\naccount 1\n");
  seat.run("buy SPY 50 140 --tif ioc", exit_ok, "order 2: bought 40 SPY @ 140, 10 canceled\n");
  seat.run("buy SPY 1 140 --tif fok", exit_refused, "",
           "buy 1 SPY @ 140: the order cannot be filled at once\n");
  seat.run("buy SPY 1 140 --post", exit_ok, "order 3: 1 SPY open, to buy at limit 140\n");
  seat.run("sell SPY 1 140 --post", exit_refused, "",
           "sell 1 SPY @ 140: the order would execute at once\n");
  seat.run("sell SPY 1 140 --stp cancel-taking", exit_ok, "order 4: 1 SPY canceled\n");
  seat.script("account 2\nsell SPY 1@150\nsell SPY 1@151\naccount 1\n");
  seat.said();
  seat.run("buy SPY 5@market", exit_ok,
           "order 7: bought 2 SPY for 301 (1 @ 150, 1 @ 151), 3 canceled\n");
}

TEST_CASE("a replaced order is shown as it is then") {
  Trader seat;
  seat.start("account 2\nsell SPY 40 140\nsell SPY 40 150 --ref far\naccount 1\n");
  seat.run("buy SPY 50 140 --ref mine", exit_ok,
           "order 3: bought 40 SPY @ 140, 10 still open at limit 140\n");
  seat.run("replace 3 buy 90 141", exit_ok,
           "order 3: bought 40 SPY @ 140, 50 still open at limit 141\n");
  seat.run("status 3 --xml", exit_ok,
           "> <transactions id=\"1\"><query id=\"3\"/></transactions>\n"
           "<results><status id=\"3\"><open shares=\"50\"/><executed shares=\"40\" price=\"140\" "
           "time=\"1700000000\"/></status></results>\n");
  seat.run("replace ref:mine buy 100@150", exit_ok,
           "order 3: bought 80 SPY for 11600 (40 @ 140, 40 @ 150), 20 still open at limit 150\n");
  seat.run("cancel 3", exit_ok,
           "order 3: bought 80 SPY for 11600 (40 @ 140, 40 @ 150), 20 canceled\n");
}

TEST_CASE("an order of another session is replaced by the side that is typed") {
  EditedServer server(honest);
  Seat(server.address()).start("account 2\nsell SPY 40 140\n");
  Seat seat(server.address());
  seat.runner->settings().account = "2";
  seat.run("replace 1 buy 30 140", exit_refused, "", "order 1: an order cannot change its side\n");
  seat.run("replace ref:none buy 1 1", exit_refused, "",
           "order ref:none: no such order of this account\n");
  CHECK(seat.runner->known_orders().empty());
  seat.run("replace 1 sell 30 141", exit_ok, "order 1: 30 open, to sell at limit 141\n");
  seat.run("status 1", exit_ok, "order 1: 30 open, to sell at limit 141\n");
  seat.run("cancel 1", exit_ok, "order 1: 30 canceled\n");
}

TEST_CASE("a replace whose reply does not come is not sent again, even with --retry") {
  std::atomic<unsigned> asked = 0;
  EditedServer server([&](std::string reply, unsigned number) {
    asked = number;
    return number < 4 ? std::optional(reply) : std::nullopt;
  });
  Seat seat(server.address(), "127.0.0.1:1", 0.5, true);
  seat.start("buy SPY 1 1\n");
  REQUIRE(asked == 3);
  CHECK(seat.run("replace 1 buy 2 1") == exit_unreachable);
  CHECK_THAT(seat.complained(),
             contains_text("Whether the exchange executed it is not known: 'status' shows."));
  CHECK(asked == 4);
}

TEST_CASE("all open orders are canceled, or those of one symbol") {
  Trader seat;
  seat.start("buy SPY 1 1\nbuy ABC 2 1\nbuy SPY 3 1\n");
  seat.run("cancel all ABC", exit_ok, "order 2: 2 ABC canceled\n");
  seat.run("cancel all", exit_ok, "order 1: 1 SPY canceled\norder 3: 3 SPY canceled\n");
  seat.run("cancel all", exit_ok, "no open orders\n");
  seat.run("cancel all XYZ", exit_ok, "no open orders of XYZ\n");
  seat.run("cancel all --account 9", exit_refused, "", "cancel all: unknown account\n");
  seat.run("cancel all ''", exit_usage, "", "symbol must be 1 to 32 letters and digits\n");
}

TEST_CASE("a cancel of all repeats its request until nothing is open") {
  Trader seat;
  std::string orders, sentences;
  for (unsigned order = 1; order <= 1'001; ++order) {
    orders += "buy SPY 1 1\n";
    sentences += "order " + std::to_string(order) + ": 1 SPY canceled\n";
  }
  seat.start(orders);
  seat.run("cancel all", exit_ok, sentences);
}

TEST_CASE("a script ends at the first failure and names its line") {
  Trader seat;
  CHECK(seat.script("\xEF\xBB\xBF" + set_up + "buy SPY 1 1000000\nbuy SPY 1 1\n") == exit_refused);
  CHECK(seat.complained() == "exchange-cli: line 4: buy 1 SPY @ 1000000: insufficient funds\n");
  CHECK(seat.script("nonsense\nbuy SPY 1 1\n") == exit_usage);
  CHECK(seat.complained() ==
        "exchange-cli: line 1: there is no command 'nonsense'; 'help' lists them\n");
  CHECK(seat.script("account 5\nquit\nbuy SPY 1 1\n") == exit_ok);
  CHECK(seat.runner->known_orders().empty());
}

TEST_CASE("with --keep-going a script goes on, and ends with the status of the first failure") {
  Trader seat;
  seat.runner->settings().keep_going = true;
  CHECK(seat.script(set_up + "cancel 9\nnonsense\nbuy SPY 1 1\n") == exit_refused);
  CHECK(seat.complained() ==
        "exchange-cli: line 4: order 9: no such order of this account\n"
        "exchange-cli: line 5: there is no command 'nonsense'; 'help' lists them\n");
  CHECK(seat.runner->known_orders().size() == 1);
}

TEST_CASE("of several elements each has a sentence, the refused ones their error") {
  Trader seat;
  seat.start("buy SPY 1 1\nbuy SPY 2 1\n");
  seat.run("cancel 1 7 2", exit_refused, "order 1: 1 SPY canceled\norder 2: 2 SPY canceled\n",
           "order 7: no such order of this account\n");
  seat.run("create symbol SPY 1=5 9=5", exit_refused, "symbol SPY: account 1 got 5 shares\n",
           "symbol SPY, account 9: unknown account\n");
}

TEST_CASE("with xml on, requests and replies are shown in place of sentences") {
  Trader seat;
  seat.start();
  const std::string exchanged =
      "> <transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"1\"/></transactions>\n"
      "<results><opened sym=\"SPY\" amount=\"1\" limit=\"1\" id=\"1\"/></results>\n"
      "> <transactions id=\"1\"><query id=\"1\"/></transactions>\n"
      "<results><status id=\"1\"><open shares=\"1\"/></status></results>\n";
  CHECK(seat.script("xml on\nbuy SPY 1 1\nxml off\n") == exit_ok);
  CHECK(seat.said() == exchanged);
  seat.run("cancel 5 --xml", exit_refused,
           "> <transactions id=\"1\"><cancel id=\"5\"/></transactions>\n"
           "<results><error id=\"5\">no such order of this account</error></results>\n",
           "order 5: no such order of this account\n");
}

TEST_CASE("a reply that never comes leaves the outcome open, and the message says so") {
  // After the placed shares (1) and the order (2) comes the query of its state, which is sent
  // twice.
  EditedServer server([](std::string reply, unsigned number) {
    return number == 3 || number == 4 || number == 6 ? std::nullopt : std::optional(reply);
  });
  Seat seat(server.address());
  seat.start();
  REQUIRE(seat.run("buy SPY 1 1") == exit_unreachable);
  CHECK_THAT(seat.said(), contains_text("order 1: placed; its state could not be queried"));
  CHECK(seat.complained() == "no reply from " + server.address() + ": it closed the connection\n");
  CHECK(seat.run("cancel 1") == exit_ok);              // on a new connection
  CHECK(seat.run("buy SPY 1 1") == exit_unreachable);  // never sent twice
  CHECK_THAT(seat.complained(), contains_text("Whether the exchange executed it is not known"));
  CHECK(seat.run("status 3") == exit_refused);
}

TEST_CASE(
    "an order that is sent again in vain leaves the outcome open, and the message names its reference") {
  EditedServer server([](std::string reply, unsigned number) {
    return number == 1 ? std::optional(reply) : std::nullopt;
  });
  Seat seat(server.address(), "127.0.0.1:1", 0.5, true);
  seat.start();
  CHECK(seat.run("buy SPY 1 1 --ref mine") == exit_unreachable);
  CHECK(seat.complained() == "no reply from " + server.address() +
                                 ": it closed the connection\nWhether the exchange executed it is "
                                 "not known: 'status ref:mine' shows.\n");
}

TEST_CASE("a reply that no exchange sends ends with 3") {
  EditedServer server([](std::string, unsigned) {
    return std::optional<std::string>("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  Seat seat(server.address());
  CHECK(seat.run("cancel 1") == exit_unreachable);
  CHECK_THAT(seat.complained(),
             contains_text("the server's reply is not understood: not a reply: HTTP/1.1 400"));
}

TEST_CASE("a server's words do not steer the terminal") {
  EditedServer server([](std::string, unsigned) {
    return std::optional<std::string>(
        "<results><error>a\x1b[2Jb\nc\xC2\x9B"
        "d&#x9b;e</error></results>\n");
  });
  Seat seat(server.address());
  seat.run("cancel 1", exit_refused, "", "order 1: a?[2Jb c?d?e\n");
}

TEST_CASE("a server that is not there ends with 3 and the way to one") {
  Seat seat;
  CHECK(seat.run("buy SPY 1 1") == exit_unreachable);
  const std::string complaint = seat.complained();
  CHECK_THAT(complaint, contains_text("cannot connect to 127.0.0.1:1: "));
  CHECK_THAT(complaint, contains_text("./run.sh"));
  CHECK_THAT(complaint, contains_text("--connect HOST:PORT"));
  CHECK(complaint.find("not known") == std::string::npos);  // nothing was sent
  CHECK(seat.run("symbols") == exit_unreachable);
  CHECK_THAT(seat.complained(), contains_text("--http HOST:PORT"));
}

TEST_CASE("an account that cannot be is not chosen") {
  Seat seat;
  seat.run("account x", exit_usage, "", "account id must be 1 to 64 digits\n");
  CHECK(seat.runner->settings().account == "1");
}

TEST_CASE("an answer of the HTTP port is a table, a refusal its sentence") {
  HttpStub http(answer);
  Seat seat("127.0.0.1:1", http.address());
  seat.run("book SPY", exit_ok,
           "SPY\nORDERS  SHARES     BID  ASK  SHARES  ORDERS\n     1      60  145.67\n");
  seat.run("book XYZ --levels 3", exit_refused, "", "unknown symbol\n");
  seat.run("book spy", exit_refused, "", "unknown symbol (did you mean 'SPY'?)\n");
  seat.run("book SPZ", exit_refused, "", "unknown symbol (did you mean 'SPY'?)\n");
  seat.complained();
  CHECK(seat.run("status") == exit_unreachable);
  CHECK_THAT(seat.complained(),
             contains_text("HTTP status 404 of " + http.address() + "/api/accounts/1"));
}

TEST_CASE("a look waits until what is committed is shown") {
  std::atomic<int> batch = 6;
  HttpStub http([&](const std::string& target) -> HttpStub::Answer {
    if (target == "/metrics") return {200, "# TYPE\nexchange_journal_batch 9\n"};
    if (target == "/api/symbols?limit=1")
      return {200, R"({"batch": )" + std::to_string(++batch) + R"(, "symbols": []})"};
    return answer(target);
  });
  Seat seat("127.0.0.1:1", http.address());
  CHECK(seat.run("book SPY") == exit_ok);
  CHECK(http.asked() == Lines{"/metrics", "/api/symbols?limit=1", "/api/symbols?limit=1",
                              "/api/symbols?limit=1", "/api/books/SPY?levels=10",
                              "/api/accounts/1"});
}

TEST_CASE("a buy of a symbol that does not exist is refused, asked about, or meant") {
  HttpStub http(answer);
  Trader seat(http.address());
  seat.start();
  const std::string problem = "there is no symbol SPX (did you mean 'SPY'?)";
  seat.run("buy SPX 1 1", exit_refused, "",
           problem + "; --new-symbol lets a command create it, for everyone\n");
  std::string asked;
  bool yes = false;
  seat.console.confirm = [&](const std::string& question) {
    asked = question;
    return yes;
  };
  seat.run("buy SPX 1 1", exit_refused, "");
  CHECK(asked == problem + ". Create it, for everyone?");
  yes = true;
  seat.run("buy SPX 1 1", exit_ok, "order 1: 1 SPX open, to buy at limit 1\n");
  asked = "";
  seat.run("buy SPX 1 1", exit_ok, "order 2: 1 SPX open, to buy at limit 1\n");
  seat.run("buy NEW 1 1 --new-symbol", exit_ok, "order 3: 1 NEW open, to buy at limit 1\n");
  seat.run("sell NONE 1 1", exit_refused, "", "sell 1 NONE @ 1: insufficient shares\n");
  CHECK(asked == "");
}

TEST_CASE("a refusal for lack of funds or shares has figures, where the HTTP port gives them") {
  HttpStub http([](const std::string& target) -> HttpStub::Answer {
    if (target != "/api/accounts/1") return answer(target);
    return {200,
            R"({"account": "1", "balance": "100000", "reserved": "0", "open_orders": 0,)"
            R"( "orders": [], "positions": [{"symbol": "SPY", "shares": "5", "reserved": "2"}]})"};
  });
  Trader seat(http.address());
  seat.start();
  seat.run("buy SPY 1000 145.5", exit_refused, "",
           "buy 1000 SPY @ 145.5: insufficient funds: 145500 needed, 100000 free\n");
  seat.run("sell SPY 7.5 1", exit_refused, "",
           "sell 7.5 SPY @ 1: insufficient shares: 7.5 needed, 5 free\n");
}

TEST_CASE("history has all executions of the account, or those of the orders that are named") {
  const auto fill = [](int execution, int order) {
    return R"({"execution": )" + std::to_string(execution) + R"(, "order": )" +
           std::to_string(order) +
           R"(, "symbol": "SPY", "side": "sell", "shares": "1", "price": "6", "role": "maker", )" +
           R"("time_us": 1700000002000000})";
  };
  const auto order = [](int id, int account, const std::string& executions) {
    return R"({"account": ")" + std::to_string(account) + R"(", "order": )" + std::to_string(id) +
           R"(, "symbol": "SPY", "side": "buy", "executions": [)" + executions + "]";
  };
  const auto executed = [](const std::string& shares, int second) {
    return R"({"shares": ")" + shares + R"(", "price": "5", "time_us": 170000000)" +
           std::to_string(second) + "000000}";
  };
  HttpStub http([&](const std::string& target) -> HttpStub::Answer {
    const std::string fills = "/api/accounts/1/fills?before=";
    if (target == fills + "newest&limit=50")  // the rest is among fills of other orders
      return {200, R"({"fills": [)" + fill(9, 4) + R"(], "newest_execution": 9, "next": 5})"};
    if (target == fills + "5&limit=49")
      return {200, R"({"fills": [)" + fill(3, 2) + R"(], "newest_execution": 9})"};
    if (target == fills + "newest&limit=1")
      return {200, R"({"fills": [)" + fill(9, 4) + R"(], "newest_execution": 9, "next": 9})"};
    if (target == "/api/accounts/2/fills?before=newest&limit=50")
      return {200, R"({"fills": [], "newest_execution": 9})"};
    if (target == "/api/orders/7")
      return {200, order(7, 1, executed("3", 1) + "," + executed("2", 2)) + R"(, "next": 1})"};
    if (target == "/api/orders/7?before=1") return {200, order(7, 1, executed("4", 0)) + "}"};
    if (target == "/api/orders/ref:in-3?limit=1&account=1")
      return {200, order(7, 1, executed("2", 2)) + R"(, "next": 2})"};
    if (target == "/api/orders/6") return {200, order(6, 1, "") + "}"};
    if (target == "/api/orders/8") return {200, order(8, 2, executed("1", 1)) + "}"};
    return {404, R"({"error": "no such order"})"};
  });
  Seat seat("127.0.0.1:1", http.address());
  const std::string head = "TIME                 ORDER  SIDE  SYMBOL  SHARES  PRICE\n",
                    of_4 = "2023-11-14 22:13:22      4  sell  SPY          1      6\n",
                    of_2 = "2023-11-14 22:13:22      2  sell  SPY          1      6\n",
                    of_7 =
                        "2023-11-14 22:13:22      7  buy   SPY          2      5\n"
                        "2023-11-14 22:13:21      7  buy   SPY          3      5\n"
                        "2023-11-14 22:13:20      7  buy   SPY          4      5\n";
  seat.run("history", exit_ok, head + of_4 + of_2);
  seat.run("history -n 1", exit_ok,
           "the newest 1 executions of account 1; -n shows more\n" + head + of_4);
  seat.run("history 7", exit_ok, head + of_7);
  seat.run("history ref:in-3 7", exit_ok, head + of_7);
  seat.run("history 6", exit_ok, "no executions of order 6\n");
  seat.run("history 9", exit_refused, "", "no such order\n");
  seat.run("history 8", exit_refused, "", "order 8: no such order of this account\n");
  seat.run("history --account 2", exit_ok, "no executions of account 2\n");
}

TEST_CASE("history without an HTTP port says what it needs, and what shows executions without") {
  Trader seat;
  seat.start();
  CHECK(seat.run("history") == exit_unreachable);
  CHECK_THAT(seat.complained(),
             Catch::Matchers::EndsWith(
                 "; history needs the HTTP port (--http), 'status ORDER' does not\n"));
  CHECK(seat.said() == "");
}

TEST_CASE("a limit that the exchange rounds is shown rounded") {
  Trader seat;
  seat.start();
  seat.run("buy SPY 1 580.123456789", exit_ok,
           "the limit was rounded to 580.12345678\n"
           "order 1: 1 SPY open, to buy at limit 580.12345678\n");
  seat.run("account 2", exit_ok, "");
  seat.run("sell SPY 1 580.123456781", exit_ok,
           "the limit was rounded to 580.12345679\n"
           "order 2: 1 SPY open, to sell at limit 580.12345679\n");
  seat.run("sell SPY 1 581.120000000", exit_ok,
           "order 3: 1 SPY open, to sell at limit 581.120000000\n");
}

TEST_CASE("a shell notices what was executed meanwhile, and names what stays open at its end") {
  Trader seat;
  seat.start("buy SPY 10 5\nbuy SPY 10 4\nbuy SPY 10 3\ncancel 3\n");
  seat.runner->notice_fills();
  CHECK(seat.said() == "");
  seat.run("sell SPY 4 5 --account 2", exit_ok, "order 4: sold 4 SPY @ 5\n");
  seat.runner->notice_fills();
  CHECK(seat.said() == "* order 1: bought 4 SPY @ 5, 6 still open at limit 5\n");
  seat.runner->notice_fills();
  CHECK(seat.said() == "");
  seat.run("sell SPY 6 5 --account 2", exit_ok, "order 5: sold 6 SPY @ 5\n");
  seat.runner->notice_open_orders();
  CHECK(seat.said() == "* order 1: bought 10 SPY @ 5\nan order of this shell stays open: 2\n");
  CHECK(seat.run("cancel all") == exit_ok);
  seat.said();
  seat.runner->notice_open_orders();
  CHECK(seat.said() == "");
}

TEST_CASE("watch prints changes until its count") {
  HttpStub http(answer, [](const std::string&) {
    return Lines{snapshot("SPY"), update(4, "60"), update(5, "50"), update(6, "40"),
                 update(7, "30")};
  });
  Seat seat("127.0.0.1:1", http.address());
  seat.run("watch SPY SPY -n 3", exit_ok,
           "top SPY 145.67 60 - -\ntop SPY 145.67 50 - -\ntop SPY 145.67 40 - -\n");
  CHECK(http.asked() == Lines{"/metrics", "/ws", R"({"subscribe":"SPY"})"});
}

TEST_CASE("watch asks for a new snapshot after a gap") {
  std::atomic<int> asked = 0;
  HttpStub http(answer, [&](const std::string&) {
    return ++asked == 1 ? Lines{snapshot("SPY"), update(5, "50"), update(6, "40")}
                        : Lines{snapshot("SPY", 6), update(7, "20")};
  });
  Seat seat("127.0.0.1:1", http.address());
  seat.run("watch SPY -n 2", exit_ok, "top SPY 145.67 60 - -\ntop SPY 145.67 20 - -\n");
  CHECK(asked == 2);
}

TEST_CASE("watch ends with the server's refusal, and with 3 when the server goes away") {
  HttpStub http(answer, [](const std::string& text) {
    return text.find("SPY") == std::string::npos
               ? Lines{R"({"type": "error", "error": "unknown symbol 'XYZ'"})"}
               : Lines{snapshot("SPY"), ""};
  });
  Seat seat("127.0.0.1:1", http.address());
  CHECK(seat.run("watch XYZ") == exit_refused);
  CHECK_THAT(seat.complained(), contains_text("unknown symbol 'XYZ'"));
  seat.run("watch SPY", exit_unreachable, "top SPY 145.67 60 - -\n",
           "the server at " + http.address() + " ended the connection\n");
  HttpStub without(answer);
  Seat elsewhere("127.0.0.1:1", without.address());
  CHECK(elsewhere.run("watch SPY") == exit_unreachable);
  CHECK_THAT(elsewhere.complained(), contains_text("has no WebSocket at /ws"));
}

TEST_CASE("watch account prints events, and after a lost connection asks for the next one") {
  const auto events = [](const std::string& list) {
    return R"({"type":"events","account":"1","events":[)" + list + "]}";
  };
  const std::string executed =
      R"({"number":9,"event":"executed","order":1,"ref":"mine","symbol":"SPY","side":"buy",)"
      R"("shares":"60","price":"145.67","open":"0","execution":2,"role":"maker","balance":"85433",)"
      R"("position":"100","batch":5,"time_us":1795256991123456})";
  const std::string canceled =
      R"({"number":10,"event":"canceled","order":2,"symbol":"SPY","side":"sell","shares":"3",)"
      R"("limit":null,"open":"0","reason":"immediate","balance":"1","position":"5","batch":6,)"
      R"("time_us":1795256991123457})";
  HttpStub http(answer, [&](const std::string& text) {
    if (text.find("from") == std::string::npos)
      return Lines{R"({"type":"account","number":8,"batch":4,"account":"1","balance":"85433",)"
                   R"("reserved":"1","positions":[],"open_orders":2,"orders":[]})",
                   events(executed), ""};
    return Lines{R"({"type":"subscribed","account":"1","from":10,"newest":10})", events(canceled)};
  });
  Seat seat("127.0.0.1:1", http.address());
  seat.run(
      "watch account -n 2 --account 1", exit_ok,
      "account 1 at event 8: balance 85433, 2 open orders\n"
      "9 executed: buy 60 SPY at 145.67, 0 open, maker, order 1 (mine); balance 85433, position "
      "100; 2026-11-21T10:29:51.123456Z\n"
      "10 canceled: sell 3 SPY, 0 open, immediate, order 2; balance 1, position 5; "
      "2026-11-21T10:29:51.123457Z\n");
  CHECK(http.asked() == Lines{"/ws", R"({"subscribe":{"account":"1"}})", "/ws",
                              R"({"subscribe":{"account":"1","from":10}})"});
  seat.run("watch account --from 10 -n 1 --json --account 1", exit_ok,
           "{\"type\":\"subscribed\",\"account\":\"1\",\"from\":10,\"newest\":10}\n" +
               events(canceled) + "\n");
}

TEST_CASE("a stop ends every wait") {
  HttpStub http(answer, [](const std::string&) { return Lines{snapshot("SPY")}; });
  Trader seat(http.address());
  seat.stop = true;
  CHECK_THROWS_AS(seat.run("buy SPY 1 1"), client::Interrupted);
  CHECK_THROWS_AS(seat.run("symbols"), client::Interrupted);
  CHECK_THROWS_AS(seat.run("watch SPY"), client::Interrupted);
}

TEST_CASE("completion offers commands, the server's symbols, own orders and accounts") {
  EditedServer server(honest);
  HttpStub http(answer);
  Seat seat(server.address(), http.address());
  seat.start("buy SPY 1 1\nbuy SPY 2 1\n");
  const struct {
    std::string line;
    Lines offered;
  } lines[] = {
      {"s", {"sell", "set-key", "status", "symbols"}},
      {"  st", {"status"}},
      {"create ", {"account", "symbol"}},
      {"create symbol A", {"ABC"}},
      {"buy SP", {"SPQR", "SPY"}},
      {"buy SPY ", {}},
      {"watch SPY A", {"ABC"}},
      {"cancel ", {"1", "2"}},
      {"replace ", {"1", "2"}},
      {"replace 2 ", {"buy"}},
      {"replace 9 ", {"buy", "sell"}},
      {"replace 2 buy ", {}},
      {"cancel a", {"all"}},
      {"cancel all S", {"SPQR", "SPY"}},
      {"status 1 2", {"2"}},
      {"history ", {"1", "2"}},
      {"account ", {"1", "2"}},
      {"buy SPY 1 1 --account ", {"1", "2"}},
      {"admin s", {"set-key", "shares"}},
      {"admin freeze ", {"1", "2"}},
      {"admin shares 1 SPY", {"SPY"}},
      {"admin role 1 ", {"operator", "trader"}},
      {"admin limits 7 --o", {"--orders-max", "--orders-per-second-max"}},
      {"xml o", {"off", "on"}},
      {"help b", {"book", "buy"}},
      {"book SPY --", {"--account", "--help", "--levels", "--new-symbol", "--xml"}},
      {"book SPY ", {}},
      {"book 'SP", {}},
      {"nonsense ", {}},
  };
  for (const auto& [line, offered] : lines) {
    INFO(line);
    CHECK(completions(line, *seat.runner) == offered);
  }
  CHECK(http.asked() == Lines{"/api/symbols"});  // once, however often Tab is pressed
  Seat alone(server.address());
  CHECK(alone.run("buy SPY 1 1") == exit_ok);
  CHECK(completions("book ", *alone.runner) == Lines{"SPY"});
}

TEST_CASE("history lies in the folder for state") {
  const char* const home = std::getenv("HOME");
  const std::string kept = home == nullptr ? "" : home;
  ::setenv("HOME", "/home/x", 1);
  ::unsetenv("XDG_STATE_HOME");
  CHECK(history_file() == "/home/x/.local/state/exchange-cli/history");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  CHECK(history_file() == "/state/exchange-cli/history");
  ::setenv("XDG_STATE_HOME", "relative", 1);  // the XDG specification requires that it is ignored
  CHECK(history_file() == "/home/x/.local/state/exchange-cli/history");
  ::unsetenv("XDG_STATE_HOME");
  ::unsetenv("HOME");
  CHECK(history_file() == "");
  if (home != nullptr) ::setenv("HOME", kept.c_str(), 1);
}
