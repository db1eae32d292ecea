// The requests of the bots as the server's own parser reads them, and its replies as the bots read
// them.
#include "client/bots/wire.hpp"

#include "catch.hpp"
#include "client/bots/trading_floor.hpp"
#include "client/connection/framing.hpp"

using namespace exchange;
using namespace exchange::bots;

namespace {

const AccountId me("42");
const SymbolName spy("SPY");

Command buy(std::int64_t shares, std::int64_t units) {
  return PlaceOrder{me, spy, Side::buy, Shares::whole(shares), Price::from_units(units)};
}

bool same(const std::vector<Answer>& answers, const std::vector<Answer>& expected) {
  return std::equal(answers.begin(), answers.end(), expected.begin(), expected.end(),
                    [](const Answer& a, const Answer& b) {
                      return a.refused == b.refused && a.order == b.order && a.open == b.open &&
                             a.canceled == b.canceled;
                    });
}

}  // namespace

TEST_CASE("commands of the bots as documents") {
  CHECK(write_document(
            std::vector<Command>{CreateAccount{me, Cash::from_units(15'000'000'000'000'000)},
                                 PlaceShares{spy, me, Shares::whole(7)}}) ==
        R"(<create><account id="42" balance="1.5"/><symbol sym="SPY"><account id="42">7</account>)"
        R"(</symbol></create>)");
  CHECK(write_document(std::vector<Command>{
            CancelOrder{me, 9},
            PlaceOrder{me, spy, Side::sell, Shares::whole(30), Price::from_units(12'750'000'000)},
            buy(3, 1)}) ==
        R"(<transactions id="42"><cancel id="9"/><order sym="SPY" amount="-30" limit="127.5"/>)"
        R"(<order sym="SPY" amount="3" limit="0.00000001"/></transactions>)");
}

TEST_CASE("terms of an order as attributes") {
  const auto element = [](Price limit, Lifetime lifetime, bool post, SelfTrade self_trade) {
    const std::string text = write_document(std::vector<Command>{
        PlaceOrder{me, spy, Side::buy, Shares::whole(3), limit, {}, lifetime, post, self_trade}});
    const std::string before = R"(<transactions id="42"><order sym="SPY" amount="3" )",
                      behind = "/></transactions>";
    REQUIRE(text.starts_with(before));
    REQUIRE(text.ends_with(behind));
    return text.substr(before.size(), text.size() - before.size() - behind.size());
  };
  const Lifetime gtc = Lifetime::until_canceled;
  const SelfTrade none = SelfTrade::allowed;
  const Price one = Price::whole(1);
  CHECK(element(one, gtc, false, none) == R"(limit="1")");
  CHECK(element(one, Lifetime::immediate_or_cancel, false, none) == R"(limit="1" tif="ioc")");
  CHECK(element(one, Lifetime::fill_or_kill, false, none) == R"(limit="1" tif="fok")");
  CHECK(element(one, gtc, true, SelfTrade::cancel_resting) ==
        R"(limit="1" post="true" stp="cancel-resting")");
  CHECK(element(Price(), gtc, false, SelfTrade::cancel_taking) ==
        R"(type="market" stp="cancel-taking")");
}

TEST_CASE("a replace names its order by id or reference, and has the sign of its side") {
  const ReplaceOrder by_id{me, Side::sell, 9, Shares::whole(30), Price::from_units(12'750'000'000)},
      by_reference{me, Side::buy, 0, Shares::whole(3), Price::whole(1), OrderReference("mine")};
  CHECK(write_document(std::vector<Command>{by_id, by_reference}) ==
        R"(<transactions id="42"><replace id="9" amount="-30" limit="127.5"/>)"
        R"(<replace ref="mine" amount="3" limit="1"/></transactions>)");
  CHECK(same(read_answers(R"(<results><replaced id="9" amount="-30" limit="127.5"/>)"
                          R"(<error ref="mine" amount="3" limit="1">nothing is open</error>)"
                          R"(</results>)",
                          std::vector<Command>{by_id, by_reference}),
             {{}, {.refused = true}}));
}

TEST_CASE("the status of an order is what is open and what was canceled of it") {
  CHECK(same(
      read_answers(R"(<results><status id="9"><open shares="2"/></status>)"
                   R"(<status id="10"><canceled shares="3" time="1"/></status>)"
                   R"(<error id="11">no such order</error></results>)",
                   std::vector<Command>{QueryOrder{me, 9}, QueryOrder{me, 10}, QueryOrder{me, 11}}),
      {{.open = Shares::whole(2)}, {.canceled = Shares::whole(3)}, {.refused = true}}));
}

TEST_CASE("replies as the bots read them") {
  const std::vector<Command> commands{CancelOrder{me, 9}, CancelOrder{me, 10}, buy(3, 100),
                                      buy(4, 100)};
  CHECK(same(
      read_answers(
          R"(<results><canceled id="9"><canceled shares="2.5" time="1"/><executed shares="1" )"
          R"(price="5" time="1"/></canceled>)"
          R"(<error id="10">nothing is open</error><opened sym="SPY" amount="3" limit="0.000001" )"
          R"(id="11"/>)"
          R"(<error sym="SPY" amount="4" limit="0.000001">insufficient funds</error></results>)",
          commands),
      {{.canceled = Shares::from_units(250'000'000)},
       {.refused = true},
       {.order = 11},
       {.refused = true}}));
  const std::vector<Command> creation{CreateAccount{me, Cash::whole(1)},
                                      PlaceShares{spy, me, Shares::whole(7)}};
  CHECK(same(
      read_answers(R"(<results><created id="42"/><error sym="SPY" id="42">no</error></results>)",
                   creation),
      {{}, {.refused = true}}));
}

TEST_CASE("a reply that does not fit its request is an error") {
  const std::vector<Command> one{buy(3, 100)};
  for (const char* reply :
       {"", "<results></results>", R"(<results><opened id="1"/><opened id="2"/></results>)",
        R"(<results><opened id="x"/></results>)", R"(<results><created id="1"/></results>)",
        R"(<results><opened id="1"/>)"}) {
    INFO(reply);
    CHECK_THROWS_AS(read_answers(reply, one), client::BadReply);
  }
  for (const char* reply : {R"(<results><canceled id="9"></canceled></results>)",
                            R"(<results><status id="9"/></results>)"})
    CHECK_THROWS_AS(read_answers(reply, std::vector<Command>{CancelOrder{me, 9}}),
                    client::BadReply);
  CHECK_THROWS_AS(read_answers(R"(<results><replaced id="9"/></results>)",
                               std::vector<Command>{CancelOrder{me, 9}}),
                  client::BadReply);
}

TEST_CASE("the list of symbols") {
  const std::vector<ListedSymbol> symbols = parse_symbol_list("SPY=580.25,QQQ,x9=0.0001");
  REQUIRE(symbols.size() == 3);
  CHECK(symbols[0].name.view() == "SPY");
  CHECK(symbols[0].anchor == Price::from_units(58'025'000'000));
  CHECK(symbols[1].anchor == Price::whole(100));
  CHECK(symbols[2].anchor == Market::anchor_min);
  for (const char* wrong : {"", "SPY,", ",SPY", "S-Y", "SPY=", "SPY=0", "SPY=-1", "SPY=1e3",
                            "SPY=0.00009999", "SPY=1000000001", "SPY=1,SPY=2"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_symbol_list(wrong), std::invalid_argument);
  }
}
