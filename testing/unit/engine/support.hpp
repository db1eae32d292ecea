#pragma once
// The common part of the engine's tests: a market with short names for its commands, and printing
// of all values, so that a failed comparison shows both sides in full.

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "catch.hpp"
#include "engine/exchange.hpp"
#include "model/random_commands.hpp"
#include "model/tables.hpp"

namespace Catch {
template <>
struct StringMaker<exchange::Outcome> {
  static std::string convert(const exchange::Outcome& outcome) { return exchange::print(outcome); }
};
template <class Number>
requires std::is_same_v<Number, exchange::Shares> || std::is_same_v<Number, exchange::Price> ||
    std::is_same_v<Number, exchange::Cash>
struct StringMaker<Number> {
  static std::string convert(Number number) { return exchange::to_string(number); }
};
template <>
struct StringMaker<exchange::Exchange::Depth> {
  static std::string convert(const exchange::Exchange::Depth& depth) {
    return exchange::print(depth);
  }
};
}  // namespace Catch

namespace exchange {

inline constexpr Timestamp seconds(std::int64_t seconds) { return {seconds * 1'000'000}; }

inline Outcome created() { return Created{}; }
inline Outcome opened(OrderId order) { return Opened{order}; }
inline Outcome rejected(Reason reason) { return Rejected{reason}; }
// Returns the status of an order that is open, or closed if `open` is 0, and was never canceled.
inline Outcome status(OrderId order, std::int64_t open, std::vector<Execution> executions) {
  return Status{order, Shares::whole(open), Shares(), Timestamp(), std::move(executions)};
}
inline Execution executed(std::int64_t shares, std::int64_t price, Timestamp time = seconds(1)) {
  return {Shares::whole(shares), Price::whole(price), time};
}
inline Exchange::Depth level(std::int64_t shares, std::int64_t price, std::uint32_t orders) {
  return {Price::whole(price), Shares::whole(shares).units(), orders};
}

inline const SymbolName sym("SYM");

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
    REQUIRE(apply(PlaceShares{SymbolName(symbol), AccountId(account), Shares::whole(shares)}) ==
            created());
  }
  Outcome place(std::string_view account, Side side, std::int64_t shares, std::int64_t limit,
                std::string_view symbol = "SYM") {
    return apply(PlaceOrder{AccountId(account), SymbolName(symbol), side, Shares::whole(shares),
                            Price::whole(limit)});
  }
  Outcome buy(std::string_view account, std::int64_t shares, std::int64_t limit,
              std::string_view symbol = "SYM") {
    return place(account, Side::buy, shares, limit, symbol);
  }
  Outcome sell(std::string_view account, std::int64_t shares, std::int64_t limit,
               std::string_view symbol = "SYM") {
    return place(account, Side::sell, shares, limit, symbol);
  }
  Outcome cancel(std::string_view account, OrderId order) {
    return apply(CancelOrder{AccountId(account), order});
  }
  Outcome query(std::string_view account, OrderId order) {
    return apply(QueryOrder{AccountId(account), order});
  }

  // Returns the rows that changed since the last call.
  std::vector<std::string> changes() {
    Rows rows;
    engine.take_changes(rows);
    REQUIRE(rows.totals == engine.totals());
    REQUIRE(engine.changed_rows() == 0);
    return lines(rows);
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

// Two traders with plenty of cash and shares.
class TwoTraders : public Market {
 public:
  TwoTraders() {
    for (const char* trader : {"1", "2"}) {
      account(trader, 1'000'000);
      give(trader, 10'000);
    }
  }
  // Builds an exchange as recovery does, from the rows of this call and those before.
  Exchange restarted() {
    Rows rows;
    engine.take_changes(rows);
    tables_.write(rows);
    return Exchange(tables_.image());
  }

 private:
  ModelTables tables_;
};

}  // namespace exchange
