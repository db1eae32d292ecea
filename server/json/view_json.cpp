#include "json/view_json.hpp"

namespace exchange {
namespace {

std::string shares_text(Int128 shares_units) {
  // Sums of shares may exceed the range of Shares; their whole part and fraction do not.
  constexpr Int128 unit = 100'000'000;
  if (shares_units <= INT64_MAX) return to_string(Shares::from_units(std::int64_t(shares_units)));
  std::string whole = units_text(shares_units / unit);
  const std::string fraction = to_string(Shares::from_units(std::int64_t(shares_units % unit)));
  return whole + fraction.substr(1);  // "0.5" -> ".5", "0" -> ""
}

// Returns null for a market order.
Json limit_json(const OrderRow& row) {
  return row.limit == Price() ? Json() : Json(to_string(row.limit));
}

Json level_json(Side side, std::int64_t rank, const MarketView::Level& level) {
  return Json::array(
      {to_string(MarketView::price_of(side, rank)), shares_text(level.shares_units), level.orders});
}

void add_levels(Document& document, const char* name, Side side,
                const MarketView::Symbol::Levels& all, std::size_t count) {
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
            {"taker", to_string(trade.taker)},
            {"buy_order", trade.buy_order},
            {"sell_order", trade.sell_order},
            {"time_us", trade.time.microseconds}};
  if (trade.of_auction) json["auction"] = true;
  return json;
}

// Writes what the auction would execute if it ended now, and its market orders.
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

// Writes the rules that differ from their default.
template <class Rules>
Json rules_json(const Rules& rules) {
  Json json = Json::object();
  for_each_member<Rules>([&](auto rule) {
    const auto& value = rules.*rule.pointer;
    if (value == Rules().*rule.pointer) return;
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_enum_v<Value>)
      json[rule.name] = word_of(value);
    else if constexpr (std::is_integral_v<Value>)
      json[rule.name] = value;
    else
      json[rule.name] = to_string(value);
  });
  return json;
}

void add_best(Json& json, const char* price_name, const char* shares_name,
              const MarketView::Symbol& symbol, Side side) {
  const auto best = symbol.best(side);
  const bool any = best != symbol.levels[int(side)].end();
  json[price_name] = any ? Json(to_string(MarketView::price_of(side, best->first))) : Json();
  json[shares_name] = any ? Json(shares_text(best->second.shares_units)) : Json();
}

Json symbol_json(const MarketView::Symbol& symbol) {
  Json json{{"symbol", symbol.name.view()}};
  add_best(json, "bid", "bid_shares", symbol, Side::buy);
  add_best(json, "ask", "ask_shares", symbol, Side::sell);
  const bool traded = !symbol.trades.empty();
  json["last"] = traded ? Json(to_string(symbol.trades.back().price)) : Json();
  json["last_time_us"] = traded ? Json(symbol.trades.back().time.microseconds) : Json();
  json["shares_total"] = to_string(symbol.shares_total);
  json["open_orders"] = symbol.open_orders;
  json["trades"] = symbol.trades_seen;
  json["traded_shares"] = shares_text(Int128(symbol.traded_units));
  json["sequence"] = symbol.sequence;
  json.update(rules_json(symbol.instrument));
  if (symbol.trading_since != Timestamp())
    json["trading_since_us"] = symbol.trading_since.microseconds;
  if (collects(symbol.instrument.trading)) json["auction"] = auction_json(symbol);
  return json;
}

}  // namespace

Json time_json(Timestamp time) { return time == Timestamp() ? Json() : Json(time.microseconds); }

void add_newest_trades(Document& document, const MarketView::Symbol& symbol, std::size_t count) {
  document.add_list("trades", [&](auto add) {
    for (auto at = symbol.trades.rbegin(); at != symbol.trades.rend() && count > 0; ++at, --count)
      add(trade_json(*at));
  });
}

void add_sides(Document& document, const MarketView::Symbol& symbol,
               const MarketView::Symbol::Levels (&sides)[2], std::size_t count) {
  add_levels(document, "bids", Side::buy, sides[int(Side::buy)], count);
  add_levels(document, "asks", Side::sell, sides[int(Side::sell)], count);
  const Trading trading = symbol.instrument.trading;
  if (trading != Trading::open) document.add("trading", word_of(trading));
  if (collects(trading)) document.add("auction", auction_json(symbol));
}

void add_book(Document& document, const MarketView::Symbol& symbol, std::uint64_t sequence,
              const MarketView::Symbol::Levels (&sides)[2], std::size_t count) {
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
  if (const std::string_view name = view.display_name(view.number_of(account)); !name.empty())
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
  order["side"] = to_string(row.side);
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

std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count) {
  Document document;
  const std::size_t end = std::min(view.symbols().size(), first + count);
  document.add("batch", view.batch()).add_list("symbols", [&](auto add) {
    for (std::size_t number = first; number < end; ++number)
      add(symbol_json(view.symbols()[number]));
  });
  if (end < view.symbols().size()) document.add("next", view.symbols()[end - 1].name.view());
  return document.text();
}

std::string book_json(const MarketView::Symbol& symbol, std::size_t count) {
  Document document;
  add_book(document, symbol, symbol.sequence, symbol.levels, count);
  return document.text();
}

ShownAccount shown_account(const MarketView& view, AccountNumber number, bool with_ids) {
  return {view.account_id(number).view(), view.display_name(number), with_ids};
}

std::string leaderboard_json(const MarketView& view, std::uint64_t round,
                             std::span<const Leaderboard::Standing> standings, bool with_ids) {
  const auto round_json = [](const RoundRow& row) {
    return Json{
        {"round", row.number}, {"name", row.name.view()}, {"began_at_us", row.time.microseconds}};
  };
  Document document;
  document.add("batch", view.batch());
  document.add("round", round == 0 ? Json() : Json(round));
  document.add_list("rounds", [&](auto add) {
    for (const RoundRow& row : view.leaderboard().rounds()) add(round_json(row));
  });
  document.add_list("standings", [&](auto add) {
    for (const Leaderboard::Standing& one : standings) {
      const ShownAccount shown = shown_account(view, one.account, with_ids);
      Json json{{"rank", one.rank}};
      if (!shown.id.empty()) json["account"] = shown.id;
      if (!shown.name.empty()) json["name"] = shown.name;
      json["profit"] = to_string(one.profit);
      json["volume"] = to_string(one.volume);
      json["trades"] = one.trades;
      json["largest_position"] = to_string(one.largest_position);
      add(json);
    }
  });
  return document.text();
}

std::string trades_json(const MarketView::Symbol& symbol, std::size_t count) {
  Document document;
  document.add("symbol", symbol.name.view()).add("sequence", symbol.sequence);
  add_newest_trades(document, symbol, count);
  return document.text();
}

std::string account_json(const MarketView& view, const AccountId& id,
                         const MarketView::Account& account, const AccountPage& page) {
  Document document;
  add_account(document, view, id, account, page);
  return document.text();
}

std::string order_json(const MarketView& view, const StoredOrder& order,
                       const ExecutionRange& range) {
  const OrderRow& row = order.row;
  Document document;
  document.add("order", row.id)
      .add("account", view.account_id(row.account).view())
      .add("symbol", view.symbols()[row.symbol].name.view())
      .add("side", to_string(row.side))
      .add("shares", to_string(row.shares))
      .add("limit", limit_json(row))
      .add("open", to_string(row.open))
      .add("canceled", to_string(row.canceled))
      .add("state", row.is_open()             ? "open"
                    : row.canceled > Shares() ? "canceled"
                                              : "executed")
      .add("opened_at_us", row.opened_at.microseconds)
      .add("canceled_at_us", time_json(row.canceled_at))
      .add("executions_total", order.executions_total);
  document.add_list("executions", [&](auto add) {
    for (const Execution& execution : order.executions)
      add({{"shares", to_string(execution.shares)},
           {"price", to_string(execution.price)},
           {"time_us", execution.time.microseconds}});
  });
  if (const std::uint64_t begin = range.begin(order.executions_total); begin > 0)
    document.add("next", begin);
  return document.text();
}

std::string fills_json(const MarketView& view, const AccountId& id, const std::vector<Fill>& fills,
                       ExecutionId newest, std::optional<ExecutionId> next) {
  Document document;
  document.add("account", id.view()).add_list("fills", [&](auto add) {
    for (const Fill& fill : fills) {
      Json json{{"execution", fill.execution}, {"order", fill.order}};
      if (fill.reference) json["ref"] = fill.reference->view();
      json["symbol"] = view.symbols()[fill.symbol].name.view();
      json["side"] = to_string(fill.side);
      json["shares"] = to_string(fill.shares);
      json["price"] = to_string(fill.price);
      json["role"] = fill.is_taker ? "taker" : "maker";
      if (fill.of_auction) json["auction"] = true;
      json["time_us"] = fill.time.microseconds;
      add(json);
    }
  });
  document.add("newest_execution", newest);
  if (next) document.add("next", *next);
  return document.text();
}

}  // namespace exchange
