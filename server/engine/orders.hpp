#pragma once
// Orders places, matches, replaces, cancels and finds orders (docs/protocol.md, M1 to M11 and E1 to
// E32).
// Owner: made for one command. Thread: that of the Exchange.

#include "engine/accounts.hpp"
#include "engine/exchange_state.hpp"
#include "engine/limit_checks.hpp"
#include "engine/settlement.hpp"
#include "engine/trading_day.hpp"

namespace exchange {

// One CancelAll cancels at most canceled_orders_max orders, and none after
// canceled_executions_max executions were listed (E18).
inline constexpr std::size_t canceled_orders_max = 1'000, canceled_executions_max = 100'000;

class Orders {
 public:
  explicit Orders(ExchangeState& state) : state_(state) {}

  // Reserves funds or shares, matches, then rests the remainder. A buy of a symbol that does not
  // exist creates it, without shares, unless the policy refuses that. A market buy reserves nothing
  // and pays as it executes (E11), except in an auction (A3).
  // Returns Opened; OpenedBefore. Refusals: unknown_account, reference_used, unknown_symbol,
  // insufficient_funds, insufficient_shares, cannot_fill, would_execute, and those of Accounts,
  // TradingDay and LimitChecks.
  Outcome apply(const PlaceOrder& command, Timestamp now, const Located& located,
                DoorPolicy policy);
  // Releases what is reserved for the open part. Returns Canceled; NotInMemory if the order may be
  // in the tables. Refusals: unknown_account, unknown_order (also for another account's order),
  // nothing_open.
  Outcome apply(const CancelOrder& command, Timestamp now, const Located& located);
  // Reserves for the new open part and releases the old one. An order that loses its place is
  // matched as if it arrived (E26 to E32). Returns Replaced; NotInMemory as above. Refusals: as
  // CancelOrder; other_side, executed_more, insufficient_funds, insufficient_shares, and those of
  // Accounts, TradingDay and LimitChecks.
  Outcome apply(const ReplaceOrder& command, Timestamp now, const Located& located);
  // Cancels each order as CancelOrder would, the oldest first, up to the limits of one outcome
  // (canceled_orders_max, canceled_executions_max). Returns CanceledAll. Refusals: unknown_account,
  // no_open_orders.
  Outcome apply(const CancelAll& command, Timestamp now);
  // Returns Status; NotInMemory as above. Changes nothing. Refusals: unknown_account, unknown_order
  // (another account's, unless queries are open).
  Outcome apply(const QueryOrder& command, DoorPolicy policy) const;

 private:
  // Returns the order's index; or no_index, and the refusal that query, cancel and replace share.
  template <class OfOrder>
  std::uint32_t find_order(const OfOrder& command, const Located& located, bool of_any_account,
                           Outcome& refusal) const;
  // Matches the order. Returns false if the part that stays open must not rest.
  bool match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now);
  void cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now);
  Accounts accounts() const { return Accounts(state_); }
  TradingDay trading_day() const { return TradingDay(state_); }
  LimitChecks limit_checks() const { return LimitChecks(state_); }
  Settlement settlement() const { return Settlement(state_); }

  ExchangeState& state_;
};

}  // namespace exchange
