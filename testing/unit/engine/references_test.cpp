// Orders with references: executed once, and remembered in a bounded number.
#include "support.hpp"

using namespace exchange;

namespace {

class Referenced : public TwoTraders {
 public:
  Outcome order(std::string_view account, std::string_view reference, std::int64_t shares = 10,
                std::int64_t limit = 100) {
    return apply(PlaceOrder{AccountId(account), SymbolName("SYM"), Side::buy, Shares::whole(shares),
                            Price::whole(limit), OrderReference(reference)});
  }
  Outcome cancel_by(std::string_view account, std::string_view reference) {
    return apply(CancelOrder{AccountId(account), 0, OrderReference(reference)});
  }
  Outcome query_by(std::string_view account, std::string_view reference) {
    return apply(QueryOrder{AccountId(account), 0, OrderReference(reference)});
  }
};

}  // namespace

TEST_CASE_METHOD(Referenced, "an order that is sent again changes nothing") {
  REQUIRE(order("1", "a") == opened(1));
  changes();
  const Totals before = engine.totals();
  now = seconds(2);
  CHECK(order("1", "a") == Outcome(OpenedBefore{1}));
  CHECK(order("1", "a", 11) == Outcome(Rejected{Reason::reference_used, 1}));
  CHECK(order("1", "a", 10, 101) == Outcome(Rejected{Reason::reference_used, 1}));
  CHECK(engine.totals() == before);
  CHECK(changes().empty());
  CHECK_FALSE(changed_state(OpenedBefore{1}));
  CHECK(order("2", "a") == opened(2));
}

TEST_CASE_METHOD(Referenced, "an order that is sent again needs no cash") {
  account("3", 10);
  REQUIRE(order("3", "a", 1, 10) == opened(1));
  CHECK(order("3", "b", 1, 10) == rejected(Reason::insufficient_funds));
  CHECK(order("3", "a", 1, 10) == Outcome(OpenedBefore{1}));
  CHECK(cancel_by("3", "b") == rejected(Reason::unknown_order));
  REQUIRE(cancel("3", 1) == Outcome(Canceled{{1, Shares(), Shares::whole(1), now, {}}}));
  CHECK(order("3", "b", 1, 10) == opened(2));
}

TEST_CASE_METHOD(Referenced, "queries and cancels by reference mean the order of that account") {
  order("1", "a");
  order("2", "a");
  CHECK(query_by("2", "a") == status(2, 10, {}));
  CHECK(query_by("2", "b") == rejected(Reason::unknown_order));
  CHECK(query_by("3", "a") == rejected(Reason::unknown_account));
  CHECK(cancel_by("1", "a") == Outcome(Canceled{{1, Shares(), Shares::whole(10), now, {}}}));
  CHECK(cancel_by("1", "a") == rejected(Reason::nothing_open));
  // This holds even if only the tables have the order.
  Rows rows;
  engine.release_closed(engine.take_changes(rows));
  CHECK(query_by("1", "a") == Outcome(NotInMemory{0, 1}));
  CHECK(order("1", "a") == Outcome(OpenedBefore{1}));
}

TEST_CASE_METHOD(Referenced, "of each account the newest 1,024 references are remembered") {
  account("3", 10);
  REQUIRE(order("3", "first", 1, 1) == opened(1));
  REQUIRE(order("1", "first") == opened(2));
  for (int i = 0; i < 1'023; ++i) REQUIRE(order("1", std::to_string(i), 1, 1) == opened(3 + i));
  CHECK(order("1", "first") == Outcome(OpenedBefore{2}));
  REQUIRE(order("1", "1023", 1, 1) == opened(1'026));
  CHECK(query_by("1", "first") == rejected(Reason::unknown_order));
  CHECK(order("3", "first", 1, 1) == Outcome(OpenedBefore{1}));
  CHECK(order("1", "first") == opened(1'027));  // a new order; "0" is forgotten to make room
  CHECK(query_by("1", "0") == rejected(Reason::unknown_order));
  CHECK(query_by("1", "1") == status(4, 1, {}));
}

TEST_CASE_METHOD(Referenced, "a reference is part of the digest") {
  Referenced other;
  order("1", "a");
  other.order("1", "b");
  CHECK(engine.totals().digest != other.engine.totals().digest);
}
