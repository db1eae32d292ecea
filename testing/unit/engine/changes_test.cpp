// Changes as rows, releasing closed orders, and loading an image.
#include <unistd.h>

#include <fstream>
#include <functional>

#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

Outcome not_in_memory(AccountNumber account, OrderId order) { return NotInMemory{account, order}; }

}  // namespace

TEST_CASE_METHOD(Market, "what is created appears in the changes once, with its newest values") {
  account("7", 100);
  account("8", 0);
  give("8", 10);
  give("8", 5);
  CHECK(engine.changed_rows() == 4);
  CHECK(changes() == Lines{"AccountRow(number 0, id 7, balance 100)", "AccountRow(number 1, id 8)",
                           "PositionRow(account 1, shares 15)",
                           "SymbolRow(number 0, name SYM, shares_total 15)"});
  CHECK(changes() == Lines{});
}

TEST_CASE_METHOD(TwoTraders, "changes are exactly the rows that a command changed") {
  changes();
  sell("1", 10, 100);
  CHECK(
      changes() ==
      Lines{
          "OrderRow(id 1, side sell, shares 10, limit 100, open 10, opened_at 1000000us, place 1)",
          "PositionRow(account 0, shares 9990)"});
  now = seconds(2);
  buy("2", 4, 105);
  CHECK(
      changes() ==
      Lines{"AccountRow(number 0, id 1, balance 1000400)",
            "AccountRow(number 1, id 2, balance 999600)",
            "ExecutionRow(id 1, buy_order 2, sell_order 1, shares 4, price 100, time 2000000us)",
            "OrderRow(id 1, side sell, shares 10, limit 100, open 6, opened_at 1000000us, place 1)",
            "OrderRow(id 2, account 1, shares 4, limit 105, opened_at 2000000us, place 2)",
            "PositionRow(account 1, shares 10004)",
            "SymbolRow(number 0, name SYM, shares_total 20000, last_price 100)"});
  now = seconds(3);
  cancel("1", 1);
  CHECK(changes() ==
        Lines{"OrderRow(id 1, side sell, shares 10, limit 100, canceled 6, opened_at 1000000us, "
              "canceled_at 3000000us, place 1)",
              "PositionRow(account 0, shares 9996)"});
  buy("1", 1, 50);
  CHECK(changes() ==
        Lines{"AccountRow(number 0, id 1, balance 1000350)",
              "OrderRow(id 3, shares 1, limit 50, open 1, opened_at 3000000us, place 3)"});
  cancel("1", 3);
  CHECK(changes() ==
        Lines{"AccountRow(number 0, id 1, balance 1000400)",
              "OrderRow(id 3, shares 1, limit 50, canceled 1, opened_at 3000000us, canceled_at "
              "3000000us, place 3)"});
}

TEST_CASE_METHOD(TwoTraders, "a first execution of a buyer makes a position row") {
  account("3", 1'000);
  sell("1", 10, 100);
  changes();
  buy("3", 1, 100);
  CHECK(
      changes() ==
      Lines{"AccountRow(number 0, id 1, balance 1000100)",
            "AccountRow(number 2, id 3, balance 900)",
            "ExecutionRow(id 1, buy_order 2, sell_order 1, shares 1, price 100, time 1000000us)",
            "OrderRow(id 1, side sell, shares 10, limit 100, open 9, opened_at 1000000us, place 1)",
            "OrderRow(id 2, account 2, shares 1, limit 100, opened_at 1000000us, place 2)",
            "PositionRow(account 2, shares 1)",
            "SymbolRow(number 0, name SYM, shares_total 20000, last_price 100)"});
}

TEST_CASE_METHOD(TwoTraders, "queries and refusals change no row and no total") {
  buy("1", 1, 50);
  changes();
  const Totals before = engine.totals();
  now = seconds(2);
  query("1", 1);
  cancel("2", 1);
  buy("1", 1'000'000, 1'000'000);
  CHECK(changes() == Lines{});
  CHECK(engine.totals() == before);
}

TEST_CASE_METHOD(TwoTraders,
                 "totals count what was given and created and keep the time of the newest change") {
  sell("1", 10, 100);
  now = seconds(4);
  buy("2", 4, 100);
  now = seconds(5);
  query("2", 2);
  const Totals totals = engine.totals();
  CHECK(totals.orders == 2);
  CHECK(totals.executions == 1);
  CHECK(totals.cash_created == Cash::whole(2'000'000));
  CHECK(totals.last_time == seconds(4));
}

TEST_CASE_METHOD(TwoTraders,
                 "closed orders are known until they are released, open ones for ever") {
  sell("1", 10, 100);  // 1: stays open, with two executions
  buy("2", 4, 100);    // 2: executed
  buy("2", 4, 50);     // 3: canceled
  cancel("2", 3);
  Rows rows;
  const ClosedMark mark = engine.take_changes(rows);
  buy("2", 1, 100);  // 4: closes after the mark
  CHECK(query("2", 2) == status(2, 0, {executed(4, 100)}));
  CHECK(engine.orders_in_memory() == 4);

  engine.release_closed(mark);
  CHECK(engine.orders_in_memory() == 2);
  CHECK(query("2", 2) == not_in_memory(1, 2));
  CHECK(cancel("2", 2) == not_in_memory(1, 2));
  CHECK(query("2", 3) == not_in_memory(1, 3));
  CHECK(query("1", 3) == not_in_memory(0, 3));  // its owner is forgotten too
  CHECK(query("9", 3) == rejected(Reason::unknown_account));
  CHECK(query("2", 4) == status(4, 0, {executed(1, 100)}));
  CHECK(query("1", 1) == status(1, 5, {executed(4, 100), executed(1, 100)}));
  CHECK(query("1", 5) == rejected(Reason::unknown_order));
}

TEST_CASE_METHOD(TwoTraders, "releasing up to an old mark again changes nothing") {
  Rows rows;
  buy("2", 4, 50);
  cancel("2", 1);
  const ClosedMark mark = engine.take_changes(rows);
  engine.release_closed(mark);
  buy("2", 4, 50);
  cancel("2", 2);
  engine.release_closed(mark);
  CHECK(engine.orders_in_memory() == 1);
  CHECK(engine.check_invariants() == "");
}

TEST_CASE_METHOD(TwoTraders,
                 "an order that takes a released order's place does not inherit from it") {
  sell("1", 10, 100);
  buy("2", 10, 100);
  buy("2", 10, 90);
  cancel("2", 3);
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  REQUIRE(engine.check_invariants() == "");
  now = seconds(2);
  for (const OrderId id : {4, 5, 6}) {
    CHECK(buy("2", 1, 80) == opened(id));
    CHECK(query("2", id) == status(id, 1, {}));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep freed memory
TEST_CASE("memory does not grow with orders that closed and were released") {
  Exchange engine;
  const AccountId account("1");
  const SymbolName symbol("S");
  engine.apply(CreateAccount{account, Cash::whole(1'000)}, {});
  engine.apply(PlaceShares{symbol, account, Shares::whole(10)}, {});
  Rows rows;
  const auto trade = [&](int orders) {
    for (int i = 0; i < orders; ++i) {
      engine.apply(PlaceOrder{account, symbol, Side::sell, Shares::whole(1), Price::whole(1)}, {});
      engine.apply(PlaceOrder{account, symbol, Side::buy, Shares::whole(1), Price::whole(1)}, {});
      if (i % 1'000 == 999) engine.release_closed(engine.take_changes(rows));
    }
  };
  const auto resident_bytes = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * std::size_t(::sysconf(_SC_PAGESIZE));
  };
  trade(10'000);
  const std::size_t before = resident_bytes();
  trade(200'000);
  CHECK(engine.orders_in_memory() == 0);
  CHECK(resident_bytes() < before + (4u << 20));
}
#endif

TEST_CASE_METHOD(TwoTraders, "an exchange loaded from its rows has the state of the first") {
  ModelTables tables;
  sell("1", 10, 100);
  now = seconds(2);
  buy("2", 4, 105);
  buy("2", 6, 90);
  sell("1", 2, 90);
  sell("1", 3, 100);
  cancel("1", 5);
  Rows rows;
  engine.take_changes(rows);
  tables.write(rows);
  Market loaded{Exchange(tables.image()), seconds(3)};
  CHECK(loaded.engine.check_invariants() == "");
  CHECK(loaded.engine.changed_rows() == 0);
  CHECK(loaded.engine.totals() == engine.totals());
  CHECK(loaded.engine.accounts() == 2);
  CHECK(loaded.engine.orders_in_memory() == 2);
  CHECK(loaded.bids() == bids());
  CHECK(loaded.asks() == asks());
  for (const char* account : {"1", "2"}) {
    CHECK(loaded.balance(account) == balance(account));
    CHECK(loaded.position(account) == position(account));
  }
  CHECK(loaded.query("1", 1) == status(1, 6, {executed(4, 100, seconds(2))}));
  CHECK(loaded.query("2", 3) == status(3, 4, {executed(2, 90, seconds(2))}));
  CHECK(loaded.query("2", 2) == not_in_memory(1, 2));
  CHECK(loaded.sell("1", 4, 90) == opened(6));
  CHECK(loaded.query("2", 3) ==
        status(3, 0, {executed(2, 90, seconds(2)), executed(4, 90, seconds(3))}));
}

TEST_CASE("an image of nothing is an empty exchange") {
  Exchange engine{Rows()};
  CHECK(engine.totals() == Totals());
  CHECK(engine.check_invariants() == "");
}

TEST_CASE_METHOD(TwoTraders, "rows that contradict each other are refused by name") {
  sell("1", 10, 100);
  buy("2", 4, 100);
  buy("2", 4, 90);
  Rows all;
  engine.take_changes(all);
  ModelTables tables;
  tables.write(all);
  const Rows sound = tables.image();
  REQUIRE_NOTHROW(Exchange(sound));

  const struct {
    const char* row;
    std::function<void(Rows&)> damage;
  } cases[] = {
      {"accounts row 1", [](Rows& rows) { rows.accounts.erase(rows.accounts.begin()); }},
      {"accounts row 1", [](Rows& rows) { rows.accounts[1].id = rows.accounts[0].id; }},
      {"accounts row 0", [](Rows& rows) { rows.accounts[0].balance = Cash::from_units(-1); }},
      {"symbols row 1", [](Rows& rows) { rows.symbols[0].number = 1; }},
      {"symbols row 1",
       [](Rows& rows) {
         rows.symbols.push_back({1, rows.symbols[0].name, Shares()});
       }},
      {"positions row", [](Rows& rows) { rows.positions[0].account = 2; }},
      {"positions row", [](Rows& rows) { rows.positions[0].symbol = 1; }},
      {"positions row 0", [](Rows& rows) { rows.positions[0].shares = Shares::from_units(-1); }},
      {"positions row 0", [](Rows& rows) { rows.positions[1] = rows.positions[0]; }},
      {"orders row 1", [](Rows& rows) { std::swap(rows.orders[0], rows.orders[1]); }},
      {"orders row 3", [](Rows& rows) { rows.totals.orders = 2; }},
      {"orders row 1", [](Rows& rows) { rows.orders[0].account = 2; }},
      {"orders row 1", [](Rows& rows) { rows.orders[0].symbol = 1; }},
      {"orders row 1", [](Rows& rows) { rows.orders[0].open = Shares(); }},
      {"orders row 1", [](Rows& rows) { rows.orders[0].open = Shares::whole(11); }},
      {"orders row 1", [](Rows& rows) { rows.orders[0].limit = Price(); }},
      {"orders row 1", [](Rows& rows) { rows.positions.clear(); }},
      // each 1,024 ids take memory
      {"totals row", [](Rows& rows) { rows.totals.orders = order_ids_max + 1; }},
      {"totals row", [](Rows& rows) { rows.totals.cash_created = Cash::from_units(-1); }},
      {"executions row 1", [](Rows& rows) { rows.executions[0].sell_order = 2; }},
      {"executions row 1", [](Rows& rows) { rows.executions[0].buy_order = 3; }},
  };
  for (const auto& [row, damage] : cases) {
    Rows rows = sound;
    damage(rows);
    CHECK_THROWS_WITH(Exchange(rows), Catch::Matchers::StartsWith(row));
  }
}

TEST_CASE("balances whose sum wraps around are no sound cash, even if it comes out right") {
  const Cash half = Cash::from_units(Int128(1) << 126);
  Rows rows;
  for (const AccountNumber number : {0u, 1u, 2u, 3u})
    rows.accounts.push_back({number, AccountId(std::to_string(number)), half});
  REQUIRE(Exchange(rows).check_invariants() == "cash not conserved");  // 2^128, which is 0 again
}
