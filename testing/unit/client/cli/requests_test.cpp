// What typed lines send: the XML of each command, its path over HTTP, or the sentence of the server
// for what it would refuse.
#include "client/cli/documents.hpp"
#include "protocol/request_writer.hpp"
#include "unit/client/cli/seat.hpp"

using namespace exchange;
using namespace exchange::cli;
using namespace exchange::testing;

namespace {

// Returns the request that a line sends, with keys as "…"; or its error, if nothing is sent.
std::string sent(const std::string& line) {
  Seat seat;  // without a server
  seat.runner->settings().xml = true;
  const int status = seat.run(line);
  const std::string said = seat.said(), error = seat.complained();
  if (status == exit_usage) return error.substr(0, error.find('\n'));
  return said.starts_with("> ") ? said.substr(2, said.find('\n') - 2) : said;
}

struct Row {
  const char* line;
  const char* wanted;
};

Change account_change(std::vector<Typed> typed) {
  typed.push_back({"id", "1"});
  return {command_kind<SetAccount>, {std::move(typed)}};
}

}  // namespace

TEST_CASE("each command of the operator becomes one document, its numbers as typed") {
  const Row rows[] = {
      {"create account 007 100000.10", R"(<account id="007" balance="100000.10"/>)"},
      {"create symbol SPY", R"(<symbol sym="SPY"/>)"},
      {"create symbol SPY 1=500 2=.5",
       R"(<symbol sym="SPY"><account id="1">500</account><account id="2">.5</account></symbol>)"},
      {"create symbol account", R"(<symbol sym="account"/>)"},
      {"instrument SPY --order-max 0 --tick 0.050",
       R"(<instrument sym="SPY" tick="0.050" order-max="0"/>)"},
      {"instrument --all --lot 10 --price-min 5 --price-max 20 --band 1 --at-band auction",
       R"(<instrument price-min="5" price-max="20" band="1" at-band="auction" lot="10"/>)"},
      {"halt SPY", R"(<instrument sym="SPY" trading="halted"/>)"},
      {"halt --all", R"(<instrument trading="halted"/>)"},
      {"auction SPY", R"(<instrument sym="SPY" trading="auction"/>)"},
      {"resume SPY", R"(<instrument sym="SPY" trading="open"/>)"},
      {"uncross --all", R"(<instrument trading="open"/><instrument trading="auction"/>)"},
      {"close SPY",
       R"(<instrument sym="SPY" trading="open"/><instrument sym="SPY" trading="halted"/>)"},
      {"admin revoke-key 7", R"(<set-key id="7" revoke="true"/>)"},
      {"admin role 7 operator", R"(<set-account id="7" role="operator"/>)"},
      {"admin role 7 trader", R"(<set-account id="7" role="trader"/>)"},
      {"admin freeze 7", R"(<set-account id="7" access="frozen"/>)"},
      {"admin freeze 7 --cancel-orders",
       R"(<set-account id="7" access="frozen" cancel-orders="true"/>)"},
      {"admin unfreeze 7", R"(<set-account id="7" access="active"/>)"},
      {"admin limits 7 --position-max 1.50 --orders-max 0 --orders-per-second-max 2",
       R"(<set-account id="7" orders-max="0" orders-per-second-max="2" position-max="1.50"/>)"},
      {R"(admin name 7 'Zoë & <"Co"')",
       R"(<set-account id="7" name="Zoë &amp; &lt;&quot;Co&quot;"/>)"},
      {"admin cash 7 -5.5 --reason a:fine",
       R"(<adjust-cash id="7" amount="-5.5" reason="a:fine"/>)"},
      {"admin shares 7 SPY 0.5 --reason gift",
       R"(<adjust-shares sym="SPY" id="7" amount="0.5" reason="gift"/>)"},
      {"admin round one", R"(<begin-round name="one"/>)"}};
  for (const auto& [line, wanted] : rows) {
    INFO(line);
    CHECK(sent(line) == "<create>" + std::string(wanted) + "</create>");
  }
}

TEST_CASE("each command of an account becomes one document, however it is written") {
  const std::string buy = R"(<order sym="SPY" amount="100" limit="145.67"/>)",
                    sell = R"(<order sym="SPY" amount="-5" type="market"/>)",
                    replace = R"(<replace id="7" amount="-80" limit="145.5"/>)";
  const std::pair<const char*, std::string> rows[] = {
      {"buy SPY 100 145.67", buy},
      {"buy SPY 100@145.67", buy},
      {"buy SPY 100 @ 145.67", buy},
      {"buy SPY 100@ 145.67", buy},
      {"buy SPY 100 @145.67", buy},
      {"sell SPY 5 market", sell},
      {"sell SPY 5@MARKET", sell},
      {"sell SPY 5 @ market", sell},
      {"sell SPY 0.00000001 5.", R"(<order sym="SPY" amount="-0.00000001" limit="5."/>)"},
      {"buy S 1 2 --stp cancel-taking --post",
       R"(<order sym="S" amount="1" limit="2" post="true" stp="cancel-taking"/>)"},
      {"sell S 5 market --ref R --tif ioc --stp cancel-resting",
       R"(<order sym="S" amount="-5" ref="R" tif="ioc" type="market" stp="cancel-resting"/>)"},
      {"buy 10 20 30", R"(<order sym="10" amount="20" limit="30"/>)"},  // a symbol may be digits
      {"replace 7 sell 80 145.5", replace},
      {"replace 7 sell 80@145.5", replace},
      {"replace 7 sell 80 @ 145.5", replace},
      {"replace ref:a-7 buy .5 5.", R"(<replace ref="a-7" amount=".5" limit="5."/>)"},
      {"cancel 1 ref:x", R"(<cancel id="1"/><cancel ref="x"/>)"},
      {"cancel all", R"(<cancel all="true"/>)"},
      {"cancel all SPY", R"(<cancel sym="SPY"/>)"},
      {"status 4 ref:x", R"(<query id="4"/><query ref="x"/>)"}};
  for (const auto& [line, wanted] : rows) {
    INFO(line);
    CHECK(sent(line) == "<transactions id=\"1\">" + wanted + "</transactions>");
  }
}

TEST_CASE("a command that looks asks for one path") {
  const Row rows[] = {
      {"status", "/api/accounts/1"},
      {"orders", "/api/accounts/1"},
      {"book buy", "/api/books/buy?levels=10"},
      {"book SPY --levels 3", "/api/books/SPY?levels=3"},
      {"trades SPY -n 5", "/api/trades?sym=SPY&limit=5"},
      {"symbols", "/api/symbols"},
      {"leaderboard", "/api/leaderboard"},
      {"leaderboard --round 2 --limit 5 --ids", "/api/leaderboard?round=2&limit=5&ids=true"}};
  for (const auto& [line, path] : rows) {
    HttpStub http([](const std::string&) { return HttpStub::Answer{404, "{}"}; });
    Seat seat("127.0.0.1:1", http.address());
    seat.run(line);
    INFO(line);
    CHECK(http.asked() == Lines{"/metrics", path});
  }
}

TEST_CASE("an error is reported with the server's sentence") {
  const std::string account = "account id must be 1 to 64 digits",
                    order = "transaction id must be a whole number from 1",
                    ref = "ref must be 1 to 64 characters of A-Z a-z 0-9 . _ : -",
                    symbol = "symbol must be 1 to 32 letters and digits",
                    shares = "number of shares is not a plain decimal number";
  const std::pair<const char*, std::string> rows[] = {
      {"create account x 1", account},
      {"create account 1 1e3", "balance is not a plain decimal number"},
      {"create symbol 'S P'", symbol},
      {"create symbol S 1=-1", "number of shares is negative"},
      {"instrument S --lot -1", "lot is negative"},
      {"admin round 'two words'", "name must be 1 to 64 characters of A-Z a-z 0-9 . _ : -"},
      {"admin name 1 ' Ada'",
       "name must have at most 40 bytes of UTF-8, no control characters, and no spaces at its "
       "ends"},
      {"admin limits 1 --orders-max 1.5", "orders-max must be a whole number from 1"},
      {"admin revoke-key one", account},
      {"admin cash 1 1e3 --reason fine", "amount is not a plain decimal number"},
      {"admin cash 1 1 --reason 'two words'",
       "reason must be 1 to 64 characters of A-Z a-z 0-9 . _ : -"},
      {"buy S 1 0", "limit must be above zero"},
      {"buy S 1x 1", shares},
      {"buy S ten 500", shares},
      {"buy S 1 1 --account one", account},
      {"buy S 1 market --tif fok", "a market order cannot have tif gtc or fok"},
      {"buy S 1 market --post", "a market order cannot have post"},
      {"replace 1 buy 1 market", "limit is not a plain decimal number"},
      {"cancel 0", order},
      {"cancel all 'S P'", symbol},
      {"cancel all ''", symbol},
      {"status 7 1.5", order},
      {"history x", order},
      {"history ref:", ref},
      {"book 'S P'", symbol},
      {"watch ../..", symbol},
      // nothing breaks out of an attribute
      {R"(create symbol 'S"/><account id="9')", symbol},
      {R"(create symbol S '1=5</account><account id="2">6')", shares},
      {"create account 1&#50; 1", account},
      {"create account '1\n' 1", account},
      {"cancel '1<'", order},
      {R"(replace 'ref:a" amount="5' buy 1 1)", ref},
  };
  for (const auto& [line, wanted] : rows) {
    INFO(line);
    CHECK(sent(line) == wanted);
  }
  for (const std::string command : {"buy S ", "sell S ", "replace 7 buy ", "replace 7 sell "})
    for (const std::string number : {"-5", "0", "-0"})  // never the other side
      CHECK(sent(command + number + " 1") == "number of shares must be above zero");
  CHECK_THAT(sent("cancel 1 --account ''"), contains_text("--account"));
}

TEST_CASE("a key goes with its sender, escaped, and is not shown") {
  const std::string key = R"(a"b<c&d key=")";
  const NamedOrders query{false, {"1"}};
  const std::string document = write_document(query, {key, "3"});
  CHECK(
      document ==
      R"(<transactions id="3" key="a&quot;b&lt;c&amp;d key=&quot;"><query id="1"/></transactions>)");
  CHECK(without_keys(document) == R"(<transactions id="3" key="…"><query id="1"/></transactions>)");
  const Change frozen = account_change({{"access", "frozen"}});
  CHECK(write_document(frozen, {"operator's"}) ==
        R"(<create key="operator's"><set-account id="1" access="frozen"/></create>)");
  CHECK(write_document(frozen, {"key of seven", "7"}) ==  // an account that is an operator
        R"(<create id="7" key="key of seven"><set-account id="1" access="frozen"/></create>)");
  CHECK(write_document(NewSymbol{"S", {}}, {"operator's"}) ==
        R"(<create key="operator's"><symbol sym="S"/></create>)");
  const auto set_key = [](std::vector<Typed> typed) {
    return Change{command_kind<SetKey>, {std::move(typed)}};
  };
  CHECK(write_document(set_key({{"id", "1"}, {"key", "new key of 1"}}), {}) ==
        R"(<create><set-key id="1" key="new key of 1"/></create>)");
  CHECK(write_document(set_key({{"key", "new key of 1"}}), {"old key of 1", "1"}) ==
        R"(<transactions id="1" key="old key of 1"><set-key key="new key of 1"/></transactions>)");
  for (const std::string& bad : {std::string("short"), std::string(), std::string(129, 'k')})
    CHECK_THROWS_WITH(write_document(set_key({{"id", "1"}, {"key", bad}}), {}),
                      "a key has 8 to 128 bytes");
  CHECK_THROWS_WITH(write_document(query, {"short", "3"}), "a key has 8 to 128 bytes");
  CHECK_THROWS_WITH(write_document(frozen, {"key of seven", "seven"}),
                    "account id must be 1 to 64 digits");
}

TEST_CASE("a scenario is a document that the server takes, with the operator's key") {
  CHECK(write_scenario(
            "<?xml version='1.0'?>\n<!-- <create> -->\n<create>\n"
            "<account id='1' balance='5' key='secret-of-1'/><set-key id='1' revoke='true'/>"
            "</create>",
            "operator-1") ==
        R"(<create key="operator-1"><account id="1" balance="5" key="secret-of-1"/>)"
        R"(<set-key id="1" revoke="true"/></create>)");
  const Row rows[] = {
      {"<create>", "at byte"},
      {"<transactions id='1'/>", "it is not a <create> document"},
      {"<create><account id='1'/></create>", "balance"},
      {"<create><account id='1' balance='5'/></create>", "'key'"},
      {"<create key='operator-1'/>", "it has a key; --operator-key-file names the one to use"}};
  for (const auto& [text, wanted] : rows)
    CHECK_THROWS_WITH(write_scenario(text, "operator-1"), contains_text(wanted));
}
