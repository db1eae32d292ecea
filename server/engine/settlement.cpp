#include "engine/settlement.hpp"

namespace exchange {

// One execution changes both orders, the seller's balance, the buyer's position and the refund
// together (docs/protocol.md, M6 to M9).
void Settlement::execute(Books::Order& taker, Books::Order& maker, Shares shares,
                         std::optional<Price> of_auction, Timestamp now) {
  Ledger& ledger = state_.ledger;
  Books& books = state_.books;
  ChangeSet& changes = state_.changes;
  const Price price = of_auction.value_or(maker.limit);
  Books::Order& buy = taker.side == Side::buy ? taker : maker;
  Books::Order& sell = taker.side == Side::buy ? maker : taker;

  taker.open -= shares;
  maker.open -= shares;
  const Cash paid = cost(shares, price);
  // Pay the buyer first: a market buy, whose limit is 0, pays here, perhaps to its own account,
  // where the sum of both could overflow. All other buys get their refund.
  if (buy.limit != price) {
    ledger.add_cash(buy.account, cost(shares, reserved_price(buy)) - paid, changes);
  }
  ledger.add_cash(sell.account, paid, changes);
  ledger.add_shares(buy.account, buy.symbol, shares, changes);
  ledger.set_last_price(buy.symbol, price, changes);

  books.add_execution({shares, price, now}, buy, sell);
  ++ledger.account(buy.account).executions;
  ++ledger.account(sell.account).executions;
  ExecutionRow& row = changes.executions.emplace_back();
  row.id = ++state_.totals.executions;
  row.symbol = buy.symbol;
  row.buy_order = buy.id;
  row.sell_order = sell.id;
  row.shares = shares;
  row.price = price;
  row.time = now;
  row.taker = taker.side;
  row.of_auction = of_auction.has_value();
  state_.update_digest(now, Digested::executed, std::uint64_t(shares.units()),
                       std::uint64_t(price.units()) ^ maker.id);
  state_.record(maker, now, EventKind::executed_maker, shares, price, row.id);
  state_.record(taker, now, EventKind::executed_taker, shares, price, row.id);
}

void Settlement::cancel_open(std::uint32_t index, Timestamp now, EventKind kind) {
  Ledger& ledger = state_.ledger;
  Books& books = state_.books;
  ChangeSet& changes = state_.changes;
  Books::Order& order = books.order(index);
  const Shares open = order.open;
  state_.mark_order(index);
  if (order.side == Side::buy)
    ledger.add_cash(order.account, cost(open, reserved_price(order)), changes);
  else
    ledger.add_shares(order.account, order.symbol, open, changes);
  Books::History& history = books.history(index);
  history.canceled = open;
  history.canceled_at = now;
  order.open = Shares();
  state_.update_digest(now, Digested::order_canceled, order.id, std::uint64_t(open.units()));
  state_.record(order, now, kind, open, order.limit);
  books.close(index);
}

}  // namespace exchange
