// Cancels, and every refusal: what it says, and that it changes nothing.
#include "support.hpp"

using namespace exchange;
using Book = std::vector<Exchange::Depth>;

namespace {

Outcome canceled(OrderId order, std::int64_t shares, Timestamp at,
                 std::vector<Execution> executions) {
  return Canceled{{order, Shares(), Shares::whole(shares), at, std::move(executions)}};
}

// The command is refused for this reason, and no balance, position, book, row or counter notices.
void check_refused(Market& market, const Command& command, Reason reason) {
  const auto view = [&] {
    std::vector<std::string> parts;
    for (const char* account : {"1", "2", "3", "9"}) {
      parts.push_back(to_string(market.balance(account)));
      for (const char* symbol : {"SYM", "NONE"})
        parts.push_back(to_string(market.position(account, symbol)));
    }
    for (const char* symbol : {"SYM", "NONE"})
      for (const auto& book : {market.bids(symbol), market.asks(symbol)})
        for (const auto& at : book)
          parts.push_back(Catch::StringMaker<Exchange::Depth>::convert(at));
    const Exchange& engine = market.engine;
    for (const std::size_t count :
         {engine.accounts(), engine.orders_in_memory(), engine.changed_rows()})
      parts.push_back(std::to_string(count));
    return parts;
  };
  const auto view_before = view();
  const Totals totals_before = market.engine.totals();
  market.now.microseconds += 1'000'000;
  CHECK(market.apply(command) == rejected(reason));
  CHECK(view() == view_before);
  CHECK(market.engine.totals() == totals_before);
}

// Account 1 bids for 30 @90, account 2 asks 40 @110, of which 5 are gone; order 3 is done.
Market market_with_a_book() {
  Market market = market_of_two();
  market.buy("1", 30, 90);
  market.sell("2", 40, 110);
  market.buy("1", 5, 110);
  return market;
}

PlaceOrder order(const char* account, const char* symbol, Side side, Shares shares, Price limit) {
  return {AccountId(account), SymbolName(symbol), side, shares, limit};
}

}  // namespace

TEST_CASE("canceling a buy gives its set-aside cash back") {
  Market market = market_of_two();
  market.buy("1", 10, 100);
  market.now = seconds(9);
  CHECK(market.cancel("1", 1) == canceled(1, 10, seconds(9), {}));
  CHECK(market.balance("1") == Cash::whole(1'000'000));
  CHECK(market.bids().empty());
  market.now = seconds(10);
  CHECK(market.query("1", 1) == Outcome(Status{1, Shares(), Shares::whole(10), seconds(9), {}}));
}

TEST_CASE("canceling a sell gives its shares back") {
  Market market = market_of_two();
  market.sell("1", 10, 100);
  CHECK(market.cancel("1", 1) == canceled(1, 10, seconds(1), {}));
  CHECK(market.position("1") == Shares::whole(10'000));
  CHECK(market.asks().empty());
}

TEST_CASE("canceling a partly filled buy gives back the open part at its limit") {
  Market market = market_of_two();
  market.sell("2", 4, 95);
  market.buy("1", 10, 100);
  market.now = seconds(5);
  CHECK(market.cancel("1", 2) == canceled(2, 6, seconds(5), {executed(4, 95, seconds(1))}));
  CHECK(market.balance("1") == Cash::whole(1'000'000 - 4 * 95));
  CHECK(market.position("1") == Shares::whole(10'004));
}

TEST_CASE("canceling a partly filled sell gives back the open part") {
  Market market = market_of_two();
  market.buy("2", 4, 105);
  market.sell("1", 10, 100);
  CHECK(market.cancel("1", 2) == canceled(2, 6, seconds(1), {executed(4, 105, seconds(1))}));
  CHECK(market.position("1") == Shares::whole(9'996));
  CHECK(market.balance("1") == Cash::whole(1'000'000 + 4 * 105));
}

TEST_CASE("a canceled order is passed over and its neighbours keep their order") {
  const OrderId gone = GENERATE(1, 2, 3);
  Market market = market_of_two();
  for (int i = 0; i < 3; ++i) market.sell("1", 10, 100);
  market.cancel("1", gone);
  CHECK(market.asks() == Book{level(20, 100, 2)});
  market.buy("2", 15, 100);
  const OrderId first = gone == 1 ? 2 : 1, second = gone == 3 ? 2 : 3;
  CHECK(market.query("1", first) == status(first, 0, {executed(10, 100, seconds(1))}));
  CHECK(market.query("1", second) == status(second, 5, {executed(5, 100, seconds(1))}));
}

TEST_CASE("canceling the best order uncovers the next level") {
  Market market = market_of_two();
  market.buy("1", 10, 100);
  market.buy("1", 10, 99);
  market.cancel("1", 1);
  market.sell("2", 10, 99);
  CHECK(market.query("2", 3) == status(3, 0, {executed(10, 99, seconds(1))}));
}

TEST_CASE("an order can be canceled once") {
  Market market = market_of_two();
  market.buy("1", 10, 100);
  market.cancel("1", 1);
  check_refused(market, CancelOrder{AccountId("1"), 1}, Reason::nothing_open);
}

TEST_CASE("an executed order cannot be canceled") {
  Market market = market_with_a_book();
  check_refused(market, CancelOrder{AccountId("1"), 3}, Reason::nothing_open);
}

TEST_CASE("only the account that placed an order may query or cancel it") {
  Market market = market_with_a_book();
  check_refused(market, CancelOrder{AccountId("2"), 1}, Reason::unknown_order);
  check_refused(market, QueryOrder{AccountId("2"), 1}, Reason::unknown_order);
  check_refused(market, CancelOrder{AccountId("2"), 3}, Reason::unknown_order);
}

TEST_CASE("an order id that was never given is refused") {
  Market market = market_with_a_book();
  for (const OrderId id :
       {OrderId(0), OrderId(4), OrderId(1'000'000), OrderId(INT64_MAX), OrderId(UINT64_MAX)}) {
    check_refused(market, QueryOrder{AccountId("1"), id}, Reason::unknown_order);
    check_refused(market, CancelOrder{AccountId("1"), id}, Reason::unknown_order);
  }
}

TEST_CASE("an unknown account is refused, whatever it asks") {
  Market market = market_with_a_book();
  const AccountId nobody("9");
  check_refused(market, PlaceShares{SymbolName("SYM"), nobody, Shares::whole(1)},
                Reason::unknown_account);
  check_refused(market, PlaceShares{SymbolName("NONE"), nobody, Shares::whole(1)},
                Reason::unknown_account);
  check_refused(market, order("9", "SYM", Side::buy, Shares::whole(1), Price::whole(1)),
                Reason::unknown_account);
  check_refused(market, order("9", "SYM", Side::sell, Shares::whole(1), Price::whole(1)),
                Reason::unknown_account);
  check_refused(market, QueryOrder{nobody, 1}, Reason::unknown_account);
  check_refused(market, CancelOrder{nobody, 1}, Reason::unknown_account);
}

TEST_CASE("a query may be of any account's order where it says so, a cancel never") {
  Market market = market_with_a_book();
  const auto own = market.query("1", 1);
  CHECK(market.apply(QueryOrder{AccountId("2"), 1, true}) == own);
  CHECK(market.apply(QueryOrder{AccountId("1"), 1, true}) == own);
  check_refused(market, QueryOrder{AccountId("9"), 1, true}, Reason::unknown_account);
  check_refused(market, QueryOrder{AccountId("2"), 99, true}, Reason::unknown_order);
}

TEST_CASE("shares refused to an unknown account do not create the symbol") {
  Market market = market_of_two();
  check_refused(market, PlaceShares{SymbolName("NONE"), AccountId("9"), Shares::whole(1)},
                Reason::unknown_account);
}

TEST_CASE("an order that is refused does not create its symbol") {
  Market market = market_with_a_book();
  market.account("3", 5);
  check_refused(market, order("3", "NONE", Side::buy, Shares::whole(1), Price::whole(6)),
                Reason::insufficient_funds);
  check_refused(market, order("1", "NONE", Side::sell, Shares::whole(1), Price::whole(1)),
                Reason::insufficient_shares);
}

TEST_CASE("a buy of a symbol that was never created creates it, without shares") {
  Market market = market_of_two();
  Rows rows;
  market.engine.take_changes(rows);
  REQUIRE(market.buy("1", 5, 10, "NEW") == opened(1));
  market.engine.take_changes(rows);
  REQUIRE(rows.symbols.size() == 1);
  CHECK((rows.symbols[0].name == SymbolName("NEW") && rows.symbols[0].shares_total == Shares()));
  CHECK(rows.positions.empty());
  CHECK(market.balance("1") == Cash::whole(999'950));
  CHECK(market.bids("NEW") == std::vector{level(5, 10, 1)});
  check_refused(market, order("2", "NEW", Side::sell, Shares::whole(1), Price::whole(1)),
                Reason::insufficient_shares);
  market.give("2", 2, "NEW");
  REQUIRE(market.sell("2", 2, 9, "NEW") == opened(2));
  CHECK(market.position("1", "NEW") == Shares::whole(2));
  CHECK(market.query("1", 1) == status(1, 3, {executed(2, 10, market.now)}));
}

TEST_CASE(
    "a buy that costs more than the free balance is refused, even where it would execute cheaper") {
  Market market = market_with_a_book();
  market.account("3", 550);
  check_refused(market,
                order("3", "SYM", Side::buy, Shares::whole(5),
                      Price::from_units(Price::whole(110).units() + 1)),
                Reason::insufficient_funds);
  CHECK(market.buy("3", 5, 110) == opened(4));
}

TEST_CASE("cash that is set aside cannot be spent again") {
  Market market = market_with_a_book();
  market.account("3", 100);
  market.buy("3", 1, 60);
  check_refused(market, order("3", "SYM", Side::buy, Shares::whole(1), Price::whole(50)),
                Reason::insufficient_funds);
}

TEST_CASE("a sell of more than the free position is refused") {
  Market market = market_with_a_book();  // 9,960 free
  const Shares one_unit = Shares::from_units(1);
  check_refused(market,
                order("2", "SYM", Side::sell, Shares::whole(9'960) + one_unit, Price::whole(80)),
                Reason::insufficient_shares);
  market.account("3", 0);
  check_refused(market, order("3", "SYM", Side::sell, one_unit, Price::whole(80)),
                Reason::insufficient_shares);
}

TEST_CASE("an account cannot be created twice") {
  Market market = market_with_a_book();
  check_refused(market, CreateAccount{AccountId("1"), Cash::whole(5)}, Reason::account_exists);
  check_refused(market, CreateAccount{AccountId("1"), cash_total_max}, Reason::account_exists);
}

TEST_CASE("cash beyond the total that the exchange can hold is refused") {
  Market market = market_of_two();
  const Cash left = cash_total_max - Cash::whole(2'000'000);
  check_refused(market, CreateAccount{AccountId("3"), left + Cash::from_units(1)},
                Reason::cash_total_overflow);
  CHECK(market.apply(CreateAccount{AccountId("3"), left}) == created());
  check_refused(market, CreateAccount{AccountId("9"), Cash::from_units(1)},
                Reason::cash_total_overflow);
  CHECK(market.apply(CreateAccount{AccountId("9"), Cash()}) == created());
}

TEST_CASE("shares beyond the total of one symbol are refused") {
  Market market = market_with_a_book();
  const Shares left = shares_total_max - Shares::whole(20'000), one_unit = Shares::from_units(1);
  const SymbolName symbol("SYM");
  check_refused(market, PlaceShares{symbol, AccountId("1"), left + one_unit},
                Reason::shares_total_overflow);
  CHECK(market.apply(PlaceShares{symbol, AccountId("1"), left}) == created());
  check_refused(market, PlaceShares{symbol, AccountId("2"), one_unit},
                Reason::shares_total_overflow);
  market.give("2", 1, "OTHER");  // each symbol has its own total
}

TEST_CASE("a refused order uses no order id") {
  Market market = market_of_two();
  market.buy("1", 1, 100);
  market.buy("1", 1'000'000, 100);
  CHECK(market.buy("1", 1, 100) == opened(2));
}
