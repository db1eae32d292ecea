#include "model/naive_exchange.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace exchange {
namespace {

// Sums run over all history and wrap alike on both sides; the result is in range again.
UInt128 money(Shares shares, Price price) {
  return UInt128(shares.units()) * UInt128(price.units());
}

}  // namespace

Outcome NaiveExchange::apply(const Command& command, Timestamp now) {
  return std::visit([&](const auto& c) { return execute(c, now); }, command);
}

Outcome NaiveExchange::execute(const CreateAccount& command, Timestamp) {
  if (knows(command.account)) return Rejected{Reason::account_exists};
  auto total = UInt128(command.balance.units());
  for (const Account& account : accounts_) total += UInt128(account.deposit.units());
  if (total > UInt128(cash_total_max.units())) return Rejected{Reason::cash_total_overflow};
  accounts_.push_back({command.account, command.balance});
  return Created{};
}

Outcome NaiveExchange::execute(const CreateSymbol& command, Timestamp) {
  if (!knows(command.symbol)) symbols_.push_back(command.symbol);
  return Created{};
}

Outcome NaiveExchange::execute(const PlaceShares& command, Timestamp) {
  if (!knows(command.account)) return Rejected{Reason::unknown_account};
  auto total = UInt128(command.shares.units());
  for (const Placement& placement : placements_)
    if (placement.symbol == command.symbol) total += UInt128(placement.shares.units());
  if (total > UInt128(shares_total_max.units())) return Rejected{Reason::shares_total_overflow};
  if (!knows(command.symbol)) symbols_.push_back(command.symbol);
  placements_.push_back({command.symbol, command.account, command.shares});
  return Created{};
}

Outcome NaiveExchange::execute(const PlaceOrder& command, Timestamp now) {
  if (!knows(command.account)) return Rejected{Reason::unknown_account};
  if (command.side == Side::buy) {
    if (UInt128(balance(command.account).units()) < money(command.shares, command.limit))
      return Rejected{Reason::insufficient_funds};
    if (!knows(command.symbol)) symbols_.push_back(command.symbol);
  } else if (position(command.account, command.symbol) < command.shares) {
    return Rejected{Reason::insufficient_shares};
  }

  orders_.push_back({orders_.size() + 1, command, {}, {}, {}});
  Order& taker = orders_.back();
  for (Order* maker; open(taker) > Shares() && (maker = best_match(taker)) != nullptr;) {
    const Execution execution{std::min(open(taker), open(*maker)), maker->placed.limit, now};
    taker.executions.push_back(execution);
    maker->executions.push_back(execution);
  }
  return Opened{taker.id};
}

NaiveExchange::Order* NaiveExchange::best_match(const Order& taker) {
  Order* best = nullptr;
  for (Order& maker : orders_) {  // in order of arrival: the first at the best price is the oldest
    const PlaceOrder &a = maker.placed, &b = taker.placed;
    if (!(a.symbol == b.symbol) || a.side == b.side || open(maker) == Shares()) continue;
    const PlaceOrder &buy = a.side == Side::buy ? a : b, &sell = a.side == Side::buy ? b : a;
    if (sell.limit > buy.limit) continue;
    const bool better = best == nullptr || (a.side == Side::buy ? a.limit > best->placed.limit
                                                                : a.limit < best->placed.limit);
    if (better) best = &maker;
  }
  return best;
}

Outcome NaiveExchange::execute(const CancelOrder& command, Timestamp now) {
  if (!knows(command.account)) return Rejected{Reason::unknown_account};
  Order* order = find(command.account, command.order);
  if (order == nullptr) return Rejected{Reason::unknown_order};
  if (open(*order) == Shares()) return Rejected{Reason::nothing_open};
  order->canceled = open(*order);
  order->canceled_at = now;
  return Canceled{status(*order)};
}

Outcome NaiveExchange::execute(const QueryOrder& command, Timestamp) {
  if (!knows(command.account)) return Rejected{Reason::unknown_account};
  const Order* order = find(command.account, command.order);
  if (command.of_any_account && command.order >= 1 && command.order <= orders_.size())
    order = &orders_[command.order - 1];
  if (order == nullptr) return Rejected{Reason::unknown_order};
  return status(*order);
}

Cash NaiveExchange::balance(const AccountId& account) const {
  UInt128 balance = 0;
  for (const Account& known : accounts_)
    if (known.id == account) balance += UInt128(known.deposit.units());
  for (const Order& order : orders_) {
    if (!(order.placed.account == account)) continue;
    const bool buys = order.placed.side == Side::buy;
    if (buys) balance -= money(open(order), order.placed.limit);
    for (const Execution& execution : order.executions) {
      const UInt128 paid = money(execution.shares, execution.price);
      balance += buys ? -paid : paid;
    }
  }
  return Cash::from_units(Int128(balance));
}

Shares NaiveExchange::position(const AccountId& account, const SymbolName& symbol) const {
  UInt128 shares = 0;
  for (const Placement& placement : placements_)
    if (placement.account == account && placement.symbol == symbol)
      shares += UInt128(placement.shares.units());
  for (const Order& order : orders_) {
    if (!(order.placed.account == account && order.placed.symbol == symbol)) continue;
    const bool buys = order.placed.side == Side::buy;
    if (!buys) shares -= UInt128(open(order).units());
    for (const Execution& execution : order.executions) {
      const auto moved = UInt128(execution.shares.units());
      shares += buys ? moved : -moved;
    }
  }
  return Shares::from_units(std::int64_t(shares));
}

std::vector<Exchange::Depth> NaiveExchange::depth(const SymbolName& symbol, Side side) const {
  std::map<Price, Exchange::Depth> levels;
  for (const Order& order : orders_) {
    if (!(order.placed.symbol == symbol) || order.placed.side != side || open(order) == Shares())
      continue;
    Exchange::Depth& level =
        levels.try_emplace(order.placed.limit, Exchange::Depth{order.placed.limit, 0, 0})
            .first->second;
    level.shares_units += open(order).units();
    ++level.orders;
  }
  std::vector<Exchange::Depth> depth;
  for (const auto& [price, level] : levels) depth.push_back(level);
  if (side == Side::buy) std::reverse(depth.begin(), depth.end());
  return depth;
}

bool NaiveExchange::knows(const AccountId& account) const {
  return std::any_of(accounts_.begin(), accounts_.end(),
                     [&](const Account& known) { return known.id == account; });
}

bool NaiveExchange::knows(const SymbolName& symbol) const {
  return std::find(symbols_.begin(), symbols_.end(), symbol) != symbols_.end();
}

NaiveExchange::Order* NaiveExchange::find(const AccountId& account, OrderId id) {
  for (Order& order : orders_)
    if (order.id == id && order.placed.account == account) return &order;
  return nullptr;
}

Shares NaiveExchange::open(const Order& order) {
  Shares open = order.placed.shares - order.canceled;
  for (const Execution& execution : order.executions) open -= execution.shares;
  return open;
}

Status NaiveExchange::status(const Order& order) {
  return {order.id, open(order), order.canceled, order.canceled_at, order.executions};
}

}  // namespace exchange
