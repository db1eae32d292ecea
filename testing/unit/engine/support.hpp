#pragma once
// What the engine's tests share: a market with short names for its commands, and everything in print,
// so that a failed comparison shows both sides in whole.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "engine/exchange.hpp"

namespace exchange {

inline std::string print(const AccountId& id) { return std::string(id.view()); }
inline std::string print(const SymbolName& name) { return std::string(name.view()); }
inline std::string print(Timestamp time) { return std::to_string(time.microseconds) + "us"; }
inline std::string print(const Status& status) {
  std::string text = std::to_string(status.order) + " open " + to_string(status.open) + " canceled " +
                     to_string(status.canceled) + " at " + print(status.canceled_at);
  for (const Execution& e : status.executions)
    text += ", executed " + to_string(e.shares) + " @" + to_string(e.price) + " at " + print(e.time);
  return text;
}
inline std::string print(const Outcome& outcome) {
  struct {
    std::string operator()(const Rejected& o) { return "rejected: " + std::string(describe(o.reason)); }
    std::string operator()(const Created&) { return "created"; }
    std::string operator()(const Opened& o) { return "opened " + std::to_string(o.order); }
    std::string operator()(const Status& o) { return "status " + print(o); }
    std::string operator()(const Canceled& o) { return "canceled " + print(o.status); }
    std::string operator()(const NotInMemory& o) {
      return "not in memory: account " + std::to_string(o.account) + " order " + std::to_string(o.order);
    }
  } printer;
  return std::visit(printer, outcome);
}
inline std::string print(const Command& command) {
  struct {
    std::string operator()(const CreateAccount& c) {
      return "account " + print(c.account) + " with " + to_string(c.balance);
    }
    std::string operator()(const CreateSymbol& c) { return "symbol " + print(c.symbol); }
    std::string operator()(const PlaceShares& c) {
      return "place " + to_string(c.shares) + " " + print(c.symbol) + " at " + print(c.account);
    }
    std::string operator()(const PlaceOrder& c) {
      return print(c.account) + (c.side == Side::buy ? " buys " : " sells ") + to_string(c.shares) + " " +
             print(c.symbol) + " @" + to_string(c.limit);
    }
    std::string operator()(const CancelOrder& c) { return print(c.account) + " cancels " + std::to_string(c.order); }
    std::string operator()(const QueryOrder& c) { return print(c.account) + " queries " + std::to_string(c.order); }
  } printer;
  return std::visit(printer, command);
}

// One line per row, sorted: rows come in any order.
inline std::vector<std::string> lines(const Rows& rows) {
  std::vector<std::string> lines;
  const auto number = [](auto n) { return std::to_string(n); };
  for (const AccountRow& r : rows.accounts)
    lines.push_back("account " + number(r.number) + " " + print(r.id) + ": " + to_string(r.balance));
  for (const SymbolRow& r : rows.symbols)
    lines.push_back("symbol " + number(r.number) + " " + print(r.name) + ": " + to_string(r.shares_total));
  for (const PositionRow& r : rows.positions)
    lines.push_back("position " + number(r.account) + " " + number(r.symbol) + ": " + to_string(r.shares));
  for (const OrderRow& r : rows.orders)
    lines.push_back("order " + number(r.id) + ": account " + number(r.account) +
                    (r.side == Side::buy ? " buys " : " sells ") + to_string(r.shares) + " of " + number(r.symbol) +
                    " @" + to_string(r.limit) + " at " + print(r.opened_at) + ", open " + to_string(r.open) +
                    ", canceled " + to_string(r.canceled) + " at " + print(r.canceled_at));
  for (const ExecutionRow& r : rows.executions)
    lines.push_back("execution " + number(r.id) + ": buy " + number(r.buy_order) + " sell " + number(r.sell_order) + " " +
                    to_string(r.shares) + " of " + number(r.symbol) + " @" + to_string(r.price) + " at " + print(r.time));
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace exchange

namespace Catch {
template <>
struct StringMaker<exchange::Outcome> {
  static std::string convert(const exchange::Outcome& outcome) { return exchange::print(outcome); }
};
template <>
struct StringMaker<exchange::Shares> {
  static std::string convert(exchange::Shares shares) { return exchange::to_string(shares); }
};
template <>
struct StringMaker<exchange::Price> {
  static std::string convert(exchange::Price price) { return exchange::to_string(price); }
};
template <>
struct StringMaker<exchange::Cash> {
  static std::string convert(exchange::Cash cash) { return exchange::to_string(cash); }
};
template <>
struct StringMaker<exchange::Exchange::Depth> {
  static std::string convert(const exchange::Exchange::Depth& depth) {
    return exchange::units_text(depth.shares_units) + " units @" + exchange::to_string(depth.price) + " in " +
           std::to_string(depth.orders);
  }
};
}  // namespace Catch

namespace exchange {

inline Outcome created() { return Created{}; }
inline Outcome opened(OrderId order) { return Opened{order}; }
inline Outcome rejected(Reason reason) { return Rejected{reason}; }
// An order that is open, or done where `open` is 0, and never canceled.
inline Outcome status(OrderId order, std::int64_t open, std::vector<Execution> executions) {
  return Status{order, Shares::whole(open), Shares(), Timestamp(), std::move(executions)};
}
inline Execution executed(std::int64_t shares, std::int64_t price, Timestamp time) {
  return {Shares::whole(shares), Price::whole(price), time};
}
inline Exchange::Depth level(std::int64_t shares, std::int64_t price, std::uint32_t orders) {
  return {Price::whole(price), Shares::whole(shares).units(), orders};
}
inline constexpr Timestamp seconds(std::int64_t seconds) { return {seconds * 1'000'000}; }

// An engine whose clock stands still unless the test moves it. Every command must leave it sound.
class Market {
 public:
  Exchange engine;
  Timestamp now = seconds(1);

  Outcome apply(const Command& command) {
    const Outcome outcome = engine.apply(command, now);
    REQUIRE(engine.check_invariants() == "");
    return outcome;
  }
  void account(std::string_view id, std::int64_t balance) {
    REQUIRE(apply(CreateAccount{AccountId(id), Cash::whole(balance)}) == created());
  }
  void give(std::string_view account, std::int64_t shares, std::string_view symbol = "SYM") {
    REQUIRE(apply(PlaceShares{SymbolName(symbol), AccountId(account), Shares::whole(shares)}) == created());
  }
  Outcome buy(std::string_view account, std::int64_t shares, std::int64_t limit, std::string_view symbol = "SYM") {
    return place(account, Side::buy, shares, limit, symbol);
  }
  Outcome sell(std::string_view account, std::int64_t shares, std::int64_t limit, std::string_view symbol = "SYM") {
    return place(account, Side::sell, shares, limit, symbol);
  }
  Outcome cancel(std::string_view account, OrderId order) { return apply(CancelOrder{AccountId(account), order}); }
  Outcome query(std::string_view account, OrderId order) { return apply(QueryOrder{AccountId(account), order}); }

  Outcome place(std::string_view account, Side side, std::int64_t shares, std::int64_t limit, std::string_view symbol) {
    return apply(PlaceOrder{AccountId(account), SymbolName(symbol), side, Shares::whole(shares), Price::whole(limit)});
  }

  Cash balance(std::string_view account) const { return engine.balance(AccountId(account)); }
  Shares position(std::string_view account, std::string_view symbol = "SYM") const {
    return engine.position(AccountId(account), SymbolName(symbol));
  }
  std::vector<Exchange::Depth> bids(std::string_view symbol = "SYM") const {
    return engine.depth(SymbolName(symbol), Side::buy);
  }
  std::vector<Exchange::Depth> asks(std::string_view symbol = "SYM") const {
    return engine.depth(SymbolName(symbol), Side::sell);
  }
};

// Two traders with enough of everything.
inline Market market_of_two() {
  Market market;
  for (const char* trader : {"1", "2"}) {
    market.account(trader, 1'000'000);
    market.give(trader, 10'000);
  }
  return market;
}

}  // namespace exchange
