#include "engine/trading_day.hpp"

#include <algorithm>

#include "engine/auction.hpp"
#include "engine/rules.hpp"

namespace exchange {

// --- the rules of an order

Price TradingDay::band_limit(const Ledger::Symbol& symbol, Side side) {
  const Price band = symbol.instrument.band, last = symbol.last_price;
  if (band == Price() || last == Price()) return {};
  if (side == Side::sell)
    return Price::from_units(std::max<std::int64_t>(1, last.units() - band.units()));
  const std::int64_t room = INT64_MAX - last.units();
  return Price::from_units(last.units() + std::min(band.units(), room));
}

bool TradingDay::is_beyond_band(const Ledger::Symbol& symbol, Side side, Price limit) {
  const Price furthest = band_limit(symbol, side);
  if (furthest == Price() || limit == Price()) return false;
  return side == Side::buy ? limit > furthest : limit < furthest;
}

template <class OfOrder>
std::optional<Rejected> TradingDay::check_rules(const Ledger::Symbol& symbol,
                                                const OfOrder& order) {
  const Instrument& rules = symbol.instrument;
  const auto refused = [](Reason reason, auto number) {
    return Rejected{reason, std::uint64_t(number.units())};
  };
  if (rules.trading == Trading::halted) return Rejected{Reason::trading_halted};
  if (rules.lot > Shares() && order.shares.units() % rules.lot.units() != 0)
    return refused(Reason::off_lot, rules.lot);
  if (rules.order_max > Shares() && order.shares > rules.order_max)
    return refused(Reason::order_too_large, rules.order_max);
  const bool is_market = order.limit == Price();
  bool may_be_collected = true;
  if constexpr (std::same_as<OfOrder, PlaceOrder>) may_be_collected = order.may_wait();
  if (collects(rules.trading)) {
    if (!may_be_collected) return Rejected{Reason::not_in_auction};
    if (is_market && order.side == Side::buy && rules.price_max == Price())
      return Rejected{Reason::no_price_max};
  }
  if (is_market) return {};
  if (rules.tick > Price() && order.limit.units() % rules.tick.units() != 0)
    return refused(Reason::off_tick, rules.tick);
  if (order.limit < rules.price_min) return refused(Reason::price_too_low, rules.price_min);
  if (rules.price_max > Price() && order.limit > rules.price_max)
    return refused(Reason::price_too_high, rules.price_max);
  const bool band_holds =
      rules.trading == Trading::open && !(rules.at_band == AtBand::auction && may_be_collected);
  if (band_holds && is_beyond_band(symbol, order.side, order.limit))
    return refused(order.side == Side::buy ? Reason::price_too_high : Reason::price_too_low,
                   band_limit(symbol, order.side));
  return {};
}
template std::optional<Rejected> TradingDay::check_rules(const Ledger::Symbol&, const PlaceOrder&);
template std::optional<Rejected> TradingDay::check_rules(const Ledger::Symbol&,
                                                         const ReplaceOrder&);

void TradingDay::collect(SymbolNumber number, Timestamp now) {
  Instrument rules = state_.ledger.symbol(number).instrument;
  if (collects(rules.trading)) return;
  rules.trading = Trading::volatility;
  state_.ledger.set_instrument(number, rules, now, state_.changes);
  state_.update_digest(now, Digested::volatility_auction, number, 0);
}

// --- changing them

std::optional<Rejected> TradingDay::check_change(SymbolNumber number,
                                                 const SetInstrument& command) const {
  const Instrument& before = state_.ledger.symbol(number).instrument;
  const Instrument after = with_given(before, command);
  if (after.price_max > Price() && after.price_min > after.price_max)
    return Rejected{Reason::inverted_prices};
  // market buys have reserved cash at it
  if (collects(before.trading) && after.price_max != before.price_max)
    return Rejected{Reason::in_auction};
  return {};
}

Outcome TradingDay::apply(const SetInstrument& command, Timestamp now) {
  SymbolNumber first = 0, last = SymbolNumber(state_.ledger.symbols());
  if (command.symbol) {
    first = state_.ledger.find(*command.symbol);
    if (first == no_index) return Rejected{Reason::unknown_symbol};
    last = first + 1;
  } else if (last == 0) {
    return Rejected{Reason::unknown_symbol};
  }
  for (SymbolNumber number = first; number < last; ++number)
    if (const auto refusal = check_change(number, command)) return *refusal;
  Outcome outcome = Created{};
  for (SymbolNumber number = first; number < last; ++number)
    outcome = set_instrument(number, command, now);
  state_.update_digest(now, Digested::instruments_set, first, last);
  return command.symbol ? outcome : Created{};
}

Outcome TradingDay::set_instrument(SymbolNumber number, const SetInstrument& command,
                                   Timestamp now) {
  const Instrument before = state_.ledger.symbol(number).instrument,
                   after = with_given(before, command);
  std::optional<Uncrossed> executed;
  if (after.trading == Trading::open && before.trading != Trading::open)
    executed = uncross(number, now);
  if (collects(before.trading) && !collects(after.trading)) cancel_market_orders(number, now);
  state_.ledger.set_instrument(number, after, now, state_.changes);
  for_each_member<Instrument>([&](auto rule) {
    const auto value = after.*rule.pointer;
    if constexpr (std::is_enum_v<std::remove_const_t<decltype(value)>>)
      state_.update_digest(now, Digested::instrument_rule, number, std::uint64_t(value));
    else
      state_.update_digest(now, Digested::instrument_rule, number, std::uint64_t(value.units()));
  });
  if (executed) return *executed;
  return Created{};
}

// --- auctions

std::optional<Uncrossed> TradingDay::uncross(SymbolNumber number, Timestamp now) {
  const PriceIndex &bids = state_.books.side(number, Side::buy),
                   &asks = state_.books.side(number, Side::sell);
  if (bids.empty() || asks.empty() || bids.best_rank() < -asks.best_rank()) return {};
  std::vector<AuctionLevel> levels[2];
  for (const Side side : {Side::buy, Side::sell})
    state_.books.side(number, side).for_each([&](std::uint32_t at) {
      const Books::Level& level = state_.books.level(at);
      if (level.orders > 0) levels[int(side)].push_back({level.price, level.shares_units});
    });
  const Price market_buys_max = state_.ledger.symbol(number).instrument.price_max;
  const auto price = auction_price(
      levels[0], levels[1], auction_reference(state_.ledger.symbol(number)), market_buys_max);
  if (!price) return {};
  const Shares executed = Shares::from_units(std::int64_t(price->shares_units));
  // an order that rested before there was a highest price may be above that price
  const bool without_market_buys = market_buys_max > Price() && price->price > market_buys_max;
  const auto best_bid = [&] {
    std::uint32_t best = no_index;
    bids.for_each_while([&](std::int64_t, std::uint32_t at) {
      const Books::Level& level = state_.books.level(at);
      if (level.orders == 0 || (without_market_buys && level.price == Price())) return true;
      best = at;
      return false;
    });
    return best;
  };
  for (Shares left = executed; left > Shares();) {
    const std::uint32_t buy_index = state_.books.level(best_bid()).first,
                        sell_index = state_.books.level(asks.best_level()).first;
    Books::Order &buy = state_.books.order(buy_index), &sell = state_.books.order(sell_index);
    const Shares shares = std::min(buy.open, sell.open);
    left -= shares;
    for (const std::uint32_t index : {buy_index, sell_index}) {
      state_.mark_order(index);
      state_.books.level(state_.books.order(index).level).shares_units -= shares.units();
    }
    // execute as if the younger order had arrived and met the other one
    Books::Order &taker = buy.place > sell.place ? buy : sell,
                 &maker = buy.place > sell.place ? sell : buy;
    settlement().execute(taker, maker, shares, price->price, now);
    settlement().close_if_executed(buy_index);
    settlement().close_if_executed(sell_index);
  }
  return Uncrossed{price->price, executed};
}

Price TradingDay::auction_reference(const Ledger::Symbol& symbol) {
  return allows(symbol.instrument, symbol.last_price) ? symbol.last_price : Price();
}

void TradingDay::cancel_market_orders(SymbolNumber number, Timestamp now) {
  for (const Side side : {Side::buy, Side::sell}) {
    const PriceIndex& levels = state_.books.side(number, side);
    while (!levels.empty() && state_.books.level(levels.best_level()).price == Price()) {
      settlement().cancel_resting(state_.books.level(levels.best_level()).first, now,
                                  EventKind::canceled_immediate);
      ++state_.term_cancels.immediate;
    }
  }
}

}  // namespace exchange
