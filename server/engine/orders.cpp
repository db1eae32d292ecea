#include "engine/orders.hpp"

#include <algorithm>

namespace exchange {

Outcome Orders::apply(const PlaceOrder& command, Timestamp now, const Located& located,
                      DoorPolicy policy) {
  Ledger& ledger = state_.ledger;
  Books& books = state_.books;
  ENSURE(command.is_whole());
  const AccountNumber account = state_.find_account(command.account, located);
  if (account == no_index) return Rejected{Reason::unknown_account};
  SymbolNumber symbol = located.symbol != no_index ? located.symbol : ledger.find(command.symbol);
  if (command.reference)
    if (const ReferenceRow* used = state_.references.find(account, *command.reference)) {
      if (used->symbol == symbol && used->side == command.side && used->shares == command.shares &&
          used->limit == command.limit)
        return OpenedBefore{used->order};
      return Rejected{Reason::reference_used, used->order};
    }
  if (policy.symbols_must_exist && symbol == no_index) return Rejected{Reason::unknown_symbol};
  if (const auto broken = accounts().check(account, symbol, command.side, command.shares, now))
    return *broken;
  if (const auto broken = trading_day().check(symbol, command)) return *broken;
  const bool is_collected =
      symbol != no_index && trading_day().would_collect(symbol, command.side, command.limit);

  const bool buys = command.side == Side::buy;
  Price reserved_for_each = command.limit;
  if (is_collected && command.is_market())
    reserved_for_each = ledger.symbol(symbol).instrument.price_max;
  const Cash reserved = buys ? cost(command.shares, reserved_for_each) : Cash();
  Ledger::Position* position = nullptr;
  if (buys) {
    if (ledger.account(account).balance < reserved) return Rejected{Reason::insufficient_funds};
  } else {
    if (symbol != no_index) position = ledger.find_position(Ledger::key(account, symbol));
    if (position == nullptr || position->shares() < command.shares)
      return Rejected{Reason::insufficient_shares};
  }
  if (const Shares at_once = command.at_once();
      at_once > Shares() &&
      !books.can_execute(command, account, symbol, at_once, command.self_trade))
    return Rejected{Reason::cannot_fill};
  if (command.post_only &&
      books.can_execute(command, account, symbol, Shares::from_units(1), SelfTrade::allowed))
    return Rejected{Reason::would_execute};

  if (const std::optional<Rejected> refusal =
          limit_checks().order(command, account, symbol, is_collected))
    return *refusal;

  if (buys) {
    if (symbol == no_index) symbol = state_.add_symbol(command.symbol);
    ledger.add_cash(account, Cash() - reserved, state_.changes);
  } else {
    ledger.set_shares(*position, Ledger::key(account, symbol), position->shares() - command.shares,
                      state_.changes);
  }

  const OrderId id = ++state_.totals.orders;
  const std::uint32_t index = books.add(id, account, symbol, command, now);
  Books::Order& order = books.order(index);
  state_.mark_order(index);
  state_.update_digest(now,
                       command.side == Side::buy ? Digested::buy_opened : Digested::sell_opened,
                       Ledger::key(account, symbol), std::uint64_t(command.shares.units()));
  state_.update_digest(now, Digested::order_opened, order.id, std::uint64_t(command.limit.units()));
  if (command.reference) {
    state_.changes.references.push_back({account, order.id, *command.reference, symbol,
                                         command.side, command.shares, command.limit});
    state_.references.add(state_.changes.references.back());
    for (std::size_t at = 0; at < command.reference->words(); ++at)
      state_.update_digest(now, Digested::reference_word, command.reference->word(at),
                           command.reference->view().size());
  }
  state_.record(order, now, EventKind::opened, command.shares, command.limit);
  if (is_collected) [[unlikely]] {
    trading_day().collect(symbol, now);
    settlement().rest(index, located.level);
    return Opened{order.id};
  }

  const bool may_rest = match(index, command.self_trade, now);
  if (order.open == Shares())
    books.close(index);
  else if (may_rest && command.lifetime == Lifetime::until_canceled && !command.is_market())
    settlement().rest(index, located.level);
  else
    cancel_by_terms(index, command, now);
  return Opened{order.id};
}

void Orders::cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now) {
  const bool immediate = command.lifetime == Lifetime::immediate_or_cancel || command.is_market();
  settlement().cancel_open(index, now,
                           immediate ? EventKind::canceled_immediate : EventKind::canceled_stp);
  ++(immediate ? state_.term_cancels.immediate : state_.term_cancels.self_trade);
}

bool Orders::match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now) {
  Ledger& ledger = state_.ledger;
  Books& books = state_.books;
  Books::Order& taker = books.order(taker_index);
  const Side maker_side = opposite(taker.side);
  const PriceIndex& makers = books.side(taker.symbol, maker_side);
  const bool is_market = taker.limit == Price();
  const std::int64_t worst = Books::worst_rank(
      maker_side,
      is_market ? TradingDay::band_limit(ledger.symbol(taker.symbol), taker.side) : taker.limit);
  const bool pays_as_it_goes = is_market && taker.side == Side::buy;

  while (taker.open > Shares() && !makers.empty() && makers.best_rank() >= worst) {
    Books::Level& level = books.level(makers.best_level());
    const std::uint32_t maker_index = level.first;
    Books::Order& maker = books.order(maker_index);
    Shares shares = std::min(taker.open, maker.open);
    const bool out_of_cash =
        pays_as_it_goes && cost(shares, maker.limit) > ledger.account(taker.account).balance;
    if (out_of_cash) {
      shares = affordable(ledger.account(taker.account).balance, maker.limit);
      if (const Shares lot = ledger.symbol(taker.symbol).instrument.lot; lot > Shares())
        shares = Shares::from_units(shares.units() - shares.units() % lot.units());
      if (shares == Shares()) return false;
    }
    if (self_trade != SelfTrade::allowed && maker.account == taker.account) {
      if (self_trade == SelfTrade::cancel_taking) return false;
      settlement().cancel_resting(maker_index, now, EventKind::canceled_stp);
      ++state_.term_cancels.self_trade;
      continue;
    }
    level.shares_units -= shares.units();
    state_.mark_order(maker_index);
    settlement().execute(taker, maker, shares, {}, now);
    settlement().close_if_executed(maker_index);
    if (out_of_cash) return false;
  }
  return true;
}

Outcome Orders::apply(const CancelOrder& command, Timestamp now, const Located& located) {
  Outcome refusal;
  const std::uint32_t index = find_order(command, located, false, refusal);
  if (index == no_index) return refusal;
  if (state_.books.order(index).open == Shares()) return Rejected{Reason::nothing_open};

  Outcome outcome(std::in_place_type<Canceled>);
  settlement().cancel_resting(
      index, now,
      command.at_disconnect ? EventKind::canceled_disconnect : EventKind::canceled_client,
      std::get_if<Canceled>(&outcome)->status);
  return outcome;
}

Outcome Orders::apply(const ReplaceOrder& command, Timestamp now, const Located& located) {
  Ledger& ledger = state_.ledger;
  Books& books = state_.books;
  ENSURE(command.shares > Shares() && command.limit > Price());
  Outcome refusal;
  const std::uint32_t index = find_order(command, located, false, refusal);
  if (index == no_index) return refusal;
  Books::Order& order = books.order(index);
  Books::History& history = books.history(index);
  if (order.open == Shares()) return Rejected{Reason::nothing_open};
  if (order.side != command.side) return Rejected{Reason::other_side};
  const Shares executed = history.shares - order.open;
  if (command.shares <= executed) return Rejected{Reason::executed_more};
  if (const auto broken = accounts().check(order.account, order.symbol, command.side,
                                           command.shares - executed, now, index))
    return *broken;
  if (const auto broken = trading_day().check(order.symbol, command)) return *broken;
  const bool is_collected = trading_day().would_collect(order.symbol, order.side, command.limit);

  const Shares open = command.shares - executed;
  const bool keeps_place = command.limit == order.limit && open <= order.open;
  if (!keeps_place && !is_collected)
    if (const auto at_limit = limit_checks().executions(order.side, command.limit, order.symbol))
      return *at_limit;
  if (order.side == Side::buy) {
    const Cash more =
        cost(open, command.limit) - cost(order.open, settlement().reserved_price(order));
    if (ledger.account(order.account).balance < more) return Rejected{Reason::insufficient_funds};
    ledger.add_cash(order.account, Cash() - more, state_.changes);
  } else {
    const Shares more = open - order.open;
    Ledger::Position* position = ledger.find_position(order.position_key());
    if (position->shares() < more) return Rejected{Reason::insufficient_shares};
    ledger.set_shares(*position, order.position_key(), position->shares() - more, state_.changes);
  }

  state_.changes.replacements.push_back({++state_.totals.orders, order.id, history.shares,
                                         order.limit, keeps_place, state_.totals.executions, now});
  state_.mark_order(index);
  state_.update_digest(now, Digested::order_replaced, order.id,
                       std::uint64_t(command.shares.units()));
  state_.update_digest(now, Digested::limit_replaced, state_.totals.orders,
                       std::uint64_t(command.limit.units()));
  history.shares = command.shares;
  if (keeps_place) {
    books.level(order.level).shares_units -= (order.open - open).units();
    order.open = open;
    state_.record(order, now, EventKind::replaced, command.shares, command.limit);
    return Replaced{order.id};
  }
  settlement().leave_book(order);
  books.take_out(index);
  order.open = open;
  order.limit = command.limit;
  order.place = state_.totals.orders;
  state_.record(order, now, EventKind::replaced, command.shares, command.limit);
  if (is_collected)
    trading_day().collect(order.symbol, now);
  else
    match(index, SelfTrade::allowed, now);
  if (order.open == Shares())
    books.close(index);
  else
    settlement().rest(index);
  return Replaced{order.id};
}

Outcome Orders::apply(const CancelAll& command, Timestamp now) {
  const AccountNumber account = state_.ledger.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  const SymbolNumber symbol = command.symbol ? state_.ledger.find(*command.symbol) : no_index;
  if (command.symbol && symbol == no_index) return Rejected{Reason::no_open_orders};
  const OpenOrders& open = state_.books.use_open_orders();
  CanceledAll canceled;
  for (std::size_t executions = 0;
       canceled.orders.size() < canceled_orders_max && executions < canceled_executions_max;) {
    const std::uint32_t oldest = command.symbol ? open.oldest_of_key(Ledger::key(account, symbol))
                                                : open.oldest_of_account(account);
    if (oldest == no_index) break;
    settlement().cancel_resting(oldest, now, EventKind::canceled_client,
                                canceled.orders.emplace_back());
    executions += canceled.orders.back().executions.size();
  }
  if (canceled.orders.empty()) return Rejected{Reason::no_open_orders};
  return canceled;
}

Outcome Orders::apply(const QueryOrder& command, DoorPolicy policy) const {
  Outcome refusal;
  const std::uint32_t index = find_order(command, {}, policy.open_queries, refusal);
  if (index == no_index) return refusal;
  Outcome outcome(std::in_place_type<Status>);
  state_.books.read_status(index, *std::get_if<Status>(&outcome), command.from);
  return outcome;
}

template <class OfOrder>
std::uint32_t Orders::find_order(const OfOrder& command, const Located& located,
                                 bool of_any_account, Outcome& refusal) const {
  const auto refuse = [&](const auto& why) {
    refusal = why;
    return no_index;
  };
  const AccountNumber account = state_.find_account(command.account, located);
  if (account == no_index) return refuse(Rejected{Reason::unknown_account});
  OrderId id = command.order;
  if (command.reference) {
    const ReferenceRow* found = state_.references.find(account, *command.reference);
    id = found == nullptr ? 0 : found->order;
  }
  if (id == 0 || id > state_.totals.orders) return refuse(Rejected{Reason::unknown_order});
  const bool is_located = located.order != no_index && !command.reference;
  const std::uint32_t index = is_located ? located.order : state_.books.find(id);
  if (index == no_index) return refuse(NotInMemory{account, id});
  if (state_.books.order(index).account != account && !of_any_account)
    return refuse(Rejected{Reason::unknown_order});
  return index;
}

}  // namespace exchange
