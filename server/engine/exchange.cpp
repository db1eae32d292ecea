#include "engine/exchange.hpp"

#include <algorithm>
#include <cstring>

namespace exchange {

// --- creating

Outcome Exchange::apply(const CreateAccount& command, Timestamp now) {
  ENSURE(command.balance >= Cash());
  if (account_ids_.find(command.account) != no_index) return Rejected{Reason::account_exists};
  if (accounts_.size() >= limits_.accounts_max)
    return Rejected{Reason::too_many_accounts, limits_.accounts_max};
  if (command.balance > cash_total_max - totals_.cash_created)
    return Rejected{Reason::cash_total_overflow};
  const AccountNumber number = account_ids_.add(command.account);
  accounts_.push_back({command.balance});
  totals_.cash_created += command.balance;
  mark_dirty(number);
  update_digest(now, 'A', std::uint64_t(command.balance.units() >> 64),
                std::uint64_t(command.balance.units()));
  if (command.key.has_key()) {
    new_account_keys_.push_back({number, command.key});
    // a replay without the key, or with another, must not pass for the same
    std::uint64_t words[2];
    std::memcpy(words, command.key.digest.data(), sizeof words);
    update_digest(now, 'K', words[0], words[1]);
  }
  return Created{};
}

Outcome Exchange::apply(const CreateSymbol& command, Timestamp now) {
  SymbolNumber number = symbol_names_.find(command.symbol);
  if (number == no_index && !has_place_for_symbol())
    return Rejected{Reason::too_many_symbols, limits_.symbols_max};
  if (number == no_index) number = add_symbol(command.symbol);
  // also where nothing changed: what is journaled must get into the tables' batch
  mark_symbol_dirty(number);
  update_digest(now, 'N', number, 0);
  return Created{};
}

Outcome Exchange::apply(const PlaceShares& command, Timestamp now) {
  ENSURE(command.shares >= Shares());
  const AccountNumber account = account_ids_.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  if (command.shares == Shares()) return apply(CreateSymbol{command.symbol}, now);
  SymbolNumber symbol = symbol_names_.find(command.symbol);
  if (symbol != no_index && command.shares > shares_total_max - symbols_[symbol].shares_total)
    return Rejected{Reason::shares_total_overflow};
  if (symbol == no_index && !has_place_for_symbol())
    return Rejected{Reason::too_many_symbols, limits_.symbols_max};
  if (!has_place_for_position(account, symbol))
    return Rejected{Reason::too_many_positions, limits_.positions_max};
  if (symbol == no_index) symbol = add_symbol(command.symbol);
  add_to_position(account, symbol, command.shares);
  symbols_[symbol].shares_total += command.shares;
  mark_symbol_dirty(symbol);
  update_digest(now, 'P', position_key(account, symbol), std::uint64_t(command.shares.units()));
  return Created{};
}

SymbolNumber Exchange::add_symbol(const SymbolName& name) {
  const SymbolNumber number = symbol_names_.add(name);
  symbols_.emplace_back();
  mark_symbol_dirty(number);
  return number;
}

void Exchange::add_to_position(AccountNumber account, SymbolNumber symbol, Shares shares) {
  const std::uint64_t key = position_key(account, symbol);
  Position* position = positions_.find(key);
  if (position == nullptr) position = &positions_.insert(key, {});
  set_position(*position, key, position->shares() + shares);
}

void Exchange::set_position(Position& position, std::uint64_t key, Shares shares) {
  position.set_shares(shares);
  if (position.dirty()) return;
  position.set_dirty(true);
  dirty_positions_.push_back(key);
}

// --- trading

Outcome Exchange::apply(const Command& command, Timestamp now, const Located& located) {
  if (const auto* place_order = std::get_if<PlaceOrder>(&command))
    return place(*place_order, now, located);
  if (const auto* cancel_order = std::get_if<CancelOrder>(&command))
    return cancel(*cancel_order, now, located);
  return std::visit([&](const auto& c) { return apply(c, now); }, command);
}

Outcome Exchange::place(const PlaceOrder& command, Timestamp now, const Located& located) {
  ENSURE(command.shares > Shares() && command.limit >= Price());
  ENSURE(!command.is_market() || command.lifetime == Lifetime::immediate_or_cancel);
  const AccountNumber account = find_account(command.account, located);
  if (account == no_index) return Rejected{Reason::unknown_account};
  SymbolNumber symbol =
      located.symbol != no_index ? located.symbol : symbol_names_.find(command.symbol);
  if (command.reference)
    if (const ReferenceRow* used = references_.find(account, *command.reference)) {
      if (used->symbol == symbol && used->side == command.side && used->shares == command.shares &&
          used->limit == command.limit)
        return OpenedBefore{used->order};
      return Rejected{Reason::reference_used, used->order};
    }
  if (command.symbol_must_exist && symbol == no_index) return Rejected{Reason::unknown_symbol};

  const bool buys = command.side == Side::buy;
  const Cash reserved = buys ? cost(command.shares, command.limit) : Cash();
  Position* position = nullptr;
  if (buys) {
    if (accounts_[account].balance < reserved) return Rejected{Reason::insufficient_funds};
  } else {
    if (symbol != no_index) position = positions_.find(position_key(account, symbol));
    if (position == nullptr || position->shares() < command.shares)
      return Rejected{Reason::insufficient_shares};
  }
  if (command.lifetime == Lifetime::fill_or_kill &&
      !can_execute(command, account, symbol, command.shares, command.self_trade))
    return Rejected{Reason::cannot_fill};
  if (command.post_only &&
      can_execute(command, account, symbol, Shares::from_units(1), SelfTrade::allowed))
    return Rejected{Reason::would_execute};

  if (const std::optional<Rejected> refusal = check_limits(command, account, symbol))
    return *refusal;

  if (buys) {
    if (symbol == no_index) symbol = add_symbol(command.symbol);
    accounts_[account].balance -= reserved;
    mark_dirty(account);
  } else {
    set_position(*position, position_key(account, symbol), position->shares() - command.shares);
  }

  const std::uint32_t index = add_order({.id = ++totals_.orders,
                                         .open = command.shares,
                                         .limit = command.limit,
                                         .account = account,
                                         .symbol = symbol,
                                         .side = command.side,
                                         .place = totals_.orders},
                                        {.shares = command.shares, .opened_at = now});
  Order& order = orders_[index];
  mark_order_dirty(index);
  update_digest(now, command.side == Side::buy ? 'B' : 'S', position_key(account, symbol),
                std::uint64_t(command.shares.units()));
  update_digest(now, 'O', order.id, std::uint64_t(command.limit.units()));
  if (command.reference) {
    new_references_.push_back({account, *command.reference, order.id, symbol, command.side,
                               command.shares, command.limit});
    references_.add(new_references_.back());
    for (std::size_t at = 0; at < command.reference->words(); ++at)
      update_digest(now, 'R', command.reference->word(at), command.reference->view().size());
  }

  const bool may_rest = match(index, command.self_trade, now);
  if (order.open == Shares())
    close(index);
  else if (may_rest && command.lifetime == Lifetime::until_canceled)
    rest(index, located.level);
  else
    cancel_by_terms(index, command, now);
  return Opened{order.id};
}

// An order that does not rest is accepted at the limits of open orders.
std::optional<Rejected> Exchange::check_limits(const PlaceOrder& command, AccountNumber account,
                                               SymbolNumber symbol) const {
  const auto would_rest = [&] {
    return command.lifetime == Lifetime::until_canceled &&
           !can_execute(command, account, symbol, command.shares, command.self_trade);
  };
  if (open_order_count_ >= limits_.open_orders_max) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_orders, limits_.open_orders_max};
  if (index_is_sparse()) [[unlikely]]
    if (would_rest()) return Rejected{Reason::too_many_old_orders};
  if (accounts_[account].open_orders >= limits_.open_orders_per_account_max) [[unlikely]]
    if (would_rest())
      return Rejected{Reason::too_many_orders_of_account, limits_.open_orders_per_account_max};
  if (symbol == no_index && !has_place_for_symbol()) [[unlikely]]
    return Rejected{Reason::too_many_symbols, limits_.symbols_max};
  if (!has_place_for_position(account, symbol)) [[unlikely]]
    return Rejected{Reason::too_many_positions, limits_.positions_max};
  // An account that has all that are kept of it forgets one for each new one.
  if (command.reference && references_.size() >= limits_.references_max &&
      references_.of(account) < References::kept_max)
    return Rejected{Reason::too_many_references, limits_.references_max};
  return check_executions(command.side, command.limit, symbol);
}

std::optional<Rejected> Exchange::check_executions(Side side, Price limit,
                                                   SymbolNumber symbol) const {
  if (executions_.used() < limits_.executions_per_account_max) [[likely]]
    return {};  // so no account has more
  if (symbol == no_index) return {};
  const Side maker_side = opposite(side);
  const PriceIndex& makers = symbols_[symbol].sides[int(maker_side)];
  if (makers.empty() || makers.best_rank() < worst_rank(maker_side, limit)) return {};
  if (executions_.used() >= limits_.executions_max)
    return Rejected{Reason::too_many_executions, limits_.executions_max};
  const Order& maker = orders_[levels_[makers.best_level()].first];
  if (accounts_[maker.account].executions >= limits_.executions_per_account_max)
    return Rejected{Reason::too_many_executions_of_account, limits_.executions_per_account_max};
  return {};
}

bool Exchange::has_place_for_position(AccountNumber account, SymbolNumber symbol) const {
  if (positions_.size() < limits_.positions_max && open_orders_.keys() < limits_.positions_max)
    return true;
  if (symbol == no_index) return false;
  const std::uint64_t key = position_key(account, symbol);
  return positions_.find(key) != nullptr &&
         (open_orders_.keys() < limits_.positions_max || open_orders_.has_key(key));
}

void Exchange::cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now) {
  cancel_open(index, now);
  ++(command.lifetime == Lifetime::immediate_or_cancel ? term_cancels_.immediate
                                                       : term_cancels_.self_trade);
}

std::uint32_t Exchange::add_order(const Order& order, const OrderHistory& history) {
  const std::uint32_t index = orders_.allocate();
  orders_[index] = order;
  orders_[index].first_execution = orders_[index].last_execution = no_index;
  histories_.grow_to(index) = history;
  order_index_.insert(order.id, index);
  return index;
}

bool Exchange::can_execute(const PlaceOrder& command, AccountNumber account, SymbolNumber symbol,
                           Shares missing, SelfTrade self_trade) const {
  if (symbol == no_index) return false;
  const Side maker_side = opposite(command.side);
  const std::int64_t worst = worst_rank(maker_side, command.limit);
  unsigned reach = fill_or_kill_reach;
  const auto take = [&](Int128 units) {
    missing -= units < missing.units() ? Shares::from_units(std::int64_t(units)) : missing;
    return missing > Shares() && --reach > 0;
  };
  symbols_[symbol].sides[int(maker_side)].for_each_while(
      [&](std::int64_t level_rank, std::uint32_t level) {
        if (level_rank < worst) return false;
        if (self_trade == SelfTrade::allowed) return take(levels_[level].shares_units);
        for (std::uint32_t at = levels_[level].first; at != no_index; at = orders_[at].next) {
          const bool own = orders_[at].account == account;
          if (own && self_trade == SelfTrade::cancel_taking) return false;
          if (!take(own ? 0 : orders_[at].open.units())) return false;
        }
        return true;
      });
  return missing == Shares();
}

bool Exchange::match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now) {
  Order& taker = orders_[taker_index];
  const Side maker_side = opposite(taker.side);
  PriceIndex& makers = symbols_[taker.symbol].sides[int(maker_side)];
  const std::int64_t worst = worst_rank(maker_side, taker.limit);
  const bool pays_as_it_goes = taker.side == Side::buy && taker.limit == Price();

  while (taker.open > Shares() && !makers.empty() && makers.best_rank() >= worst) {
    Level& level = levels_[makers.best_level()];
    const std::uint32_t maker_index = level.first;
    Order& maker = orders_[maker_index];
    Shares shares = std::min(taker.open, maker.open);
    const bool out_of_cash =
        pays_as_it_goes && cost(shares, maker.limit) > accounts_[taker.account].balance;
    if (out_of_cash) {
      shares = affordable(accounts_[taker.account].balance, maker.limit);
      if (shares == Shares()) return false;
    }
    if (self_trade != SelfTrade::allowed && maker.account == taker.account) {
      if (self_trade == SelfTrade::cancel_taking) return false;
      cancel_resting(maker_index, now);
      ++term_cancels_.self_trade;
      continue;
    }
    level.shares_units -= shares.units();
    mark_order_dirty(maker_index);
    execute(taker, maker, shares, now);
    if (maker.open == Shares()) {
      unlink(maker_index);
      close(maker_index);
    }
    if (out_of_cash) return false;
  }
  return true;
}

// One execution at the maker's limit changes both orders, the seller's balance, the buyer's
// position and the refund together (docs/protocol.md, M6 to M9).
void Exchange::execute(Order& taker, Order& maker, Shares shares, Timestamp now) {
  Order& buy = taker.side == Side::buy ? taker : maker;
  Order& sell = taker.side == Side::buy ? maker : taker;
  const Price price = maker.limit;

  taker.open -= shares;
  maker.open -= shares;
  const Cash paid = cost(shares, price);
  // The buyer first: a market buy, whose limit is 0, pays here, perhaps to its own account, where
  // the sum of both could overflow. All others get their refund.
  if (buy.limit != price) {
    accounts_[buy.account].balance += cost(shares, buy.limit) - paid;
    mark_dirty(buy.account);
  }
  accounts_[sell.account].balance += paid;
  mark_dirty(sell.account);
  add_to_position(buy.account, buy.symbol, shares);

  const std::uint32_t record = executions_.allocate();
  executions_[record] = {{shares, price, now}, {no_index, no_index}, 2};
  record_execution(buy, record);
  record_execution(sell, record);
  new_executions_.push_back(
      {++totals_.executions, buy.symbol, buy.id, sell.id, shares, price, now, taker.side});
  update_digest(now, 'E', std::uint64_t(shares.units()), std::uint64_t(price.units()) ^ maker.id);
}

void Exchange::record_execution(Order& order, std::uint32_t execution) {
  if (order.first_execution == no_index)
    order.first_execution = execution;
  else
    executions_[order.last_execution].next[int(order.side)] = execution;
  order.last_execution = execution;
  ++accounts_[order.account].executions;
}

Outcome Exchange::cancel(const CancelOrder& command, Timestamp now, const Located& located) {
  Outcome refusal;
  const std::uint32_t index = find_order(command, located, false, refusal);
  if (index == no_index) return refusal;
  if (orders_[index].open == Shares()) return Rejected{Reason::nothing_open};

  cancel_resting(index, now);
  return Canceled{status(index)};
}

Outcome Exchange::apply(const ReplaceOrder& command, Timestamp now) {
  ENSURE(command.shares > Shares() && command.limit > Price());
  Outcome refusal;
  const std::uint32_t index = find_order(command, {}, false, refusal);
  if (index == no_index) return refusal;
  Order& order = orders_[index];
  OrderHistory& history = histories_[index];
  if (order.open == Shares()) return Rejected{Reason::nothing_open};
  if (order.side != command.side) return Rejected{Reason::other_side};
  const Shares executed = history.shares - order.open;
  if (command.shares <= executed) return Rejected{Reason::executed_more};

  const Shares open = command.shares - executed;
  const bool keeps_place = command.limit == order.limit && open <= order.open;
  if (!keeps_place)
    if (const auto refusal = check_executions(order.side, command.limit, order.symbol))
      return *refusal;
  if (order.side == Side::buy) {
    const Cash more = cost(open, command.limit) - cost(order.open, order.limit);
    if (accounts_[order.account].balance < more) return Rejected{Reason::insufficient_funds};
    accounts_[order.account].balance -= more;
    mark_dirty(order.account);
  } else {
    const Shares more = open - order.open;
    const std::uint64_t key = position_key(order.account, order.symbol);
    Position* position = positions_.find(key);
    if (position->shares() < more) return Rejected{Reason::insufficient_shares};
    set_position(*position, key, position->shares() - more);
  }

  new_replacements_.push_back({++totals_.orders, order.id, history.shares, order.limit, keeps_place,
                               totals_.executions, now});
  mark_order_dirty(index);
  update_digest(now, 'M', order.id, std::uint64_t(command.shares.units()));
  update_digest(now, 'L', totals_.orders, std::uint64_t(command.limit.units()));
  history.shares = command.shares;
  if (keeps_place) {
    levels_[order.level].shares_units -= (order.open - open).units();
    order.open = open;
    return Replaced{order.id};
  }
  take_out(index);
  order.open = open;
  order.limit = command.limit;
  order.place = totals_.orders;
  match(index, SelfTrade::allowed, now);
  if (order.open == Shares())
    close(index);
  else
    rest(index);
  return Replaced{order.id};
}

Outcome Exchange::apply(const CancelAll& command, Timestamp now) {
  const AccountNumber account = account_ids_.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  const SymbolNumber symbol = command.symbol ? symbol_names_.find(*command.symbol) : no_index;
  if (command.symbol && symbol == no_index) return Rejected{Reason::no_open_orders};
  if (!open_orders_.in_use()) start_use_of_open_orders();
  CanceledAll canceled;
  for (std::size_t executions = 0;
       canceled.orders.size() < canceled_orders_max && executions < canceled_executions_max;) {
    const std::uint32_t oldest = command.symbol
                                     ? open_orders_.oldest_of_key(position_key(account, symbol))
                                     : open_orders_.oldest_of_account(account);
    if (oldest == no_index) break;
    cancel_resting(oldest, now);
    canceled.orders.push_back(status(oldest));
    executions += canceled.orders.back().executions.size();
  }
  if (canceled.orders.empty()) return Rejected{Reason::no_open_orders};
  return canceled;
}

void Exchange::start_use_of_open_orders() {
  std::vector<std::pair<OrderId, std::uint32_t>> open;  // by place
  for (const Symbol& symbol : symbols_)
    for (const PriceIndex& side : symbol.sides)
      side.for_each([&](std::uint32_t level) {
        for (std::uint32_t at = levels_[level].first; at != no_index; at = orders_[at].next)
          open.push_back({orders_[at].place, at});
      });
  std::sort(open.begin(), open.end());
  open_orders_.start_use();
  for (const auto& [place, index] : open) {
    const Order& order = orders_[index];
    open_orders_.add(order.account, position_key(order.account, order.symbol), index);
  }
}

void Exchange::cancel_resting(std::uint32_t index, Timestamp now) {
  take_out(index);
  cancel_open(index, now);
}

void Exchange::cancel_open(std::uint32_t index, Timestamp now) {
  Order& order = orders_[index];
  mark_order_dirty(index);
  if (order.side == Side::buy) {
    accounts_[order.account].balance += cost(order.open, order.limit);
    mark_dirty(order.account);
  } else {
    add_to_position(order.account, order.symbol, order.open);
  }
  histories_[index].canceled = order.open;
  histories_[index].canceled_at = now;
  order.open = Shares();
  update_digest(now, 'C', order.id, std::uint64_t(histories_[index].canceled.units()));
  close(index);
}

Outcome Exchange::apply(const QueryOrder& command, Timestamp) {
  Outcome refusal;
  const std::uint32_t index = find_order(command, {}, command.of_any_account, refusal);
  if (index == no_index) return refusal;
  return status(index, command.from);
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
  const std::uint32_t index = is_located ? located.order : order_index_.find(id);
  if (index == no_index) return refuse(NotInMemory{account, id});
  if (orders_[index].account != account && !of_any_account)
    return refuse(Rejected{Reason::unknown_order});
  return index;
}

Status Exchange::status(std::uint32_t index, std::uint64_t from) const {
  const Order& order = orders_[index];
  Status status{
      order.id, order.open, histories_[index].canceled, histories_[index].canceled_at, {}};
  std::uint64_t number = 1;
  for (std::uint32_t at = order.first_execution; at != no_index;
       at = executions_[at].next[int(order.side)], ++number) {
    if (number < from) continue;
    if (status.executions.size() == listed_executions_max) {
      status.next = number;
      break;
    }
    status.executions.push_back(executions_[at].execution);
  }
  status.skipped = std::min(from, number) - 1;
  return status;
}

// --- the book

void Exchange::rest(std::uint32_t index, std::uint32_t expected_level) {
  Order& order = orders_[index];
  ++open_order_count_;
  ++accounts_[order.account].open_orders;
  PriceIndex& side = symbols_[order.symbol].sides[int(order.side)];
  const std::int64_t order_rank = rank(order.side, order.limit);
  // matching has left no level of this price on the other side
  const auto still_holds = [&](const Level& level) {
    return level.price == order.limit && level.symbol == order.symbol && level.orders > 0;
  };
  const bool is_found = expected_level != no_index && still_holds(levels_[expected_level]);
  order.level = is_found ? expected_level : side.find(order_rank);
  order.next = no_index;
  if (order.level == no_index) {
    order.level = levels_.allocate();
    levels_[order.level] = {.price = order.limit,
                            .shares_units = order.open.units(),
                            .first = index,
                            .last = index,
                            .orders = 1,
                            .symbol = order.symbol};
    side.insert(order_rank, order.level);
    order.previous = no_index;
  } else {
    Level& level = levels_[order.level];
    order.previous = level.last;
    orders_[level.last].next = index;
    level.last = index;
    level.shares_units += order.open.units();
    ++level.orders;
  }
  if (open_orders_.in_use())
    open_orders_.add(order.account, position_key(order.account, order.symbol), index);
}

void Exchange::take_out(std::uint32_t index) {
  const Order& order = orders_[index];
  levels_[order.level].shares_units -= order.open.units();
  unlink(index);
}

void Exchange::unlink(std::uint32_t index) {
  const Order& order = orders_[index];
  --open_order_count_;
  --accounts_[order.account].open_orders;
  Level& level = levels_[order.level];
  if (--level.orders == 0) {
    symbols_[order.symbol].sides[int(order.side)].erase(rank(order.side, order.limit));
    levels_.release(order.level);
  } else {
    (order.previous == no_index ? level.first : orders_[order.previous].next) = order.next;
    (order.next == no_index ? level.last : orders_[order.next].previous) = order.previous;
  }
  if (open_orders_.in_use())
    open_orders_.remove(order.account, position_key(order.account, order.symbol), index);
}

void Exchange::close(std::uint32_t index) {
  orders_[index].next = no_index;
  if (closed_last_ == no_index)
    closed_first_ = index;
  else
    orders_[closed_last_].next = index;
  closed_last_ = index;
  ++closed_;
}

bool Exchange::release_closed(ClosedMark mark, std::size_t orders_max) {
  ENSURE(mark <= closed_);
  for (; released_ < mark; ++released_) {
    if (orders_max-- == 0) return false;
    const std::uint32_t index = closed_first_;
    const Order& order = orders_[index];
    ENSURE(order.dirty == 0);
    closed_first_ = order.next;
    if (closed_first_ == no_index) closed_last_ = no_index;
    std::uint32_t listed = 0;
    for (std::uint32_t at = order.first_execution; at != no_index; ++listed) {
      const std::uint32_t next = executions_[at].next[int(order.side)];
      if (--executions_[at].holders == 0) executions_.release(at);
      at = next;
    }
    if (listed > 0) accounts_[order.account].executions -= listed;
    order_index_.erase(order.id);
    orders_.release(index);
  }
  return true;
}

// --- looking in

std::vector<Exchange::Depth> Exchange::depth(const SymbolName& symbol, Side side) const {
  std::vector<Depth> depth;
  const SymbolNumber number = symbol_names_.find(symbol);
  if (number == no_index) return depth;
  symbols_[number].sides[int(side)].for_each([&](std::uint32_t at) {
    const Level& level = levels_[at];
    depth.push_back({level.price, level.shares_units, level.orders});
  });
  return depth;
}

Cash Exchange::balance(const AccountId& account) const {
  const AccountNumber number = account_ids_.find(account);
  return number == no_index ? Cash() : accounts_[number].balance;
}

Shares Exchange::position(const AccountId& account, const SymbolName& symbol) const {
  const AccountNumber account_number = account_ids_.find(account);
  const SymbolNumber symbol_number = symbol_names_.find(symbol);
  if (account_number == no_index || symbol_number == no_index) return Shares();
  const Position* position = positions_.find(position_key(account_number, symbol_number));
  return position == nullptr ? Shares() : position->shares();
}

}  // namespace exchange
