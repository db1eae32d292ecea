// References of orders: remembered in a bounded number, and part of the digest.
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
  Outcome query_by(std::string_view account, std::string_view reference) {
    return apply(QueryOrder{AccountId(account), 0, OrderReference(reference)});
  }
};

}  // namespace

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
