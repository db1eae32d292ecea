#include "catch.hpp"

#include "engine/exchange.hpp"

using namespace exchange;

TEST_CASE("the seven orders of the course example execute 200 @127 and 200 @125") {
  Exchange engine;
  const AccountId account("1");
  const SymbolName symbol("SYM");
  engine.apply(CreateAccount{account, Cash::whole(1'000'000)}, {});
  engine.apply(PlaceShares{symbol, account, Shares::whole(10'000)}, {});
  const auto order = [&](std::int64_t amount, std::int64_t limit) {
    const Outcome outcome = engine.apply(
        PlaceOrder{account, symbol, amount > 0 ? Side::buy : Side::sell, Shares::whole(std::abs(amount)), Price::whole(limit)}, {});
    REQUIRE(std::holds_alternative<Opened>(outcome));
    return std::get<Opened>(outcome).order;
  };
  const auto status = [&](OrderId id) { return std::get<Status>(engine.apply(QueryOrder{account, id}, {})); };
  REQUIRE(order(300, 125) == 1);
  REQUIRE(order(-100, 130) == 2);
  REQUIRE(order(200, 127) == 3);
  REQUIRE(order(-500, 128) == 4);
  REQUIRE(order(-200, 140) == 5);
  REQUIRE(order(400, 125) == 6);
  REQUIRE(order(-400, 124) == 7);

  const Execution at_127{Shares::whole(200), Price::whole(127), {}}, at_125{Shares::whole(200), Price::whole(125), {}};
  CHECK(status(7) == Status{7, Shares(), Shares(), {}, {at_127, at_125}});
  CHECK(status(3) == Status{3, Shares(), Shares(), {}, {at_127}});
  CHECK(status(1) == Status{1, Shares::whole(100), Shares(), {}, {at_125}});
  CHECK(status(6) == Status{6, Shares::whole(400), Shares(), {}, {}});
  CHECK(engine.check_invariants() == "");
}
