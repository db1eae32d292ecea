// This program contains the matching engine: no server, no store, no threads. Build it against the
// installed library:
//   cmake --install build --component engine --prefix /tmp/engine
//   cmake -S server/engine/example -B /tmp/example -DCMAKE_PREFIX_PATH=/tmp/engine
//   cmake --build /tmp/example && /tmp/example/engine_example
#include <cstdio>

#include "engine/standalone_exchange.hpp"

using namespace exchange;

int main() {
  StandaloneExchange market([](const ExecutionRow& execution) {
    std::printf("order %llu buys %s at %s\n", (unsigned long long)execution.buy_order,
                to_string(execution.shares).c_str(), to_string(execution.price).c_str());
  });
  const AccountId maker("1"), taker("2");
  const SymbolName symbol("ABC");
  const Timestamp now{};
  market.apply(CreateAccount(maker, Cash()), now);
  market.apply(CreateAccount(taker, Cash::whole(1'000)), now);
  market.apply(PlaceShares{symbol, maker, Shares::whole(10)}, now);
  market.apply(PlaceOrder(maker, symbol, Side::sell, Shares::whole(10), Price::whole(100)), now);
  market.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(4), Price::whole(101)), now);
  const Outcome refused =
      market.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(9), Price::whole(100)), now);
  if (const auto* rejected = std::get_if<Rejected>(&refused))
    std::printf("refused: %s\n", std::string(describe(rejected->reason)).c_str());
  for (const Exchange::Depth& level : market.state().depth(symbol, Side::sell))
    std::printf("%lld units are offered at %s\n", (long long)level.shares_units,
                to_string(level.price).c_str());
  // In a long run closed orders are forgotten, so that memory does not grow.
  for (int i = 0; i < 100'000; ++i) {
    const Outcome opened =
        market.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(1), Price::whole(99)), now);
    market.apply(CancelOrder{taker, std::get<Opened>(opened).order}, now);
  }
  std::printf("account 2 has %s left; %s orders in memory after %llu\n",
              to_string(market.state().balance(taker)).c_str(),
              market.state().orders_in_memory() < 20'000 ? "few" : "many",
              (unsigned long long)market.state().totals().orders);
}
