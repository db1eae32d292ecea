#include "engine/exchange.hpp"

#include <algorithm>

namespace exchange {

// --- creating

Outcome Exchange::apply(const CreateAccount& command, Timestamp now) {
  ENSURE(command.balance >= Cash());
  if (ledger_.find(command.account) != no_index) return Rejected{Reason::account_exists};
  if (ledger_.accounts() >= limits_.accounts_max)
    return Rejected{Reason::too_many_accounts, limits_.accounts_max};
  if (command.balance > cash_total_max - totals_.cash_created)
    return Rejected{Reason::cash_total_overflow};
  const AccountNumber number = ledger_.add_account(command.account, command.balance);
  totals_.cash_created += command.balance;
  ledger_.mark(number, changes_);
  update_digest(now, Digested::account_created, std::uint64_t(command.balance.units() >> 64),
                std::uint64_t(command.balance.units()));
  if (command.key.has_key()) set_key(number, command.key, now);
  return Created{};
}

Outcome Exchange::apply(const RecordEvents& command, Timestamp now) {
  const AccountNumber number = ledger_.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  if (ledger_.account(number).events() == 0) add_event(number, 0, now, {.kind = EventKind::began});
  // also where nothing changed, as below
  ledger_.mark(number, changes_);
  update_digest(now, Digested::events_recorded, number, 0);
  return Created{};
}

Outcome Exchange::apply(const CreateSymbol& command, Timestamp now) {
  SymbolNumber number = ledger_.find(command.symbol);
  if (const auto refusal = check_new_symbol(number)) return *refusal;
  if (number == no_index) number = add_symbol(command.symbol);
  // also where nothing changed: what is journaled must get into the tables' batch
  ledger_.mark_symbol(number, changes_);
  update_digest(now, Digested::symbol_touched, number, 0);
  return Created{};
}

Outcome Exchange::apply(const PlaceShares& command, Timestamp now) {
  ENSURE(command.shares >= Shares());
  const AccountNumber account = ledger_.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  if (command.shares == Shares()) return apply(CreateSymbol{command.symbol}, now);
  SymbolNumber symbol = ledger_.find(command.symbol);
  if (symbol != no_index && command.shares > shares_total_max - ledger_.symbol(symbol).shares_total)
    return Rejected{Reason::shares_total_overflow};
  if (const auto refusal = check_new_symbol(symbol)) return *refusal;
  if (const auto refusal = check_new_position(account, symbol)) return *refusal;
  if (symbol == no_index) symbol = add_symbol(command.symbol);
  ledger_.add_shares(account, symbol, command.shares, changes_);
  ledger_.add_to_total(symbol, command.shares, changes_);
  record(account, symbol, now, {.kind = EventKind::shares_received, .shares = command.shares});
  update_digest(now, Digested::shares_placed, Ledger::key(account, symbol),
                std::uint64_t(command.shares.units()));
  return Created{};
}

SymbolNumber Exchange::add_symbol(const SymbolName& name) {
  const SymbolNumber number = ledger_.add_symbol(name);
  books_.add_symbol();
  ledger_.mark_symbol(number, changes_);
  return number;
}

// --- trading

Outcome Exchange::apply(const Command& command, Timestamp now, const Located& located,
                        DoorPolicy policy) {
  if (const auto* place_order = std::get_if<PlaceOrder>(&command))
    return apply(*place_order, now, located, policy);
  if (const auto* cancel_order = std::get_if<CancelOrder>(&command))
    return apply(*cancel_order, now, located);
  if (const auto* replace_order = std::get_if<ReplaceOrder>(&command))
    return apply(*replace_order, now, located);
  if (const auto* query = std::get_if<QueryOrder>(&command)) return apply(*query, now, policy);
  return std::visit([&](const auto& c) { return apply(c, now); }, command);
}

Outcome Exchange::apply(const PlaceOrder& command, Timestamp now, const Located& located,
                        DoorPolicy policy) {
  ENSURE(command.shares > Shares() && command.limit >= Price());
  ENSURE(!command.is_market() || command.lifetime != Lifetime::fill_or_kill);
  const AccountNumber account = find_account(command.account, located);
  if (account == no_index) return Rejected{Reason::unknown_account};
  SymbolNumber symbol = located.symbol != no_index ? located.symbol : ledger_.find(command.symbol);
  if (command.reference)
    if (const ReferenceRow* used = references_.find(account, *command.reference)) {
      if (used->symbol == symbol && used->side == command.side && used->shares == command.shares &&
          used->limit == command.limit)
        return OpenedBefore{used->order};
      return Rejected{Reason::reference_used, used->order};
    }
  if (policy.symbols_must_exist && symbol == no_index) return Rejected{Reason::unknown_symbol};
  if (const auto broken = check_account(account, symbol, command.side, command.shares, now))
    return *broken;
  if (const auto broken = check_instrument(symbol, command)) return *broken;
  const bool is_collected =
      symbol != no_index && would_collect(symbol, command.side, command.limit);

  const bool buys = command.side == Side::buy;
  Price reserved_for_each = command.limit;
  if (is_collected && command.is_market())
    reserved_for_each = ledger_.symbol(symbol).instrument.price_max;
  const Cash reserved = buys ? cost(command.shares, reserved_for_each) : Cash();
  Ledger::Position* position = nullptr;
  if (buys) {
    if (ledger_.account(account).balance < reserved) return Rejected{Reason::insufficient_funds};
  } else {
    if (symbol != no_index) position = ledger_.find_position(Ledger::key(account, symbol));
    if (position == nullptr || position->shares() < command.shares)
      return Rejected{Reason::insufficient_shares};
  }
  if (command.lifetime == Lifetime::fill_or_kill &&
      !can_execute(command, account, symbol, command.shares, command.self_trade))
    return Rejected{Reason::cannot_fill};
  if (command.post_only &&
      can_execute(command, account, symbol, Shares::from_units(1), SelfTrade::allowed))
    return Rejected{Reason::would_execute};

  if (const std::optional<Rejected> refusal = check_limits(command, account, symbol, is_collected))
    return *refusal;

  if (buys) {
    if (symbol == no_index) symbol = add_symbol(command.symbol);
    ledger_.add_cash(account, Cash() - reserved, changes_);
  } else {
    ledger_.set_shares(*position, Ledger::key(account, symbol), position->shares() - command.shares,
                       changes_);
  }

  const OrderId id = ++totals_.orders;
  const std::uint32_t index = books_.add(id, account, symbol, command, now);
  Order& order = books_.order(index);
  mark_order(index);
  update_digest(now, command.side == Side::buy ? Digested::buy_opened : Digested::sell_opened,
                Ledger::key(account, symbol), std::uint64_t(command.shares.units()));
  update_digest(now, Digested::order_opened, order.id, std::uint64_t(command.limit.units()));
  if (command.reference) {
    changes_.references.push_back({account, order.id, *command.reference, symbol, command.side,
                                   command.shares, command.limit});
    references_.add(changes_.references.back());
    for (std::size_t at = 0; at < command.reference->words(); ++at)
      update_digest(now, Digested::reference_word, command.reference->word(at),
                    command.reference->view().size());
  }
  record(order, now, EventKind::opened, command.shares, command.limit);
  if (is_collected) [[unlikely]] {
    collect(symbol, now);
    rest(index, located.level);
    return Opened{order.id};
  }

  const bool may_rest = match(index, command.self_trade, now);
  if (order.open == Shares())
    books_.close(index);
  else if (may_rest && command.lifetime == Lifetime::until_canceled && !command.is_market())
    rest(index, located.level);
  else
    cancel_by_terms(index, command, now);
  return Opened{order.id};
}

void Exchange::cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now) {
  const bool immediate = command.lifetime == Lifetime::immediate_or_cancel || command.is_market();
  cancel_open(index, now, immediate ? EventKind::canceled_immediate : EventKind::canceled_stp);
  ++(immediate ? term_cancels_.immediate : term_cancels_.self_trade);
}

bool Exchange::can_execute(const PlaceOrder& command, AccountNumber account, SymbolNumber symbol,
                           Shares missing, SelfTrade self_trade) const {
  if (symbol == no_index) return false;
  const Side maker_side = opposite(command.side);
  const std::int64_t worst = Books::worst_rank(maker_side, command.limit);
  unsigned reach = fill_or_kill_reach;
  const auto take = [&](Int128 units) {
    missing -= units < missing.units() ? Shares::from_units(std::int64_t(units)) : missing;
    return missing > Shares() && --reach > 0;
  };
  books_.side(symbol, maker_side).for_each_while([&](std::int64_t level_rank, std::uint32_t level) {
    if (level_rank < worst) return false;
    if (books_.level(level).orders == 0) return true;  // no price of its reach
    if (self_trade == SelfTrade::allowed) return take(books_.level(level).shares_units);
    for (std::uint32_t at = books_.level(level).first; at != no_index; at = books_.order(at).next) {
      const bool own = books_.order(at).account == account;
      if (own && self_trade == SelfTrade::cancel_taking) return false;
      if (!take(own ? 0 : books_.order(at).open.units())) return false;
    }
    return true;
  });
  return missing == Shares();
}

bool Exchange::match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now) {
  Order& taker = books_.order(taker_index);
  const Side maker_side = opposite(taker.side);
  const PriceIndex& makers = books_.side(taker.symbol, maker_side);
  const bool is_market = taker.limit == Price();
  const std::int64_t worst = Books::worst_rank(
      maker_side, is_market ? band_limit(ledger_.symbol(taker.symbol), taker.side) : taker.limit);
  const bool pays_as_it_goes = is_market && taker.side == Side::buy;

  while (taker.open > Shares() && !makers.empty() && makers.best_rank() >= worst) {
    Level& level = books_.level(makers.best_level());
    const std::uint32_t maker_index = level.first;
    Order& maker = books_.order(maker_index);
    Shares shares = std::min(taker.open, maker.open);
    const bool out_of_cash =
        pays_as_it_goes && cost(shares, maker.limit) > ledger_.account(taker.account).balance;
    if (out_of_cash) {
      shares = affordable(ledger_.account(taker.account).balance, maker.limit);
      if (const Shares lot = ledger_.symbol(taker.symbol).instrument.lot; lot > Shares())
        shares = Shares::from_units(shares.units() - shares.units() % lot.units());
      if (shares == Shares()) return false;
    }
    if (self_trade != SelfTrade::allowed && maker.account == taker.account) {
      if (self_trade == SelfTrade::cancel_taking) return false;
      cancel_resting(maker_index, now, EventKind::canceled_stp);
      ++term_cancels_.self_trade;
      continue;
    }
    level.shares_units -= shares.units();
    mark_order(maker_index);
    execute(taker, maker, shares, {}, now);
    close_if_executed(maker_index);
    if (out_of_cash) return false;
  }
  return true;
}

void Exchange::close_if_executed(std::uint32_t index) {
  if (books_.order(index).open > Shares()) return;
  leave_book(books_.order(index));
  books_.unlink(index);
  books_.close(index);
}

// One execution changes both orders, the seller's balance, the buyer's position and the refund
// together (docs/protocol.md, M6 to M9).
void Exchange::execute(Order& taker, Order& maker, Shares shares, std::optional<Price> of_auction,
                       Timestamp now) {
  const Price price = of_auction.value_or(maker.limit);
  Order& buy = taker.side == Side::buy ? taker : maker;
  Order& sell = taker.side == Side::buy ? maker : taker;

  taker.open -= shares;
  maker.open -= shares;
  const Cash paid = cost(shares, price);
  // The buyer first: a market buy, whose limit is 0, pays here, perhaps to its own account, where
  // the sum of both could overflow. All others get their refund.
  if (buy.limit != price) {
    ledger_.add_cash(buy.account, cost(shares, reserved_price(buy)) - paid, changes_);
  }
  ledger_.add_cash(sell.account, paid, changes_);
  ledger_.add_shares(buy.account, buy.symbol, shares, changes_);
  ledger_.set_last_price(buy.symbol, price, changes_);

  books_.add_execution({shares, price, now}, buy, sell);
  ++ledger_.account(buy.account).executions;
  ++ledger_.account(sell.account).executions;
  ExecutionRow& row = changes_.executions.emplace_back();
  row.id = ++totals_.executions;
  row.symbol = buy.symbol;
  row.buy_order = buy.id;
  row.sell_order = sell.id;
  row.shares = shares;
  row.price = price;
  row.time = now;
  row.taker = taker.side;
  row.of_auction = of_auction.has_value();
  update_digest(now, Digested::executed, std::uint64_t(shares.units()),
                std::uint64_t(price.units()) ^ maker.id);
  record(maker, now, EventKind::executed_maker, shares, price, row.id);
  record(taker, now, EventKind::executed_taker, shares, price, row.id);
}

Outcome Exchange::apply(const CancelOrder& command, Timestamp now, const Located& located) {
  Outcome refusal;
  const std::uint32_t index = find_order(command, located, false, refusal);
  if (index == no_index) return refusal;
  if (books_.order(index).open == Shares()) return Rejected{Reason::nothing_open};

  Outcome outcome(std::in_place_type<Canceled>);
  cancel_resting(
      index, now,
      command.at_disconnect ? EventKind::canceled_disconnect : EventKind::canceled_client,
      std::get_if<Canceled>(&outcome)->status);
  return outcome;
}

Outcome Exchange::apply(const ReplaceOrder& command, Timestamp now, const Located& located) {
  ENSURE(command.shares > Shares() && command.limit > Price());
  Outcome refusal;
  const std::uint32_t index = find_order(command, located, false, refusal);
  if (index == no_index) return refusal;
  Order& order = books_.order(index);
  Books::History& history = books_.history(index);
  if (order.open == Shares()) return Rejected{Reason::nothing_open};
  if (order.side != command.side) return Rejected{Reason::other_side};
  const Shares executed = history.shares - order.open;
  if (command.shares <= executed) return Rejected{Reason::executed_more};
  if (const auto broken = check_account(order.account, order.symbol, command.side,
                                        command.shares - executed, now, index))
    return *broken;
  if (const auto broken = check_instrument(order.symbol, command)) return *broken;
  const bool is_collected = would_collect(order.symbol, order.side, command.limit);

  const Shares open = command.shares - executed;
  const bool keeps_place = command.limit == order.limit && open <= order.open;
  if (!keeps_place && !is_collected)
    if (const auto at_limit = check_executions(order.side, command.limit, order.symbol))
      return *at_limit;
  if (order.side == Side::buy) {
    const Cash more = cost(open, command.limit) - cost(order.open, reserved_price(order));
    if (ledger_.account(order.account).balance < more) return Rejected{Reason::insufficient_funds};
    ledger_.add_cash(order.account, Cash() - more, changes_);
  } else {
    const Shares more = open - order.open;
    Ledger::Position* position = ledger_.find_position(order.position_key());
    if (position->shares() < more) return Rejected{Reason::insufficient_shares};
    ledger_.set_shares(*position, order.position_key(), position->shares() - more, changes_);
  }

  changes_.replacements.push_back({++totals_.orders, order.id, history.shares, order.limit,
                                   keeps_place, totals_.executions, now});
  mark_order(index);
  update_digest(now, Digested::order_replaced, order.id, std::uint64_t(command.shares.units()));
  update_digest(now, Digested::limit_replaced, totals_.orders,
                std::uint64_t(command.limit.units()));
  history.shares = command.shares;
  if (keeps_place) {
    books_.level(order.level).shares_units -= (order.open - open).units();
    order.open = open;
    record(order, now, EventKind::replaced, command.shares, command.limit);
    return Replaced{order.id};
  }
  leave_book(order);
  books_.take_out(index);
  order.open = open;
  order.limit = command.limit;
  order.place = totals_.orders;
  record(order, now, EventKind::replaced, command.shares, command.limit);
  if (is_collected)
    collect(order.symbol, now);
  else
    match(index, SelfTrade::allowed, now);
  if (order.open == Shares())
    books_.close(index);
  else
    rest(index);
  return Replaced{order.id};
}

Outcome Exchange::apply(const CancelAll& command, Timestamp now) {
  const AccountNumber account = ledger_.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  const SymbolNumber symbol = command.symbol ? ledger_.find(*command.symbol) : no_index;
  if (command.symbol && symbol == no_index) return Rejected{Reason::no_open_orders};
  const OpenOrders& open = books_.use_open_orders();
  CanceledAll canceled;
  for (std::size_t executions = 0;
       canceled.orders.size() < canceled_orders_max && executions < canceled_executions_max;) {
    const std::uint32_t oldest = command.symbol ? open.oldest_of_key(Ledger::key(account, symbol))
                                                : open.oldest_of_account(account);
    if (oldest == no_index) break;
    cancel_resting(oldest, now, EventKind::canceled_client, canceled.orders.emplace_back());
    executions += canceled.orders.back().executions.size();
  }
  if (canceled.orders.empty()) return Rejected{Reason::no_open_orders};
  return canceled;
}

void Exchange::cancel_resting(std::uint32_t index, Timestamp now, EventKind kind) {
  leave_book(books_.order(index));
  books_.take_out(index);
  cancel_open(index, now, kind);
}

// The status is filled before the order changes: a read of the history that cancel_open() writes
// would wait for its cache line.
void Exchange::cancel_resting(std::uint32_t index, Timestamp now, EventKind kind, Status& status) {
  status.order = books_.order(index).id;
  status.canceled = books_.order(index).open;
  status.canceled_at = now;
  books_.list_executions(index, status);
  cancel_resting(index, now, kind);
}

void Exchange::cancel_open(std::uint32_t index, Timestamp now, EventKind kind) {
  Order& order = books_.order(index);
  const Shares open = order.open;
  mark_order(index);
  if (order.side == Side::buy)
    ledger_.add_cash(order.account, cost(open, reserved_price(order)), changes_);
  else
    ledger_.add_shares(order.account, order.symbol, open, changes_);
  Books::History& history = books_.history(index);
  history.canceled = open;
  history.canceled_at = now;
  order.open = Shares();
  update_digest(now, Digested::order_canceled, order.id, std::uint64_t(open.units()));
  record(order, now, kind, open, order.limit);
  books_.close(index);
}

void Exchange::add_event(AccountNumber account, SymbolNumber symbol, Timestamp now,
                         EventRow event) {
  Ledger::Account& of = ledger_.account(account);
  const Ledger::Position* position = nullptr;
  const bool of_cash =
      event.kind == EventKind::cash_received || event.kind == EventKind::cash_taken;
  if (event.kind != EventKind::began && !of_cash)
    position = ledger_.find_position(Ledger::key(account, symbol));
  event.account = account;
  of.add_event();
  event.number = of.events();
  event.symbol = symbol;
  event.balance = of.balance;
  if (position != nullptr) event.position = position->shares();
  event.batch = batch_;
  event.time = now;
  changes_.events.push_back(event);
  ledger_.mark(account, changes_);
}

Outcome Exchange::apply(const QueryOrder& command, Timestamp, DoorPolicy policy) {
  Outcome refusal;
  const std::uint32_t index = find_order(command, {}, policy.open_queries, refusal);
  if (index == no_index) return refusal;
  Outcome outcome(std::in_place_type<Status>);
  books_.read_status(index, *std::get_if<Status>(&outcome), command.from);
  return outcome;
}

template <class OfOrder>
std::uint32_t Exchange::find_order(const OfOrder& command, const Located& located,
                                   bool of_any_account, Outcome& refusal) const {
  const auto refuse = [&](const auto& why) {
    refusal = why;
    return no_index;
  };
  const AccountNumber account = find_account(command.account, located);
  if (account == no_index) return refuse(Rejected{Reason::unknown_account});
  OrderId id = command.order;
  if (command.reference) {
    const ReferenceRow* found = references_.find(account, *command.reference);
    id = found == nullptr ? 0 : found->order;
  }
  if (id == 0 || id > totals_.orders) return refuse(Rejected{Reason::unknown_order});
  const bool is_located = located.order != no_index && !command.reference;
  const std::uint32_t index = is_located ? located.order : books_.find(id);
  if (index == no_index) return refuse(NotInMemory{account, id});
  if (books_.order(index).account != account && !of_any_account)
    return refuse(Rejected{Reason::unknown_order});
  return index;
}

// --- looking in

std::vector<Exchange::Depth> Exchange::depth(const SymbolName& symbol, Side side) const {
  std::vector<Depth> depth;
  const SymbolNumber number = ledger_.find(symbol);
  if (number == no_index) return depth;
  books_.side(number, side).for_each([&](std::uint32_t at) {
    const Level& level = books_.level(at);
    if (level.orders > 0) depth.push_back({level.price, level.shares_units, level.orders});
  });
  return depth;
}

std::optional<OrderRow> Exchange::order(OrderId id) const {
  const std::uint32_t index = books_.find(id);
  if (index == no_index) return {};
  OrderRow row;
  books_.read_row(index, row);
  return row;
}

std::optional<Price> Exchange::best_price(const SymbolName& symbol, Side side) const {
  const SymbolNumber number = ledger_.find(symbol);
  if (number == no_index || books_.side(number, side).empty()) return {};
  return books_.level(books_.side(number, side).best_level()).price;
}

Exchange::Depth Exchange::depth_at(const SymbolName& symbol, Side side, Price price) const {
  const SymbolNumber number = ledger_.find(symbol);
  const std::uint32_t at =
      number == no_index ? no_index : books_.side(number, side).find(Books::rank(side, price));
  if (at == no_index) return {price, 0, 0};
  return {price, books_.level(at).shares_units, books_.level(at).orders};
}

std::span<const ExecutionRow> Exchange::executions_after(ExecutionId id) const {
  ENSURE(id <= totals_.executions);
  const std::span<const ExecutionRow> kept = changes_.executions;
  return kept.last(std::min<std::size_t>(totals_.executions - id, kept.size()));
}

Cash Exchange::balance(const AccountId& account) const {
  const AccountNumber number = ledger_.find(account);
  return number == no_index ? Cash() : ledger_.account(number).balance;
}

Shares Exchange::position(const AccountId& account, const SymbolName& symbol) const {
  const AccountNumber account_number = ledger_.find(account);
  const SymbolNumber symbol_number = ledger_.find(symbol);
  if (account_number == no_index || symbol_number == no_index) return Shares();
  const Ledger::Position* position =
      ledger_.find_position(Ledger::key(account_number, symbol_number));
  return position == nullptr ? Shares() : position->shares();
}

}  // namespace exchange
