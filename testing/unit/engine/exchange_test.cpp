// The market rules, one by one, and what creating does.
#include "support.hpp"

using namespace exchange;
using Book = std::vector<Exchange::Depth>;

TEST_CASE("the seven orders of the course example execute 200 @127 and 200 @125") {
  Market market;
  market.account("1", 1'000'000);
  market.give("1", 10'000);
  CHECK(market.buy("1", 300, 125) == opened(1));
  CHECK(market.sell("1", 100, 130) == opened(2));
  CHECK(market.buy("1", 200, 127) == opened(3));
  CHECK(market.sell("1", 500, 128) == opened(4));
  CHECK(market.sell("1", 200, 140) == opened(5));
  CHECK(market.buy("1", 400, 125) == opened(6));
  market.now = seconds(7);
  CHECK(market.sell("1", 400, 124) == opened(7));

  const Execution at_127 = executed(200, 127, seconds(7)), at_125 = executed(200, 125, seconds(7));
  CHECK(market.query("1", 7) == status(7, 0, {at_127, at_125}));
  CHECK(market.query("1", 3) == status(3, 0, {at_127}));
  CHECK(market.query("1", 1) == status(1, 100, {at_125}));
  CHECK(market.query("1", 6) == status(6, 400, {}));
  CHECK(market.bids() == Book{level(500, 125, 2)});
  CHECK(market.asks() == Book{level(500, 128, 1), level(100, 130, 1), level(200, 140, 1)});
}

TEST_CASE("an account starts with its balance") {
  Market market;
  CHECK(market.apply(CreateAccount{AccountId("1"), Cash::from_units(1)}) == created());
  CHECK(market.apply(CreateAccount{AccountId("2"), Cash()}) == created());
  CHECK(market.balance("1") == Cash::from_units(1));
  CHECK(market.balance("2") == Cash());
  CHECK(market.engine.accounts() == 2);
}

TEST_CASE("account ids are compared as written") {
  Market market;
  market.account("7", 1);
  market.account("007", 2);
  CHECK(market.balance("7") == Cash::whole(1));
  CHECK(market.balance("007") == Cash::whole(2));
}

TEST_CASE("symbols are case-sensitive") {
  Market market;
  market.account("1", 0);
  market.give("1", 5, "Sym");
  CHECK(market.position("1", "Sym") == Shares::whole(5));
  CHECK(market.position("1", "SYM") == Shares());
}

TEST_CASE("a symbol that exists gets more shares") {
  Market market = market_of_two();
  market.give("1", 5);
  CHECK(market.position("1") == Shares::whole(10'005));
}

TEST_CASE("creating a symbol again keeps its shares and orders") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  CHECK(market.apply(CreateSymbol{SymbolName("SYM")}) == created());
  CHECK(market.position("1") == Shares::whole(9'990));
  CHECK(market.asks() == Book{level(10, 100, 1)});
}

TEST_CASE("a symbol without shares can be bid for") {
  Market market;
  market.account("1", 100);
  CHECK(market.apply(CreateSymbol{SymbolName("NEW")}) == created());
  CHECK(market.buy("1", 1, 100, "NEW") == opened(1));
  CHECK(market.bids("NEW") == Book{level(1, 100, 1)});
}

TEST_CASE("a buy sets aside shares x limit when it opens") {
  Market market = market_of_two();
  CHECK(market.buy("1", 30, 100) == opened(1));
  CHECK(market.balance("1") == Cash::whole(997'000));
  CHECK(market.position("1") == Shares::whole(10'000));
  CHECK(market.query("1", 1) == status(1, 30, {}));
}

TEST_CASE("a sell sets aside its shares when it opens") {
  Market market = market_of_two();
  CHECK(market.sell("1", 30, 100) == opened(1));
  CHECK(market.position("1") == Shares::whole(9'970));
  CHECK(market.balance("1") == Cash::whole(1'000'000));
}

TEST_CASE("all of a balance and all of a position can be ordered") {
  Market market = market_of_two();
  CHECK(market.sell("1", 10'000, 100) == opened(1));
  CHECK(market.buy("2", 10'000, 100) == opened(2));
  CHECK(market.position("1") == Shares());
  CHECK(market.balance("2") == Cash());
  CHECK(market.position("2") == Shares::whole(20'000));
  CHECK(market.balance("1") == Cash::whole(2'000'000));
}

TEST_CASE("orders at equal prices match") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.buy("2", 10, 100);
  CHECK(market.query("2", 2) == status(2, 0, {executed(10, 100, seconds(1))}));
  market.buy("2", 10, 100);
  market.sell("1", 10, 100);
  CHECK(market.query("1", 4) == status(4, 0, {executed(10, 100, seconds(1))}));
}

TEST_CASE("a buy below the cheapest ask rests") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.buy("2", 10, 99);
  CHECK(market.bids() == Book{level(10, 99, 1)});
  CHECK(market.asks() == Book{level(10, 100, 1)});
}

TEST_CASE("one unit of price keeps two orders apart") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  const Price just_below = Price::from_units(Price::whole(100).units() - 1);
  market.apply(
      PlaceOrder{AccountId("2"), SymbolName("SYM"), Side::buy, Shares::whole(10), just_below});
  CHECK(market.query("2", 2) == status(2, 10, {}));
}

TEST_CASE("orders of different symbols never match") {
  Market market = market_of_two();
  market.give("1", 10, "OTHER");
  market.sell("1", 10, 100, "OTHER");
  market.buy("2", 10, 100);
  CHECK(market.query("2", 2) == status(2, 10, {}));
  CHECK(market.asks("OTHER") == Book{level(10, 100, 1)});
}

TEST_CASE("a buy takes the cheapest ask first, then the oldest") {
  Market market = market_of_two();
  market.sell("1", 10, 102);  // 1
  market.sell("1", 10, 101);  // 2
  market.sell("1", 20, 101);  // 3
  market.sell("1", 10, 100);  // 4
  market.buy("2", 25, 105);
  const Execution fills[] = {executed(10, 100, seconds(1)), executed(10, 101, seconds(1)),
                             executed(5, 101, seconds(1))};
  CHECK(market.query("2", 5) == status(5, 0, {fills[0], fills[1], fills[2]}));
  CHECK(market.query("1", 4) == status(4, 0, {fills[0]}));
  CHECK(market.query("1", 2) == status(2, 0, {fills[1]}));
  CHECK(market.query("1", 3) == status(3, 15, {fills[2]}));
  CHECK(market.query("1", 1) == status(1, 10, {}));
}

TEST_CASE("a sell takes the dearest bid first, then the oldest") {
  Market market = market_of_two();
  market.buy("2", 10, 98);   // 1
  market.buy("2", 10, 99);   // 2
  market.buy("2", 20, 99);   // 3
  market.buy("2", 10, 100);  // 4
  market.sell("1", 25, 95);
  const Execution fills[] = {executed(10, 100, seconds(1)), executed(10, 99, seconds(1)),
                             executed(5, 99, seconds(1))};
  CHECK(market.query("1", 5) == status(5, 0, {fills[0], fills[1], fills[2]}));
  CHECK(market.query("2", 4) == status(4, 0, {fills[0]}));
  CHECK(market.query("2", 2) == status(2, 0, {fills[1]}));
  CHECK(market.query("2", 3) == status(3, 15, {fills[2]}));
  CHECK(market.query("2", 1) == status(1, 10, {}));
}

TEST_CASE("a partly filled order keeps its place") {
  Market market = market_of_two();
  market.sell("1", 30, 100);
  market.sell("1", 30, 100);
  market.buy("2", 10, 100);
  market.now = seconds(2);
  market.buy("2", 30, 100);
  CHECK(market.query("1", 1) ==
        status(1, 0, {executed(10, 100, seconds(1)), executed(20, 100, seconds(2))}));
  CHECK(market.query("1", 2) == status(2, 20, {executed(10, 100, seconds(2))}));
}

TEST_CASE("an order sweeps the book up to its limit and rests with what is left") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.sell("1", 10, 101);
  market.sell("1", 10, 103);
  market.buy("2", 50, 102);
  CHECK(market.query("2", 4) ==
        status(4, 30, {executed(10, 100, seconds(1)), executed(10, 101, seconds(1))}));
  CHECK(market.bids() == Book{level(30, 102, 1)});
  CHECK(market.asks() == Book{level(10, 103, 1)});
}

TEST_CASE("a remainder that rests can be matched at its own limit") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.buy("2", 30, 102);
  market.sell("1", 20, 101);
  CHECK(market.query("2", 2) ==
        status(2, 0, {executed(10, 100, seconds(1)), executed(20, 102, seconds(1))}));
}

TEST_CASE("a buyer filled below its limit gets the difference back at once") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.sell("1", 10, 101);
  market.buy("2", 30, 105);
  CHECK(market.balance("2") == Cash::whole(1'000'000 - 10 * 100 - 10 * 101 - 10 * 105));
  CHECK(market.balance("1") == Cash::whole(1'000'000 + 10 * 100 + 10 * 101));
}

TEST_CASE("a sell below a resting bid executes at the bid and refunds nothing") {
  Market market = market_of_two();
  market.buy("2", 10, 105);
  market.sell("1", 10, 100);
  CHECK(market.query("1", 2) == status(2, 0, {executed(10, 105, seconds(1))}));
  CHECK(market.balance("2") == Cash::whole(1'000'000 - 10 * 105));
  CHECK(market.balance("1") == Cash::whole(1'000'000 + 10 * 105));
}

TEST_CASE("an execution credits the seller and the buyer's position") {
  Market market;
  market.account("1", 0);
  market.account("2", 1'000);
  market.give("1", 10);
  market.sell("1", 10, 100);
  market.buy("2", 4, 100);
  CHECK(market.balance("1") == Cash::whole(400));
  CHECK(market.position("1") == Shares());
  CHECK(market.balance("2") == Cash::whole(600));
  CHECK(market.position("2") == Shares::whole(4));
  CHECK(market.sell("2", 4, 200) == opened(3));  // what was bought can be sold on
}

TEST_CASE("an order may match an order of the same account") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  market.buy("1", 15, 103);
  CHECK(market.query("1", 1) == status(1, 0, {executed(10, 100, seconds(1))}));
  CHECK(market.query("1", 2) == status(2, 5, {executed(10, 100, seconds(1))}));
  CHECK(market.balance("1") == Cash::whole(1'000'000 - 5 * 103));
  CHECK(market.position("1") == Shares::whole(10'000));
}

TEST_CASE("nothing is left of orders that fill each other") {
  Market market = market_of_two();
  market.buy("1", 10, 100);
  market.sell("2", 10, 100);
  CHECK(market.bids().empty());
  CHECK(market.asks().empty());
  CHECK(market.cancel("1", 1) == rejected(Reason::nothing_open));
  CHECK(market.cancel("2", 2) == rejected(Reason::nothing_open));
}

TEST_CASE("the smallest order at the smallest price costs the smallest amount of cash") {
  Market market;
  const AccountId buyer("1"), seller("2");
  const SymbolName symbol("S");
  const Shares one = Shares::from_units(1);
  market.apply(CreateAccount{buyer, Cash::from_units(2)});
  market.account("2", 0);
  market.apply(PlaceShares{symbol, seller, one});
  CHECK(market.apply(PlaceOrder{seller, symbol, Side::sell, one, Price::from_units(1)}) ==
        opened(1));
  CHECK(market.apply(PlaceOrder{buyer, symbol, Side::buy, one, Price::from_units(2)}) == opened(2));
  CHECK(market.balance("1") == Cash::from_units(1));
  CHECK(market.balance("2") == Cash::from_units(1));
  CHECK(market.position("1", "S") == one);
}

TEST_CASE("the largest order at the largest price is held exactly") {
  const Shares most = parse_shares("92233720367.99999999").value;
  const Price dearest = parse_price("92233720367.99999999").value;
  const AccountId rich("1"), seller("2");
  const SymbolName symbol("S");
  Market market;
  market.apply(CreateAccount{rich, cash_total_max});
  market.account("2", 0);
  market.apply(PlaceShares{symbol, seller, most});
  const PlaceOrder order{rich, symbol, Side::buy, most, dearest};
  CHECK(market.apply(order) == opened(1));
  CHECK(market.apply(order) == opened(2));
  CHECK(market.balance("1") == cash_total_max - cost(most, dearest) - cost(most, dearest));
  CHECK(market.apply(order) == rejected(Reason::insufficient_funds));
  CHECK(market.apply(PlaceOrder{seller, symbol, Side::sell, most, Price::from_units(1)}) ==
        opened(3));
  CHECK(market.balance("2") == cost(most, dearest));
  CHECK(market.position("1", "S") == most);
}

TEST_CASE("a level may hold more shares than one number of shares can") {
  const Shares most = parse_shares("92233720367.99999999").value;
  Market market;
  market.account("1", 10'000);
  market.apply(CreateSymbol{SymbolName("S")});
  for (int i = 0; i < 3; ++i)
    market.apply(
        PlaceOrder{AccountId("1"), SymbolName("S"), Side::buy, most, Price::from_units(1)});
  CHECK(market.bids("S") == Book{{Price::from_units(1), Int128(most.units()) * 3, 3}});
}
