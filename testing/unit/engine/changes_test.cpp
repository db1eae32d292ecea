// Changes as rows and in the digest, releasing closed orders, and loading an image. The replies to
// replaces are in testing/wire/replace.txt.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

constexpr Side buys = Side::buy, sells = Side::sell;

Outcome not_in_memory(AccountNumber account, OrderId order) { return NotInMemory{account, order}; }
Outcome replaced(OrderId order) { return Replaced{order}; }

ReplaceOrder replacing(std::string_view account, OrderId order, Side side, std::int64_t shares,
                       std::int64_t limit) {
  return {AccountId(account), side, order, Shares::whole(shares), Price::whole(limit)};
}

class Replacing : public TwoTraders {
 public:
  Outcome replace(std::string_view account, OrderId order, Side side, std::int64_t shares,
                  std::int64_t limit) {
    return apply(replacing(account, order, side, shares, limit));
  }
  // Returns the changes without those of symbols.
  Lines changes() {
    Lines lines = TwoTraders::changes();
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("SymbolRow"); });
    return lines;
  }
};

// Returns the rows that a start loads, of an exchange that has handed over none yet.
Rows image_of(Exchange& engine) {
  Rows rows;
  engine.take_changes(rows);
  ModelTables tables;
  tables.write(rows);
  return tables.image();
}

// Checks that each change to sound rows is refused, with a sentence that begins so.
struct Damage {
  const char* refusal;
  void (*make)(Rows&);
};
void check_refused(const Rows& sound, const std::vector<Damage>& all) {
  REQUIRE_NOTHROW(Exchange(sound));
  for (const Damage& damage : all) {
    Rows rows = sound;
    damage.make(rows);
    CHECK_THROWS_WITH(Exchange(rows), Catch::Matchers::StartsWith(damage.refusal));
  }
}

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

TEST_CASE("every part of a command that changes the state is part of the digest") {
  const AccountId one("1");
  const auto placing = [&](const char* reference) {
    return PlaceOrder{
        one, sym, Side::buy, Shares::whole(10), Price::whole(50), OrderReference(reference)};
  };
  const auto naming = [](const char* account, const char* name) {
    return SetAccount{.account = AccountId(account), .name = AccountName(name)};
  };
  const std::vector<std::vector<Command>> histories{
      {},
      {placing("a")},
      {placing("b")},
      {SetInstrument{.symbol = sym, .tick = Price::whole(5)}},
      {SetInstrument{.symbol = sym, .tick = Price::whole(6)}},
      {SetInstrument{.symbol = sym, .tick = Price::whole(5), .trading = Trading::halted}},
      {naming("1", "")},
      {naming("1", "a")},
      {naming("2", "a")},
      {naming("1", "12345678")},
      {naming("1", "12345678a")},
      {naming("1", "12345678b")},
      {replacing("1", 1, sells, 10, 100)},
      {replacing("1", 2, sells, 10, 100)},
      {replacing("1", 1, sells, 9, 100)},
      {replacing("1", 1, sells, 11, 100)},
      {replacing("1", 1, sells, 10, 101)},
      {replacing("1", 1, sells, 9, 100), replacing("1", 2, sells, 9, 100)},
      {replacing("1", 2, sells, 9, 100), replacing("1", 1, sells, 9, 100)}};
  const auto digest_after = [](const std::vector<Command>& commands) {
    TwoTraders market;
    market.sell("1", 10, 100);
    market.sell("1", 10, 100);
    for (const Command& command : commands) REQUIRE(changed_state(market.apply(command)));
    return market.engine.totals().digest;
  };
  std::set<std::uint64_t> digests;
  for (const std::vector<Command>& history : histories) {
    const std::uint64_t digest = digest_after(history);
    CHECK(digests.insert(digest).second);
    CHECK(digest_after(history) == digest);
  }
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

TEST_CASE("an image of nothing is an empty exchange") {
  Exchange engine{Rows()};
  CHECK(engine.totals() == Totals());
  CHECK(engine.check_invariants() == "");
}

TEST_CASE_METHOD(TwoTraders, "rows that contradict each other are refused by name") {
  sell("1", 10, 100);
  buy("2", 4, 100);
  buy("2", 4, 90);
  const std::vector<Damage> damages{
      {"accounts row 1", [](Rows& rows) { rows.accounts.erase(rows.accounts.begin()); }},
      {"accounts row 1", [](Rows& rows) { rows.accounts[1].id = rows.accounts[0].id; }},
      {"accounts row 0", [](Rows& rows) { rows.accounts[0].balance = Cash::from_units(-1); }},
      {"symbols row 1", [](Rows& rows) { rows.symbols[0].number = 1; }},
      {"symbols row 1",
       [](Rows& rows) {
         rows.symbols.push_back({1, rows.symbols[0].name, Shares()});
       }},
      {"symbols row 0: a rule below zero",
       [](Rows& rows) { rows.symbols[0].tick = Price::from_units(-1); }},
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
  check_refused(image_of(engine), damages);
}

TEST_CASE_METHOD(Replacing, "places that contradict each other are refused by name") {
  sell("1", 10, 100);
  sell("1", 10, 100);
  sell("2", 10, 100);
  replace("1", 1, sells, 12, 100);
  const Rows sound = image_of(engine);
  REQUIRE(sound.orders.size() == 3);
  REQUIRE(sound.orders[2].id == 1);
  const std::vector<Damage> damages{
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 5; }},  // none was given
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 3; }},
      {"orders row 1", [](Rows& rows) { rows.orders[2].place = 1; }},
      {"orders row 3", [](Rows& rows) { rows.orders[1].place = 2; }},
      {"orders row 3", [](Rows& rows) { std::swap(rows.orders[0], rows.orders[2]); }},
      {"orders row 2", [](Rows& rows) { rows.orders[2].id = 2; }},
      {"orders row 0", [](Rows& rows) { rows.orders[2].id = 0; }},
  };
  check_refused(sound, damages);
}

TEST_CASE("balances whose sum wraps around are no sound cash, even if it comes out right") {
  const Cash half = Cash::from_units(Int128(1) << 126);
  Rows rows;
  for (const AccountNumber number : {0u, 1u, 2u, 3u})
    rows.accounts.push_back({number, AccountId(std::to_string(number)), half});
  REQUIRE(Exchange(rows).check_invariants() == "cash not conserved");  // 2^128, which is 0 again
}
