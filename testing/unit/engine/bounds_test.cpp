// How far one command reaches, and the largest numbers there are.
#include "support.hpp"

using namespace exchange;

namespace {

// One account, whose orders execute against each other.
struct SelfTrader {
  const Timestamp now = seconds(1);
  const AccountId account{"1"};
  Exchange engine;
  SelfTrader() {
    engine.apply(CreateAccount{account, Cash::whole(1'000'000'000)}, now);
    engine.apply(PlaceShares{SymbolName("A"), account, Shares::whole(1'000'000)}, now);
  }
  void order(Side side, Shares shares, int limit) {
    engine.apply(PlaceOrder{account, SymbolName("A"), side, shares, Price::whole(limit)}, now);
  }
};

}  // namespace

TEST_CASE("a cancel of all takes the oldest thousand, in one symbol or in all") {
  const bool recovered = GENERATE(false, true), used_before = GENERATE(false, true);
  CAPTURE(recovered, used_before);
  const Timestamp now = seconds(1);
  const AccountId account("1"), other("2");
  ModelTables tables;
  Exchange engine;
  for (const AccountId& id : {account, other})
    engine.apply(CreateAccount{id, Cash::whole(1'000'000)}, now);
  if (used_before)
    REQUIRE(engine.apply(CancelAll{account, {}}, now) == rejected(Reason::no_open_orders));
  for (int i = 0; i < 3'000; ++i)  // account: 1, 2, 4, 5, …, of them A 1, 4, … and B 2, 5, …
    engine.apply(PlaceOrder{i % 3 == 2 ? other : account, SymbolName(i % 3 == 0 ? "A" : "B"),
                            Side::buy, Shares::whole(1), Price::whole(1 + i % 7)},
                 now);
  if (recovered) {
    Rows rows;
    engine.take_changes(rows);
    tables.write(rows);
    engine = Exchange(tables.image());
  }
  const auto canceled = [&](const CancelAll& command) {
    const Outcome outcome = engine.apply(command, now);
    REQUIRE(engine.check_invariants() == "");
    std::vector<OrderId> ids;
    if (const auto* all = std::get_if<CanceledAll>(&outcome))
      for (const Status& status : all->orders) ids.push_back(status.order);
    return ids;
  };
  std::vector<OrderId> expected;
  for (OrderId id = 1; id <= 1'500; ++id)
    if (id % 3 != 0) expected.push_back(id);
  CHECK(canceled({account, {}}) == expected);
  expected.clear();
  for (OrderId id = 1'501; id <= 3'000; ++id)
    if (id % 3 == 1) expected.push_back(id);
  CHECK(canceled({account, SymbolName("A")}) == expected);
  CHECK(canceled({account, SymbolName("A")}).empty());
  CHECK(canceled({account, {}}).size() == 500);
  CHECK(engine.balance(account) == Cash::whole(1'000'000));
  CHECK(canceled({account, {}}).empty());
  CHECK(canceled({other, {}}).size() == 1'000);
}

TEST_CASE_METHOD(SelfTrader, "a cancel of all lists a hundred thousand executions, and stops") {
  order(Side::buy, Shares::whole(100'001), 3);
  order(Side::buy, Shares::whole(1), 2);
  for (int i = 0; i < 100'000; ++i) order(Side::sell, Shares::whole(1), 3);
  const auto canceled = [&] {
    const Outcome outcome = engine.apply(CancelAll{account, {}}, now);
    REQUIRE(std::holds_alternative<CanceledAll>(outcome));
    return std::get<CanceledAll>(outcome).orders.size();
  };
  CHECK(canceled() == 1);
  CHECK(canceled() == 1);
}

TEST_CASE_METHOD(SelfTrader,
                 "a status lists a hundred thousand executions, and says where the next begin") {
  order(Side::buy, Shares::whole(200'000), 1);
  for (int i = 1; i <= 100'002; ++i) order(Side::sell, Shares::from_units(i), 1);
  const auto query = [&](std::uint64_t from) {
    QueryOrder command{account, 1};
    command.from = from;
    return std::get<Status>(engine.apply(command, now));
  };
  Status status = query(1);
  CHECK((status.executions.size() == 100'000 && status.next == 100'001));
  CHECK(status.executions.back().shares == Shares::from_units(100'000));
  status = query(status.next);
  CHECK((status.executions.size() == 2 && status.next == 0 && status.open > Shares()));
  CHECK(status.executions.front().shares == Shares::from_units(100'001));
  status = query(3);
  CHECK((status.executions.size() == 100'000 && status.next == 0 && status.skipped == 2));
  for (const std::uint64_t from : {std::uint64_t(100'003), UINT64_MAX}) {
    status = query(from);
    CHECK((status.executions.empty() && status.next == 0 && status.skipped == 100'002));
  }
  status = std::get<Canceled>(engine.apply(CancelOrder{account, 1}, now)).status;
  CHECK((status.executions.size() == 100'000 && status.next == 100'001));
}

TEST_CASE("a fok order reaches a thousand prices, with stp a thousand orders") {
  const bool prices = GENERATE(true, false);
  CAPTURE(prices);
  Exchange engine;
  const Timestamp now = seconds(1);
  for (const char* id : {"1", "2"})
    engine.apply(CreateAccount{AccountId(id), Cash::whole(10'000'000)}, now);
  engine.apply(PlaceShares{SymbolName("S"), AccountId("2"), Shares::whole(2'000)}, now);
  for (int i = 1; i <= 1'001; ++i)
    engine.apply(PlaceOrder{AccountId("2"), SymbolName("S"), Side::sell, Shares::whole(1),
                            Price::whole(prices ? i : 1)},
                 now);
  PlaceOrder order{AccountId("1"), SymbolName("S"), Side::buy, Shares::whole(1'001),
                   Price::whole(prices ? 1'001 : 1)};
  order.lifetime = Lifetime::fill_or_kill;
  if (!prices) order.self_trade = SelfTrade::cancel_resting;
  CHECK(engine.apply(order, now) == rejected(Reason::cannot_fill));
  order.shares = Shares::whole(1'000);
  CHECK(engine.apply(order, now) == opened(1'002));
}

TEST_CASE_METHOD(TwoTraders, "a market buy without cash cancels no resting order") {
  sell("1", 5, 5);
  buy("1", 1'000'000, 1);  // all its cash
  PlaceOrder order{AccountId("1"), SymbolName("SYM"), Side::buy, Shares::whole(5)};
  order.self_trade = SelfTrade::cancel_resting;
  order.lifetime = Lifetime::immediate_or_cancel;
  REQUIRE(apply(order) == opened(3));
  CHECK(query("1", 1) == status(1, 5, {}));
  CHECK(query("1", 3) == Outcome(Status{3, Shares(), Shares::whole(5), now, {}}));
}

TEST_CASE_METHOD(Market, "the largest order at the largest price is held exactly") {
  const Shares most = parse_shares("92233720367.99999999").value;
  const Price dearest = parse_price("92233720367.99999999").value;
  const AccountId rich("1"), seller("2");
  const SymbolName symbol("S");
  apply(CreateAccount{rich, cash_total_max});
  account("2", 0);
  apply(PlaceShares{symbol, seller, most});
  const PlaceOrder order{rich, symbol, Side::buy, most, dearest};
  CHECK(apply(order) == opened(1));
  CHECK(apply(order) == opened(2));
  CHECK(balance("1") == cash_total_max - cost(most, dearest) - cost(most, dearest));
  CHECK(apply(order) == rejected(Reason::insufficient_funds));
  CHECK(apply(PlaceOrder{seller, symbol, Side::sell, most, Price::from_units(1)}) == opened(3));
  CHECK(balance("2") == cost(most, dearest));
  CHECK(position("1", "S") == most);
}

TEST_CASE_METHOD(Market, "a level may hold more shares than one number of shares can") {
  const Shares most = parse_shares("92233720367.99999999").value;
  account("1", 10'000);
  apply(CreateSymbol{SymbolName("S")});
  for (int i = 0; i < 3; ++i)
    apply(PlaceOrder{AccountId("1"), SymbolName("S"), Side::buy, most, Price::from_units(1)});
  CHECK(bids("S") ==
        std::vector<Exchange::Depth>{{Price::from_units(1), Int128(most.units()) * 3, 3}});
}

TEST_CASE("a market buy by the account that has all cash there can be does not overflow") {
  Market market;
  REQUIRE(market.apply(CreateAccount{AccountId("1"), cash_total_max}) == created());
  market.give("1", 10);
  market.sell("1", 10, 1'000'000'000);
  PlaceOrder order{AccountId("1"), SymbolName("SYM"), Side::buy, Shares::whole(10)};
  order.lifetime = Lifetime::immediate_or_cancel;
  CHECK(market.apply(order) == opened(2));
  CHECK(market.engine.balance(AccountId("1")) == cash_total_max);
}

TEST_CASE("a replace of the largest amount and limit does not overflow") {
  Market market;
  REQUIRE(market.apply(CreateAccount{AccountId("1"), cash_total_max}) == created());
  market.buy("1", 1, 1);
  const auto replace = [&](Shares shares, Price limit) {
    return market.apply(ReplaceOrder{AccountId("1"), Side::buy, 1, shares, limit});
  };
  const Shares most = Shares::from_units(INT64_MAX);
  const Price dearest = Price::from_units(INT64_MAX);
  REQUIRE(replace(most, dearest) == Outcome(Replaced{1}));
  CHECK(market.balance("1") == cash_total_max - cost(most, dearest));
  REQUIRE(replace(Shares::whole(1), Price::whole(1)) == Outcome(Replaced{1}));
  CHECK(market.balance("1") == cash_total_max - Cash::whole(1));
}
