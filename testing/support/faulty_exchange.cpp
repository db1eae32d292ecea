#include "support/faulty_exchange.hpp"

#include <algorithm>
#include <utility>

namespace exchange::testing {

Outcome FaultyExchange::apply(Command command, Timestamp now) {
  if (gift_ == Gift::none) return apply_without_gift(command, now);
  const Command asked = command;
  command_ = &asked;
  const Outcome outcome = apply_without_gift(command, now);
  if (const auto* const rejected = std::get_if<Rejected>(&outcome))
    pay_for(asked, rejected->reason);
  else
    pay_for(asked);
  command_ = nullptr;
  return outcome;
}

Outcome FaultyExchange::apply_without_gift(Command& command, Timestamp now) {
  rests_ = reverses_ = forgets_ = false;
  return std::visit([&](auto& one) { return apply_to(one, now); }, command);
}

namespace {

// Returns the limit of a market order that rests.
Price any_price(Side side) {
  return side == Side::buy ? Price::whole(1'000) : Price::from_units(1'000'000);
}

UInt128 money(Shares shares, Price price) {
  return UInt128(shares.units()) * UInt128(price.units());
}

}  // namespace

Outcome FaultyExchange::apply_to(CreateAccount& create, Timestamp now) {
  if (is(Fault::duplicate_accounts) && knows(create.account)) return Created{};
  if (is(Fault::float_cash)) {  // a double holds some 15 digits
    Int128 unit = 1;
    while (create.balance.units() / unit >= 1'000'000'000'000'000) unit *= 10;
    create.balance = Cash::from_units(create.balance.units() / unit * unit);
  }
  return NaiveExchange::apply(create, now);
}

bool FaultyExchange::accepts(const PlaceOrder& order, Reason refusal) const {
  if (refusal == Reason::account_frozen) return is(DayFault::opens_frozen);
  if (refusal == Reason::insufficient_shares) return is(Fault::naked_sells);
  if (refusal != Reason::insufficient_funds) return false;
  if (!is(Fault::no_reservation)) return is(Fault::overdraft);
  UInt128 cash = UInt128(balance(order.account).units());
  for (const OrderId id : orders_of(order.account))
    if (const Order& own = orders_[id - 1]; own.placed.side == Side::buy)
      cash += money(open(own, version()), terms(own, version()).limit);
  return Int128(cash) >= Int128(money(order.shares, order.limit));
}

Outcome FaultyExchange::open_unchecked(const PlaceOrder& order, Timestamp now) {
  ++version_;
  return execute(order, now);
}

Outcome FaultyExchange::open_late(const PlaceOrder& order, Shares position_before, Timestamp now) {
  const Shares position_now = position(order.account, order.symbol);
  if (order.side == Side::sell && position_now != position_before)
    take(order.account, order.symbol, position_now - position_before);
  return open_unchecked(order, now);
}

Outcome FaultyExchange::apply_to(PlaceOrder& order, Timestamp now) {
  const UInt128 fillable = is(Fault::fok_in_part) || is(Fault::post_takes)
                               ? executable(order, SelfTrade::allowed, version())
                               : 0;
  const bool is_part = fillable > 0 && fillable < UInt128(order.shares.units());
  if (order.lifetime == Lifetime::fill_or_kill && is_part && does(Fault::fok_in_part))
    order.lifetime = Lifetime::immediate_or_cancel;
  if (order.post_only && fillable > 0 && does(Fault::post_takes)) order.post_only = false;
  if (order.self_trade != SelfTrade::allowed && does(Fault::self_trade))
    order.self_trade = SelfTrade::allowed;
  const bool is_immediate = order.lifetime == Lifetime::immediate_or_cancel || order.is_market();
  if (is_immediate && does(Fault::ioc_rests)) {
    order.lifetime = Lifetime::until_canceled;
    if (order.is_market()) order.limit = any_price(order.side);
  }
  Outcome outcome = NaiveExchange::apply(order, now);
  const auto* const rejected = std::get_if<Rejected>(&outcome);
  if (rejected && accepts(order, rejected->reason)) outcome = open_unchecked(order, now);
  if (std::holds_alternative<Opened>(outcome) && is(Fault::lost_remainder))
    if (Order& own = orders_.back(); !own.executions.empty() && is_open(orders()))
      own.terms.back().shares = executed(own, version());
  if (order.self_trade == SelfTrade::cancel_resting && is(Fault::out_of_reach))
    for (const OrderId own : account_of(order.account).orders)
      if (own != orders() && is_open(own) && does(Fault::out_of_reach)) {
        cancel_open(orders_[own - 1], now);
        break;
      }
  return outcome;
}

Outcome FaultyExchange::apply_to(ReplaceOrder& replace, Timestamp now) {
  const OrderId id = meant(replace, version());
  Order* const named = order(replace.account, id, version()) ? &orders_[id - 1] : nullptr;
  if (named && named->canceled != no_version && does(Fault::replaced_after_cancel))
    named->canceled = no_version;
  if (!changed_state(outcome(replace, version()))) return NaiveExchange::apply(replace, now);
  const Terms before = named->terms.back();
  const Shares executed_before = executed(*named, version());
  const bool keeps_place = replace.limit == before.limit && replace.shares <= before.shares;
  if (!keeps_place && does(Fault::replace_without_effect)) return Replaced{id};
  if (executed_before > Shares() && does(Fault::amount_is_open)) replace.shares += executed_before;
  rests_ = !keeps_place && does(Fault::rests_anew);
  const Outcome outcome = NaiveExchange::apply(replace, now);
  if (!changed_state(outcome)) return outcome;
  if (replace.side == Side::buy && does(Fault::reservation_kept)) take(replace.account, 1);
  OrderId& place = orders_[id - 1].terms.back().place;
  if (keeps_place && is(Fault::place_lost)) place = orders();
  if (!keeps_place && is(Fault::place_kept)) place = before.place;
  return outcome;
}

Outcome FaultyExchange::apply_to(CancelAll& all, Timestamp now) {
  if (all.symbol && does(Fault::symbol_ignored)) all.symbol.reset();
  const Outcome expected = outcome(all, version());
  if (!changed_state(expected)) return expected;
  if (does(Fault::cancel_of_all_refused)) return Rejected{Reason::no_open_orders};
  forgets_ = canceled_by(all, version()).size() > 1 && does(Fault::cancel_of_all_incomplete);
  reverses_ = does(Fault::youngest_first);
  CanceledAll canceled = std::get<CanceledAll>(NaiveExchange::apply(all, now));
  for (Status& status : canceled.orders) status = reported(status);
  return canceled;
}

std::vector<OrderId> FaultyExchange::canceled_by(const CancelAll& all, Version version) const {
  std::vector<OrderId> ids = NaiveExchange::canceled_by(all, version);
  if (forgets_) ids.erase(ids.begin());
  if (reverses_) std::reverse(ids.begin(), ids.end());
  return ids;
}

Outcome FaultyExchange::apply_to(CancelOrder& cancel, Timestamp now) {
  const OrderId id = meant(cancel, version());
  if (is(Fault::any_account) && knows(cancel.account) && id > 0 && id <= orders() && placed(id))
    cancel.account = placed(id)->account;
  if (canceled_.contains(id)) return Rejected{Reason::nothing_open};
  Outcome outcome = NaiveExchange::apply(cancel, now);
  auto* const canceled = std::get_if<Canceled>(&outcome);
  if (!canceled) return outcome;
  const Status status = canceled->status;
  canceled->status = reported(status);
  const bool goes_on = does(Fault::trades_after_cancel);
  if (goes_on) canceled_.emplace(id, status);
  if (goes_on || does(Fault::cancels_nothing)) orders_[id - 1].canceled = no_version;
  const PlaceOrder& order = orders_[id - 1].placed;
  if (order.side == Side::buy && is(Fault::cancel_keeps_cash))
    take(order.account, money(status.canceled, terms(orders_[id - 1], version()).limit));
  if (order.side == Side::sell && is(Fault::cancel_keeps_shares))
    take(order.account, order.symbol, status.canceled);
  return outcome;
}

Outcome FaultyExchange::apply_to(QueryOrder& query, Timestamp now) {
  set_policy({.open_queries = is(Fault::any_account)});
  Outcome outcome = NaiveExchange::apply(query, now);
  auto* const found = std::get_if<Status>(&outcome);
  if (!found) return outcome;
  const OrderId id = found->order;
  if (fault_ == Fault::vanished_order && !in_run_ && id % 50 == 7)
    return Rejected{Reason::unknown_order};
  Status status = reported(*found);
  if (!status.executions.empty() && status.canceled == Shares() && does(Fault::stale_query)) {
    status.open += status.executions.back().shares;
    status.executions.pop_back();
  }
  if (status.open > Shares() && does(Fault::query_of_the_future)) {
    const Price limit = terms(orders_[id - 1], version()).limit;
    status.executions.push_back({std::exchange(status.open, Shares()), limit, now});
  }
  if (fault_ == Fault::canceled_unasked && !in_run_ && status.open > Shares() && id % 5 == 0) {
    status.canceled = std::exchange(status.open, Shares());
    status.canceled_at = now;
  }
  return status;
}

Outcome FaultyExchange::apply_to(SetInstrument& command, Timestamp now) {
  Outcome outcome = NaiveExchange::apply(command, now);
  if (auto* const uncrossed = std::get_if<Uncrossed>(&outcome))
    if (does(DayFault::auction_says_more)) uncrossed->shares += Shares::whole(1);
  return outcome;
}

std::optional<Rejected> FaultyExchange::broken_rule(const PlaceOrder& order,
                                                    Version version) const {
  const std::optional<Rejected> broken = NaiveExchange::broken_rule(order, version);
  if (broken && broken->reason == Reason::trading_halted && is(DayFault::trades_in_halt)) return {};
  return broken;
}

bool FaultyExchange::collect(const PlaceOrder& order) {
  return NaiveExchange::collect(order) && !does(DayFault::trades_in_auction);
}

std::optional<AuctionResult> FaultyExchange::hold_auction(const std::vector<AuctionOrder>& orders,
                                                          std::optional<Price> last) const {
  std::vector<AuctionOrder> met = orders;
  if (is(DayFault::auction_newest_first))
    for (AuctionOrder& order : met) order.place = ~order.place;
  std::optional<AuctionResult> result = NaiveExchange::hold_auction(met, last);
  if (!result) return result;
  if (is(DayFault::auction_price))
    for (const AuctionExecution& one : result->executions)
      if (const auto limit = orders[one.buy].limit; limit && *limit > result->price) {
        result->price = Price::from_units(result->price.units() + 1'000'000);  // a cent
        break;
      }
  if (result->executions.size() > 1 && does(DayFault::auction_forgets)) {
    result->volume -= result->executions.back().shares;
    result->executions.pop_back();
  }
  return result;
}

void FaultyExchange::cancel_market_orders(const Symbol& symbol, Timestamp now) {
  if (!is(DayFault::market_order_kept)) return NaiveExchange::cancel_market_orders(symbol, now);
  for (const OrderId id : symbol.orders)
    if (Order& order = orders_[id - 1]; is_open(id) && limit_now(order) == Price())
      order.terms.back().limit = any_price(order.placed.side);
}

Status FaultyExchange::reported(Status status) const {
  if (const auto canceled = canceled_.find(status.order); canceled != canceled_.end()) {
    status.open = Shares();
    status.canceled = canceled->second.canceled;
    status.canceled_at = canceled->second.canceled_at;
  }
  if (fault_ == Fault::lost_execution && status.executions.size() > 1 && status.order % 5 == 2)
    status.executions.pop_back();
  return status;
}

bool FaultyExchange::crosses(const PlaceOrder& arriving, const Order& maker,
                             Version version) const {
  if (rests_ || &maker == without_ || is(Fault::never_matches)) return false;
  const Price limit = terms(maker, version).limit;
  if (limit == without_price_) return false;
  if (is(Fault::no_match_on_equal) && limit == arriving.limit) return false;
  if (!self_match_ && maker.placed.account == arriving.account) return false;
  return NaiveExchange::crosses(arriving, maker, version);
}

NaiveExchange::Order* FaultyExchange::best_match(const PlaceOrder& arriving) {
  Order* const best = NaiveExchange::best_match(arriving);
  if (!best || does(Fault::passed_over)) return nullptr;
  if (arriving.is_market() && does(Fault::market_stops)) return nullptr;
  if (arriving.self_trade == SelfTrade::cancel_taking && best->placed.account == arriving.account &&
      does(Fault::taking_rests))
    return nullptr;
  if (!is(Fault::worst_price_first) && !is(Fault::newest_first)) return best;
  const Price price = terms(*best, version()).limit;
  without_ = best;
  if (is(Fault::worst_price_first)) without_price_ = price;
  Order* const other = NaiveExchange::best_match(arriving);
  without_ = nullptr;
  without_price_.reset();
  const bool possible =
      other && (is(Fault::worst_price_first) || terms(*other, version()).limit == price);
  return possible && does(fault_) ? other : best;
}

Price FaultyExchange::price_of(const PlaceOrder& arriving, const Order& maker) const {
  const Price price = NaiveExchange::price_of(arriving, maker);
  const bool possible = !arriving.is_market() && arriving.limit != price;
  return possible && does(Fault::takers_price) ? arriving.limit : price;
}

void FaultyExchange::note_execution(Order& buy, Order& sell) {
  const auto [shares, price, time] = buy.executions.back().value;
  const Price limit = terms(buy, version()).limit;
  const AccountId &buyer = buy.placed.account, &seller = sell.placed.account;
  if (limit > price && does(Fault::refund_dropped)) take(buyer, 1);
  if (limit > price && is(Fault::refund_forgotten))
    take(buyer, money(shares, limit) - money(shares, price));
  if (is(Fault::seller_not_paid)) take(seller, money(shares, price));
  if (is(Fault::buyer_gets_nothing)) take(buyer, buy.placed.symbol, shares);
  if (does(Fault::credit_dropped)) take(buyer, buy.placed.symbol, Shares::from_units(1));
  if (is(Fault::loses_place))
    for (Order* const order : {&buy, &sell}) order->terms.back().place = orders();
  if (command_ && std::holds_alternative<SetInstrument>(*command_)) {
    if (is(Gift::auction_pays))
      for (const AccountId& account : {buyer, seller}) pay(account, buy.placed.symbol);
  } else {
    const bool is_open = open_now(buy) > Shares();
    if (limit > price)
      if (is(is_open ? Gift::partial_better_price_pays : Gift::better_price_pays)) pay(buyer, {});
    if (is(Gift::sale_pays)) pay(seller, {});
    if (is(Gift::purchase_pays)) take(buyer, buy.placed.symbol, Shares() - Shares::whole(1));
    if (buyer == seller && is(Gift::self_trade_pays)) pay(buyer, buy.placed.symbol);
  }
}

// --- gifts ---

void FaultyExchange::pay(const AccountId& id, const SymbolName& symbol) {
  if (!knows(id)) return;
  take(id, -money(Shares::whole(1), Price::from_units(Price::whole(1).units() / 4)));
  if (!symbol.view().empty()) take(id, symbol, Shares() - Shares::whole(1));
}

void FaultyExchange::note_canceled(Order& order) {
  if (!command_) return;
  const SymbolName& symbol = order.placed.symbol;
  const auto pays = [&](Gift gift) {
    if (is(gift)) pay(order.placed.account, symbol);
  };
  if (const auto* const cancel = std::get_if<CancelOrder>(command_)) {
    if (cancel->reference) pays(Gift::cancel_by_reference_pays);
    if (collects_orders(symbol, version())) pays(Gift::cancel_in_auction_pays);
    if (order.terms.size() > 1) pays(Gift::cancel_of_replaced_pays);
    pays(order.executions.empty() ? Gift::cancel_pays : Gift::partial_cancel_pays);
  } else if (std::holds_alternative<CancelAll>(*command_)) {
    pays(Gift::cancel_of_all_pays);
  } else if (std::holds_alternative<SetAccount>(*command_)) {
    pays(Gift::operator_cancel_pays);
  } else if (std::holds_alternative<SetInstrument>(*command_)) {
    pays(Gift::auction_end_pays);
  } else if (const auto* const arriving = std::get_if<PlaceOrder>(command_)) {
    pays(arriving->self_trade == SelfTrade::allowed ? Gift::rest_pays
                                                    : Gift::self_trade_prevention_pays);
  }
}

void FaultyExchange::pay_for(const Command& command) {
  if (const auto* const replace = std::get_if<ReplaceOrder>(&command)) {
    if (!is(Gift::replace_pays)) return;
    const Order& order = orders_[meant(*replace, version()) - 1];
    const Terms& now = order.terms.back();
    const Terms& before = order.terms[order.terms.size() - 2];
    if (now.shares < before.shares) pay(replace->account, order.placed.symbol);
  } else if (const auto* const placed = std::get_if<PlaceShares>(&command)) {
    const std::size_t placements =
        account_of(placed->account).placements[std::string(placed->symbol.view())].size();
    if (is(placements > 1 ? Gift::second_placement_pays : Gift::placement_pays))
      take(placed->account, placed->symbol, Shares() - Shares::whole(1));
  } else if (const auto* const created = std::get_if<CreateAccount>(&command)) {
    if (created->balance == Cash() && is(Gift::empty_account_pays)) pay(created->account, {});
    if (const auto early = early_.find(std::string(created->account.view())); early != early_.end())
      pay(created->account, early->second);
  } else if (const auto* const cash = std::get_if<AdjustCash>(&command)) {
    if (is(Gift::adjustment_pays)) pay(cash->account, {});
  } else if (const auto* const shares = std::get_if<AdjustShares>(&command)) {
    if (is(Gift::adjustment_pays)) pay(shares->account, shares->symbol);
  }
}

void FaultyExchange::pay_for(const Command& command, Reason refusal) {
  const auto is_rule = [&] {
    return refusal == Reason::trading_halted || refusal == Reason::position_too_large ||
           refusal == Reason::too_many_orders_of_account;
  };
  if (const auto* const order = std::get_if<PlaceOrder>(&command)) {
    const Gift gift = refusal == Reason::cannot_fill     ? Gift::refused_fok_pays
                      : refusal == Reason::would_execute ? Gift::refused_post_pays
                      : is_rule()                        ? Gift::refused_by_rule_pays
                                                         : Gift::refused_order_pays;
    if (!is(gift)) return;
    if (refusal == Reason::insufficient_shares)
      take(order->account, order->symbol, Shares() - Shares::whole(1));
    else
      pay(order->account, refusal == Reason::insufficient_funds ? SymbolName() : order->symbol);
  } else if (const auto* const replace = std::get_if<ReplaceOrder>(&command)) {
    const OrderId id = meant(*replace, version());
    if (is(Gift::refused_replace_pays) && id > 0 && id <= orders() && placed(id))
      pay(replace->account, placed(id)->symbol);
  } else if (const auto* const cancel = std::get_if<CancelOrder>(&command)) {
    const OrderId id = meant(*cancel, version());
    if (id == 0 || id > orders() || !placed(id)) return;
    if (is(refusal == Reason::nothing_open ? Gift::second_cancel_pays : Gift::foreign_cancel_pays))
      pay(cancel->account, placed(id)->symbol);
  } else if (const auto* const all = std::get_if<CancelAll>(&command)) {
    if (is(Gift::cancel_of_none_pays)) pay(all->account, all->symbol.value_or(SymbolName()));
  } else if (const auto* const placed = std::get_if<PlaceShares>(&command)) {
    if (is(Gift::early_placement_pays))
      early_.emplace(std::string(placed->account.view()), placed->symbol);
  } else if (const auto* const created = std::get_if<CreateAccount>(&command)) {
    if (is(Gift::account_again_pays)) pay(created->account, {});
  } else if (const auto* const cash = std::get_if<AdjustCash>(&command)) {
    if (is(Gift::refused_adjustment_pays)) pay(cash->account, {});
  } else if (const auto* const shares = std::get_if<AdjustShares>(&command)) {
    if (is(Gift::refused_adjustment_pays)) pay(shares->account, shares->symbol);
  }
}

void FaultyExchange::take(const AccountId& id, UInt128 cash_units) {
  account_of(id).cash.push_back({version(), -Int128(cash_units)});
}
void FaultyExchange::take(const AccountId& id, const SymbolName& symbol, Shares shares) {
  account_of(id).placements[std::string(symbol.view())].push_back(
      {version(), -Int128(shares.units())});
}

}  // namespace exchange::testing
