// The engine in a program that embeds it: what it reads of it, the levels behind that, and how it
// forgets what is closed without tables.

#include "engine/standalone_exchange.hpp"
#include "support.hpp"

using namespace exchange;

namespace {

using Book = std::vector<Exchange::Depth>;
const SymbolName symbol("SYM");

}  // namespace

TEST_CASE_METHOD(TwoTraders, "the executions of one command can be read until a hand-over") {
  sell("2", 3, 10);
  sell("2", 4, 11);
  const ExecutionId before = engine.totals().executions;
  CHECK(engine.executions_after(before).empty());
  buy("1", 5, 11);
  const auto executions = engine.executions_after(before);
  REQUIRE(executions.size() == 2);
  CHECK(executions[0] == ExecutionRow{1, 0, 3, 1, Shares::whole(3), Price::whole(10), now});
  CHECK(executions[1] == ExecutionRow{2, 0, 3, 2, Shares::whole(2), Price::whole(11), now});
  CHECK(engine.executions_after(before + 1).size() == 1);
  changes();
  CHECK(engine.executions_after(before).empty());
}

TEST_CASE_METHOD(TwoTraders, "an order can be read while it is in memory") {
  CHECK_FALSE(engine.order(1));
  sell("2", 3, 10);
  cancel("2", 1);
  const auto order = engine.order(1);
  REQUIRE(order);
  CHECK(order->side == Side::sell);
  CHECK(order->limit == Price::whole(10));
  CHECK(order->canceled == Shares::whole(3));
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  CHECK_FALSE(engine.order(1));
  CHECK(rows.orders == std::vector<OrderRow>{*order});
}

TEST_CASE_METHOD(TwoTraders, "the best price and one level can be read") {
  CHECK_FALSE(engine.best_price(symbol, Side::buy));
  CHECK_FALSE(engine.best_price(SymbolName("NONE"), Side::buy));
  buy("1", 3, 10);
  buy("1", 4, 9);
  buy("1", 5, 9);
  CHECK(engine.best_price(symbol, Side::buy) == Price::whole(10));
  CHECK_FALSE(engine.best_price(symbol, Side::sell));
  CHECK(engine.depth_at(symbol, Side::buy, Price::whole(9)) == level(9, 9, 2));
  CHECK(engine.depth_at(symbol, Side::buy, Price::whole(8)) == level(0, 8, 0));
  CHECK(engine.depth_at(symbol, Side::sell, Price::whole(9)) == level(0, 9, 0));
}

TEST_CASE_METHOD(TwoTraders, "a level that its last order left is not seen, and used again") {
  buy("1", 1, 10);
  buy("1", 1, 9);
  buy("1", 1, 8);
  cancel("1", 2);
  CHECK(bids() == Book{level(1, 10, 1), level(1, 8, 1)});
  CHECK(engine.depth_at(symbol, Side::buy, Price::whole(9)) == level(0, 9, 0));
  SECTION("by an order of its price") {
    buy("1", 2, 9);
    CHECK(bids() == Book{level(1, 10, 1), level(2, 9, 1), level(1, 8, 1)});
  }
  SECTION("no order of the other side meets it") {
    CHECK(sell("2", 5, 9) == opened(4));
    CHECK(engine.best_price(symbol, Side::buy) == Price::whole(8));
    CHECK(asks() == Book{level(4, 9, 1)});
    buy("1", 4, 9);
    CHECK(asks().empty());
  }
  SECTION("it is never the best") {
    cancel("1", 1);
    CHECK(engine.best_price(symbol, Side::buy) == Price::whole(8));
    cancel("1", 3);
    CHECK_FALSE(engine.best_price(symbol, Side::buy));
  }
}

// Each command of the Market is followed by check_invariants(), which checks the number of levels.
TEST_CASE_METHOD(TwoTraders, "a side keeps few levels without orders") {
  SECTION("as few as it has orders, and some") {
    buy("1", 1, 1'000);
    for (OrderId order = 2; order < 200; ++order) {
      buy("1", 1, std::int64_t(order));
      cancel("1", order);
    }
    CHECK(bids() == Book{level(1, 1'000, 1)});
    for (std::int64_t price = 2; price < 100; ++price) buy("1", 1, price);
    CHECK(bids().size() == 99);
  }
  SECTION("also once the levels with orders are fewer") {
    for (std::int64_t price = 60; price > 0; --price) buy("1", 1, price);
    for (OrderId order = 60; order > 30; --order) cancel("1", order);
    for (OrderId order = 1; order <= 30; ++order) cancel("1", order);
    CHECK(bids().empty());
  }
  SECTION("and no more than a thousand") {
    account("3", 10'000'000);
    for (std::int64_t price = 2'100; price > 0; --price) buy("3", 1, price);
    for (OrderId order = 1'000; order < 2'050; ++order) cancel("3", order);
    CHECK(bids().size() == 1'050);
  }
}

TEST_CASE_METHOD(TwoTraders, "levels without orders do not count for a fill-or-kill order") {
  const auto order = [&](std::int64_t price) { return sell("2", 1, price); };
  constexpr std::int64_t prices = fill_or_kill_reach;
  for (std::int64_t price = 1; price <= prices + 10; ++price) order(price);
  for (OrderId id = 2; id <= 11; ++id) cancel("2", id);
  account("3", 10'000'000);
  PlaceOrder all(AccountId("3"), symbol, Side::buy, Shares::whole(prices),
                 Price::whole(2 * prices));
  all.lifetime = Lifetime::fill_or_kill;
  CHECK(apply(all) == opened(OrderId(prices) + 11));
}

TEST_CASE("an engine of its own reports each execution once and forgets what is closed") {
  const AccountId maker("1"), taker("2");
  std::vector<ExecutionRow> executions;
  StandaloneExchange market([&](const ExecutionRow& row) { executions.push_back(row); }, 100);
  for (const AccountId& account : {maker, taker})
    market.apply(CreateAccount{account, Cash::whole(1'000'000)}, {});
  market.apply(PlaceShares{symbol, maker, Shares::whole(1'000'000)}, {});
  market.apply(PlaceOrder(maker, symbol, Side::sell, Shares::whole(1'000), Price::whole(7)), {});
  constexpr int rounds = 900;
  for (int i = 0; i < rounds; ++i) {
    market.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(1), Price::whole(8)), {});
    const Outcome opened =
        market.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(1), Price::whole(5)), {});
    market.apply(CancelOrder{taker, std::get<Opened>(opened).order}, {});
    REQUIRE(market.state().orders_in_memory() <= 102);
  }
  REQUIRE(executions.size() == rounds);
  for (std::size_t at = 0; at < executions.size(); ++at) CHECK(executions[at].id == at + 1);
  CHECK(market.state().open_orders() == 1);
  CHECK(market.state().check_invariants() == "");
  // An open order keeps its executions; a forgotten order does not exist.
  const auto status = std::get<Status>(market.apply(QueryOrder{maker, 1}, {}));
  CHECK(status.open == Shares::whole(1'000 - rounds));
  CHECK(status.executions.size() == rounds);
  market.forget_closed();
  CHECK(std::holds_alternative<NotInMemory>(market.apply(QueryOrder{taker, 2}, {})));
  CHECK(market.state().orders_in_memory() == 1);
}
