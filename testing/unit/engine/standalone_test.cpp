// The engine in a program without tables.
#include "engine/standalone_exchange.hpp"

#include "catch.hpp"

using namespace exchange;

namespace {

const AccountId maker("1"), taker("2");
const SymbolName spy("SPY");

StandaloneExchange market_with(std::vector<ExecutionRow>& executions,
                               std::size_t changed_rows_max) {
  StandaloneExchange market([&](const ExecutionRow& row) { executions.push_back(row); },
                            changed_rows_max);
  market.apply(CreateAccount{maker, Cash::whole(1'000'000)}, {});
  market.apply(CreateAccount{taker, Cash::whole(1'000'000)}, {});
  market.apply(PlaceShares{spy, maker, Shares::whole(1'000'000)}, {});
  return market;
}

}  // namespace

TEST_CASE("an engine of its own reports each execution once and forgets what is closed") {
  std::vector<ExecutionRow> executions;
  StandaloneExchange market = market_with(executions, 100);
  market.apply(PlaceOrder(maker, spy, Side::sell, Shares::whole(1'000), Price::whole(7)), {});
  constexpr int rounds = 900;
  for (int i = 0; i < rounds; ++i) {
    market.apply(PlaceOrder(taker, spy, Side::buy, Shares::whole(1), Price::whole(8)), {});
    const Outcome opened =
        market.apply(PlaceOrder(taker, spy, Side::buy, Shares::whole(1), Price::whole(5)), {});
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
