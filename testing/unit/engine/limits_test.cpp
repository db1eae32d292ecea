// Limits of the state: a command that would exceed them is refused and changes nothing; all others
// continue to work.
#include "support.hpp"

using namespace exchange;

namespace {

class Limited : public TwoTraders {
 public:
  void set(std::size_t StateLimits::*limit, std::size_t value) {
    limits.*limit = value;
    engine.set_limits(limits);
  }
  // Returns whether the command is refused with this limit's reason, without any change.
  template <class Command>
  void check_refused(const Command& command, Reason reason, std::uint64_t limit) {
    changes();
    const Totals before = engine.totals();
    CHECK(apply(command) == Outcome(Rejected{reason, limit}));
    CHECK(engine.totals() == before);
    CHECK(changes().empty());
    CHECK(engine.check_invariants().empty());
  }
  PlaceOrder order(std::string_view account, std::string_view symbol, std::int64_t limit,
                   std::int64_t shares = 10) const {
    return {AccountId(account), SymbolName(symbol), Side::buy, Shares::whole(shares),
            Price::whole(limit)};
  }
  StateLimits limits;
};

}  // namespace

TEST_CASE_METHOD(Limited, "accounts beyond the limit are refused, in favour of those that exist") {
  set(&StateLimits::accounts_max, 2);
  check_refused(CreateAccount{AccountId("3"), Cash::whole(1)}, Reason::too_many_accounts, 2);
  CHECK(apply(CreateAccount{AccountId("1"), Cash::whole(1)}) == rejected(Reason::account_exists));
}

TEST_CASE_METHOD(Limited, "each way to create a symbol ends at the limit of symbols") {
  set(&StateLimits::symbols_max, 1);
  check_refused(CreateSymbol{SymbolName("NEW")}, Reason::too_many_symbols, 1);
  check_refused(PlaceShares{SymbolName("NEW"), AccountId("1"), Shares::whole(1)},
                Reason::too_many_symbols, 1);
  check_refused(order("1", "NEW", 1), Reason::too_many_symbols, 1);
  CHECK(apply(CreateSymbol{SymbolName("SYM")}) == created());
  CHECK(apply(order("1", "SYM", 1)) == opened(1));
}

TEST_CASE_METHOD(Limited, "at the limit of open orders, orders that would rest are refused") {
  REQUIRE(sell("2", 10, 50) == opened(1));
  SECTION("of all") {
    set(&StateLimits::open_orders_max, 1);
    check_refused(order("1", "SYM", 49), Reason::too_many_orders, 1);
    check_refused(order("1", "SYM", 50, 11), Reason::too_many_orders, 1);
  }
  SECTION("of the account") {
    REQUIRE(apply(order("1", "SYM", 1)) == opened(2));
    set(&StateLimits::open_orders_per_account_max, 1);
    check_refused(order("1", "SYM", 49), Reason::too_many_orders_of_account, 1);
    account("3", 1'000);
    CHECK(apply(order("3", "SYM", 2)) == opened(3));
  }
  const OrderId next = engine.totals().orders + 1;
  PlaceOrder immediate = order("1", "SYM", 49);
  immediate.lifetime = Lifetime::immediate_or_cancel;
  CHECK(apply(immediate) == opened(next));
  CHECK(apply(order("1", "SYM", 50)) == opened(next + 1));  // filled at once
}

TEST_CASE_METHOD(Limited,
                 "an order that ends gives its place to another; a replaced one keeps it") {
  set(&StateLimits::open_orders_max, 1);
  set(&StateLimits::open_orders_per_account_max, 1);
  REQUIRE(apply(order("1", "SYM", 40)) == opened(1));
  CHECK(apply(ReplaceOrder{.account = AccountId("1"),
                           .side = Side::buy,
                           .order = 1,
                           .shares = Shares::whole(20),
                           .limit = Price::whole(41)}) == Outcome(Replaced{1}));
  CHECK(apply(order("1", "SYM", 40)) == Outcome(Rejected{Reason::too_many_orders, 1}));
  cancel("1", 1);
  CHECK(apply(order("1", "SYM", 40)) == opened(3));
  CHECK(sell("2", 10, 40) == opened(4));
  CHECK(apply(order("1", "SYM", 40)) == opened(5));
}

TEST_CASE_METHOD(Limited, "positions beyond the limit are refused, of buys too") {
  account("3", 1'000);
  REQUIRE(apply(CreateSymbol{SymbolName("NEW")}) == created());
  set(&StateLimits::positions_max, 2);  // both traders have SYM
  check_refused(PlaceShares{SymbolName("NEW"), AccountId("2"), Shares::whole(1)},
                Reason::too_many_positions, 2);
  check_refused(order("3", "SYM", 40), Reason::too_many_positions, 2);
  check_refused(order("1", "NEW", 40), Reason::too_many_positions, 2);
  give("2", 1);
  CHECK(sell("2", 10, 40) == opened(1));
  CHECK(apply(order("1", "SYM", 40)) == opened(2));
}

TEST_CASE_METHOD(Limited, "the lists for cancels of all orders count as positions") {
  account("3", 1'000);
  REQUIRE(apply(order("1", "SYM", 40)) == opened(1));
  REQUIRE(std::holds_alternative<CanceledAll>(apply(CancelAll{AccountId("1"), {}})));
  set(&StateLimits::positions_max, 3);
  REQUIRE(apply(order("3", "A", 1, 1)) == opened(2));
  REQUIRE(apply(order("3", "B", 1, 1)) == opened(3));
  cancel("3", 2);
  cancel("3", 3);
  check_refused(order("3", "C", 1, 1), Reason::too_many_positions, 3);
  CHECK(apply(order("1", "SYM", 40)) == opened(4));
}

TEST_CASE_METHOD(Limited, "references beyond the limit are refused; orders without are not") {
  set(&StateLimits::references_max, 1);
  PlaceOrder named = order("1", "SYM", 1);
  named.reference = OrderReference("a");
  REQUIRE(apply(named) == opened(1));
  CHECK(apply(named) == Outcome(OpenedBefore{1}));
  named.reference = OrderReference("b");
  check_refused(named, Reason::too_many_references, 1);
  CHECK(apply(order("1", "SYM", 1)) == opened(2));
}

TEST_CASE_METHOD(TwoTraders, "of each account the newest 1,024 references are remembered") {
  const auto order = [&](const char* account, const std::string& reference) {
    return apply(PlaceOrder{AccountId(account), SymbolName("SYM"), Side::buy, Shares::whole(1),
                            Price::whole(1), OrderReference(reference)});
  };
  const auto query_by = [&](const char* reference) {
    return apply(QueryOrder{AccountId("1"), 0, OrderReference(reference)});
  };
  account("3", 10);
  REQUIRE(order("3", "first") == opened(1));
  REQUIRE(order("1", "first") == opened(2));
  for (int i = 0; i < 1'023; ++i) REQUIRE(order("1", std::to_string(i)) == opened(3 + i));
  CHECK(order("1", "first") == Outcome(OpenedBefore{2}));
  REQUIRE(order("1", "1023") == opened(1'026));
  CHECK(query_by("first") == rejected(Reason::unknown_order));
  CHECK(order("3", "first") == Outcome(OpenedBefore{1}));
  CHECK(order("1", "first") == opened(1'027));  // a new order; "0" is forgotten to make room
  CHECK(query_by("0") == rejected(Reason::unknown_order));
  CHECK(query_by("1") == status(4, 1, {}));
}

TEST_CASE_METHOD(Limited, "an account that has all references that are kept of it may go on") {
  PlaceOrder named = order("1", "SYM", 1, 1);
  const auto again = [&](int number) {
    named.reference = OrderReference("r" + std::to_string(number));
    const Outcome outcome = engine.apply(named, now);
    if (const auto* placed = std::get_if<Opened>(&outcome))
      engine.apply(CancelOrder{AccountId("1"), placed->order}, now);
    return outcome;
  };
  for (int i = 0; i < int(References::kept_max); ++i)
    REQUIRE(std::holds_alternative<Opened>(again(i)));
  set(&StateLimits::references_max, References::kept_max);
  CHECK(std::holds_alternative<Opened>(again(5'000)));
  CHECK(std::holds_alternative<Opened>(again(0)));  // forgotten
  named.account = AccountId("2");
  CHECK(again(1) == Outcome(Rejected{Reason::too_many_references, References::kept_max}));
}

TEST_CASE_METHOD(Limited, "one account cannot stop the trade of others by its executions") {
  REQUIRE(sell("2", 100, 50) == opened(1));
  set(&StateLimits::executions_max, 4);
  set(&StateLimits::executions_per_account_max, 2);
  account("3", 1'000);
  give("3", 10, "B");
  CHECK(apply(order("1", "SYM", 50, 1)) == opened(2));
  CHECK(apply(order("1", "SYM", 50, 1)) == opened(3));
  check_refused(order("1", "SYM", 50, 1), Reason::too_many_executions_of_account, 2);
  REQUIRE(apply(PlaceOrder{AccountId("3"), SymbolName("B"), Side::sell, Shares::whole(9),
                           Price::whole(5)}) == opened(4));
  CHECK(apply(order("1", "B", 5, 1)) == opened(5));
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  cancel("2", 1);
  engine.release_closed(engine.take_changes(rows));
  CHECK(sell("2", 10, 50) == opened(6));
  CHECK(apply(order("1", "SYM", 50, 1)) == opened(7));
}

TEST_CASE_METHOD(Limited, "at the limit of executions, orders that would execute are refused") {
  REQUIRE(sell("2", 100, 50) == opened(1));
  REQUIRE(apply(order("1", "SYM", 50)) == opened(2));
  set(&StateLimits::executions_max, 1);
  set(&StateLimits::executions_per_account_max, 1);
  check_refused(order("1", "SYM", 50), Reason::too_many_executions, 1);
  REQUIRE(apply(order("1", "SYM", 49)) == opened(3));
  CHECK(apply(ReplaceOrder{.account = AccountId("1"),
                           .side = Side::buy,
                           .order = 3,
                           .shares = Shares::whole(10),
                           .limit = Price::whole(48)}) == Outcome(Replaced{3}));
  check_refused(ReplaceOrder{.account = AccountId("1"),
                             .side = Side::buy,
                             .order = 3,
                             .shares = Shares::whole(10),
                             .limit = Price::whole(50)},
                Reason::too_many_executions, 1);
  cancel("2", 1);  // closes the order that keeps its executions in memory
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  CHECK(sell("2", 10, 48) == opened(5));
}

TEST_CASE_METHOD(Limited, "what is there when a limit is set stays, and old ids count in time") {
  for (int i = 0; i < 3; ++i) apply(order("1", "SYM", 40 + i));
  set(&StateLimits::open_orders_max, 2);
  CHECK(engine.open_orders() == 3);
  CHECK(apply(order("1", "SYM", 40)) == Outcome(Rejected{Reason::too_many_orders, 2}));
  set(&StateLimits::open_orders_max, 700);
  // one of each 1,024 orders stays open; the others open and close
  Rows rows;
  std::size_t accepted = 0;
  for (int i = 0; i < 80 * 1'024; ++i) {
    const Outcome outcome = apply(order("1", "SYM", 1, 1));
    if (!std::holds_alternative<Opened>(outcome)) break;
    ++accepted;
    if (i % 1'024 != 0) cancel("1", std::get<Opened>(outcome).order);
    engine.release_closed(engine.take_changes(rows));
  }
  CHECK(accepted > 60 * 1'024);
  CHECK(accepted < 70 * 1'024);
}
