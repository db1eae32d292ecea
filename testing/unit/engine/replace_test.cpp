// Replaces of open orders (docs/protocol.md, E26 to E32).
#include <algorithm>

#include "support.hpp"

using namespace exchange;
using Book = std::vector<Exchange::Depth>;
using Lines = std::vector<std::string>;

namespace {

constexpr Side buys = Side::buy, sells = Side::sell;
const Shares share_unit = Shares::from_units(1);
const Price price_unit = Price::from_units(1);
Price just_above(std::int64_t price) { return Price::from_units(Price::whole(price).units() + 1); }

Outcome replaced(OrderId order) { return Replaced{order}; }
Outcome canceled(OrderId order, std::int64_t shares, std::vector<Execution> executions = {}) {
  return Canceled{{order, Shares(), Shares::whole(shares), seconds(1), std::move(executions)}};
}

Outcome replace_in(Market& market, std::string_view account, OrderId order, Side side,
                   Shares shares, Price limit) {
  return market.apply(ReplaceOrder{AccountId(account), side, order, shares, limit});
}
Outcome replace_in(Market& market, std::string_view account, OrderId order, Side side,
                   std::int64_t shares, std::int64_t limit) {
  return replace_in(market, account, order, side, Shares::whole(shares), Price::whole(limit));
}

class Replacing : public TwoTraders {
 public:
  template <class Amount, class Limit>
  Outcome replace(std::string_view account, OrderId order, Side side, Amount shares, Limit limit) {
    return replace_in(*this, account, order, side, shares, limit);
  }
  Outcome replace_by(std::string_view account, std::string_view reference, Side side,
                     std::int64_t shares, std::int64_t limit) {
    return apply(ReplaceOrder{AccountId(account), side, 0, Shares::whole(shares),
                              Price::whole(limit), OrderReference(reference)});
  }
  Outcome place_as(std::string_view reference, std::string_view account, Side side,
                   std::int64_t shares, std::int64_t limit) {
    return apply(PlaceOrder{AccountId(account), SymbolName("SYM"), side, Shares::whole(shares),
                            Price::whole(limit), OrderReference(reference)});
  }
  // Returns the changes without those of symbols (see changes_test.cpp).
  Lines changes() {
    Lines lines = TwoTraders::changes();
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("SymbolRow"); });
    return lines;
  }
  void check_refused(Reason reason, const std::vector<ReplaceOrder>& commands) {
    changes();
    const Totals totals_before = engine.totals();
    const std::vector before{bids(), asks()};
    for (const ReplaceOrder& command : commands) {
      INFO(print(command));
      now.microseconds += 1'000'000;
      CHECK(apply(command) == rejected(reason));
      CHECK(changes() == Lines{});
      CHECK(engine.totals() == totals_before);
      CHECK(std::vector{bids(), asks()} == before);
    }
  }
};

ReplaceOrder replacing(std::string_view account, OrderId order, Side side, Shares shares,
                       Price limit) {
  return {AccountId(account), side, order, shares, limit};
}
ReplaceOrder replacing(std::string_view account, OrderId order, Side side, std::int64_t shares,
                       std::int64_t limit) {
  return replacing(account, order, side, Shares::whole(shares), Price::whole(limit));
}

}  // namespace

TEST_CASE_METHOD(Replacing,
                 "with the same limit and an amount that is not larger an order keeps its place") {
  sell("1", 10, 100);
  sell("2", 10, 100);
  REQUIRE(replace("1", 1, sells, 10, 100) == replaced(1));
  REQUIRE(replace("1", 1, sells, 6, 100) == replaced(1));
  CHECK(asks() == Book{level(16, 100, 2)});
  CHECK(position("1") == Shares::whole(9'994));
  buy("2", 4, 100);
  CHECK(query("1", 1) == status(1, 2, {executed(4, 100)}));
  CHECK(query("2", 2) == status(2, 10, {}));
  // also for an order that is executed in part
  REQUIRE(replace("1", 1, sells, 5, 100) == replaced(1));
  CHECK(asks() == Book{level(11, 100, 2)});
  buy("2", 3, 100);
  CHECK(query("1", 1) == status(1, 0, {executed(4, 100), executed(1, 100)}));
  CHECK(query("2", 2) == status(2, 8, {executed(2, 100)}));
}

TEST_CASE_METHOD(Replacing, "with a larger amount or another limit an order loses its place") {
  const Side side = GENERATE(buys, sells), other = side == buys ? sells : buys;
  const std::int64_t worse = side == buys ? 99 : 101;
  for (int i = 0; i < 3; ++i) place("1", side, 10, 100);
  std::int64_t open = 0;
  SECTION("a larger amount") {
    REQUIRE(replace("1", 1, side, 11, 100) == replaced(1));
    open = 11;
  }
  SECTION("another limit, and back") {
    REQUIRE(replace("1", 1, side, 10, worse) == replaced(1));
    CHECK((side == buys ? bids() : asks()) == Book{level(20, 100, 2), level(10, worse, 1)});
    REQUIRE(replace("1", 1, side, 10, 100) == replaced(1));
    open = 10;
  }
  SECTION("another limit and a smaller amount, and back") {
    REQUIRE(replace("1", 1, side, 5, worse) == replaced(1));
    REQUIRE(replace("1", 1, side, 5, 100) == replaced(1));
    open = 5;
  }
  SECTION("a limit that differs by the least unit, and back") {
    REQUIRE(replace("1", 1, side, Shares::whole(10), just_above(100)) == replaced(1));
    REQUIRE(replace("1", 1, side, 10, 100) == replaced(1));
    open = 10;
  }
  CHECK((side == buys ? bids() : asks()) == Book{level(20 + open, 100, 3)});
  place("2", other, 20, 100);
  CHECK(query("1", 1) == status(1, open, {}));
  CHECK(query("1", 2) == status(2, 0, {executed(10, 100)}));
  CHECK(query("1", 3) == status(3, 0, {executed(10, 100)}));
  place("2", other, open, 100);
  CHECK(query("1", 1) == status(1, 0, {executed(open, 100)}));
}

TEST_CASE_METHOD(Replacing, "an order with a better limit comes before all that rest") {
  sell("2", 10, 100);
  sell("1", 10, 105);
  REQUIRE(replace("1", 2, sells, 10, 99) == replaced(2));
  CHECK(asks() == Book{level(10, 99, 1), level(10, 100, 1)});
  buy("2", 10, 100);
  CHECK(query("1", 2) == status(2, 0, {executed(10, 99)}));
}

TEST_CASE_METHOD(Replacing, "a buy that arrives anew is executed in part, with refunds") {
  sell("2", 4, 95);
  sell("2", 6, 97);
  sell("2", 5, 99);
  buy("1", 20, 90);
  now = seconds(2);
  REQUIRE(replace("1", 4, buys, 15, 98) == replaced(4));
  CHECK(query("1", 4) == status(4, 5, {executed(4, 95, now), executed(6, 97, now)}));
  CHECK(balance("1") == Cash::whole(1'000'000 - 4 * 95 - 6 * 97 - 5 * 98));
  CHECK(position("1") == Shares::whole(10'010));
  CHECK(balance("2") == Cash::whole(1'000'000 + 4 * 95 + 6 * 97));
  CHECK(bids() == Book{level(5, 98, 1)});
  CHECK(asks() == Book{level(5, 99, 1)});
  // orders at the new limit are executed
  sell("2", 1, 50);
  CHECK(query("2", 6) == status(6, 0, {executed(1, 98, now)}));
}

TEST_CASE_METHOD(Replacing, "a sell that arrives anew is executed in part, at the best prices") {
  buy("2", 6, 103);
  buy("2", 4, 105);
  sell("1", 20, 110);
  now = seconds(2);
  REQUIRE(replace("1", 3, sells, 15, 104) == replaced(3));
  CHECK(query("1", 3) == status(3, 11, {executed(4, 105, now)}));
  CHECK(balance("1") == Cash::whole(1'000'000 + 4 * 105));
  CHECK(position("1") == Shares::whole(10'000 - 15));
  CHECK(bids() == Book{level(6, 103, 1)});
  CHECK(asks() == Book{level(11, 104, 1)});
}

TEST_CASE_METHOD(Replacing, "an order that arrives anew and is executed in full is closed") {
  sell("2", 10, 100);
  buy("1", 20, 90);
  REQUIRE(replace("1", 2, buys, 10, 120) == replaced(2));
  CHECK(query("1", 2) == status(2, 0, {executed(10, 100)}));
  CHECK(balance("1") == Cash::whole(1'000'000 - 1'000));
  CHECK((bids().empty() && asks().empty()));
  CHECK(cancel("1", 2) == rejected(Reason::nothing_open));
  CHECK(replace("1", 2, buys, 20, 120) == rejected(Reason::nothing_open));
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  CHECK(engine.orders_in_memory() == 0);
  CHECK(engine.check_invariants() == "");
  CHECK(replace("1", 2, buys, 20, 120) == Outcome(NotInMemory{0, 2}));
}

TEST_CASE_METHOD(Replacing, "an order that arrives anew may meet one of its own account") {
  sell("1", 10, 100);
  buy("1", 10, 90);
  REQUIRE(replace("1", 2, buys, 15, 100) == replaced(2));
  CHECK(query("1", 1) == status(1, 0, {executed(10, 100)}));
  CHECK(query("1", 2) == status(2, 5, {executed(10, 100)}));
  CHECK(balance("1") == Cash::whole(1'000'000 - 5 * 100));
  CHECK(position("1") == Shares::whole(10'000));
}

TEST_CASE_METHOD(Replacing, "the amount of a replace counts what was executed before") {
  sell("1", 10, 100);
  buy("2", 4, 100);
  CHECK(replace("1", 1, sells, 4, 100) == rejected(Reason::executed_more));
  REQUIRE(replace("1", 1, sells, Shares::whole(4) + share_unit, Price::whole(100)) == replaced(1));
  CHECK(query("1", 1) == Outcome(Status{1, share_unit, Shares(), Timestamp(), {executed(4, 100)}}));
  CHECK(position("1") == Shares::whole(9'996) - share_unit);
  REQUIRE(replace("1", 1, sells, 12, 100) == replaced(1));
  CHECK(query("1", 1) == status(1, 8, {executed(4, 100)}));
  CHECK(position("1") == Shares::whole(9'988));
  CHECK(cancel("1", 1) == canceled(1, 8, {executed(4, 100)}));
  CHECK(position("1") == Shares::whole(9'996));
}

TEST_CASE_METHOD(Replacing, "a replaced buy reserves what a new one for its open shares would") {
  account("3", 1'000);
  buy("3", 10, 50);
  REQUIRE(replace("3", 1, buys, 20, 50) == replaced(1));
  CHECK(balance("3") == Cash());
  check_refused(Reason::insufficient_funds,
                {replacing("3", 1, buys, Shares::whole(20) + share_unit, Price::whole(50)),
                 replacing("3", 1, buys, Shares::whole(20), just_above(50)),
                 replacing("3", 1, buys, 10, 101)});
  REQUIRE(replace("3", 1, buys, 10, 100) == replaced(1));
  CHECK(balance("3") == Cash());
  REQUIRE(replace("3", 1, buys, 6, 100) == replaced(1));
  CHECK(balance("3") == Cash::whole(400));
  REQUIRE(replace("3", 1, buys, 30, 10) == replaced(1));
  CHECK(balance("3") == Cash::whole(700));
  sell("2", 20, 10);
  REQUIRE(replace("3", 1, buys, 25, 20) == replaced(1));
  CHECK(balance("3") == Cash::whole(1'000 - 20 * 10 - 5 * 20));
  REQUIRE(replace("3", 1, buys, Shares::whole(20) + share_unit, price_unit) == replaced(1));
  CHECK(balance("3") == Cash::whole(800) - Cash::from_units(1));
}

TEST_CASE_METHOD(Replacing, "a replaced sell reserves its open shares") {
  account("3", 0);
  give("3", 100);
  sell("3", 30, 100);
  REQUIRE(replace("3", 1, sells, 100, 100) == replaced(1));
  CHECK(position("3") == Shares());
  check_refused(Reason::insufficient_shares,
                {replacing("3", 1, sells, Shares::whole(100) + share_unit, Price::whole(100)),
                 replacing("3", 1, sells, Shares::whole(100) + share_unit, Price::whole(99))});
  REQUIRE(replace("3", 1, sells, 100, 90) == replaced(1));
  CHECK(position("3") == Shares());
  buy("2", 60, 90);
  REQUIRE(replace("3", 1, sells, 75, 80) == replaced(1));
  CHECK(position("3") == Shares::whole(25));
  CHECK(asks() == Book{level(15, 80, 1)});
}

TEST_CASE_METHOD(Replacing, "a buy that would execute cheaper must still be affordable") {
  account("3", 1'000);
  sell("2", 10, 50);
  buy("3", 10, 10);
  check_refused(Reason::insufficient_funds, {replacing("3", 2, buys, 10, 101)});
  REQUIRE(replace("3", 2, buys, 10, 100) == replaced(2));
  CHECK(balance("3") == Cash::whole(500));
}

TEST_CASE_METHOD(Replacing, "a refused replace changes nothing") {
  sell("1", 10, 100);  // 1: executed in part
  buy("2", 4, 100);    // 2: executed
  buy("2", 5, 90);     // 3: canceled
  cancel("2", 3);
  buy("2", 5, 90);  // 4: open
  check_refused(Reason::unknown_account, {replacing("9", 1, sells, 10, 100)});
  check_refused(Reason::unknown_order, {replacing("2", 1, sells, 10, 100),
                                        replacing("1", 2, buys, 5, 100),
                                        replacing("1", 0, sells, 10, 100),
                                        replacing("1", 5, sells, 10, 100),
                                        replacing("1", UINT64_MAX, sells, 10, 100),
                                        {AccountId("1"), sells, 0, Shares::whole(10),
                                         Price::whole(100), OrderReference("a")}});
  check_refused(Reason::nothing_open,
                {replacing("2", 2, buys, 10, 100), replacing("2", 3, buys, 10, 100)});
  check_refused(Reason::other_side,
                {replacing("1", 1, buys, 10, 100), replacing("2", 4, sells, 1, 1)});
  check_refused(Reason::executed_more,
                {replacing("1", 1, sells, 4, 100), replacing("1", 1, sells, 4, 99),
                 replacing("1", 1, sells, share_unit, Price::whole(100))});
  const Shares most = Shares::from_units(INT64_MAX);
  const Price dearest = Price::from_units(INT64_MAX);
  check_refused(Reason::insufficient_funds,
                {replacing("2", 4, buys, most, dearest), replacing("2", 4, buys, 5, 1'000'000)});
  check_refused(Reason::insufficient_shares,
                {replacing("1", 1, sells, most, dearest), replacing("1", 1, sells, 10'001, 100)});
  // and the places have not changed
  sell("2", 1, 100);
  buy("2", 6, 100);
  CHECK(query("1", 1) == status(1, 0, {executed(4, 100), executed(6, 100, now)}));
}

TEST_CASE("a replace of the largest amount and limit does not overflow") {
  Market market;
  REQUIRE(market.apply(CreateAccount{AccountId("1"), cash_total_max}) == created());
  market.buy("1", 1, 1);
  const Shares most = Shares::from_units(INT64_MAX);
  const Price dearest = Price::from_units(INT64_MAX);
  REQUIRE(replace_in(market, "1", 1, buys, most, dearest) == replaced(1));
  CHECK(market.balance("1") == cash_total_max - cost(most, dearest));
  REQUIRE(replace_in(market, "1", 1, buys, 1, 1) == replaced(1));
  CHECK(market.balance("1") == cash_total_max - Cash::whole(1));
}

TEST_CASE_METHOD(Replacing, "an order is replaced by its reference too") {
  place_as("a", "1", sells, 10, 100);
  place_as("a", "2", sells, 10, 100);
  REQUIRE(replace_by("2", "a", sells, 5, 101) == replaced(2));
  CHECK(asks() == Book{level(10, 100, 1), level(5, 101, 1)});
  CHECK(replace_by("1", "b", sells, 5, 101) == rejected(Reason::unknown_order));
  CHECK(replace_by("2", "a", buys, 5, 101) == rejected(Reason::other_side));
  cancel("2", 2);
  CHECK(replace_by("2", "a", sells, 5, 101) == rejected(Reason::nothing_open));
}

TEST_CASE_METHOD(Replacing, "a reference stays with the first terms of its order") {
  place_as("a", "1", sells, 10, 100);
  REQUIRE(replace_by("1", "a", sells, 12, 101) == replaced(1));
  REQUIRE(replace_by("1", "a", sells, 11, 101) == replaced(1));
  ModelTables tables;
  Rows rows;
  engine.take_changes(rows);
  tables.write(rows);
  const bool recovered = GENERATE(false, true);
  if (recovered) engine = Exchange(tables.image());
  CHECK(place_as("a", "1", sells, 10, 100) == Outcome(OpenedBefore{1}));
  CHECK(place_as("a", "1", sells, 12, 101) == Outcome(Rejected{Reason::reference_used, 1}));
  CHECK(place_as("a", "1", sells, 11, 101) == Outcome(Rejected{Reason::reference_used, 1}));
}

TEST_CASE_METHOD(Replacing, "the terms of an order do not count when it arrives anew") {
  const SelfTrade self_trade = GENERATE(SelfTrade::cancel_resting, SelfTrade::cancel_taking);
  sell("1", 5, 100);
  sell("2", 5, 101);
  REQUIRE(apply(PlaceOrder{AccountId("1"),
                           SymbolName("SYM"),
                           buys,
                           Shares::whole(12),
                           Price::whole(90),
                           {},
                           Lifetime::until_canceled,
                           true,
                           self_trade}) == opened(3));
  REQUIRE(replace("1", 3, buys, 12, 101) == replaced(3));
  CHECK(query("1", 3) == status(3, 2, {executed(5, 100), executed(5, 101)}));
  CHECK(query("1", 1) == status(1, 0, {executed(5, 100)}));
}

TEST_CASE_METHOD(Replacing, "each replace takes a number from the sequence of the orders' ids") {
  sell("1", 10, 100);
  REQUIRE(replace("1", 1, sells, 10, 100) == replaced(1));  // 2, though it changes nothing
  REQUIRE(replace("1", 1, sells, 11, 100) == replaced(1));  // 3
  CHECK(replace("1", 1, buys, 11, 100) == rejected(Reason::other_side));
  CHECK(engine.totals().orders == 3);
  CHECK(buy("2", 1, 1) == opened(4));
  // such a number is not the id of an order
  CHECK(query("1", 2) == Outcome(NotInMemory{0, 2}));
  CHECK(cancel("1", 3) == Outcome(NotInMemory{0, 3}));
  CHECK(replace("1", 3, sells, 5, 100) == Outcome(NotInMemory{0, 3}));
}

TEST_CASE_METHOD(Replacing, "changes have each replacement with what the order was before") {
  buy("2", 5, 90);
  sell("1", 10, 100);
  changes();
  now = seconds(2);
  REQUIRE(replace("1", 2, sells, 8, 100) == replaced(2));
  CHECK(engine.changed_rows() == 3);
  CHECK(
      changes() ==
      Lines{"OrderRow(id 2, side sell, shares 8, limit 100, open 8, opened_at 1000000us, place 2)",
            "PositionRow(account 0, shares 9992)",
            "ReplacementRow(number 3, order 2, shares 10, limit 100, keeps_place true, time "
            "2000000us)"});
  // The buy takes, although its id is lower.
  now = seconds(3);
  REQUIRE(replace("2", 1, buys, 12, 105) == replaced(1));
  CHECK(
      changes() ==
      Lines{"AccountRow(number 0, id 1, balance 1000800)",
            "AccountRow(number 1, id 2, balance 998780)",
            "ExecutionRow(id 1, buy_order 1, sell_order 2, shares 8, price 100, time 3000000us)",
            "OrderRow(id 1, account 1, shares 12, limit 105, open 4, opened_at 1000000us, place 4)",
            "OrderRow(id 2, side sell, shares 8, limit 100, opened_at 1000000us, place 2)",
            "PositionRow(account 1, shares 10008)",
            "ReplacementRow(number 4, order 1, shares 5, limit 90, time 3000000us)"});
  now = seconds(4);
  REQUIRE(replace("2", 1, buys, 11, 105) == replaced(1));
  CHECK(
      changes() ==
      Lines{"AccountRow(number 1, id 2, balance 998885)",
            "OrderRow(id 1, account 1, shares 11, limit 105, open 3, opened_at 1000000us, place 4)",
            "ReplacementRow(number 5, order 1, shares 12, limit 105, keeps_place true, "
            "executions_before 1, time 4000000us)"});
  // The newer sell takes.
  now = seconds(5);
  sell("1", 3, 105);
  CHECK(changes() ==
        Lines{"AccountRow(number 0, id 1, balance 1001115)",
              "ExecutionRow(id 2, buy_order 1, sell_order 6, shares 3, price 105, time 5000000us, "
              "taker sell)",
              "OrderRow(id 1, account 1, shares 11, limit 105, opened_at 1000000us, place 4)",
              "OrderRow(id 6, side sell, shares 3, limit 105, opened_at 5000000us, place 6)",
              "PositionRow(account 0, shares 9989)", "PositionRow(account 1, shares 10011)"});
}

TEST_CASE_METHOD(Replacing, "the taker of an execution is the order that was replaced last") {
  const Side side = GENERATE(buys, sells), other = side == buys ? sells : buys;
  const std::int64_t apart = side == buys ? 90 : 110;
  place("1", side, 5, apart);     // 1
  place("2", other, 10, 100);     // 2
  place("1", side, 1, 100);       // 3: takes
  replace("1", 1, side, 3, 100);  // 4: takes
  place("2", other, 1, 100);      // 5: rests with order 2
  place("1", side, 1, 100);       // 6: takes
  Rows rows;
  engine.take_changes(rows);
  std::vector<Side> takers;
  for (const ExecutionRow& row : rows.executions) takers.push_back(row.taker);
  CHECK(takers == std::vector<Side>(3, side));
}

TEST_CASE_METHOD(Replacing, "replacements that are not in the tables are taken again, in order") {
  sell("1", 10, 100);
  replace("1", 1, sells, 9, 100);
  replace("1", 1, sells, 8, 101);
  Rows lost, again;
  engine.take_changes(lost);
  replace("1", 1, sells, 7, 101);
  engine.restore_changes(lost);
  engine.take_changes(again);
  CHECK(
      lines(again) ==
      Lines{"AccountRow(number 0, id 1, balance 1000000)",
            "AccountRow(number 1, id 2, balance 1000000)",
            "OrderRow(id 1, side sell, shares 7, limit 101, open 7, opened_at 1000000us, place 3)",
            "PositionRow(account 0, shares 9993)", "PositionRow(account 1, shares 10000)",
            "ReplacementRow(number 2, order 1, shares 10, limit 100, keeps_place true, time "
            "1000000us)",
            "ReplacementRow(number 3, order 1, shares 9, limit 100, time 1000000us)",
            "ReplacementRow(number 4, order 1, shares 8, limit 101, keeps_place true, time "
            "1000000us)",
            "SymbolRow(number 0, name SYM, shares_total 20000)"});
  CHECK(std::is_sorted(again.replacements.begin(), again.replacements.end(),
                       [](const auto& a, const auto& b) { return a.number < b.number; }));
}

TEST_CASE_METHOD(Replacing, "an exchange loaded from its rows keeps the places of its orders") {
  sell("1", 10, 100);               // 1
  sell("2", 10, 100);               // 2
  sell("2", 10, 100);               // 3
  buy("1", 5, 90);                  // 4
  replace("1", 1, sells, 12, 100);  // 5: behind order 3
  replace("1", 4, buys, 5, 91);     // 6
  buy("2", 3, 100);                 // 7: of order 2
  replace("2", 3, sells, 9, 100);   // 8: keeps its place
  Rows rows;
  ModelTables tables;
  engine.take_changes(rows);
  tables.write(rows);
  Market loaded{Exchange(tables.image()), seconds(3)};
  CHECK(loaded.engine.check_invariants() == "");
  CHECK(loaded.engine.totals() == engine.totals());
  CHECK(loaded.bids() == bids());
  CHECK(loaded.asks() == asks());
  for (const char* trader : {"1", "2"}) {
    CHECK(loaded.balance(trader) == balance(trader));
    CHECK(loaded.position(trader) == position(trader));
  }
  CHECK(replace_in(loaded, "2", 2, sells, 3, 100) == rejected(Reason::executed_more));
  CHECK(replace_in(loaded, "2", 2, sells, 8, 100) == replaced(2));  // 5 are open, in its place
  CHECK(loaded.buy("2", 15, 100) == opened(10));
  CHECK(loaded.query("2", 2) == status(2, 0, {executed(3, 100), executed(5, 100, seconds(3))}));
  CHECK(loaded.query("2", 3) == status(3, 0, {executed(9, 100, seconds(3))}));
  CHECK(loaded.query("1", 1) == status(1, 11, {executed(1, 100, seconds(3))}));
}

TEST_CASE_METHOD(Replacing, "places that contradict each other are refused by name") {
  sell("1", 10, 100);
  sell("1", 10, 100);
  sell("2", 10, 100);
  replace("1", 1, sells, 12, 100);
  Rows all;
  engine.take_changes(all);
  ModelTables tables;
  tables.write(all);
  const Rows sound = tables.image();
  REQUIRE_NOTHROW(Exchange(sound));
  REQUIRE(sound.orders.size() == 3);
  REQUIRE(sound.orders[2].id == 1);

  const struct {
    const char* row;
    void (*damage)(Rows&);
  } cases[] = {
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 5; }},  // none was given
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 3; }},
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 1; }},
      {"orders row 3", [](Rows& rows) { rows.orders[1].place = 2; }},
      {"orders row 3", [](Rows& rows) { std::swap(rows.orders[0], rows.orders[2]); }},
      {"orders row 2", [](Rows& rows) { rows.orders[2].id = 2; }},
      {"orders row 0", [](Rows& rows) { rows.orders[2].id = 0; }},
  };
  for (const auto& [row, damage] : cases) {
    Rows rows = sound;
    damage(rows);
    CHECK_THROWS_WITH(Exchange(rows), Catch::Matchers::StartsWith(row));
  }
}

TEST_CASE_METHOD(Replacing, "a cancel of all takes the orders by place") {
  const bool recovered = GENERATE(false, true), used_before = GENERATE(false, true),
             of_symbol = GENERATE(false, true);
  CAPTURE(recovered, used_before, of_symbol);
  if (used_before)
    REQUIRE(apply(CancelAll{AccountId("1"), {}}) == rejected(Reason::no_open_orders));
  sell("2", 1, 96);              // 1
  buy("1", 5, 90);               // 2
  buy("1", 5, 90);               // 3
  buy("1", 5, 80);               // 4
  buy("2", 5, 90);               // 5
  replace("1", 2, buys, 6, 90);  // 6
  replace("1", 3, buys, 4, 90);  // 7: keeps its place
  replace("1", 4, buys, 5, 96);  // 8: executes 1
  replace("1", 2, buys, 5, 90);  // 9: keeps its place
  if (recovered) {
    Rows rows;
    ModelTables tables;
    engine.take_changes(rows);
    tables.write(rows);
    engine = Exchange(tables.image());
  }
  CancelAll command{AccountId("1"), {}};
  if (of_symbol) command.symbol = SymbolName("SYM");
  const auto canceled = [&](OrderId order, std::int64_t shares, std::vector<Execution> executions) {
    return Status{order, Shares(), Shares::whole(shares), now, std::move(executions)};
  };
  CHECK(apply(command) == Outcome(CanceledAll{{canceled(3, 4, {}), canceled(2, 5, {}),
                                               canceled(4, 4, {executed(1, 96)})}}));
  CHECK(apply(command) == rejected(Reason::no_open_orders));
  CHECK(bids() == Book{level(5, 90, 1)});
  CHECK(balance("1") == Cash::whole(1'000'000 - 96));
}

TEST_CASE("every part of a replace is part of the digest") {
  const auto digest_after = [](const std::vector<ReplaceOrder>& replaces) {
    Replacing market;
    market.sell("1", 10, 100);
    market.sell("1", 10, 100);
    for (const ReplaceOrder& command : replaces)
      REQUIRE(std::holds_alternative<Replaced>(market.apply(command)));
    return market.engine.totals().digest;
  };
  const std::vector<std::vector<ReplaceOrder>> all{
      {},
      {replacing("1", 1, sells, 10, 100)},
      {replacing("1", 2, sells, 10, 100)},
      {replacing("1", 1, sells, 9, 100)},
      {replacing("1", 1, sells, 11, 100)},
      {replacing("1", 1, sells, 10, 101)},
      {replacing("1", 1, sells, 9, 100), replacing("1", 2, sells, 9, 100)},
      {replacing("1", 2, sells, 9, 100), replacing("1", 1, sells, 9, 100)}};
  std::vector<std::uint64_t> digests;
  for (const auto& replaces : all) {
    digests.push_back(digest_after(replaces));
    CHECK(digest_after(replaces) == digests.back());
  }
  std::sort(digests.begin(), digests.end());
  CHECK(std::adjacent_find(digests.begin(), digests.end()) == digests.end());
}
