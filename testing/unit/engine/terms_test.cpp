// Orders that do not simply rest until they are executed or canceled.
#include "support.hpp"

using namespace exchange;

namespace {

class Terms : public Market {
 public:
  Terms() {
    account("1", 1'000);
    account("2", 1'000);
    give("1", 100);
    give("2", 100);
  }
  Outcome order(std::string_view account, Side side, std::int64_t shares, std::int64_t limit,
                Lifetime lifetime, bool post_only = false) {
    return apply(PlaceOrder{AccountId(account),
                            SymbolName("SYM"),
                            side,
                            Shares::whole(shares),
                            Price::whole(limit),
                            {},
                            lifetime,
                            post_only});
  }
  Cash cash(std::string_view account) { return engine.balance(AccountId(account)); }
  Shares shares(std::string_view account) {
    return engine.position(AccountId(account), SymbolName("SYM"));
  }
  Outcome partly_canceled(OrderId order, std::int64_t canceled, std::vector<Execution> executions) {
    return Status{order, Shares(), Shares::whole(canceled), now, std::move(executions)};
  }
};

constexpr Lifetime ioc = Lifetime::immediate_or_cancel, fok = Lifetime::fill_or_kill,
                   gtc = Lifetime::until_canceled;

}  // namespace

TEST_CASE_METHOD(Terms, "what an ioc order leaves is canceled, and its reservation given back") {
  sell("2", 10, 5);
  REQUIRE(order("1", Side::buy, 30, 6, ioc) == opened(2));
  CHECK(query("1", 2) == partly_canceled(2, 20, {executed(10, 5)}));
  CHECK(cash("1") == Cash::whole(950));
  CHECK(cancel("1", 2) == rejected(Reason::nothing_open));
  CHECK(engine.depth(SymbolName("SYM"), Side::buy).empty());
  // a sell, of which nothing is executed
  REQUIRE(order("1", Side::sell, 110, 9, ioc) == opened(3));
  CHECK(query("1", 3) == partly_canceled(3, 110, {}));
  CHECK(shares("1") == Shares::whole(110));
  // one that is executed in full is canceled in no part
  sell("2", 5, 5);
  REQUIRE(order("1", Side::buy, 5, 5, ioc) == opened(5));
  CHECK(query("1", 5) == status(5, 0, {executed(5, 5)}));
}

TEST_CASE_METHOD(Terms, "a fok order is executed in full, over several prices, or refused") {
  sell("2", 10, 5);
  sell("2", 10, 6);
  const Totals before = engine.totals();
  changes();
  CHECK(order("1", Side::buy, 11, 5, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::buy, 21, 6, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::sell, 1, 4, fok) == rejected(Reason::cannot_fill));
  CHECK(order("1", Side::buy, 1'000, 6, fok) == rejected(Reason::insufficient_funds));
  CHECK(engine.totals() == before);
  CHECK(changes().empty());
  REQUIRE(order("1", Side::buy, 20, 6, fok) == opened(3));
  CHECK(query("1", 3) == status(3, 0, {executed(10, 5), executed(10, 6)}));
}

TEST_CASE_METHOD(Terms, "a fok buy that is refused creates no symbol") {
  CHECK(apply(PlaceOrder{AccountId("1"),
                         SymbolName("NEW"),
                         Side::buy,
                         Shares::whole(1),
                         Price::whole(1),
                         {},
                         fok}) == rejected(Reason::cannot_fill));
  CHECK(sell("1", 1, 1, "NEW") == rejected(Reason::insufficient_shares));
}

TEST_CASE_METHOD(Terms, "a post order is refused if any part of it would execute on arrival") {
  sell("2", 1, 5);
  CHECK(order("1", Side::buy, 10, 5, gtc, true) == rejected(Reason::would_execute));
  CHECK(order("1", Side::buy, 10, 6, gtc, true) == rejected(Reason::would_execute));
  CHECK(cash("1") == Cash::whole(1'000));
  REQUIRE(order("1", Side::buy, 10, 4, gtc, true) == opened(2));
  // it executes later, as any other
  REQUIRE(sell("2", 10, 4) == opened(3));
  CHECK(query("1", 2) == status(2, 0, {executed(10, 4)}));
}

TEST_CASE_METHOD(Terms, "orders of the same account count for fok and post") {
  sell("1", 5, 5);
  CHECK(order("1", Side::buy, 5, 5, gtc, true) == rejected(Reason::would_execute));
  CHECK(order("1", Side::buy, 5, 5, fok) == opened(2));
}
