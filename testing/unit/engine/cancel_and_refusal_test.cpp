// Cancels, and every refusal: its reason, and that it does not change anything.
#include "support.hpp"

using namespace exchange;
using Book = std::vector<Exchange::Depth>;

namespace {

Outcome canceled(OrderId order, std::int64_t shares, std::vector<Execution> executions = {},
                 Timestamp at = seconds(1)) {
  return Canceled{{order, Shares(), Shares::whole(shares), at, std::move(executions)}};
}

class Refusing : public TwoTraders {
 public:
  // Each command is refused for this reason, and changes no balance, position, book, row or
  // counter.
  void check_refused(Reason reason, const std::vector<Command>& commands) {
    const auto view = [&] {
      std::vector<std::string> parts;
      for (const char* account : {"1", "2", "3", "9"}) {
        parts.push_back(to_string(balance(account)));
        for (const char* symbol : {"SYM", "NONE"})
          parts.push_back(to_string(position(account, symbol)));
      }
      for (const char* symbol : {"SYM", "NONE"})
        for (const auto& book : {bids(symbol), asks(symbol)})
          for (const auto& at : book) parts.push_back(print(at));
      for (const std::size_t count :
           {engine.accounts(), engine.orders_in_memory(), engine.changed_rows()})
        parts.push_back(std::to_string(count));
      return parts;
    };
    const auto view_before = view();
    const Totals totals_before = engine.totals();
    for (const Command& command : commands) {
      INFO(print(command));
      now.microseconds += 1'000'000;
      CHECK(apply(command) == rejected(reason));
      CHECK(view() == view_before);
      CHECK(engine.totals() == totals_before);
    }
  }
};

// Account 1 bids for 30 @90, account 2 asks 40 @110, of which 5 are executed; order 3 is closed.
class RefusingWithABook : public Refusing {
 public:
  RefusingWithABook() {
    buy("1", 30, 90);
    sell("2", 40, 110);
    buy("1", 5, 110);
  }
};

PlaceOrder order(const AccountId& account, const char* symbol, Side side, Shares shares,
                 Price limit) {
  return {account, SymbolName(symbol), side, shares, limit};
}
PlaceOrder order(const AccountId& account, const char* symbol, Side side, std::int64_t shares,
                 std::int64_t limit) {
  return order(account, symbol, side, Shares::whole(shares), Price::whole(limit));
}

const AccountId first("1"), second("2"), third("3"), unknown("9");
const Shares share_unit = Shares::from_units(1);

}  // namespace

TEST_CASE_METHOD(Refusing, "canceling a buy gives its reserved cash back") {
  buy("1", 10, 100);
  now = seconds(9);
  CHECK(cancel("1", 1) == canceled(1, 10, {}, seconds(9)));
  CHECK(balance("1") == Cash::whole(1'000'000));
  CHECK(bids().empty());
  now = seconds(10);
  CHECK(query("1", 1) == Outcome(Status{1, Shares(), Shares::whole(10), seconds(9), {}}));
}

TEST_CASE_METHOD(Refusing, "canceling a sell gives its shares back") {
  sell("1", 10, 100);
  CHECK(cancel("1", 1) == canceled(1, 10));
  CHECK(position("1") == Shares::whole(10'000));
  CHECK(asks().empty());
}

TEST_CASE_METHOD(Refusing, "canceling a partly filled buy gives back the open part at its limit") {
  sell("2", 4, 95);
  buy("1", 10, 100);
  now = seconds(5);
  CHECK(cancel("1", 2) == canceled(2, 6, {executed(4, 95)}, seconds(5)));
  CHECK(balance("1") == Cash::whole(1'000'000 - 4 * 95));
  CHECK(position("1") == Shares::whole(10'004));
}

TEST_CASE_METHOD(Refusing, "canceling a partly filled sell gives back the open part") {
  buy("2", 4, 105);
  sell("1", 10, 100);
  CHECK(cancel("1", 2) == canceled(2, 6, {executed(4, 105)}));
  CHECK(position("1") == Shares::whole(9'996));
  CHECK(balance("1") == Cash::whole(1'000'000 + 4 * 105));
}

TEST_CASE_METHOD(Refusing, "a canceled order is passed over and its neighbours keep their order") {
  const OrderId gone = GENERATE(1, 2, 3);
  for (int i = 0; i < 3; ++i) sell("1", 10, 100);
  cancel("1", gone);
  CHECK(asks() == Book{level(20, 100, 2)});
  buy("2", 15, 100);
  const OrderId first = gone == 1 ? 2 : 1, second = gone == 3 ? 2 : 3;
  CHECK(query("1", first) == status(first, 0, {executed(10, 100)}));
  CHECK(query("1", second) == status(second, 5, {executed(5, 100)}));
}

TEST_CASE_METHOD(Refusing, "canceling the best order uncovers the next level") {
  buy("1", 10, 100);
  buy("1", 10, 99);
  cancel("1", 1);
  sell("2", 10, 99);
  CHECK(query("2", 3) == status(3, 0, {executed(10, 99)}));
}

TEST_CASE_METHOD(Refusing, "an order can be canceled once") {
  buy("1", 10, 100);
  cancel("1", 1);
  check_refused(Reason::nothing_open, {CancelOrder{first, 1}});
}

TEST_CASE_METHOD(RefusingWithABook, "an executed order cannot be canceled") {
  check_refused(Reason::nothing_open, {CancelOrder{first, 3}});
}

TEST_CASE_METHOD(RefusingWithABook,
                 "only the account that placed an order may query or cancel it") {
  check_refused(Reason::unknown_order,
                {CancelOrder{second, 1}, QueryOrder{second, 1}, CancelOrder{second, 3}});
}

TEST_CASE_METHOD(RefusingWithABook, "an order id that was never given is refused") {
  for (const OrderId id :
       {OrderId(0), OrderId(4), OrderId(1'000'000), OrderId(INT64_MAX), OrderId(UINT64_MAX)})
    check_refused(Reason::unknown_order, {QueryOrder{first, id}, CancelOrder{first, id}});
}

TEST_CASE_METHOD(RefusingWithABook, "an unknown account is refused, whatever it asks") {
  check_refused(Reason::unknown_account,
                {PlaceShares{SymbolName("SYM"), unknown, Shares::whole(1)},
                 PlaceShares{SymbolName("NONE"), unknown, Shares::whole(1)},
                 order(unknown, "SYM", Side::buy, 1, 1), order(unknown, "SYM", Side::sell, 1, 1),
                 QueryOrder{unknown, 1}, CancelOrder{unknown, 1}});
}

TEST_CASE_METHOD(RefusingWithABook,
                 "an open query may be of any account's order, and a cancel never") {
  const auto own = query("1", 1);
  const auto ask = [&](const Command& command) {
    return engine.apply(command, now, {}, {.open_queries = true});
  };
  CHECK(ask(QueryOrder{second, 1}) == own);
  CHECK(ask(QueryOrder{first, 1}) == own);
  CHECK(ask(QueryOrder{unknown, 1}) == rejected(Reason::unknown_account));
  CHECK(ask(QueryOrder{second, 99}) == rejected(Reason::unknown_order));
  CHECK(ask(CancelOrder{second, 1}) == rejected(Reason::unknown_order));
}

TEST_CASE_METHOD(RefusingWithABook, "a door may refuse orders of symbols that do not exist") {
  const PlaceOrder order{first, SymbolName("NONE"), Side::buy, Shares::whole(1), Price::whole(1)};
  CHECK(engine.apply(order, now, {}, {.symbols_must_exist = true}) ==
        rejected(Reason::unknown_symbol));
  CHECK(std::holds_alternative<Opened>(apply(order)));
}

TEST_CASE_METHOD(Refusing, "shares refused to an unknown account do not create the symbol") {
  check_refused(Reason::unknown_account,
                {PlaceShares{SymbolName("NONE"), unknown, Shares::whole(1)}});
}

TEST_CASE_METHOD(RefusingWithABook, "an order that is refused does not create its symbol") {
  account("3", 5);
  check_refused(Reason::insufficient_funds, {order(third, "NONE", Side::buy, 1, 6)});
  check_refused(Reason::insufficient_shares, {order(first, "NONE", Side::sell, 1, 1)});
}

TEST_CASE_METHOD(Refusing, "a buy of a symbol that was never created creates it, without shares") {
  Rows rows;
  engine.take_changes(rows);
  REQUIRE(buy("1", 5, 10, "NEW") == opened(1));
  engine.take_changes(rows);
  REQUIRE(rows.symbols.size() == 1);
  CHECK((rows.symbols[0].name == SymbolName("NEW") && rows.symbols[0].shares_total == Shares()));
  CHECK(rows.positions.empty());
  CHECK(balance("1") == Cash::whole(999'950));
  CHECK(bids("NEW") == std::vector{level(5, 10, 1)});
  check_refused(Reason::insufficient_shares, {order(second, "NEW", Side::sell, 1, 1)});
  give("2", 2, "NEW");
  REQUIRE(sell("2", 2, 9, "NEW") == opened(2));
  CHECK(position("1", "NEW") == Shares::whole(2));
  CHECK(query("1", 1) == status(1, 3, {executed(2, 10, now)}));
}

TEST_CASE_METHOD(
    RefusingWithABook,
    "a buy that costs more than the free balance is refused, even if it would execute cheaper") {
  account("3", 550);
  const Price above_110 = Price::from_units(Price::whole(110).units() + 1);
  check_refused(Reason::insufficient_funds,
                {order(third, "SYM", Side::buy, Shares::whole(5), above_110)});
  CHECK(buy("3", 5, 110) == opened(4));
}

TEST_CASE_METHOD(RefusingWithABook, "cash that is reserved cannot be spent again") {
  account("3", 100);
  buy("3", 1, 60);
  check_refused(Reason::insufficient_funds, {order(third, "SYM", Side::buy, 1, 50)});
}

TEST_CASE_METHOD(RefusingWithABook, "a sell of more than the free position is refused") {
  // 9,960 free
  const Shares too_many = Shares::whole(9'960) + share_unit;
  account("3", 0);
  check_refused(Reason::insufficient_shares,
                {order(second, "SYM", Side::sell, too_many, Price::whole(80)),
                 order(third, "SYM", Side::sell, share_unit, Price::whole(80))});
}

TEST_CASE_METHOD(RefusingWithABook, "an account cannot be created twice") {
  check_refused(Reason::account_exists,
                {CreateAccount{first, Cash::whole(5)}, CreateAccount{first, cash_total_max}});
}

TEST_CASE_METHOD(Refusing, "cash beyond the total that the exchange can hold is refused") {
  const Cash left = cash_total_max - Cash::whole(2'000'000), unit = Cash::from_units(1);
  check_refused(Reason::cash_total_overflow, {CreateAccount{third, left + unit}});
  CHECK(apply(CreateAccount{third, left}) == created());
  check_refused(Reason::cash_total_overflow, {CreateAccount{unknown, unit}});
  CHECK(apply(CreateAccount{unknown, Cash()}) == created());
}

TEST_CASE_METHOD(RefusingWithABook, "shares beyond the total of one symbol are refused") {
  const Shares left = shares_total_max - Shares::whole(20'000);
  const SymbolName symbol("SYM");
  check_refused(Reason::shares_total_overflow, {PlaceShares{symbol, first, left + share_unit}});
  CHECK(apply(PlaceShares{symbol, first, left}) == created());
  check_refused(Reason::shares_total_overflow, {PlaceShares{symbol, second, share_unit}});
  give("2", 1, "OTHER");  // each symbol has its own total
}

TEST_CASE_METHOD(Refusing, "a refused order uses no order id") {
  buy("1", 1, 100);
  buy("1", 1'000'000, 100);
  CHECK(buy("1", 1, 100) == opened(2));
}

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

TEST_CASE("a cancel of all lists a hundred thousand executions, and stops") {
  const Timestamp now = seconds(1);
  const AccountId account("1");
  Exchange engine;
  engine.apply(CreateAccount{account, Cash::whole(1'000'000'000)}, now);
  engine.apply(PlaceShares{SymbolName("A"), account, Shares::whole(1'000'000)}, now);
  const auto order = [&](Side side, int shares, int limit) {
    engine.apply(
        PlaceOrder{account, SymbolName("A"), side, Shares::whole(shares), Price::whole(limit)},
        now);
  };
  order(Side::buy, 100'001, 3);
  order(Side::buy, 1, 2);
  for (int i = 0; i < 100'000; ++i) order(Side::sell, 1, 3);
  const auto canceled = [&] {
    const Outcome outcome = engine.apply(CancelAll{account, {}}, now);
    REQUIRE(std::holds_alternative<CanceledAll>(outcome));
    return std::get<CanceledAll>(outcome).orders.size();
  };
  CHECK(canceled() == 1);
  CHECK(canceled() == 1);
}

TEST_CASE("a status lists a hundred thousand executions, and says where the next begin") {
  const Timestamp now = seconds(1);
  const AccountId account("1");
  Exchange engine;
  engine.apply(CreateAccount{account, Cash::whole(1'000'000'000)}, now);
  engine.apply(PlaceShares{SymbolName("A"), account, Shares::whole(1'000'000)}, now);
  const auto order = [&](Side side, Shares shares) {
    engine.apply(PlaceOrder{account, SymbolName("A"), side, shares, Price::whole(1)}, now);
  };
  order(Side::buy, Shares::whole(200'000));
  for (int i = 1; i <= 100'002; ++i) order(Side::sell, Shares::from_units(i));
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
