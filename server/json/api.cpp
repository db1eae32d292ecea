#include "json/api.hpp"

#include "protocol/words.hpp"

namespace exchange {
namespace {

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
      .add("side", side_name(row.side))
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
      json["side"] = side_name(fill.side);
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
