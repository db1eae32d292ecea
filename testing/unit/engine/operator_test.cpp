// Changes of accounts by the operator (docs/protocol.md, D1 to D9; testing/wire/operator.txt has
// most of their replies).
#include <set>

#include "support.hpp"

using namespace exchange;

namespace {

class Operated : public TwoTraders {
 public:
  Outcome rules(SetAccount command) {
    command.account = AccountId("1");
    return apply(command);
  }
};

}  // namespace

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

TEST_CASE_METHOD(Operated, "another name, or the name of another account, is another history") {
  const auto digest = [&](const char* account, const char* name) {
    Exchange other = restarted();
    other.apply(SetAccount{.account = AccountId(account), .name = AccountName(name)}, now);
    return other.totals().digest;
  };
  const std::set<std::uint64_t> different{digest("1", ""),          digest("1", "a"),
                                          digest("2", "a"),         digest("1", "12345678"),
                                          digest("1", "12345678a"), digest("1", "12345678b")};
  CHECK(different.size() == 6);
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
