#include "model/naive_exchange.hpp"

#include <algorithm>
#include <set>

namespace exchange {
namespace {

// Sums run over all history and wrap the same way on both sides; the result is in range again.
UInt128 money(Shares shares, Price price) {
  return UInt128(shares.units()) * UInt128(price.units());
}

template <class Map, class Id>
auto* find(Map& map, const Id& id) {
  const auto found = map.find(id.view());
  return found == map.end() ? nullptr : &found->second;
}

template <class Placements>
UInt128 sum(const Placements& placements, Version version) {
  UInt128 sum = 0;
  for (const auto& [from, units] : placements)
    if (from <= version) sum += UInt128(units);
  return sum;
}

// Returns the newest of these values at a version; the default if there is none.
template <class Since>
auto newest(const std::vector<Since>& values, Version version) {
  auto newest = decltype(Since::value)();
  for (const auto& [from, value] : values)
    if (from <= version) newest = value;
  return newest;
}

// Returns whether an order with the terms `a` is matched before one with `b`.
template <class Terms>
bool comes_before(Side taker, const Terms& a, const Terms& b) {
  if (a.limit == b.limit) return a.place < b.place;
  return taker == Side::buy ? a.limit < b.limit : a.limit > b.limit;
}

}  // namespace

// --- queries ---

const NaiveExchange::Account* NaiveExchange::account(const AccountId& id, Version version) const {
  const Account* const known = find(accounts_, id);
  return known && known->created <= version ? known : nullptr;
}

const NaiveExchange::Order* NaiveExchange::order(const AccountId& account, OrderId id,
                                                 Version version, bool of_any_account) const {
  if (id == 0 || id > orders_.size()) return nullptr;
  const Order& order = orders_[id - 1];
  const bool may_see = of_any_account || order.placed.account == account;
  return order.opened <= version && may_see ? &order : nullptr;
}

const NaiveExchange::Terms& NaiveExchange::terms(const Order& order, Version version) {
  auto at = order.terms.rbegin();
  while (at->from > version) ++at;
  return *at;
}

Shares NaiveExchange::executed(const Order& order, Version version) {
  Shares shares;
  for (const auto& [from, execution] : order.executions)
    if (from <= version) shares += execution.shares;
  return shares;
}

Shares NaiveExchange::open(const Order& order, Version version) {
  if (order.opened > version || order.canceled <= version) return Shares();
  return terms(order, version).shares - executed(order, version);
}

Status NaiveExchange::status(OrderId id, Version version, std::uint64_t from) const {
  const Order& order = orders_[id - 1];
  Status status{.order = id, .open = open(order, version)};
  if (order.canceled <= version) {
    status.canceled = order.canceled_shares;
    status.canceled_at = order.canceled_at;
  }
  std::uint64_t number = 0;
  for (const auto& [since, execution] : order.executions) {
    if (since > version) continue;
    if (++number < from)
      ++status.skipped;
    else if (number < from + 100'000)
      status.executions.push_back(execution);
    else if (status.next == 0)
      status.next = number;
  }
  return status;
}

OrderId NaiveExchange::referenced(const AccountId& id, const OrderReference& reference,
                                  Version version) const {
  const Account* const of = account(id, version);
  if (!of) return 0;
  std::size_t newer = 0;
  for (auto at = of->orders.rbegin(); at != of->orders.rend() && newer < 1'024; ++at) {
    const Order& order = orders_[*at - 1];
    if (order.opened > version || !order.placed.reference) continue;
    if (*order.placed.reference == reference) return *at;
    ++newer;
  }
  return 0;
}

Cash NaiveExchange::balance(const Account& account, Version version) const {
  UInt128 balance = sum(account.cash, version);
  for (const OrderId id : account.orders) {
    const Order& order = orders_[id - 1];
    const bool buys = order.placed.side == Side::buy;
    if (const Shares reserved = open(order, version); buys && reserved > Shares())
      balance -= money(reserved, reserved_price(order, version));
    for (const auto& [from, execution] : order.executions) {
      const UInt128 paid = from <= version ? money(execution.shares, execution.price) : 0;
      balance += buys ? -paid : paid;
    }
  }
  return Cash::from_units(Int128(balance));
}

Shares NaiveExchange::position(const Account& account, const SymbolName& symbol,
                               Version version) const {
  const auto* const placements = find(account.placements, symbol);
  UInt128 shares = placements ? sum(*placements, version) : 0;
  for (const OrderId id : account.orders) {
    const Order& order = orders_[id - 1];
    if (!(order.placed.symbol == symbol)) continue;
    const bool buys = order.placed.side == Side::buy;
    if (!buys) shares -= UInt128(open(order, version).units());
    for (const auto& [from, execution] : order.executions) {
      const UInt128 moved = from <= version ? UInt128(execution.shares.units()) : 0;
      shares += buys ? moved : -moved;
    }
  }
  return Shares::from_units(std::int64_t(shares));
}

Cash NaiveExchange::balance(const AccountId& id) const {
  const Account* const known = account(id, version_);
  return known ? balance(*known, version_) : Cash();
}

Shares NaiveExchange::position(const AccountId& id, const SymbolName& symbol) const {
  const Account* const known = account(id, version_);
  return known ? position(*known, symbol, version_) : Shares();
}

std::vector<Exchange::Depth> NaiveExchange::depth(const SymbolName& name, Side side) const {
  std::map<Price, Exchange::Depth> levels;
  const Symbol* const symbol = find(symbols_, name);
  for (const OrderId id : symbol ? symbol->open : std::vector<OrderId>()) {
    const Order& order = orders_[id - 1];
    if (order.placed.side != side || !is_open(id)) continue;
    const Price limit = terms(order, version_).limit;
    Exchange::Depth& level = levels.try_emplace(limit, Exchange::Depth{limit, 0, 0}).first->second;
    level.shares_units += open(order, version_).units();
    ++level.orders;
  }
  std::vector<Exchange::Depth> depth;
  for (const auto& [price, level] : levels) depth.push_back(level);
  if (side == Side::sell) return depth;
  std::reverse(depth.begin(), depth.end());
  if (levels.contains(Price()))  // market orders come first
    std::rotate(depth.begin(), depth.end() - 1, depth.end());
  return depth;
}

// --- the rules ---

// Requires, for every command but CreateAccount: its account exists (outcome() checks that).
template <class AnyCommand>
Outcome NaiveExchange::at(const AnyCommand&, Version) const {
  return Created{};
}

template <>
Outcome NaiveExchange::at(const CreateAccount& command, Version version) const {
  if (account(command.account, version)) return Rejected{Reason::account_exists};
  auto total = UInt128(command.balance.units());
  for (const auto& [id, account] : accounts_) total += sum(account.cash, version);
  if (total > UInt128(cash_total_max.units())) return Rejected{Reason::cash_total_overflow};
  return Created{};
}

template <>
Outcome NaiveExchange::at(const PlaceShares& command, Version version) const {
  const Symbol* const symbol = find(symbols_, command.symbol);
  const UInt128 placed = symbol ? sum(symbol->placements, version) : 0;
  if (placed + UInt128(command.shares.units()) > UInt128(shares_total_max.units()))
    return Rejected{Reason::shares_total_overflow};
  return Created{};
}

template <>
Outcome NaiveExchange::at(const PlaceOrder& command, Version version) const {
  const Account& by = *account(command.account, version);
  if (command.reference)
    if (const OrderId used = referenced(command.account, *command.reference, version)) {
      const PlaceOrder& first = orders_[used - 1].placed;
      if (first.symbol == command.symbol && first.side == command.side &&
          first.shares == command.shares && first.limit == command.limit)
        return OpenedBefore{used};
      return Rejected{Reason::reference_used, used};
    }
  const Symbol* const symbol = find(symbols_, command.symbol);
  if (policy_.symbols_must_exist && (!symbol || symbol->created > version))
    return Rejected{Reason::unknown_symbol};
  if (const auto broken =
          broken_rule_of_account(by, command.symbol, command.side, command.shares, version))
    return *broken;
  if (const auto broken = broken_rule(command, version)) return *broken;
  if (command.side == Side::buy) {
    Price each = command.limit;  // a market buy costs nothing yet, except in an auction
    if (command.is_market() && collects_orders(command.symbol, version))
      each = instrument(command.symbol, version).price_max;
    if (UInt128(balance(by, version).units()) < money(command.shares, each))
      return Rejected{Reason::insufficient_funds};
  } else if (position(by, command.symbol, version) < command.shares) {
    return Rejected{Reason::insufficient_shares};
  }
  if (command.lifetime == Lifetime::fill_or_kill &&
      executable(command, command.self_trade, version) < UInt128(command.shares.units()))
    return Rejected{Reason::cannot_fill};
  if (command.post_only && executable(command, SelfTrade::allowed, version) > 0)
    return Rejected{Reason::would_execute};
  if (const std::uint64_t most = newest(by.rules, version).orders_max; most > 0) {
    std::uint64_t open_orders = 0;
    for (const OrderId id : by.orders) open_orders += open(orders_[id - 1], version) > Shares();
    if (open_orders >= most && would_rest(command, version))
      return Rejected{Reason::too_many_orders_of_account, most};
  }
  return Opened{0};
}

template <>
Outcome NaiveExchange::at(const CancelOrder& command, Version version) const {
  const Order* const named = order(command.account, meant(command, version), version);
  if (!named) return Rejected{Reason::unknown_order};
  if (open(*named, version) == Shares()) return Rejected{Reason::nothing_open};
  return Canceled{};
}

template <>
Outcome NaiveExchange::at(const ReplaceOrder& command, Version version) const {
  const Account& by = *account(command.account, version);
  const OrderId id = meant(command, version);
  const Order* const named = order(command.account, id, version);
  if (!named) return Rejected{Reason::unknown_order};
  const Shares was_open = open(*named, version);
  if (was_open == Shares()) return Rejected{Reason::nothing_open};
  if (named->placed.side != command.side) return Rejected{Reason::other_side};
  if (command.shares <= executed(*named, version)) return Rejected{Reason::executed_more};
  const SymbolName& symbol = named->placed.symbol;
  const Shares open = command.shares - executed(*named, version);
  if (const auto broken = broken_rule_of_account(by, symbol, command.side, open, version, named))
    return *broken;
  const PlaceOrder as_replaced(command.account, symbol, command.side, command.shares,
                               command.limit);
  if (const auto broken = broken_rule(as_replaced, version)) return *broken;
  if (command.side == Side::buy) {
    const UInt128 reserved = money(was_open, reserved_price(*named, version));
    if (UInt128(balance(by, version).units()) + reserved < money(open, command.limit))
      return Rejected{Reason::insufficient_funds};
  } else {
    const Shares free = position(by, symbol, version);
    if (UInt128(free.units()) + UInt128(was_open.units()) < UInt128(open.units()))
      return Rejected{Reason::insufficient_shares};
  }
  return Replaced{id};
}

template <>
Outcome NaiveExchange::at(const QueryOrder& command, Version version) const {
  const OrderId id = meant(command, version);
  if (!order(command.account, id, version, policy_.open_queries))
    return Rejected{Reason::unknown_order};
  return status(id, version, command.from);
}

std::optional<Rejected> NaiveExchange::broken_rule_of_account(const Account& by,
                                                              const SymbolName& symbol, Side side,
                                                              Shares shares, Version version,
                                                              const Order* replaced) const {
  const AccountRules rules = newest(by.rules, version);
  if (rules.access == Access::frozen) return Rejected{Reason::account_frozen};
  if (side == Side::sell || rules.position_max == Shares()) return {};
  UInt128 units = UInt128(shares.units()) + UInt128(position(by, symbol, version).units());
  for (const OrderId id : by.orders) {
    const Order& order = orders_[id - 1];
    if (order.placed.symbol == symbol && &order != replaced)
      units += UInt128(open(order, version).units());
  }
  if (units <= UInt128(rules.position_max.units())) return {};
  return Rejected{Reason::position_too_large, std::uint64_t(rules.position_max.units())};
}

bool NaiveExchange::would_rest(const PlaceOrder& order, Version version) const {
  if (collects_orders(order.symbol, version) || is_beyond_band(order, version)) return true;
  return order.lifetime == Lifetime::until_canceled && !order.is_market() &&
         executable(order, order.self_trade, version) < UInt128(order.shares.units());
}

std::optional<Rejected> NaiveExchange::count_order(const Command& command, Timestamp now) {
  const auto* const placed = std::get_if<PlaceOrder>(&command);
  const auto* const replaced = std::get_if<ReplaceOrder>(&command);
  if (!placed && !replaced) return {};
  Account* const by = find(accounts_, placed ? placed->account : replaced->account);
  const std::uint64_t most = by ? newest(by->rules, version_).orders_per_second_max : 0;
  if (most == 0) return {};
  if (by->second != now.seconds()) by->orders_in_second = 0;
  by->second = now.seconds();
  if (by->orders_in_second >= most) return Rejected{Reason::too_many_orders_a_second, most};
  ++by->orders_in_second;
  return {};
}

template <>
Outcome NaiveExchange::at(const AdjustCash& command, Version version) const {
  const Account& of = *account(command.account, version);
  if (command.takes)
    return balance(of, version) < command.cash ? Outcome(Rejected{Reason::insufficient_funds})
                                               : Created{};
  UInt128 total = UInt128(command.cash.units());
  for (const auto& [id, one] : accounts_) total += sum(one.cash, version);
  if (total > UInt128(cash_total_max.units())) return Rejected{Reason::cash_total_overflow};
  return Created{};
}

template <>
Outcome NaiveExchange::at(const AdjustShares& command, Version version) const {
  const Account& of = *account(command.account, version);
  const Symbol* const symbol = find(symbols_, command.symbol);
  if (!symbol || symbol->created > version) return Rejected{Reason::unknown_symbol};
  if (!command.takes)
    return at(PlaceShares{command.symbol, command.account, command.shares}, version);
  if (position(of, command.symbol, version) < command.shares)
    return Rejected{Reason::insufficient_shares};
  return Created{};
}

Instrument NaiveExchange::instrument(const SymbolName& name, Version version) const {
  const Symbol* const symbol = find(symbols_, name);
  return symbol ? newest(symbol->rules, version) : Instrument();
}

Price NaiveExchange::reserved_price(const Order& order, Version version) const {
  const Price limit = terms(order, version).limit;
  if (limit != Price() || !collects_orders(order.placed.symbol, version)) return limit;
  return instrument(order.placed.symbol, version).price_max;
}

Instrument NaiveExchange::changed(Instrument instrument, const SetInstrument& command) {
  if (command.tick) instrument.tick = *command.tick;
  if (command.price_min) instrument.price_min = *command.price_min;
  if (command.price_max) instrument.price_max = *command.price_max;
  if (command.band) instrument.band = *command.band;
  if (command.at_band) instrument.at_band = *command.at_band;
  if (command.lot) instrument.lot = *command.lot;
  if (command.order_max) instrument.order_max = *command.order_max;
  if (command.trading) instrument.trading = *command.trading;
  return instrument;
}

Price NaiveExchange::furthest(const SymbolName& name, Side side, Version version) const {
  const Symbol* const symbol = find(symbols_, name);
  if (!symbol) return {};
  const Instrument rules = newest(symbol->rules, version);
  const Price last = newest(symbol->last_prices, version);
  if (rules.band == Price() || last == Price()) return {};
  const Int128 distance = rules.band.units(), from = last.units(), most = INT64_MAX;
  const Int128 price = side == Side::buy ? from + distance : from - distance;
  return Price::from_units(std::int64_t(std::clamp<Int128>(price, 1, most)));
}

bool NaiveExchange::is_beyond_band(const PlaceOrder& order, Version version) const {
  if (order.is_market()) return false;
  const Price far = furthest(order.symbol, order.side, version);
  return far != Price() && (order.side == Side::buy ? order.limit > far : order.limit < far);
}

std::optional<Rejected> NaiveExchange::broken_rule(const PlaceOrder& order, Version version) const {
  const Instrument rules = instrument(order.symbol, version);
  const auto is_multiple = [](auto number, auto unit) {
    return unit.units() == 0 || number.units() % unit.units() == 0;
  };
  const auto refused = [](Reason reason, auto number) {
    return Rejected{reason, std::uint64_t(number.units())};
  };
  if (rules.trading == Trading::halted) return Rejected{Reason::trading_halted};
  if (!is_multiple(order.shares, rules.lot)) return refused(Reason::off_lot, rules.lot);
  if (rules.order_max != Shares() && order.shares > rules.order_max)
    return refused(Reason::order_too_large, rules.order_max);
  const bool is_market = order.is_market();
  const bool waits = order.lifetime == Lifetime::until_canceled && !order.post_only;
  if (collects(rules.trading)) {
    if (!waits) return Rejected{Reason::not_in_auction};
    if (is_market && order.side == Side::buy && rules.price_max == Price())
      return Rejected{Reason::no_price_max};
  }
  if (is_market) return {};
  if (!is_multiple(order.limit, rules.tick)) return refused(Reason::off_tick, rules.tick);
  if (order.limit < rules.price_min) return refused(Reason::price_too_low, rules.price_min);
  if (rules.price_max != Price() && order.limit > rules.price_max)
    return refused(Reason::price_too_high, rules.price_max);
  if (rules.trading == Trading::open && is_beyond_band(order, version) &&
      (rules.at_band == AtBand::refuse || !waits)) {
    const Price far = furthest(order.symbol, order.side, version);
    return refused(order.side == Side::buy ? Reason::price_too_high : Reason::price_too_low, far);
  }
  return {};
}

std::vector<SymbolName> NaiveExchange::named_by(const SetInstrument& command,
                                                Version version) const {
  std::vector<SymbolName> names;
  for (const auto& [name, symbol] : symbols_)
    if (symbol.created <= version && (!command.symbol || command.symbol->view() == name))
      names.emplace_back(name);
  return names;
}

template <>
Outcome NaiveExchange::at(const SetInstrument& command, Version version) const {
  const std::vector<SymbolName> names = named_by(command, version);
  if (names.empty()) return Rejected{Reason::unknown_symbol};
  std::map<std::size_t, Rejected> refusals;  // by symbol, in the order of their creation
  for (const SymbolName& name : names) {
    const Symbol& symbol = *find(symbols_, name);
    const Instrument before = newest(symbol.rules, version), after = changed(before, command);
    if (after.price_max != Price() && after.price_min > after.price_max)
      refusals.emplace(symbol.number, Rejected{Reason::inverted_prices});
    else if (collects(before.trading) && after.price_max != before.price_max)
      refusals.emplace(symbol.number, Rejected{Reason::in_auction});
  }
  if (!refusals.empty()) return refusals.begin()->second;
  return Created{};
}

template <>
Outcome NaiveExchange::at(const CancelAll& command, Version version) const {
  if (canceled_by(command, version).empty()) return Rejected{Reason::no_open_orders};
  return CanceledAll{};
}

Outcome NaiveExchange::outcome(const Command& command, Version version) const {
  return std::visit(
      [&](const auto& c) -> Outcome {
        constexpr bool creates = std::is_same_v<decltype(c), const CreateAccount&>;
        if constexpr (requires { c.account; } && !creates)
          if (!account(c.account, version)) return Rejected{Reason::unknown_account};
        return at(c, version);
      },
      command);
}

std::vector<OrderId> NaiveExchange::canceled_by(const CancelAll& command, Version version) const {
  std::map<OrderId, OrderId> by_place;
  for (const OrderId id : find(accounts_, command.account)->orders) {
    const Order& order = orders_[id - 1];
    const bool named = !command.symbol || order.placed.symbol == *command.symbol;
    if (named && open(order, version) > Shares()) by_place[terms(order, version).place] = id;
  }
  std::vector<OrderId> ids;
  std::size_t executions = 0;
  for (const auto& [place, id] : by_place) {
    if (ids.size() == 1'000 || executions >= 100'000) break;
    ids.push_back(id);
    executions += status(id, version).executions.size();
  }
  return ids;
}

namespace {

// Returns whether the refusal comes before the order is counted for its second.
bool is_before_count(const Outcome& outcome) {
  if (std::holds_alternative<OpenedBefore>(outcome)) return true;
  const auto* const rejected = std::get_if<Rejected>(&outcome);
  if (!rejected) return false;
  for (const Reason reason : {Reason::unknown_account, Reason::reference_used,
                              Reason::unknown_symbol, Reason::account_frozen, Reason::unknown_order,
                              Reason::nothing_open, Reason::other_side, Reason::executed_more})
    if (rejected->reason == reason) return true;
  return false;
}

}  // namespace

std::uint64_t NaiveExchange::orders_per_second_max(const AccountId& id, Version at) const {
  const Account* const of = account(id, at);
  return of ? newest(of->rules, at).orders_per_second_max : 0;
}

bool NaiveExchange::counts(const Command& command, Version at) const {
  return !is_before_count(outcome(command, at));
}

Outcome NaiveExchange::apply(const Command& command, Timestamp now) {
  const Outcome expected = outcome(command, version_);
  ++version_;
  if (!is_before_count(expected))
    if (const auto too_many = count_order(command, now)) return *too_many;
  if (!changed_state(expected)) return expected;
  return std::visit(
      [&](const auto& c) -> Outcome {
        if constexpr (requires { c.changes_nothing; })
          ENSURE(!"a query changes nothing");
        else
          return execute(c, now);
      },
      command);
}

NaiveExchange::Account& NaiveExchange::account_to_change(const AccountId& id) {
  Account& account = accounts_.try_emplace(std::string(id.view()), Account{version_}).first->second;
  account.changes.push_back(version_);
  return account;
}

NaiveExchange::Symbol& NaiveExchange::symbol_to_change(const SymbolName& name) {
  Symbol& symbol = symbols_
                       .try_emplace(std::string(name.view()),
                                    Symbol{.created = version_, .number = symbols_.size()})
                       .first->second;
  symbol.changes.push_back(version_);
  return symbol;
}

void NaiveExchange::place(const AccountId& account, const SymbolName& symbol, Int128 units) {
  symbol_to_change(symbol).placements.push_back({version_, units});
  account_to_change(account).placements[std::string(symbol.view())].push_back({version_, units});
}

void NaiveExchange::give_cash(const AccountId& account, Int128 units) {
  account_to_change(account).cash.push_back({version_, units});
  cash_changes_.push_back(version_);
}

Outcome NaiveExchange::execute(const CreateAccount& command, Timestamp) {
  give_cash(command.account, command.balance.units());
  return Created{};
}

Outcome NaiveExchange::execute(const CreateSymbol& command, Timestamp) {
  symbol_to_change(command.symbol);
  return Created{};
}

Outcome NaiveExchange::execute(const SetInstrument& command, Timestamp now) {
  Outcome outcome = Created{};
  for (const SymbolName& name : named_by(command, version_)) {
    Symbol& symbol = symbol_to_change(name);
    const Instrument before = newest(symbol.rules, version_), after = changed(before, command);
    if (after.trading == Trading::open && before.trading != Trading::open)
      if (const auto executed = uncross(name, now); executed && command.symbol) outcome = *executed;
    if (collects(before.trading) && !collects(after.trading)) cancel_market_orders(symbol, now);
    symbol.rules.push_back({version_, after});
  }
  return outcome;
}

void NaiveExchange::cancel_market_orders(const Symbol& symbol, Timestamp now) {
  for (const Side side : {Side::buy, Side::sell})
    for (const OrderId id : symbol.orders) {
      Order& order = orders_[id - 1];
      if (order.placed.side == side && is_open(id) && limit_now(order) == Price())
        cancel_open(order, now);
    }
}

std::optional<AuctionResult> NaiveExchange::hold_auction(const std::vector<AuctionOrder>& orders,
                                                         std::optional<Price> last) const {
  return auction(orders, last);
}

std::optional<Uncrossed> NaiveExchange::uncross(const SymbolName& name, Timestamp now) {
  const Symbol& symbol = *find(symbols_, name);
  std::vector<OrderId> ids;
  std::vector<AuctionOrder> orders;
  for (const OrderId id : symbol.orders) {
    if (!is_open(id)) continue;
    const Order& order = orders_[id - 1];
    ids.push_back(id);
    const Price limit = limit_now(order);
    orders.push_back({order.placed.side, limit == Price() ? std::nullopt : std::optional(limit),
                      open_now(order), place(id)});
    if (limit == Price() && order.placed.side == Side::buy)
      orders.back().highest = reserved_price(order, version_);
  }
  const Instrument rules = newest(symbol.rules, version_);
  const auto is_allowed = [&](Price price) {
    return (rules.tick == Price() || price.units() % rules.tick.units() == 0) &&
           price >= rules.price_min && (rules.price_max == Price() || price <= rules.price_max);
  };
  std::optional<Price> last = newest(symbol.last_prices, version_);
  if (*last == Price() || !is_allowed(*last)) last.reset();
  const auto result = hold_auction(orders, last);
  if (!result) return {};
  for (const AuctionExecution& one : result->executions) {
    Order &buy = orders_[ids[one.buy] - 1], &sell = orders_[ids[one.sell] - 1];
    const bool buy_is_younger = orders[one.buy].place > orders[one.sell].place;
    trade(buy, sell, {one.shares, result->price, now}, buy_is_younger ? Side::buy : Side::sell);
  }
  return Uncrossed{result->price, result->volume};
}

void NaiveExchange::trade(Order& buy, Order& sell, const Execution& execution, Side taker) {
  for (Order* const order : {&buy, &sell}) {
    order->executions.push_back({version_, execution});
    account_to_change(order->placed.account);
  }
  takers_.push_back(taker);
  symbol_to_change(buy.placed.symbol).last_prices.push_back({version_, execution.price});
  note_execution(buy, sell);
}

Outcome NaiveExchange::execute(const SetAccount& command, Timestamp now) {
  Account& of = account_to_change(command.account);
  AccountRules rules = newest(of.rules, version_);
  if (command.role) rules.role = *command.role;
  if (command.access) rules.access = *command.access;
  if (command.orders_max) rules.orders_max = *command.orders_max;
  if (command.orders_per_second_max) rules.orders_per_second_max = *command.orders_per_second_max;
  if (command.position_max) rules.position_max = *command.position_max;
  of.rules.push_back({version_, rules});
  if (command.name) of.name = *command.name;
  if (!command.cancel_orders) return Created{};
  std::map<OrderId, OrderId> by_place;
  for (const OrderId id : of.orders)
    if (is_open(id)) by_place[place(id)] = id;
  for (const auto& [place, id] : by_place) cancel_open(orders_[id - 1], now);
  return Created{};
}

Outcome NaiveExchange::execute(const AdjustCash& command, Timestamp) {
  const Int128 units = command.cash.units();
  give_cash(command.account, command.takes ? -units : units);
  return Created{};
}

Outcome NaiveExchange::execute(const AdjustShares& command, Timestamp) {
  const Int128 units = command.shares.units();
  place(command.account, command.symbol, command.takes ? -units : units);
  return Created{};
}

Outcome NaiveExchange::execute(const PlaceShares& command, Timestamp) {
  place(command.account, command.symbol, command.shares.units());
  return Created{};
}

Outcome NaiveExchange::execute(const PlaceOrder& command, Timestamp now) {
  const OrderId id = orders_.size() + 1;
  orders_.push_back({.placed = command,
                     .opened = version_,
                     .terms = {{version_, command.shares, command.limit, id}}});
  account_to_change(command.account).orders.push_back(id);
  Symbol& symbol = symbol_to_change(command.symbol);
  symbol.open.push_back(id);
  symbol.orders.push_back(id);
  note_opened(orders_.back());
  if (collect(command)) return Opened{id};
  match(id, command, now);
  if ((command.lifetime == Lifetime::immediate_or_cancel || command.is_market()) && is_open(id))
    cancel_open(orders_[id - 1], now);
  return Opened{id};
}

Outcome NaiveExchange::execute(const ReplaceOrder& command, Timestamp now) {
  const OrderId id = meant(command, version_);
  orders_.emplace_back();  // uses up a number
  Order& order = orders_[id - 1];
  const Terms before = order.terms.back();
  const bool stays = command.limit == before.limit && command.shares <= before.shares;
  const OrderId number = orders_.size();
  replacements_[number] = {number, id, before.shares, before.limit, stays, takers_.size(), now};
  order.terms.push_back({version_, command.shares, command.limit, stays ? before.place : number});
  account_to_change(command.account);
  symbol_to_change(order.placed.symbol);
  note_replaced(order);
  if (stays) return Replaced{id};
  const PlaceOrder arriving(command.account, order.placed.symbol, command.side, command.shares,
                            command.limit);
  if (!collect(arriving)) match(id, arriving, now);
  return Replaced{id};
}

bool NaiveExchange::collect(const PlaceOrder& order) {
  if (collects_orders(order.symbol, version_)) return true;
  if (!is_beyond_band(order, version_)) return false;
  Symbol& symbol = *find(symbols_, order.symbol);
  Instrument rules = newest(symbol.rules, version_);
  rules.trading = Trading::volatility;
  symbol.rules.push_back({version_, rules});
  return true;
}

void NaiveExchange::match(OrderId id, const PlaceOrder& arriving, Timestamp now) {
  Order& taker = orders_[id - 1];
  const Price far = furthest(arriving.symbol, arriving.side, version_);
  for (Order* maker; is_open(id) && (maker = best_match(arriving)) != nullptr;) {
    const Price price = price_of(arriving, *maker), limit = limit_now(*maker);
    if (arriving.is_market() && far != Price() &&
        (arriving.side == Side::buy ? limit > far : limit < far))
      break;
    const Shares wanted = std::min(open(taker, version_), open(*maker, version_));
    Shares shares = wanted;
    if (arriving.is_market() && arriving.side == Side::buy) {
      const auto cash = UInt128(balance(*find(accounts_, arriving.account), version_).units());
      if (money(wanted, price) > cash) {
        const Shares lot = instrument(arriving.symbol, version_).lot;
        const auto units = std::int64_t(cash / UInt128(price.units()));
        shares = Shares::from_units(lot == Shares() ? units : units - units % lot.units());
      }
    }
    if (shares == Shares()) {
      cancel_open(taker, now);
    } else if (arriving.self_trade != SelfTrade::allowed &&
               maker->placed.account == arriving.account) {
      cancel_open(arriving.self_trade == SelfTrade::cancel_taking ? taker : *maker, now);
    } else {
      trade(arriving.side == Side::buy ? taker : *maker,
            arriving.side == Side::buy ? *maker : taker, {shares, price, now}, arriving.side);
      if (shares < wanted) cancel_open(taker, now);
    }
  }
}

bool NaiveExchange::crosses(const PlaceOrder& arriving, const Order& maker, Version version) const {
  if (arriving.side == maker.placed.side) return false;
  const Price limit = terms(maker, version).limit;
  return arriving.is_market() ||
         (arriving.side == Side::buy ? limit <= arriving.limit : arriving.limit <= limit);
}

Price NaiveExchange::price_of(const PlaceOrder&, const Order& maker) const {
  return terms(maker, version_).limit;
}

UInt128 NaiveExchange::executable(const PlaceOrder& taker, SelfTrade self_trade,
                                  Version version) const {
  const Symbol* const symbol = find(symbols_, taker.symbol);
  std::vector<const Order*> makers;
  for (const OrderId id : symbol ? symbol->orders : std::vector<OrderId>())
    if (const Order& maker = orders_[id - 1];
        open(maker, version) > Shares() && crosses(taker, maker, version))
      makers.push_back(&maker);
  std::sort(makers.begin(), makers.end(), [&](const Order* a, const Order* b) {
    return comes_before(taker.side, terms(*a, version), terms(*b, version));
  });
  UInt128 sum = 0;
  std::set<Price> prices;
  for (std::size_t i = 0; i < makers.size(); ++i) {
    prices.insert(terms(*makers[i], version).limit);
    const bool own = makers[i]->placed.account == taker.account;
    if (self_trade == SelfTrade::allowed ? prices.size() > 1'000 : i == 1'000) break;
    if (own && self_trade == SelfTrade::cancel_taking) break;
    if (own && self_trade == SelfTrade::cancel_resting) continue;
    sum += UInt128(open(*makers[i], version).units());
  }
  return sum;
}

void NaiveExchange::cancel_open(Order& order, Timestamp now) {
  order.canceled_shares = open(order, version_);
  order.canceled = version_;
  order.canceled_at = now;
  account_to_change(order.placed.account);
  symbol_to_change(order.placed.symbol);
  note_canceled(order);
}

NaiveExchange::Order* NaiveExchange::best_match(const PlaceOrder& arriving) {
  Symbol* const symbol = find(symbols_, arriving.symbol);
  std::erase_if(symbol->open, [&](OrderId id) { return !is_open(id); });
  Order* best = nullptr;
  for (const OrderId id : symbol->open) {
    Order& maker = orders_[id - 1];
    if (!crosses(arriving, maker, version_)) continue;
    if (best == nullptr ||
        comes_before(arriving.side, terms(maker, version_), terms(*best, version_)))
      best = &maker;
  }
  return best;
}

Outcome NaiveExchange::execute(const CancelOrder& command, Timestamp now) {
  const OrderId id = meant(command, version_);
  cancel_open(orders_[id - 1], now);
  return Canceled{status(id, version_)};
}

Outcome NaiveExchange::execute(const CancelAll& command, Timestamp now) {
  CanceledAll canceled;
  for (const OrderId id : canceled_by(command, version_ - 1)) {
    cancel_open(orders_[id - 1], now);
    canceled.orders.push_back(status(id, version_));
  }
  return canceled;
}

// --- versions ---

Version NaiveExchange::next_change(const Command& command, Version at) const {
  Version next = no_version;
  const auto consider = [&](const std::vector<Version>& changes) {
    const auto later = std::upper_bound(changes.begin(), changes.end(), at);
    if (later != changes.end()) next = std::min(next, *later);
  };
  const auto consider_account = [&](const AccountId& id) {
    if (const Account* const account = find(accounts_, id)) consider(account->changes);
  };
  const auto consider_symbol = [&](const SymbolName& name) {
    if (const Symbol* const symbol = find(symbols_, name)) consider(symbol->changes);
  };
  const auto consider_all = [&](const auto& one) {
    if constexpr (requires { one.account; }) consider_account(one.account);
    if constexpr (
        requires { one.balance; } || requires { one.cash; })
      consider(cash_changes_);
    if constexpr (requires { one.order; })  // which may be of another account
      if (one.order > 0 && one.order <= orders_.size())
        consider_account(orders_[one.order - 1].placed.account);
    if constexpr (requires { SymbolName(one.symbol); }) consider_symbol(one.symbol);
    if constexpr (
        requires { one.tick; } ||
        requires {
          one.limit;
          one.order;
        })  // of any symbol
      for (const auto& [name, symbol] : symbols_) consider(symbol.changes);
  };
  std::visit(consider_all, command);
  return next;
}

}  // namespace exchange
