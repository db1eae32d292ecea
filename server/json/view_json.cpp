#include "json/view_json.hpp"

#include "protocol/words.hpp"

namespace exchange {

std::string shares_text(Int128 shares_units) {
  // Sums of shares may exceed the range of Shares; their whole part and fraction do not.
  constexpr Int128 unit = 100'000'000;
  if (shares_units <= INT64_MAX) return to_string(Shares::from_units(std::int64_t(shares_units)));
  std::string whole = units_text(shares_units / unit);
  const std::string fraction = to_string(Shares::from_units(std::int64_t(shares_units % unit)));
  return whole + fraction.substr(1);  // "0.5" -> ".5", "0" -> ""
}

const char* side_name(Side side) { return side == Side::buy ? "buy" : "sell"; }

Json time_json(Timestamp time) { return time == Timestamp() ? Json() : Json(time.microseconds); }

Json limit_json(const OrderRow& row) {
  return row.limit == Price() ? Json() : Json(to_string(row.limit));
}

Json level_json(Side side, std::int64_t rank, const MarketView::Level& level) {
  return Json::array(
      {to_string(MarketView::price_of(side, rank)), shares_text(level.shares_units), level.orders});
}

void add_levels(Document& document, const char* name, Side side,
                const std::map<std::int64_t, MarketView::Level>& all, std::size_t count) {
  document.add_list(name, [&](auto add) {
    for (auto at = all.upper_bound(MarketView::market_rank); at != all.end() && count > 0;
         ++at, --count)
      add(level_json(side, at->first, at->second));
  });
}

Json trade_json(const MarketView::Trade& trade) {
  Json json{{"id", trade.id},
            {"price", to_string(trade.price)},
            {"shares", to_string(trade.shares)},
            {"taker", side_name(trade.taker)},
            {"buy_order", trade.buy_order},
            {"sell_order", trade.sell_order},
            {"time_us", trade.time.microseconds}};
  if (trade.of_auction) json["auction"] = true;
  return json;
}

void add_newest_trades(Document& document, const MarketView::Symbol& symbol, std::size_t count) {
  document.add_list("trades", [&](auto add) {
    for (auto at = symbol.trades.rbegin(); at != symbol.trades.rend() && count > 0; ++at, --count)
      add(trade_json(*at));
  });
}

Json auction_json(const MarketView::Symbol& symbol) {
  const auto now = symbol.indicative();
  const auto surplus = [](Int128 units) {
    return (units < 0 ? "-" : "") + shares_text(units < 0 ? -units : units);
  };
  return {{"price", now ? Json(to_string(now->price)) : Json()},
          {"volume", now ? shares_text(now->shares_units) : "0"},
          {"surplus", now ? Json(surplus(now->surplus_units)) : Json()},
          {"market_buys", shares_text(symbol.market_shares_units(Side::buy))},
          {"market_sells", shares_text(symbol.market_shares_units(Side::sell))}};
}

void add_sides(Document& document, const MarketView::Symbol& symbol,
               const std::map<std::int64_t, MarketView::Level> (&sides)[2], std::size_t count) {
  add_levels(document, "bids", Side::buy, sides[int(Side::buy)], count);
  add_levels(document, "asks", Side::sell, sides[int(Side::sell)], count);
  const Trading trading = symbol.instrument.trading;
  if (trading != Trading::open) document.add("trading", word_of(trading));
  if (collects(trading)) document.add("auction", auction_json(symbol));
}

void add_book(Document& document, const MarketView::Symbol& symbol, std::uint64_t sequence,
              const std::map<std::int64_t, MarketView::Level> (&sides)[2], std::size_t count) {
  document.add("symbol", symbol.name.view()).add("sequence", sequence);
  add_sides(document, symbol, sides, count);
}

void add_trades(Document& document, std::span<const MarketView::Trade> trades) {
  document.add_list("trades", [&](auto add) {
    for (const MarketView::Trade& one : trades) add(trade_json(one));
  });
}

void add_rules(Document& document, const MarketView& view, const MarketView::Account& account) {
  const Json rules = rules_json(view.rules_of(account));
  for (const auto& [name, value] : rules.items()) document.add(name.c_str(), value);
  if (const std::string_view name = view.display_name(account); !name.empty())
    document.add("name", name);
}

Json position_json(const MarketView& view, const MarketView::Position& position) {
  return {{"symbol", view.symbols()[position.symbol].name.view()},
          {"shares", to_string(position.shares)},
          {"reserved", shares_text(position.reserved_units)}};
}

Json own_order_json(const MarketView& view, const OrderRow& row) {
  Json order{{"order", row.id}};
  if (const OrderReference* ref = view.reference_of(row.id)) order["ref"] = ref->view();
  order["symbol"] = view.symbols()[row.symbol].name.view();
  order["side"] = side_name(row.side);
  order["shares"] = to_string(row.shares);
  order["limit"] = limit_json(row);
  order["open"] = to_string(row.open);
  order["opened_at_us"] = row.opened_at.microseconds;
  return order;
}

void add_account(Document& document, const MarketView& view, const AccountId& id,
                 const MarketView::Account& account, const AccountPage& page) {
  const std::size_t positions_end =
      std::min(account.positions.size(), page.first_position + page.positions_max);
  const auto symbol_of = [&](std::size_t index) {
    return view.symbols()[account.positions[index].symbol].name.view();
  };
  document.add("account", id.view())
      .add("balance", to_string(account.balance))
      .add("reserved", to_string(account.reserved));
  add_rules(document, view, account);
  document.add_list("positions", [&](auto add) {
    for (std::size_t index = page.first_position; index < positions_end; ++index)
      add(position_json(view, account.positions[index]));
  });
  OrderId last = 0;
  bool more_orders = false;
  document.add("open_orders", account.open_orders).add_list("orders", [&](auto add) {
    const auto add_order = [&](const OrderRow& row) {
      last = row.id;
      add(own_order_json(view, row));
    };
    more_orders = view.visit_open_orders(account, page.orders_max, add_order, page.orders_after);
  });
  if (positions_end < account.positions.size())
    document.add("next_position", symbol_of(positions_end - 1));
  if (more_orders) document.add("next_order", last);
}

}  // namespace exchange
