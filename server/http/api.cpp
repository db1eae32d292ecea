#include "http/api.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bursts.hpp"

namespace exchange {
namespace {

using Json = nlohmann::ordered_json;

// A sentence may repeat what a client sent, which need not be UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string text(const Json& json) { return dump(json) + "\n"; }

std::string decimal(Int128 shares_units) {
  // Sums of shares may pass the range of Shares; whole and fraction of them do not.
  constexpr Int128 unit = 100'000'000;
  if (shares_units <= INT64_MAX) return to_string(Shares::from_units(std::int64_t(shares_units)));
  std::string whole = units_text(shares_units / unit);
  const std::string fraction = to_string(Shares::from_units(std::int64_t(shares_units % unit)));
  return whole + fraction.substr(1);  // "0.5" -> ".5", "0" -> ""
}

const char* side_name(Side side) { return side == Side::buy ? "buy" : "sell"; }

Json optional_time(Timestamp time) {
  return time == Timestamp() ? Json() : Json(time.microseconds);
}

Json level(Side side, std::int64_t rank, const MarketView::Level& level) {
  return Json::array(
      {to_string(MarketView::price_of(side, rank)), decimal(level.shares_units), level.orders});
}

Json levels(Side side, const std::map<std::int64_t, MarketView::Level>& all, std::size_t count) {
  Json json = Json::array();
  for (auto at = all.begin(); at != all.end() && json.size() < count; ++at) {
    json.push_back(level(side, at->first, at->second));
    Bursts::rest_if_due();
  }
  return json;
}

Json trade(const MarketView::Trade& trade) {
  return {{"id", trade.id},
          {"price", to_string(trade.price)},
          {"shares", to_string(trade.shares)},
          {"taker", side_name(trade.taker)},
          {"buy_order", trade.buy_order},
          {"sell_order", trade.sell_order},
          {"time_us", trade.time.microseconds}};
}

Json newest_trades(const MarketView::Symbol& symbol, std::size_t count) {
  Json json = Json::array();
  for (auto at = symbol.trades.rbegin(); at != symbol.trades.rend() && json.size() < count; ++at) {
    json.push_back(trade(*at));
    Bursts::rest_if_due();
  }
  return json;
}

void add_best(Json& json, const char* price_name, const char* shares_name,
              const MarketView::Symbol& symbol, Side side) {
  const auto& side_levels = symbol.levels[int(side)];
  const bool any = !side_levels.empty();
  json[price_name] =
      any ? Json(to_string(MarketView::price_of(side, side_levels.begin()->first))) : Json();
  json[shares_name] = any ? Json(decimal(side_levels.begin()->second.shares_units)) : Json();
}

// Name, sequence and levels of both sides, as every message about a book has them.
void add_levels(Json& json, const MarketView::Symbol& symbol, std::uint64_t sequence,
                const std::map<std::int64_t, MarketView::Level> (&sides)[2], std::size_t count) {
  json["symbol"] = symbol.name.view();
  json["sequence"] = sequence;
  json["bids"] = levels(Side::buy, sides[int(Side::buy)], count);
  json["asks"] = levels(Side::sell, sides[int(Side::sell)], count);
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
  json["traded_shares"] = decimal(Int128(symbol.traded_units));
  json["sequence"] = symbol.sequence;
  return json;
}

}  // namespace

std::string error_json(std::string_view sentence, std::string_view code) {
  return text({{"error", sentence}, {"code", code}});
}

// Symbol by symbol: a document of all of them would take five times the memory.
std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count) {
  std::string page = "{\"batch\":" + std::to_string(view.batch()) + ",\"symbols\":[";
  const std::size_t end = std::min(view.symbols().size(), first + count);
  for (std::size_t number = first; number < end; ++number) {
    if (number > first) page += ',';
    page += dump(symbol_json(view.symbols()[number]));
    Bursts::rest_if_due();
  }
  page += ']';
  if (end < view.symbols().size())
    page += ",\"next\":" + dump(Json(view.symbols()[end - 1].name.view()));
  return page + "}\n";
}

std::string book_json(const MarketView::Symbol& symbol, std::size_t count) {
  Json json;
  add_levels(json, symbol, symbol.sequence, symbol.levels, count);
  return text(json);
}

std::string trades_json(const MarketView::Symbol& symbol, std::size_t count) {
  return text({{"symbol", symbol.name.view()},
               {"sequence", symbol.sequence},
               {"trades", newest_trades(symbol, count)}});
}

std::string account_json(const MarketView& view, const AccountId& id,
                         const MarketView::Account& account, const AccountPage& page) {
  Json positions = Json::array(), orders = Json::array();
  const std::size_t positions_end =
      std::min(account.positions.size(), page.first_position + page.positions_max);
  const auto symbol_of = [&](std::size_t index) {
    return view.symbols()[account.positions[index].symbol].name.view();
  };
  for (std::size_t index = page.first_position; index < positions_end; ++index) {
    const MarketView::Position& position = account.positions[index];
    positions.push_back({{"symbol", symbol_of(index)},
                         {"shares", to_string(position.shares)},
                         {"reserved", decimal(position.reserved_units)}});
    Bursts::rest_if_due();
  }
  OrderId last = 0;
  const auto add_order = [&](const OrderRow& row) {
    last = row.id;
    Bursts::rest_if_due();
    orders.push_back({{"order", row.id},
                      {"symbol", view.symbols()[row.symbol].name.view()},
                      {"side", side_name(row.side)},
                      {"shares", to_string(row.shares)},
                      {"limit", to_string(row.limit)},
                      {"open", to_string(row.open)},
                      {"opened_at_us", row.opened_at.microseconds}});
  };
  const bool more_orders =
      view.visit_open_orders(account, page.orders_max, add_order, page.orders_after);
  Json json{{"account", id.view()},
            {"balance", to_string(account.balance)},
            {"reserved", to_string(account.reserved)},
            {"positions", std::move(positions)},
            {"open_orders", account.open_orders},
            {"orders", std::move(orders)}};
  if (positions_end < account.positions.size())
    json["next_position"] = symbol_of(positions_end - 1);
  if (more_orders) json["next_order"] = last;
  return text(json);
}

std::string order_json(const MarketView& view, const StoredOrder& order,
                       const ExecutionRange& range) {
  const OrderRow& row = order.row;
  Json executions = Json::array();
  for (const Execution& execution : order.executions) {
    executions.push_back({{"shares", to_string(execution.shares)},
                          {"price", to_string(execution.price)},
                          {"time_us", execution.time.microseconds}});
    Bursts::rest_if_due();
  }
  Json json{{"order", row.id},
            {"account", view.account_id(row.account).view()},
            {"symbol", view.symbols()[row.symbol].name.view()},
            {"side", side_name(row.side)},
            {"shares", to_string(row.shares)},
            {"limit", row.limit == Price() ? Json(nullptr) : Json(to_string(row.limit))},
            {"open", to_string(row.open)},
            {"canceled", to_string(row.canceled)},
            {"state", row.is_open()             ? "open"
                      : row.canceled > Shares() ? "canceled"
                                                : "executed"},
            {"opened_at_us", row.opened_at.microseconds},
            {"canceled_at_us", optional_time(row.canceled_at)},
            {"executions_total", order.executions_total},
            {"executions", std::move(executions)}};
  if (const std::uint64_t begin = range.begin(order.executions_total); begin > 0)
    json["next"] = begin;
  return text(json);
}

std::string snapshot_message(const MarketView::Symbol& symbol, std::size_t level_count,
                             std::size_t trades) {
  Json json{{"type", "snapshot"}};
  add_levels(json, symbol, symbol.sequence, symbol.levels, level_count);
  json["trades"] = newest_trades(symbol, trades);
  return text(json);
}

std::string update_message(const MarketView::Symbol& symbol, const MarketView::Change& change) {
  Json json{{"type", "update"}};
  add_levels(json, symbol, change.sequence, change.levels, SIZE_MAX);
  Json& trades = json["trades"] = Json::array();
  for (const MarketView::Trade& one : change.trades) trades.push_back(trade(one));
  return text(json);
}

std::string unsubscribed_message(std::string_view symbol) {
  return text({{"type", "unsubscribed"}, {"symbol", symbol}});
}

std::string error_message(std::string_view sentence, std::string_view code) {
  return text({{"type", "error"}, {"error", sentence}, {"code", code}});
}

SubscriberRequest read_subscriber_request(const std::string& message) {
  using Kind = SubscriberRequest::Kind;
  const Json json = Json::parse(message, nullptr, false);
  if (json.is_discarded()) return {Kind::not_json, {}};
  if (!json.is_object() || json.size() != 1 || !json.begin()->is_string())
    return {Kind::unknown, {}};
  const std::string verb = json.begin().key();
  const Kind kind = verb == "subscribe"     ? Kind::subscribe
                    : verb == "unsubscribe" ? Kind::unsubscribe
                                            : Kind::unknown;
  return {kind, json.begin()->get<std::string>()};
}

}  // namespace exchange
