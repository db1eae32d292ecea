// Events of accounts (docs/account-stream.md).
#include <map>

#include "support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

// Account 1 and 2, both recorded.
class Recorded : public TwoTraders {
 public:
  Recorded() {
    record("1");
    record("2");
    events();
  }
  void record(std::string_view account) {
    REQUIRE(apply(RecordEvents{AccountId(account)}) == created());
  }
  // Returns the events since the last call: "1.2 opened 1 buy 10 at 5, open 10; 950, 0".
  Lines events() {
    Rows rows;
    engine.take_changes(rows);
    Lines lines;
    for (const EventRow& row : rows.events) {
      CHECK(row.time == now);
      CHECK((row.execution != 0) == (to_string(row.kind).starts_with("executed")));
      const std::string side = row.side == Side::buy ? "buy " : "sell ";
      lines.push_back(
          std::to_string(row.account + 1) + "." + std::to_string(row.number) + " " +
          std::string(to_string(row.kind)) +
          (row.order == 0 ? " " : " " + std::to_string(row.order) + " " + side) +
          to_string(row.shares) +
          (row.order == 0 ? "" : " at " + to_string(row.price) + ", open " + to_string(row.open)) +
          "; " + to_string(row.balance) + ", " + to_string(row.position));
    }
    return lines;
  }
  Outcome order(std::string_view account, Side side, std::int64_t shares, std::int64_t limit,
                Lifetime lifetime = Lifetime::until_canceled,
                SelfTrade self_trade = SelfTrade::allowed) {
    return apply(PlaceOrder{AccountId(account),
                            SymbolName("SYM"),
                            side,
                            Shares::whole(shares),
                            Price::whole(limit),
                            {},
                            lifetime,
                            false,
                            self_trade});
  }
};

constexpr Lifetime ioc = Lifetime::immediate_or_cancel;

}  // namespace

TEST_CASE_METHOD(TwoTraders, "nothing of an account is an event before its events are recorded") {
  buy("1", 10, 5);
  Rows rows;
  engine.take_changes(rows);
  CHECK(rows.events.empty());
  CHECK(apply(RecordEvents{AccountId("3")}) == rejected(Reason::unknown_account));
  engine.begin_batch(7);
  REQUIRE(apply(RecordEvents{AccountId("1")}) == created());
  CHECK(changes() ==
        Lines{"AccountRow(number 0, id 1, balance 999950, events 1)",
              "EventRow(account 0, number 1, balance 999950, batch 7, time 1000000us)"});
  // again: nothing happens, but the batch has to reach the tables
  REQUIRE(apply(RecordEvents{AccountId("1")}) == created());
  CHECK(changes() == Lines{"AccountRow(number 0, id 1, balance 999950, events 1)"});
  sell("2", 10, 5);
  engine.take_changes(rows);
  REQUIRE(rows.events.size() == 1);  // only of account 1
  CHECK(rows.events[0].number == 2);
  CHECK(rows.events[0].kind == EventKind::executed_maker);
}

TEST_CASE_METHOD(Recorded,
                 "an execution is an event of both orders, the maker first, with what is left") {
  buy("1", 10, 5);
  CHECK(events() == Lines{"1.2 opened 1 buy 10 at 5, open 10; 999950, 10000"});
  buy("1", 3, 6);
  sell("2", 12, 4);
  CHECK(events() == Lines{"1.3 opened 2 buy 3 at 6, open 3; 999932, 10000",
                          "2.2 opened 3 sell 12 at 4, open 12; 1000000, 9988",
                          "1.4 executed_maker 2 buy 3 at 6, open 0; 999932, 10003",
                          "2.3 executed_taker 3 sell 3 at 6, open 9; 1000018, 9988",
                          "1.5 executed_maker 1 buy 9 at 5, open 1; 999932, 10012",
                          "2.4 executed_taker 3 sell 9 at 5, open 0; 1000063, 9988"});
  // a taker that buys below its limit gets the difference back
  sell("2", 2, 7);
  events();
  buy("1", 2, 9);
  CHECK(events() == Lines{"1.6 opened 5 buy 2 at 9, open 2; 999914, 10012",
                          "2.6 executed_maker 4 sell 2 at 7, open 0; 1000077, 9986",
                          "1.7 executed_taker 5 buy 2 at 7, open 0; 999918, 10014"});
}

TEST_CASE_METHOD(Recorded, "an account that trades with itself has both events of the execution") {
  buy("1", 2, 5);
  sell("1", 2, 5);
  CHECK(events() == Lines{"1.2 opened 1 buy 2 at 5, open 2; 999990, 10000",
                          "1.3 opened 2 sell 2 at 5, open 2; 999990, 9998",
                          "1.4 executed_maker 1 buy 2 at 5, open 0; 1000000, 10000",
                          "1.5 executed_taker 2 sell 2 at 5, open 0; 1000000, 10000"});
}

TEST_CASE_METHOD(Recorded, "a canceled event has its reason") {
  buy("1", 10, 5);
  buy("1", 10, 5);
  buy("1", 10, 5);
  sell("2", 1, 9);
  events();
  cancel("1", 1);
  apply(CancelOrder{.account = AccountId("1"), .order = 2, .at_disconnect = true});
  apply(CancelAll{AccountId("1"), {}});
  CHECK(events() == Lines{"1.5 canceled_client 1 buy 10 at 5, open 0; 999900, 10000",
                          "1.6 canceled_disconnect 2 buy 10 at 5, open 0; 999950, 10000",
                          "1.7 canceled_client 3 buy 10 at 5, open 0; 1000000, 10000"});
  order("1", Side::buy, 3, 9, ioc);
  CHECK(events() == Lines{"1.8 opened 5 buy 3 at 9, open 3; 999973, 10000",
                          "2.3 executed_maker 4 sell 1 at 9, open 0; 1000009, 9999",
                          "1.9 executed_taker 5 buy 1 at 9, open 2; 999973, 10001",
                          "1.10 canceled_immediate 5 buy 2 at 9, open 0; 999991, 10001"});
  buy("1", 4, 5);
  events();
  order("1", Side::sell, 5, 5, Lifetime::until_canceled, SelfTrade::cancel_resting);
  CHECK(events() == Lines{"1.12 opened 7 sell 5 at 5, open 5; 999971, 9996",
                          "1.13 canceled_stp 6 buy 4 at 5, open 0; 999991, 9996"});
  order("1", Side::buy, 1, 6, Lifetime::until_canceled, SelfTrade::cancel_taking);
  CHECK(events() == Lines{"1.14 opened 8 buy 1 at 6, open 1; 999985, 9996",
                          "1.15 canceled_stp 8 buy 1 at 6, open 0; 999991, 9996"});
}

TEST_CASE_METHOD(Recorded, "a replace comes before the executions that it leads to") {
  buy("1", 10, 5);
  sell("2", 4, 7);
  events();
  REQUIRE(apply(ReplaceOrder{AccountId("1"), Side::buy, 1, Shares::whole(8), Price::whole(5)}) ==
          Outcome(Replaced{1}));
  REQUIRE(apply(ReplaceOrder{AccountId("1"), Side::buy, 1, Shares::whole(9), Price::whole(8)}) ==
          Outcome(Replaced{1}));
  CHECK(events() == Lines{"1.3 replaced 1 buy 8 at 5, open 8; 999960, 10000",
                          "1.4 replaced 1 buy 9 at 8, open 9; 999928, 10000",
                          "2.3 executed_maker 2 sell 4 at 7, open 0; 1000028, 9996",
                          "1.5 executed_taker 1 buy 4 at 7, open 5; 999932, 10004"});
}

TEST_CASE_METHOD(Recorded, "shares that an account gets are an event, and refusals are none") {
  give("1", 5);
  give("1", 6, "NEW");
  CHECK(events() ==
        Lines{"1.2 shares_received 5; 1000000, 10005", "1.3 shares_received 6; 1000000, 6"});
  buy("1", 10, 1'000'000);
  cancel("1", 77);
  sell("1", 99'999, 1);
  apply(CreateSymbol{SymbolName("SYM")});
  CHECK(events() == Lines{});
}

TEST_CASE_METHOD(Recorded, "events that are not in the tables are taken again, in order") {
  buy("1", 1, 5);
  Rows lost;
  engine.take_changes(lost);
  buy("1", 2, 5);
  engine.restore_changes(lost);
  CHECK(events() == Lines{"1.2 opened 1 buy 1 at 5, open 1; 999995, 10000",
                          "1.3 opened 2 buy 2 at 5, open 2; 999985, 10000"});
}

TEST_CASE_METHOD(Recorded, "a market order has an event without a limit") {
  sell("2", 4, 7);
  events();
  order("1", Side::buy, 5, 0, ioc);
  CHECK(events() == Lines{"1.2 opened 2 buy 5 at 0, open 5; 1000000, 10000",
                          "2.3 executed_maker 1 sell 4 at 7, open 0; 1000028, 9996",
                          "1.3 executed_taker 2 buy 4 at 7, open 1; 999972, 10004",
                          "1.4 canceled_immediate 2 buy 1 at 0, open 0; 999972, 10004"});
}

namespace {

// The state of an account, built from its events alone.
struct Follower {
  struct Open {
    Side side;
    Shares open;
    Price limit;
  };
  Int128 cash = 0;  // units; negative within an execution of the account with itself
  std::map<SymbolNumber, Int128> positions;
  std::map<OrderId, Open> orders;
  EventNumber number = 0;
  std::optional<EventRow> own_maker;  // of an execution of the account with itself

  static Int128 money(Shares shares, Price price) { return Int128(shares.units()) * price.units(); }
  void reserve(const Open& order, SymbolNumber symbol, Shares shares, bool back) {
    if (order.side == Side::buy)
      cash += back ? money(shares, order.limit) : -money(shares, order.limit);
    else
      positions[symbol] += back ? shares.units() : -shares.units();
  }
  void take(const EventRow& row) {
    REQUIRE(row.number == ++number);
    const std::string_view kind = to_string(row.kind);
    if (kind == "shares_received" || kind == "shares_taken") {
      positions[row.symbol] += (kind == "shares_taken" ? -1 : 1) * Int128(row.shares.units());
    } else if (kind == "cash_received" || kind == "cash_taken") {
      const bool more = row.balance.units() > cash;
      REQUIRE((row.balance.units() == cash || more == (kind == "cash_received")));
      cash = row.balance.units();
      return;  // the event has no symbol
    } else if (kind == "opened") {
      Open opened{row.side, row.shares, row.price};
      if (row.price == Price() && row.side == Side::buy)  // an auction reserves for it
        opened.limit =
            Price::from_units(std::int64_t((cash - row.balance.units()) / row.shares.units()));
      REQUIRE(orders.emplace(row.order, opened).second);
      reserve(orders[row.order], row.symbol, row.shares, false);
    } else if (kind.starts_with("executed")) {
      Open& order = orders.at(row.order);
      reserve(order, row.symbol, row.shares, true);
      order.open -= row.shares;
      const bool buys = row.side == Side::buy;
      cash += (buys ? -1 : 1) * money(row.shares, row.price);
      positions[row.symbol] += (buys ? 1 : -1) * Int128(row.shares.units());
    } else if (kind.starts_with("canceled")) {
      Open& order = orders.at(row.order);
      REQUIRE(order.open == row.shares);
      reserve(order, row.symbol, order.open, true);
      order.open = Shares();
    } else {
      REQUIRE(kind == "replaced");
      Open& order = orders.at(row.order);
      reserve(order, row.symbol, order.open, true);
      order.open = row.open;
      order.limit = row.price;
      reserve(order, row.symbol, order.open, false);
    }
    // An execution moves everything at once: both events of one account show its state after both.
    if (own_maker) {
      REQUIRE(row.execution == own_maker->execution);
      REQUIRE(own_maker->balance.units() == cash);
      own_maker.reset();
    } else if (row.kind == EventKind::executed_maker &&
               (row.balance.units() != cash || row.position.units() != positions[row.symbol])) {
      own_maker = row;
    }
    if (!own_maker) {
      REQUIRE(row.balance.units() == cash);
      REQUIRE(row.position.units() == positions[row.symbol]);
    }
    if (row.order == 0) return;
    REQUIRE(row.open == orders.at(row.order).open);
    REQUIRE(row.side == orders.at(row.order).side);
    if (row.open == Shares()) orders.erase(row.order);
  }
};

}  // namespace

TEST_CASE("by its events alone, a client knows what its account has after each of them") {
  std::map<std::string, int> kinds;
  const auto has_all = [&] { return kinds.size() == enumerators<EventKind>; };
  for (int round = 0; round < 100 || (round < 1'000 && !has_all()); ++round) {
    RandomCommands commands(test_seed() + round, round % 3 == 2, round % 2 == 1);
    Exchange engine;
    std::map<AccountNumber, Follower> followers;
    std::map<AccountNumber, AccountId> ids;
    ModelTables tables;
    for (int i = 0; i < 400; ++i) {
      const Command command = commands.next(engine.totals().orders);
      INFO("round " << round << ", command " << i << ": " << print(command));
      engine.apply(command, commands.next_time());
      Rows rows;
      engine.take_changes(rows);
      tables.write(rows);
      for (const AccountRow& row : rows.accounts) ids.emplace(row.number, row.id);
      for (const EventRow& row : rows.events) {
        ++kinds[std::string(to_string(row.kind))];
        if (row.kind != EventKind::began) {
          followers.at(row.account).take(row);
          continue;
        }
        // as a snapshot
        Follower& follower = followers[row.account];
        follower.number = row.number;
        follower.cash = row.balance.units();
        const Rows image = tables.image();
        for (const PositionRow& position : image.positions)
          if (position.account == row.account)
            follower.positions[position.symbol] = position.shares.units();
        for (const OrderRow& order : image.orders)
          if (order.account == row.account)
            follower.orders[order.id] = {
                order.side, order.open,  // a market order of an auction reserves at the highest
                order.limit == Price() ? image.symbols[order.symbol].price_max : order.limit};
      }
      for (const auto& [number, follower] : followers)
        REQUIRE(engine.balance(ids.at(number)).units() == follower.cash);
    }
    const Rows image = tables.image();
    std::map<AccountNumber, std::size_t> open;
    for (const OrderRow& order : image.orders) ++open[order.account];
    for (const auto& [number, follower] : followers)
      REQUIRE(follower.orders.size() == open[number]);
    for (const PositionRow& position : image.positions)
      if (const auto follower = followers.find(position.account); follower != followers.end())
        REQUIRE(follower->second.positions[position.symbol] == position.shares.units());
  }
  CHECK(has_all());
}
