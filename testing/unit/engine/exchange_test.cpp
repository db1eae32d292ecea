// The market rules, one by one, and the effects of creation.
#include "support.hpp"

using namespace exchange;
using Book = std::vector<Exchange::Depth>;

TEST_CASE_METHOD(Market, "the seven orders of the course example execute 200 @127 and 200 @125") {
  account("1", 1'000'000);
  give("1", 10'000);
  CHECK(buy("1", 300, 125) == opened(1));
  CHECK(sell("1", 100, 130) == opened(2));
  CHECK(buy("1", 200, 127) == opened(3));
  CHECK(sell("1", 500, 128) == opened(4));
  CHECK(sell("1", 200, 140) == opened(5));
  CHECK(buy("1", 400, 125) == opened(6));
  now = seconds(7);
  CHECK(sell("1", 400, 124) == opened(7));

  const Execution at_127 = executed(200, 127, seconds(7)), at_125 = executed(200, 125, seconds(7));
  CHECK(query("1", 7) == status(7, 0, {at_127, at_125}));
  CHECK(query("1", 3) == status(3, 0, {at_127}));
  CHECK(query("1", 1) == status(1, 100, {at_125}));
  CHECK(query("1", 6) == status(6, 400, {}));
  CHECK(bids() == Book{level(500, 125, 2)});
  CHECK(asks() == Book{level(500, 128, 1), level(100, 130, 1), level(200, 140, 1)});
}

TEST_CASE_METHOD(Market, "an account starts with its balance") {
  CHECK(apply(CreateAccount{AccountId("1"), Cash::from_units(1)}) == created());
  CHECK(apply(CreateAccount{AccountId("2"), Cash()}) == created());
  CHECK(balance("1") == Cash::from_units(1));
  CHECK(balance("2") == Cash());
  CHECK(engine.accounts() == 2);
}

TEST_CASE_METHOD(Market, "account ids are compared as written") {
  account("7", 1);
  account("007", 2);
  CHECK(balance("7") == Cash::whole(1));
  CHECK(balance("007") == Cash::whole(2));
}

TEST_CASE_METHOD(Market, "symbols are case-sensitive") {
  account("1", 0);
  give("1", 5, "Sym");
  CHECK(position("1", "Sym") == Shares::whole(5));
  CHECK(position("1", "SYM") == Shares());
}

TEST_CASE_METHOD(TwoTraders, "a symbol that exists gets more shares") {
  give("1", 5);
  CHECK(position("1") == Shares::whole(10'005));
}

TEST_CASE_METHOD(TwoTraders, "creating a symbol again keeps its shares and orders") {
  sell("1", 10, 100);
  CHECK(apply(CreateSymbol{SymbolName("SYM")}) == created());
  CHECK(position("1") == Shares::whole(9'990));
  CHECK(asks() == Book{level(10, 100, 1)});
}

TEST_CASE_METHOD(Market, "a symbol without shares can be bid for") {
  account("1", 100);
  CHECK(apply(CreateSymbol{SymbolName("NEW")}) == created());
  CHECK(buy("1", 1, 100, "NEW") == opened(1));
  CHECK(bids("NEW") == Book{level(1, 100, 1)});
}

TEST_CASE_METHOD(TwoTraders, "a buy reserves shares x limit when it opens") {
  CHECK(buy("1", 30, 100) == opened(1));
  CHECK(balance("1") == Cash::whole(997'000));
  CHECK(position("1") == Shares::whole(10'000));
  CHECK(query("1", 1) == status(1, 30, {}));
}

TEST_CASE_METHOD(TwoTraders, "a sell reserves its shares when it opens") {
  CHECK(sell("1", 30, 100) == opened(1));
  CHECK(position("1") == Shares::whole(9'970));
  CHECK(balance("1") == Cash::whole(1'000'000));
}

TEST_CASE_METHOD(TwoTraders, "all of a balance and all of a position can be ordered") {
  CHECK(sell("1", 10'000, 100) == opened(1));
  CHECK(buy("2", 10'000, 100) == opened(2));
  CHECK(position("1") == Shares());
  CHECK(balance("2") == Cash());
  CHECK(position("2") == Shares::whole(20'000));
  CHECK(balance("1") == Cash::whole(2'000'000));
}

TEST_CASE_METHOD(TwoTraders, "orders at equal prices match") {
  sell("1", 10, 100);
  buy("2", 10, 100);
  CHECK(query("2", 2) == status(2, 0, {executed(10, 100)}));
  buy("2", 10, 100);
  sell("1", 10, 100);
  CHECK(query("1", 4) == status(4, 0, {executed(10, 100)}));
}

TEST_CASE_METHOD(TwoTraders, "a buy below the cheapest ask rests") {
  sell("1", 10, 100);
  buy("2", 10, 99);
  CHECK(bids() == Book{level(10, 99, 1)});
  CHECK(asks() == Book{level(10, 100, 1)});
}

TEST_CASE_METHOD(TwoTraders, "one unit of price keeps two orders apart") {
  sell("1", 10, 100);
  const Price just_below = Price::from_units(Price::whole(100).units() - 1);
  apply(PlaceOrder{AccountId("2"), SymbolName("SYM"), Side::buy, Shares::whole(10), just_below});
  CHECK(query("2", 2) == status(2, 10, {}));
}

TEST_CASE_METHOD(TwoTraders, "orders of different symbols never match") {
  give("1", 10, "OTHER");
  sell("1", 10, 100, "OTHER");
  buy("2", 10, 100);
  CHECK(query("2", 2) == status(2, 10, {}));
  CHECK(asks("OTHER") == Book{level(10, 100, 1)});
}

TEST_CASE_METHOD(TwoTraders, "the best price is taken first, then the oldest order") {
  const auto [taker, maker] =
      GENERATE(std::pair(Side::buy, Side::sell), std::pair(Side::sell, Side::buy));
  INFO("the taker " << (taker == Side::buy ? "buys" : "sells"));
  // The limit is this much above 100 if the taker buys, and this much below 100 if it sells.
  const auto price = [&](int worse) { return taker == Side::buy ? 100 + worse : 100 - worse; };
  const auto rest = [&](std::int64_t shares, int worse) {
    place("1", maker, shares, price(worse));
  };
  rest(10, 2);  // 1
  rest(10, 1);  // 2
  rest(20, 1);  // 3
  rest(10, 0);  // 4
  place("2", taker, 25, price(5));
  const Execution fills[] = {executed(10, price(0)), executed(10, price(1)), executed(5, price(1))};
  CHECK(query("2", 5) == status(5, 0, {fills[0], fills[1], fills[2]}));
  CHECK(query("1", 4) == status(4, 0, {fills[0]}));
  CHECK(query("1", 2) == status(2, 0, {fills[1]}));
  CHECK(query("1", 3) == status(3, 15, {fills[2]}));
  CHECK(query("1", 1) == status(1, 10, {}));
}

TEST_CASE_METHOD(TwoTraders, "a partly filled order keeps its place") {
  sell("1", 30, 100);
  sell("1", 30, 100);
  buy("2", 10, 100);
  now = seconds(2);
  buy("2", 30, 100);
  CHECK(query("1", 1) == status(1, 0, {executed(10, 100), executed(20, 100, seconds(2))}));
  CHECK(query("1", 2) == status(2, 20, {executed(10, 100, seconds(2))}));
}

TEST_CASE_METHOD(TwoTraders,
                 "an order sweeps the book up to its limit and rests with what is left") {
  sell("1", 10, 100);
  sell("1", 10, 101);
  sell("1", 10, 103);
  buy("2", 50, 102);
  CHECK(query("2", 4) == status(4, 30, {executed(10, 100), executed(10, 101)}));
  CHECK(bids() == Book{level(30, 102, 1)});
  CHECK(asks() == Book{level(10, 103, 1)});
}

TEST_CASE_METHOD(TwoTraders, "a remainder that rests can be matched at its own limit") {
  sell("1", 10, 100);
  buy("2", 30, 102);
  sell("1", 20, 101);
  CHECK(query("2", 2) == status(2, 0, {executed(10, 100), executed(20, 102)}));
}

TEST_CASE_METHOD(TwoTraders, "a buyer filled below its limit gets the difference back at once") {
  sell("1", 10, 100);
  sell("1", 10, 101);
  buy("2", 30, 105);
  CHECK(balance("2") == Cash::whole(1'000'000 - 10 * 100 - 10 * 101 - 10 * 105));
  CHECK(balance("1") == Cash::whole(1'000'000 + 10 * 100 + 10 * 101));
}

TEST_CASE_METHOD(TwoTraders, "a sell below a resting bid executes at the bid and refunds nothing") {
  buy("2", 10, 105);
  sell("1", 10, 100);
  CHECK(query("1", 2) == status(2, 0, {executed(10, 105)}));
  CHECK(balance("2") == Cash::whole(1'000'000 - 10 * 105));
  CHECK(balance("1") == Cash::whole(1'000'000 + 10 * 105));
}

TEST_CASE_METHOD(Market, "an execution credits the seller and the buyer's position") {
  account("1", 0);
  account("2", 1'000);
  give("1", 10);
  sell("1", 10, 100);
  buy("2", 4, 100);
  CHECK(balance("1") == Cash::whole(400));
  CHECK(position("1") == Shares());
  CHECK(balance("2") == Cash::whole(600));
  CHECK(position("2") == Shares::whole(4));
  CHECK(sell("2", 4, 200) == opened(3));  // bought shares can be sold
}

TEST_CASE_METHOD(TwoTraders, "an order may match an order of the same account") {
  sell("1", 10, 100);
  buy("1", 15, 103);
  CHECK(query("1", 1) == status(1, 0, {executed(10, 100)}));
  CHECK(query("1", 2) == status(2, 5, {executed(10, 100)}));
  CHECK(balance("1") == Cash::whole(1'000'000 - 5 * 103));
  CHECK(position("1") == Shares::whole(10'000));
}

TEST_CASE_METHOD(TwoTraders, "nothing is left of orders that fill each other") {
  buy("1", 10, 100);
  sell("2", 10, 100);
  CHECK(bids().empty());
  CHECK(asks().empty());
  CHECK(cancel("1", 1) == rejected(Reason::nothing_open));
  CHECK(cancel("2", 2) == rejected(Reason::nothing_open));
}

TEST_CASE_METHOD(Market,
                 "the smallest order at the smallest price costs the smallest amount of cash") {
  const AccountId buyer("1"), seller("2");
  const SymbolName symbol("S");
  const Shares one = Shares::from_units(1);
  apply(CreateAccount{buyer, Cash::from_units(2)});
  account("2", 0);
  apply(PlaceShares{symbol, seller, one});
  CHECK(apply(PlaceOrder{seller, symbol, Side::sell, one, Price::from_units(1)}) == opened(1));
  CHECK(apply(PlaceOrder{buyer, symbol, Side::buy, one, Price::from_units(2)}) == opened(2));
  CHECK(balance("1") == Cash::from_units(1));
  CHECK(balance("2") == Cash::from_units(1));
  CHECK(position("1", "S") == one);
}

TEST_CASE_METHOD(Market, "the largest order at the largest price is held exactly") {
  const Shares most = parse_shares("92233720367.99999999").value;
  const Price dearest = parse_price("92233720367.99999999").value;
  const AccountId rich("1"), seller("2");
  const SymbolName symbol("S");
  apply(CreateAccount{rich, cash_total_max});
  account("2", 0);
  apply(PlaceShares{symbol, seller, most});
  const PlaceOrder order{rich, symbol, Side::buy, most, dearest};
  CHECK(apply(order) == opened(1));
  CHECK(apply(order) == opened(2));
  CHECK(balance("1") == cash_total_max - cost(most, dearest) - cost(most, dearest));
  CHECK(apply(order) == rejected(Reason::insufficient_funds));
  CHECK(apply(PlaceOrder{seller, symbol, Side::sell, most, Price::from_units(1)}) == opened(3));
  CHECK(balance("2") == cost(most, dearest));
  CHECK(position("1", "S") == most);
}

TEST_CASE_METHOD(Market, "a level may hold more shares than one number of shares can") {
  const Shares most = parse_shares("92233720367.99999999").value;
  account("1", 10'000);
  apply(CreateSymbol{SymbolName("S")});
  for (int i = 0; i < 3; ++i)
    apply(PlaceOrder{AccountId("1"), SymbolName("S"), Side::buy, most, Price::from_units(1)});
  CHECK(bids("S") == Book{{Price::from_units(1), Int128(most.units()) * 3, 3}});
}
