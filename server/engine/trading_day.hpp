#pragma once
// TradingDay keeps the rules of symbols, halts and auctions (docs/protocol.md, I1 to I9 and A1 to
// A8).
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"
#include "engine/settlement.hpp"

namespace exchange {

class TradingDay {
 public:
  explicit TradingDay(ExchangeState& state) : state_(state) {}

  // Returns Created; Uncrossed if one symbol became open and its auction executed orders (A4).
  // Refusals: unknown_symbol, inverted_prices, in_auction. Resting orders stay as they are.
  Outcome apply(const SetInstrument& command, Timestamp now);

  // Returns a refusal if the instrument refuses an order, or the order that a replace would make.
  template <class OfOrder>  // PlaceOrder or ReplaceOrder
  std::optional<Rejected> check(SymbolNumber symbol, const OfOrder& order) const {
    if (symbol == no_index || !state_.ledger.symbol(symbol).restricted) [[likely]]
      return {};
    return check_rules(state_.ledger.symbol(symbol), order);
  }
  // Returns true if an order that the instrument does not refuse is collected for an auction,
  // either a running one or one that the order starts.
  bool would_collect(SymbolNumber symbol, Side side, Price limit) const {
    const Ledger::Symbol& traded = state_.ledger.symbol(symbol);
    if (!traded.restricted) [[likely]]
      return false;
    return collects(traded.instrument.trading) || is_beyond_band(traded, side, limit);
  }
  // Collects such an order: starts the auction, unless it is running.
  void collect(SymbolNumber symbol, Timestamp now);
  // Returns the highest limit of a buy, or the lowest of a sell, that the band allows; 0: any.
  static Price band_limit(const Ledger::Symbol& symbol, Side side);

 private:
  template <class OfOrder>
  static std::optional<Rejected> check_rules(const Ledger::Symbol& symbol, const OfOrder& order);
  static bool is_beyond_band(const Ledger::Symbol& symbol, Side side, Price limit);
  std::optional<Rejected> check_change(SymbolNumber symbol, const SetInstrument& command) const;
  Outcome set_instrument(SymbolNumber symbol, const SetInstrument& command, Timestamp now);
  // Executes what crosses at one price (A4 to A6).
  std::optional<Uncrossed> uncross(SymbolNumber symbol, Timestamp now);
  // Returns the last price if it is valid as a limit; else 0.
  static Price auction_reference(const Ledger::Symbol& symbol);
  void cancel_market_orders(SymbolNumber symbol, Timestamp now);
  Settlement settlement() const { return Settlement(state_); }

  ExchangeState& state_;
};

}  // namespace exchange
