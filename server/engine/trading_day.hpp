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

  // Created; Uncrossed where one symbol became open and its auction executed orders (A4). Refused:
  // unknown_symbol, inverted_prices, in_auction. Orders that rest stay as they are.
  Outcome apply(const SetInstrument& command, Timestamp now);

  // Whether the instrument refuses an order, or what a replace would make of one.
  template <class OfOrder>  // PlaceOrder or ReplaceOrder
  std::optional<Rejected> check(SymbolNumber symbol, const OfOrder& order) const {
    if (symbol == no_index || !state_.ledger.symbol(symbol).restricted) [[likely]]
      return {};
    return check_rules(state_.ledger.symbol(symbol), order);
  }
  // Whether an order that the instrument does not refuse is collected for an auction: one that is
  // there, or that it starts.
  bool would_collect(SymbolNumber symbol, Side side, Price limit) const {
    const Ledger::Symbol& traded = state_.ledger.symbol(symbol);
    if (!traded.restricted) [[likely]]
      return false;
    return collects(traded.instrument.trading) || is_beyond_band(traded, side, limit);
  }
  // Such an order: starts the auction, unless it is there.
  void collect(SymbolNumber symbol, Timestamp now);
  // The price up to, or down to, which an order of that side may go; 0: any.
  static Price band_limit(const Ledger::Symbol& symbol, Side side);

 private:
  template <class OfOrder>
  static std::optional<Rejected> check_rules(const Ledger::Symbol& symbol, const OfOrder& order);
  static bool is_beyond_band(const Ledger::Symbol& symbol, Side side, Price limit);
  std::optional<Rejected> check_change(SymbolNumber symbol, const SetInstrument& command) const;
  Outcome set_instrument(SymbolNumber symbol, const SetInstrument& command, Timestamp now);
  // Executes what crosses at one price (A4 to A6).
  std::optional<Uncrossed> uncross(SymbolNumber symbol, Timestamp now);
  // The last price, if an order may have it as its limit; else 0.
  static Price auction_reference(const Ledger::Symbol& symbol);
  void cancel_market_orders(SymbolNumber symbol, Timestamp now);
  Settlement settlement() const { return Settlement(state_); }

  ExchangeState& state_;
};

}  // namespace exchange
