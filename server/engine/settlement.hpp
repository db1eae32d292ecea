#pragma once
// Settlement moves cash and shares between accounts and orders: what an execution pays, and what a
// cancel returns (docs/protocol.md, M6 to M9 and M11). An open buy holds the cash that it reserved,
// an open sell its shares.
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"

namespace exchange {

class Settlement {
 public:
  explicit Settlement(ExchangeState& state) : state_(state) {}

  // Returns what a resting buy reserves for each share.
  Price reserved_price(const Books::Order& order) const {
    if (order.limit != Price()) [[likely]]
      return order.limit;
    const Instrument& rules = state_.ledger.symbol(order.symbol).instrument;
    return collects(rules.trading) ? rules.price_max : Price();  // else no market order rests
  }
  // Executes at the price of the auction, if given, or at the maker's.
  void execute(Books::Order& taker, Books::Order& maker, Shares shares,
               std::optional<Price> of_auction, Timestamp now);
  // Call it for a resting order after an execution. Its level must no longer count what was
  // executed.
  void close_if_executed(std::uint32_t index) {
    if (state_.books.order(index).open > Shares()) return;
    leave_book(state_.books.order(index));
    state_.books.unlink(index);
    state_.books.close(index);
  }
  void rest(std::uint32_t index, std::uint32_t expected_level = no_index) {
    ++state_.ledger.account(state_.books.order(index).account).open_orders;
    state_.books.rest(index, expected_level);
  }
  void leave_book(const Books::Order& order) { --state_.ledger.account(order.account).open_orders; }
  void cancel_resting(std::uint32_t index, Timestamp now, EventKind kind) {
    leave_book(state_.books.order(index));
    state_.books.take_out(index);
    cancel_open(index, now, kind);
  }
  // Fills a new status before the order changes: a read of the history that cancel_open() writes
  // would wait for its cache line.
  void cancel_resting(std::uint32_t index, Timestamp now, EventKind kind, Status& status) {
    status.order = state_.books.order(index).id;
    status.canceled = state_.books.order(index).open;
    status.canceled_at = now;
    state_.books.list_executions(index, status);
    cancel_resting(index, now, kind);
  }
  // Cancels the open part of an order that is in no book, and returns its reservation.
  void cancel_open(std::uint32_t index, Timestamp now, EventKind kind);

 private:
  ExchangeState& state_;
};

}  // namespace exchange
