#include "history/versioned_exchange.hpp"

#include <algorithm>

namespace exchange::history {
namespace {

std::string text(const AccountId& id) { return std::string(id.view()); }
std::string text(const SymbolName& name) { return std::string(name.view()); }

bool by_version(Version version, const std::pair<Version, Cash>& value) {
  return version < value.first;
}
bool by_version(Version version, const std::pair<Version, Shares>& value) {
  return version < value.first;
}

const AccountId& owner(const CancelOrder& command) { return command.account; }
const AccountId& owner(const QueryOrder& command) { return command.account; }

}  // namespace

template <class Value>
Value VersionedExchange::Timeline<Value>::at(Version version) const {
  const auto after =
      std::upper_bound(values_.begin(), values_.end(), version,
                       [](Version v, const auto& value) { return by_version(v, value); });
  return after == values_.begin() ? Value() : std::prev(after)->second;
}

template <class Value>
Version VersionedExchange::Timeline<Value>::next_change(Version version) const {
  const auto after =
      std::upper_bound(values_.begin(), values_.end(), version,
                       [](Version v, const auto& value) { return by_version(v, value); });
  return after == values_.end() ? never : after->first;
}

// --- looking ---

const VersionedExchange::Account* VersionedExchange::account(const AccountId& id,
                                                             Version version) const {
  const auto found = accounts_.find(text(id));
  return found == accounts_.end() || found->second.created > version ? nullptr : &found->second;
}

const VersionedExchange::Symbol* VersionedExchange::symbol(const SymbolName& name,
                                                           Version version) const {
  const auto found = symbols_.find(text(name));
  return found == symbols_.end() || found->second.created > version ? nullptr : &found->second;
}

const VersionedExchange::Order* VersionedExchange::order(const AccountId& account, OrderId id,
                                                         Version version,
                                                         bool of_any_account) const {
  if (id == 0 || id > orders_.size()) return nullptr;
  const Order& order = orders_[id - 1];
  return order.opened > version || !(of_any_account || order.placed.account == account) ? nullptr
                                                                                        : &order;
}

Shares VersionedExchange::open(const Order& order, Version version) {
  Shares open = order.placed.shares;
  for (const Executed& executed : order.executions)
    if (executed.from <= version) open -= executed.execution.shares;
  return order.canceled <= version ? open - order.canceled_shares : open;
}

Status VersionedExchange::status(OrderId id, const Order& order, Version version) {
  Status status{.order = id, .open = open(order, version)};
  if (order.canceled <= version) {
    status.canceled = order.canceled_shares;
    status.canceled_at = order.canceled_at;
  }
  for (const Executed& executed : order.executions)
    if (executed.from <= version) status.executions.push_back(executed.execution);
  return status;
}

Outcome VersionedExchange::outcome(const Command& command, Version version) const {
  return std::visit([&](const auto& c) { return at(c, version); }, command);
}

Outcome VersionedExchange::at(const CreateAccount& command, Version version) const {
  if (account(command.account, version)) return Rejected{Reason::account_exists};
  if (UInt128(cash_.at(version).units()) + UInt128(command.balance.units()) >
      UInt128(cash_total_max.units()))
    return Rejected{Reason::cash_total_overflow};
  return Created{};
}

Outcome VersionedExchange::at(const CreateSymbol&, Version) const { return Created{}; }

Outcome VersionedExchange::at(const PlaceShares& command, Version version) const {
  if (!account(command.account, version)) return Rejected{Reason::unknown_account};
  const Symbol* const known = symbol(command.symbol, version);
  if (known && UInt128(known->total.at(version).units()) + UInt128(command.shares.units()) >
                   UInt128(shares_total_max.units()))
    return Rejected{Reason::shares_total_overflow};
  return Created{};
}

Outcome VersionedExchange::at(const PlaceOrder& command, Version version) const {
  const Account* const by = account(command.account, version);
  if (!by) return Rejected{Reason::unknown_account};
  if (command.side == Side::buy) {
    if (by->free.at(version) < cost(command.shares, command.limit))
      return Rejected{Reason::insufficient_funds};
  } else {
    const auto shares = by->free_shares.find(text(command.symbol));
    if (shares == by->free_shares.end() || shares->second.at(version) < command.shares)
      return Rejected{Reason::insufficient_shares};
  }
  return Opened{0};
}

Outcome VersionedExchange::at(const CancelOrder& command, Version version) const {
  if (!account(command.account, version)) return Rejected{Reason::unknown_account};
  const Order* const named = order(command.account, command.order, version);
  if (!named) return Rejected{Reason::unknown_order};
  if (open(*named, version) == Shares()) return Rejected{Reason::nothing_open};
  return Canceled{};
}

Outcome VersionedExchange::at(const QueryOrder& command, Version version) const {
  if (!account(command.account, version)) return Rejected{Reason::unknown_account};
  const Order* const named = order(command.account, command.order, version, command.of_any_account);
  if (!named) return Rejected{Reason::unknown_order};
  return status(command.order, *named, version);
}

Version VersionedExchange::next_change(const Command& command, Version at) const {
  Version next = never;
  const auto consider = [&](Version version) {
    if (version > at) next = std::min(next, version);
  };
  const auto consider_account = [&](const AccountId& id) {
    const auto found = accounts_.find(text(id));
    if (found != accounts_.end()) consider(found->second.created);
  };
  const auto consider_symbol = [&](const SymbolName& name) {
    const auto found = symbols_.find(text(name));
    if (found == symbols_.end()) return;
    consider(found->second.created);
    consider(found->second.total.next_change(at));
  };
  if (const auto* create = std::get_if<CreateAccount>(&command)) {
    consider_account(create->account);
    consider(cash_.next_change(at));
  } else if (const auto* place = std::get_if<PlaceShares>(&command)) {
    consider_account(place->account);
    consider_symbol(place->symbol);
  } else if (const auto* order = std::get_if<PlaceOrder>(&command)) {
    consider_account(order->account);
    if (const auto by = accounts_.find(text(order->account)); by != accounts_.end()) {
      consider(by->second.free.next_change(at));
      const auto shares = by->second.free_shares.find(text(order->symbol));
      if (shares != by->second.free_shares.end()) consider(shares->second.next_change(at));
    }
  } else if (!std::holds_alternative<CreateSymbol>(command)) {
    const auto [account, id] =
        std::holds_alternative<CancelOrder>(command)
            ? std::pair(owner(std::get<CancelOrder>(command)), std::get<CancelOrder>(command).order)
            : std::pair(owner(std::get<QueryOrder>(command)), std::get<QueryOrder>(command).order);
    consider_account(account);
    if (id == 0 || id > orders_.size()) return next;
    const Order& named = orders_[id - 1];
    consider(named.opened);
    consider(named.canceled);
    for (const Executed& executed : named.executions) consider(executed.from);
  }
  return next;
}

// --- executing ---

Outcome VersionedExchange::apply(const Command& command, Timestamp now) {
  const Outcome expected = outcome(command, version_);
  const bool accepted = changed_state(expected);
  ++version_;
  if (accepted) return std::visit([&](const auto& c) { return execute(c, now); }, command);
  if (const auto* refused = std::get_if<PlaceOrder>(&command))
    orders_.push_back({.placed = *refused});
  return expected;
}

void VersionedExchange::pay(const AccountId& account, Cash amount) {
  Timeline<Cash>& free = accounts_[text(account)].free;
  free.set(version_, free.latest() + amount);
}

void VersionedExchange::give(const AccountId& account, const SymbolName& symbol, Shares shares) {
  Timeline<Shares>& free = accounts_[text(account)].free_shares[text(symbol)];
  free.set(version_, free.latest() + shares);
}

Outcome VersionedExchange::execute(const CreateAccount& command, Timestamp) {
  accounts_[text(command.account)].created = version_;
  cash_.set(version_, cash_.latest() + command.balance);
  pay(command.account, command.balance);
  return Created{};
}

Outcome VersionedExchange::execute(const CreateSymbol& command, Timestamp) {
  Symbol& symbol = symbols_[text(command.symbol)];
  symbol.created = std::min(symbol.created, version_);
  return Created{};
}

Outcome VersionedExchange::execute(const PlaceShares& command, Timestamp) {
  Symbol& symbol = symbols_[text(command.symbol)];
  symbol.created = std::min(symbol.created, version_);
  symbol.total.set(version_, symbol.total.latest() + command.shares);
  give(command.account, command.symbol, command.shares);
  return Created{};
}

// Rule 1 first, then rules 2 to 5 with the resting orders, then the rest waits in the book.
Outcome VersionedExchange::execute(const PlaceOrder& command, Timestamp now) {
  orders_.push_back({.placed = command, .opened = version_, .open = command.shares});
  const OrderId id = orders_.size();
  Symbol& symbol = symbols_[text(command.symbol)];
  symbol.created = std::min(symbol.created, version_);
  if (command.side == Side::buy) {
    pay(command.account, Cash() - cost(command.shares, command.limit));
    match(id, symbol.sells, now);
    if (orders_[id - 1].open > Shares()) symbol.buys[command.limit].push_back(id);
  } else {
    give(command.account, command.symbol, Shares() - command.shares);
    match(id, symbol.buys, now);
    if (orders_[id - 1].open > Shares()) symbol.sells[command.limit].push_back(id);
  }
  return Opened{id};
}

template <class Book>
void VersionedExchange::match(OrderId taker_id, Book& makers, Timestamp now) {
  Order& taker = orders_[taker_id - 1];
  const bool buys = taker.placed.side == Side::buy;
  while (taker.open > Shares() && !makers.empty()) {
    const auto best = buys ? makers.begin() : std::prev(makers.end());
    if (buys ? best->first > taker.placed.limit : best->first < taker.placed.limit) return;
    std::deque<OrderId>& line = best->second;
    Order& maker = orders_[line.front() - 1];
    if (maker.open > Shares()) trade(taker, maker, now);
    if (maker.open == Shares()) line.pop_front();
    if (line.empty()) makers.erase(best);
  }
}

void VersionedExchange::trade(Order& taker, Order& maker, Timestamp now) {
  const Price price = maker.placed.limit;
  const Shares shares = std::min(taker.open, maker.open);
  ++executions_;
  for (Order* order : {&taker, &maker}) {
    order->open -= shares;
    order->executions.push_back({version_, {shares, price, now}});
  }
  const PlaceOrder &buy = (taker.placed.side == Side::buy ? taker : maker).placed,
                   &sell = (taker.placed.side == Side::buy ? maker : taker).placed;
  pay(sell.account, cost(shares, price));
  pay(buy.account, cost(shares, buy.limit) - cost(shares, price));
  give(buy.account, buy.symbol, shares);
}

Outcome VersionedExchange::execute(const CancelOrder& command, Timestamp now) {
  Order& order = orders_[command.order - 1];
  order.canceled = version_;
  order.canceled_shares = order.open;
  order.canceled_at = now;
  order.open = Shares();
  if (order.placed.side == Side::buy)
    pay(command.account, cost(order.canceled_shares, order.placed.limit));
  else
    give(command.account, order.placed.symbol, order.canceled_shares);
  return Canceled{status(command.order, order, version_)};
}

Outcome VersionedExchange::execute(const QueryOrder&, Timestamp) {
  ENSURE(!"a query changes nothing");
}

}  // namespace exchange::history
