// Orders that do not simply rest until they are executed or canceled.
#include "support.hpp"

using namespace exchange;

namespace {

class Terms : public Market {
 public:
  Terms() {
    account("1", 1'000);
    account("2", 1'000);
    give("1", 100);
    give("2", 100);
  }
  Outcome order(std::string_view account, Side side, std::int64_t shares, std::int64_t limit,
                Lifetime lifetime, bool post_only = false) {
    return order_with(SelfTrade::allowed, account, side, shares, limit, lifetime, post_only);
  }
  Outcome order_with(SelfTrade self_trade, std::string_view account, Side side, std::int64_t shares,
                     std::int64_t limit, Lifetime lifetime = Lifetime::until_canceled,
                     bool post_only = false) {
    return apply(PlaceOrder{AccountId(account),
                            SymbolName("SYM"),
                            side,
                            Shares::whole(shares),
                            Price::whole(limit),
                            {},
                            lifetime,
                            post_only,
                            self_trade});
  }
  Outcome market(std::string_view account, Side side, std::int64_t shares,
                 SelfTrade self_trade = SelfTrade::allowed) {
    return order_with(self_trade, account, side, shares, 0, Lifetime::immediate_or_cancel);
  }
  Cash cash(std::string_view account) { return engine.balance(AccountId(account)); }
  Shares shares(std::string_view account) {
    return engine.position(AccountId(account), SymbolName("SYM"));
  }
  Outcome partly_canceled(OrderId order, std::int64_t canceled, std::vector<Execution> executions) {
    return Status{order, Shares(), Shares::whole(canceled), now, std::move(executions)};
  }
};

constexpr Lifetime ioc = Lifetime::immediate_or_cancel, fok = Lifetime::fill_or_kill,
                   gtc = Lifetime::until_canceled;

}  // namespace

TEST_CASE_METHOD(Terms, "what an ioc order leaves is canceled, and its reservation given back") {
  sell("2", 10, 5);
  REQUIRE(order("1", Side::buy, 30, 6, ioc) == opened(2));
  CHECK(query("1", 2) == partly_canceled(2, 20, {executed(10, 5)}));
  CHECK(cash("1") == Cash::whole(950));
  CHECK(cancel("1", 2) == rejected(Reason::nothing_open));
  CHECK(engine.depth(SymbolName("SYM"), Side::buy).empty());
  // a sell, of which nothing is executed
  REQUIRE(order("1", Side::sell, 110, 9, ioc) == opened(3));
  CHECK(query("1", 3) == partly_canceled(3, 110, {}));
  CHECK(shares("1") == Shares::whole(110));
  // an order that is executed in full has no canceled part
  sell("2", 5, 5);
  REQUIRE(order("1", Side::buy, 5, 5, ioc) == opened(5));
  CHECK(query("1", 5) == status(5, 0, {executed(5, 5)}));
}

TEST_CASE_METHOD(Terms, "a fok order is executed in full, over several prices, or refused") {
  sell("2", 10, 5);
  sell("2", 10, 6);
  const Totals before = engine.totals();
  changes();
  CHECK(order("1", Side::buy, 11, 5, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::buy, 21, 6, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::sell, 1, 4, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::buy, 1'000, 6, fok) == rejected(Reason::insufficient_funds));
  CHECK(engine.totals() == before);
  CHECK(changes().empty());
  REQUIRE(order("1", Side::buy, 20, 6, fok) == opened(3));
  CHECK(query("1", 3) == status(3, 0, {executed(10, 5), executed(10, 6)}));
}

TEST_CASE_METHOD(Terms, "a fok buy that is refused creates no symbol") {
  CHECK(apply(PlaceOrder{AccountId("1"),
                         SymbolName("NEW"),
                         Side::buy,
                         Shares::whole(1),
                         Price::whole(1),
                         {},
                         fok}) == rejected(Reason::cannot_fill));
  CHECK(sell("1", 1, 1, "NEW") == rejected(Reason::insufficient_shares));
}

TEST_CASE_METHOD(Terms, "a post order is refused if any part of it would execute on arrival") {
  sell("2", 1, 5);
  CHECK(order("1", Side::buy, 10, 5, gtc, true) == rejected(Reason::would_execute));
  CHECK(order("1", Side::buy, 10, 6, gtc, true) == rejected(Reason::would_execute));
  CHECK(cash("1") == Cash::whole(1'000));
  REQUIRE(order("1", Side::buy, 10, 4, gtc, true) == opened(2));
  // it executes later, like any other order
  REQUIRE(sell("2", 10, 4) == opened(3));
  CHECK(query("1", 2) == status(2, 0, {executed(10, 4)}));
}

TEST_CASE_METHOD(Terms, "orders of the same account count for fok and post") {
  sell("1", 5, 5);
  CHECK(order("1", Side::buy, 5, 5, gtc, true) == rejected(Reason::would_execute));
  CHECK(order("1", Side::buy, 5, 5, fok) == opened(2));
}

TEST_CASE_METHOD(Terms, "a market order takes the best prices, and never rests") {
  sell("2", 10, 5);
  sell("2", 10, 60);
  REQUIRE(market("1", Side::buy, 15) == opened(3));
  CHECK(query("1", 3) == status(3, 0, {executed(10, 5), executed(5, 60)}));
  CHECK(cash("1") == Cash::whole(1'000 - 50 - 300));
  CHECK(cash("2") == Cash::whole(1'000 + 50 + 300));
  buy("2", 5, 1);
  REQUIRE(market("1", Side::sell, 115) == opened(5));
  CHECK(query("1", 5) == partly_canceled(5, 110, {executed(5, 1)}));
  CHECK(shares("1") == Shares::whole(110));
  CHECK(market("1", Side::sell, 111) == rejected(Reason::insufficient_shares));
}

TEST_CASE_METHOD(Terms, "cash limits a market buy, and the execution that it limits is the last") {
  sell("2", 10, 90);
  sell("2", 10, 96);
  sell("2", 10, 100);
  REQUIRE(market("1", Side::buy, 30) == opened(4));
  // 1000 - 900 = 100 pays for 1.04166666 at 96; the rest, of 0.00000064, for none
  const Shares last = Shares::from_units(104'166'666);
  CHECK(query("1", 4) == Outcome(Status{4,
                                        Shares(),
                                        Shares::whole(20) - last,
                                        now,
                                        {executed(10, 90), {last, Price::whole(96), now}}}));
  CHECK(cash("1") == Cash::from_units(64 * Int128(100'000'000)));
  REQUIRE(market("1", Side::buy, 1) == opened(5));
  CHECK(query("1", 5) == partly_canceled(5, 1, {}));
}

TEST_CASE_METHOD(Terms, "a market buy from its own account ends where cash limits it") {
  sell("1", 100, 600);
  REQUIRE(market("1", Side::buy, 100) == opened(2));
  const Shares part = Shares::from_units(166'666'666);
  CHECK(query("1", 2) ==
        Outcome(
            Status{2, Shares(), Shares::whole(100) - part, now, {{part, Price::whole(600), now}}}));
  CHECK(cash("1") == Cash::whole(1'000));
}

TEST_CASE("a market buy by the account that has all cash there can be does not overflow") {
  Market market;
  REQUIRE(market.apply(CreateAccount{AccountId("1"), cash_total_max}) == created());
  market.give("1", 10);
  market.sell("1", 10, 1'000'000'000);
  PlaceOrder order{AccountId("1"), SymbolName("SYM"), Side::buy, Shares::whole(10)};
  order.lifetime = ioc;
  CHECK(market.apply(order) == opened(2));
  CHECK(market.engine.balance(AccountId("1")) == cash_total_max);
}

TEST_CASE_METHOD(Terms, "cancel-resting cancels the own orders in the way, and goes on") {
  sell("1", 5, 5);
  sell("2", 5, 5);
  sell("1", 5, 6);
  sell("2", 5, 7);
  sell("1", 5, 8);
  now = seconds(2);
  REQUIRE(order_with(SelfTrade::cancel_resting, "1", Side::buy, 20, 7) == opened(6));
  CHECK(query("1", 6) == status(6, 10, {executed(5, 5, seconds(2)), executed(5, 7, seconds(2))}));
  CHECK(query("1", 1) == partly_canceled(1, 5, {}));
  CHECK(query("1", 3) == partly_canceled(3, 5, {}));
  CHECK(query("1", 5) == status(5, 5, {}));
  CHECK(shares("1") == Shares::whole(100 - 15 + 10 + 10));
  CHECK(cash("1") == Cash::whole(1'000 - 25 - 35 - 70));
}

TEST_CASE_METHOD(Terms, "a market buy without cash cancels no resting order") {
  sell("1", 5, 5);
  buy("1", 1'000, 1);  // all its cash
  REQUIRE(market("1", Side::buy, 5, SelfTrade::cancel_resting) == opened(3));
  CHECK(query("1", 1) == status(1, 5, {}));
  CHECK(query("1", 3) == partly_canceled(3, 5, {}));
}

TEST_CASE_METHOD(Terms, "cancel-taking ends at the first own order, which stays") {
  sell("2", 5, 5);
  sell("1", 5, 5);
  sell("2", 5, 5);
  REQUIRE(order_with(SelfTrade::cancel_taking, "1", Side::buy, 20, 7) == opened(4));
  CHECK(query("1", 4) == partly_canceled(4, 15, {executed(5, 5)}));
  CHECK(query("1", 2) == status(2, 5, {}));
  CHECK(cash("1") == Cash::whole(975));
  // The terms of the resting order do not matter.
  REQUIRE(order_with(SelfTrade::cancel_taking, "1", Side::sell, 5, 9) == opened(5));
  REQUIRE(market("1", Side::buy, 15) == opened(6));
  CHECK(query("1", 6) == status(6, 0, {executed(5, 5), executed(5, 5), executed(5, 9)}));
}

TEST_CASE_METHOD(Terms,
                 "a fok order with stp is filled by other accounts alone, or changes nothing") {
  sell("2", 5, 5);
  sell("1", 5, 5);
  sell("2", 5, 6);
  const Totals before = engine.totals();
  changes();
  CHECK(order_with(SelfTrade::cancel_taking, "1", Side::buy, 6, 9, fok) ==
        rejected(Reason::cannot_fill));
  CHECK(order_with(SelfTrade::cancel_resting, "1", Side::buy, 11, 9, fok) ==
        rejected(Reason::cannot_fill));
  CHECK(engine.totals() == before);
  CHECK(changes().empty());
  REQUIRE(order_with(SelfTrade::cancel_taking, "1", Side::buy, 1, 9, fok) == opened(4));
  REQUIRE(order_with(SelfTrade::cancel_resting, "1", Side::buy, 9, 9, fok) == opened(5));
  CHECK(query("1", 5) == status(5, 0, {executed(4, 5), executed(5, 6)}));
  CHECK(query("1", 2) == partly_canceled(2, 5, {}));
}

TEST_CASE("a fok order reaches a thousand prices, with stp a thousand orders") {
  const bool prices = GENERATE(true, false);
  CAPTURE(prices);
  Exchange engine;
  const Timestamp now = seconds(1);
  for (const char* id : {"1", "2"})
    engine.apply(CreateAccount{AccountId(id), Cash::whole(10'000'000)}, now);
  engine.apply(PlaceShares{SymbolName("S"), AccountId("2"), Shares::whole(2'000)}, now);
  for (int i = 1; i <= 1'001; ++i)
    engine.apply(PlaceOrder{AccountId("2"), SymbolName("S"), Side::sell, Shares::whole(1),
                            Price::whole(prices ? i : 1)},
                 now);
  PlaceOrder order{AccountId("1"), SymbolName("S"), Side::buy, Shares::whole(1'001),
                   Price::whole(prices ? 1'001 : 1)};
  order.lifetime = fok;
  if (!prices) order.self_trade = SelfTrade::cancel_resting;
  CHECK(engine.apply(order, now) == rejected(Reason::cannot_fill));
  order.shares = Shares::whole(1'000);
  CHECK(engine.apply(order, now) == opened(1'002));
}
