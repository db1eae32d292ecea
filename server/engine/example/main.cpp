// The matching engine in a program of its own: no server, no store, no threads. Build it against
// the installed library:
//   cmake --install build --component engine --prefix /tmp/engine
//   cmake -S server/engine/example -B /tmp/example -DCMAKE_PREFIX_PATH=/tmp/engine
//   cmake --build /tmp/example && /tmp/example/engine_example
#include <cstdio>

#include "engine/exchange.hpp"

using namespace exchange;

int main() {
  Exchange engine;
  const AccountId maker("1"), taker("2");
  const SymbolName symbol("ABC");
  const Timestamp now{};
  engine.apply(CreateAccount(maker, Cash()), now);
  engine.apply(CreateAccount(taker, Cash::whole(1'000)), now);
  engine.apply(PlaceShares{symbol, maker, Shares::whole(10)}, now);
  engine.apply(PlaceOrder(maker, symbol, Side::sell, Shares::whole(10), Price::whole(100)), now);
  engine.apply(PlaceOrder(taker, symbol, Side::buy, Shares::whole(4), Price::whole(101)), now);
  for (const ExecutionRow& execution : engine.executions_after(0))
    std::printf("order %llu buys %s at %s\n", (unsigned long long)execution.buy_order,
                to_string(execution.shares).c_str(), to_string(execution.price).c_str());
  std::printf("account 2 has %s left\n", to_string(engine.balance(taker)).c_str());
}
