// Replaced orders as rows and in the digest (docs/protocol.md, E26 to E32; testing/wire/replace.txt
// has their replies).
#include <algorithm>

#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

constexpr Side buys = Side::buy, sells = Side::sell;

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
  // Returns the changes without those of symbols (see changes_test.cpp).
  Lines changes() {
    Lines lines = TwoTraders::changes();
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("SymbolRow"); });
    return lines;
  }
};

}  // namespace

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
