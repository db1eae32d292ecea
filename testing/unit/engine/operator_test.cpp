// What the operator sets: rules of symbols and of accounts, as rows and after a restart
// (docs/protocol.md, I1 to I9 and D1 to D9; testing/wire/instruments.txt and operator.txt have
// their replies).
#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

class Operated : public TwoTraders {
 public:
  Outcome rules(SetAccount command) {
    command.account = AccountId("1");
    return apply(command);
  }
};

}  // namespace

TEST_CASE_METHOD(TwoTraders, "the rules of a symbol are in its row, and hold after a restart") {
  CHECK(apply(SetInstrument{.symbol = sym, .tick = Price::whole(5), .trading = Trading::halted}) ==
        created());
  CHECK(apply(SetInstrument{.symbol = sym, .lot = Shares::whole(10)}) == created());
  Exchange again = restarted();
  const auto try_buy = [&](std::int64_t shares, std::int64_t limit) {
    return again.apply(
        PlaceOrder{AccountId("1"), sym, Side::buy, Shares::whole(shares), Price::whole(limit)},
        now);
  };
  CHECK(try_buy(10, 5) == rejected(Reason::trading_halted));
  CHECK(again.apply(SetInstrument{.symbol = sym, .trading = Trading::open}, now) == created());
  CHECK(try_buy(10, 6) == Outcome(Rejected{Reason::off_tick, 500'000'000}));
  CHECK(try_buy(15, 5) == Outcome(Rejected{Reason::off_lot, 1'000'000'000}));
  CHECK(try_buy(10, 5) == opened(1));

  changes();
  CHECK(apply(SetInstrument{.symbol = sym, .trading = Trading::open}) == created());
  CHECK(changes() == Lines{"SymbolRow(number 0, name SYM, shares_total 20000, tick 5, lot 10, "
                           "trading_since " +
                           std::to_string(now.microseconds) + "us)"});
}

TEST_CASE_METHOD(Operated, "a frozen account stays so after a restart") {
  CHECK(rules({.access = Access::frozen}) == created());
  const PlaceOrder order{AccountId("1"), SymbolName("SYM"), Side::buy, Shares::whole(1),
                         Price::whole(1)};
  CHECK(restarted().apply(order, now) == rejected(Reason::account_frozen));
}

TEST_CASE_METHOD(Operated, "an account is frozen with all of its orders canceled") {
  for (int i = 0; i < 1'500; ++i) buy("1", 1, 1 + i % 7);
  sell("1", 10, 100);
  CHECK(rules({.access = Access::frozen, .cancel_orders = true}) == created());
  CHECK(engine.open_orders() == 0);
  CHECK(balance("1") == Cash::whole(1'000'000));
  CHECK(position("1") == Shares::whole(10'000));
}

TEST_CASE_METHOD(Operated, "a name stays with its account until it is given another, or none") {
  const auto named = [](const char* name) { return SetAccount{.name = AccountName(name)}; };
  Rows image;
  const auto name_now = [&] {
    Rows rows;
    engine.take_changes(rows);
    REQUIRE(rows.account_rules.size() == 1);
    if (image.accounts.empty()) image = rows;  // all rows so far
    return std::string(rows.account_rules[0].name.view());
  };
  const std::uint64_t nameless = engine.totals().digest;
  CHECK(rules(named("Ada")) == created());
  CHECK(engine.totals().digest != nameless);
  CHECK(name_now() == "Ada");
  CHECK(rules({.orders_max = 7}) == created());
  CHECK(name_now() == "Ada");
  engine = Exchange(image);
  CHECK(rules({.orders_max = 8}) == created());
  CHECK(name_now() == "Ada");
  CHECK(rules(named("Bo")) == created());
  CHECK(name_now() == "Bo");
  CHECK(rules(named("")) == created());
  CHECK(name_now().empty());
  CHECK(apply(SetAccount{.account = AccountId("77"), .name = AccountName("Eve")}) ==
        rejected(Reason::unknown_account));
}

TEST_CASE_METHOD(Operated, "an account sends so many orders and replaces in a second") {
  CHECK(rules({.orders_per_second_max = 2}) == created());
  CHECK(buy("1", 1, 5) == opened(1));
  CHECK(apply(ReplaceOrder{AccountId("1"), Side::buy, 1, Shares::whole(2), Price::whole(5)}) ==
        Outcome(Replaced{1}));
  CHECK(buy("1", 1, 5) == Outcome(Rejected{Reason::too_many_orders_a_second, 2}));
  CHECK(std::holds_alternative<Canceled>(cancel("1", 1)));
  CHECK(buy("2", 1, 5) == opened(3));
  now = seconds(2);
  CHECK(buy("1", 1, 5) == opened(4));
}

TEST_CASE_METHOD(Operated, "a key that changes is one row, the newest") {
  KeyHash first, second;
  first.log2_n = second.log2_n = 4;
  second.digest[0] = 1;
  CHECK(apply(SetKey{AccountId("1"), first}) == created());
  const std::uint64_t digest = engine.totals().digest;
  CHECK(apply(SetKey{AccountId("1"), second}) == created());
  CHECK(engine.totals().digest != digest);
  Rows rows;
  engine.take_changes(rows);
  REQUIRE(rows.account_keys.size() == 1);
  CHECK(rows.account_keys[0].key == second);
  CHECK(apply(SetKey{AccountId("1")}) == created());  // revoked
  engine.take_changes(rows);
  REQUIRE(rows.account_keys.size() == 1);
  CHECK(!rows.account_keys[0].key.has_key());
  CHECK(apply(SetKey{AccountId("9"), first}) == rejected(Reason::unknown_account));
}
