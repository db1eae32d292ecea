#include "json/api.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/bursts.hpp"
#include "json/json_requests.hpp"
#include "protocol/words.hpp"

namespace exchange {
namespace {

// A sentence may repeat what a client sent, which need not be UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An object, written member by member. As one Json a long list would take five times the memory,
// and to dump and destroy it would be a long burst without a rest.
class Document {
 public:
  Document& add(const char* name, const Json& value) {
    begin_member(name);
    text_ += dump(value);
    return *this;
  }
  // Calls write(element), which adds an element to the list.
  template <class Write>
  Document& add_list(const char* name, Write write) {
    begin_member(name);
    text_ += '[';
    write([this, first = true](const Json& element) mutable {
      if (!std::exchange(first, false)) text_ += ',';
      text_ += dump(element);
      Bursts::rest_if_due();
    });
    text_ += ']';
    return *this;
  }
  // Of JSON that is written already.
  Document& add_texts(const char* name, std::span<const std::string> texts) {
    begin_member(name);
    text_ += '[';
    for (const std::string& text : texts) (text_ += &text == texts.data() ? "" : ",") += text;
    text_ += ']';
    return *this;
  }
  Document& add_text(const char* name, std::string_view text) {
    begin_member(name);
    text_ += text;
    return *this;
  }
  std::string text() { return nested() + "\n"; }
  std::string nested() { return std::move(text_) + "}"; }  // in another document

 private:
  void begin_member(const char* name) {
    text_ += text_.empty() ? '{' : ',';
    text_ += dump(name);
    text_ += ':';
  }
  std::string text_;
};

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

// Nothing: of a market order.
Json limit_of(const OrderRow& row) {
  return row.limit == Price() ? Json() : Json(to_string(row.limit));
}

Json level(Side side, std::int64_t rank, const MarketView::Level& level) {
  return Json::array(
      {to_string(MarketView::price_of(side, rank)), decimal(level.shares_units), level.orders});
}

void add_levels(Document& document, const char* name, Side side,
                const std::map<std::int64_t, MarketView::Level>& all, std::size_t count) {
  document.add_list(name, [&](auto add) {
    for (auto at = all.upper_bound(MarketView::market_rank); at != all.end() && count > 0;
         ++at, --count)
      add(level(side, at->first, at->second));
  });
}

Json trade(const MarketView::Trade& trade) {
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
      add(trade(*at));
  });
}

void add_best(Json& json, const char* price_name, const char* shares_name,
              const MarketView::Symbol& symbol, Side side) {
  const auto best = symbol.best(side);
  const bool any = best != symbol.levels[int(side)].end();
  json[price_name] = any ? Json(to_string(MarketView::price_of(side, best->first))) : Json();
  json[shares_name] = any ? Json(decimal(best->second.shares_units)) : Json();
}

// What the auction would execute if it ended now, and the market orders in it.
Json auction_json(const MarketView::Symbol& symbol) {
  const auto now = symbol.indicative();
  const auto surplus = [](Int128 units) {
    return (units < 0 ? "-" : "") + decimal(units < 0 ? -units : units);
  };
  return {{"price", now ? Json(to_string(now->price)) : Json()},
          {"volume", now ? decimal(now->shares_units) : "0"},
          {"surplus", now ? Json(surplus(now->surplus_units)) : Json()},
          {"market_buys", decimal(symbol.market_shares_units(Side::buy))},
          {"market_sells", decimal(symbol.market_shares_units(Side::sell))}};
}

// Levels of both sides, as every message about a book has them; and how the symbol trades, unless
// it is open.
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
    for (const MarketView::Trade& one : trades) add(trade(one));
  });
}

// Those that differ from having none.
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
  json.update(rules_json(symbol.instrument));
  if (symbol.trading_since != Timestamp())
    json["trading_since_us"] = symbol.trading_since.microseconds;
  if (collects(symbol.instrument.trading)) json["auction"] = auction_json(symbol);
  return json;
}

}  // namespace

std::string error_json(std::string_view sentence, std::string_view code) {
  return json_text(error_object(sentence, code));
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
  return {view.account_id(number).view(), view.name_of(number), with_ids};
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

namespace {

void add_rules(Document& document, const MarketView& view, const MarketView::Account& account) {
  const Json rules = rules_json(view.rules_of(account));
  for (const auto& [name, value] : rules.items()) document.add(name.c_str(), value);
  if (const std::string_view name = view.name_of(account); !name.empty())
    document.add("name", name);
}

Json position_json(const MarketView& view, const MarketView::Position& position) {
  return {{"symbol", view.symbols()[position.symbol].name.view()},
          {"shares", to_string(position.shares)},
          {"reserved", decimal(position.reserved_units)}};
}

Json own_order_json(const MarketView& view, const OrderRow& row) {
  Json order{{"order", row.id}};
  if (const OrderReference* ref = view.reference_of(row.id)) order["ref"] = ref->view();
  order["symbol"] = view.symbols()[row.symbol].name.view();
  order["side"] = side_name(row.side);
  order["shares"] = to_string(row.shares);
  order["limit"] = limit_of(row);
  order["open"] = to_string(row.open);
  order["opened_at_us"] = row.opened_at.microseconds;
  return order;
}

// What documents and messages have of an account.
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

// "executed_maker": the event is "executed", and "maker" is its role; of "canceled_stp", "stp" is
// the reason.
Json event_json(const MarketView& view, const EventRow& row) {
  using Kind = EventKind;
  const std::string_view kind = name_of(row.kind), event = kind.substr(0, kind.find('_'));
  const bool executed = event == "executed", canceled = event == "canceled",
             of_symbol = row.kind != Kind::began && event != "cash";
  Json json{{"number", row.number}, {"event", executed || canceled ? event : kind}};
  if (row.order != 0) {
    json["order"] = row.order;
    if (row.reference) json["ref"] = row.reference->view();
  }
  if (of_symbol) json["symbol"] = view.symbols()[row.symbol].name.view();
  if (row.order != 0) json["side"] = side_name(row.side);
  if (of_symbol) json["shares"] = to_string(row.shares);
  if (row.order != 0) {
    if (executed)
      json["price"] = to_string(row.price);
    else
      json["limit"] = row.price == Price() ? Json() : Json(to_string(row.price));
    json["open"] = to_string(row.open);
  }
  if (executed) {
    json["execution"] = row.execution;
    json["role"] = kind.substr(event.size() + 1);
  }
  if (canceled) json["reason"] = kind.substr(event.size() + 1);
  json["balance"] = to_string(row.balance);
  if (of_symbol) json["position"] = to_string(row.position);
  json["batch"] = row.batch;
  json["time_us"] = row.time.microseconds;
  return json;
}

}  // namespace

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
      .add("limit", limit_of(row))
      .add("open", to_string(row.open))
      .add("canceled", to_string(row.canceled))
      .add("state", row.is_open()             ? "open"
                    : row.canceled > Shares() ? "canceled"
                                              : "executed")
      .add("opened_at_us", row.opened_at.microseconds)
      .add("canceled_at_us", optional_time(row.canceled_at))
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

std::string snapshot_message(const MarketView::Symbol& symbol, std::size_t level_count,
                             std::size_t trades) {
  Document document;
  document.add("type", "snapshot");
  add_book(document, symbol, symbol.sequence, symbol.levels, level_count);
  add_newest_trades(document, symbol, trades);
  return document.text();
}

std::string update_message(const MarketView::Symbol& symbol, const MarketView::Change& change) {
  Document document;
  document.add("type", "update");
  add_book(document, symbol, change.sequence, change.levels, SIZE_MAX);
  add_trades(document, change.trades);
  return document.text();
}

std::string account_message(const MarketView& view, const AccountId& id,
                            const MarketView::Account& account, const AccountPage& page) {
  Document document;
  document.add("type", "account")
      .add("number", account.events)
      .add("batch", view.batch())
      .add("newest_execution", view.newest_execution());
  add_account(document, view, id, account, page);
  return document.text();
}

std::string subscribed_message(const MarketView& view, const AccountId& id,
                               const MarketView::Account& account, EventNumber from) {
  Document document;
  document.add("type", "subscribed")
      .add("account", id.view())
      .add("from", from)
      .add("newest", account.events);
  add_rules(document, view, account);
  return document.text();
}

std::string rules_message(const MarketView& view, const AccountId& id,
                          const MarketView::Account& account) {
  Document document;
  document.add("type", "rules").add("account", id.view());
  add_rules(document, view, account);
  return document.text();
}

std::string events_message(const MarketView& view, const AccountId& account,
                           const std::vector<EventRow>& events) {
  Document document;
  document.add("type", "events").add("account", account.view());
  document.add_list("events", [&](auto add) {
    for (const EventRow& row : events) add(event_json(view, row));
  });
  return document.text();
}

std::string days_json(std::span<const KeptDay> days) {
  Document document;
  document.add_list("days", [&](auto add) {
    for (const KeptDay& day : days) {
      Json json{{"day", day.name},
                {"first_time_us", optional_time(day.first_time.value_or(Timestamp()))},
                {"last_time_us", optional_time(day.last_time.value_or(Timestamp()))},
                {"whole", day.problem.empty()}};
      if (!day.problem.empty()) json["problem"] = day.problem;
      add(json);
    }
  });
  return document.text();
}

std::string day_json(std::string_view day, const DaySummary& summary,
                     const DaySummary::Symbol* symbol) {
  Document document;
  document.add("day", day)
      .add("commands", summary.commands)
      .add("first_time_us", optional_time(summary.first_time))
      .add("last_time_us", optional_time(summary.last_time));
  document.add_list("symbols", [&](auto add) {
    for (const DaySummary::Symbol& one : summary.symbols)
      add({{"symbol", one.name.view()}, {"trades", one.trades}});
  });
  if (symbol == nullptr) return document.text();
  document.add("symbol", symbol->name.view()).add("bins", DaySummary::bins);
  document.add("trades_of_bin", symbol->trades_of_bin);
  document.add_list("marks", [&](auto add) {
    for (const DaySummary::Mark& mark : symbol->marks)
      add({{"position", mark.position},
           {"time_us", mark.time.microseconds},
           {"trading", word_of(mark.trading)}});
  });
  return document.text();
}

std::string moment_state_json(const MarketView& view, const Moment& at, const SymbolName& name,
                              const std::optional<AccountId>& id, const AccountPage& page) {
  // before it was created: an empty book
  const MarketView::Symbol none{}, *const found = view.find_symbol(name),
                                          &symbol = found == nullptr ? none : *found;
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  add_sides(document, symbol, symbol.levels, page.levels_max);
  add_newest_trades(document, symbol, symbol.trades.size());
  if (!id) return document.nested();
  const MarketView::Account* const account = view.find_account(*id);
  Document of_account;
  if (account != nullptr) add_account(of_account, view, *id, *account, page);
  return document.add_text("account", account == nullptr ? "null" : of_account.nested()).nested();
}

std::string moment_change_json(const MarketView& view, const Moment& at,
                               const MarketView::Change* change, const MarketView::Account* account,
                               const Rows& rows) {
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  if (change != nullptr) {
    add_sides(document, view.symbols()[change->symbol], change->levels, SIZE_MAX);
    add_trades(document, change->trades);
  }
  if (account == nullptr) return document.nested();
  const AccountNumber number = view.number_of(*account);
  Json now{{"balance", to_string(account->balance)},
           {"reserved", to_string(account->reserved)},
           {"open_orders", account->open_orders},
           {"positions", Json::array()},
           {"orders", Json::array()}};
  std::set<SymbolNumber> symbols;  // what an order reserves is no part of the position's row
  for (const PositionRow& row : rows.positions)
    if (row.account == number) symbols.insert(row.symbol);
  for (const OrderRow& row : rows.orders) {
    if (row.account != number) continue;
    symbols.insert(row.symbol);
    now["orders"].push_back(own_order_json(view, row));
    now["orders"].back()["canceled"] = to_string(row.canceled);
  }
  for (const SymbolNumber symbol : symbols)
    if (const auto position = view.find_position(*account, symbol))
      now["positions"].push_back(position_json(view, account->positions[*position]));
  return document.add("account", now).nested();
}

std::string moments_json(std::string_view day, const SymbolName& symbol, std::string_view state,
                         const std::vector<std::string>& changes, const Moment& until,
                         bool is_end) {
  Document document;
  document.add("day", day)
      .add("symbol", symbol.view())
      .add_text("state", state)
      .add_texts("changes", changes)
      .add("until", until.position)
      .add("until_us", until.time.microseconds)
      .add("end", is_end);
  return document.text();
}

std::string unsubscribed_message(std::string_view member, std::string_view value) {
  return json_text({{"type", "unsubscribed"}, {std::string(member), value}});
}

std::string error_message(std::string_view sentence, std::string_view code,
                          std::string_view account) {
  Json message{{"type", "error"}};
  if (!account.empty()) message["account"] = account;
  message["error"] = sentence;
  message["code"] = code;
  return json_text(message);
}

SubscriberRequest read_subscriber_request(const JsonInput& json) {
  using Kind = SubscriberRequest::Kind;
  const SubscriberRequest unknown{Kind::unknown};
  if (!json.is_object() || json.size() != 1) return unknown;
  SubscriberRequest request{json.begin().key() == "subscribe"     ? Kind::subscribe
                            : json.begin().key() == "unsubscribe" ? Kind::unsubscribe
                                                                  : Kind::unknown};
  const JsonInput& of = *json.begin();
  if (of.is_string()) {
    request.name = of.get<std::string>();
    return request;
  }
  if (!of.is_object() || !of.contains("account")) return unknown;
  request.of_account = true;
  for (const auto& [name, value] : of.items()) {
    if (name == "account" && value.is_string())
      request.name = value.get<std::string>();
    else if (name == "key" && value.is_string() && request.kind == Kind::subscribe)
      request.key = value.get<std::string>();
    else if (name == "from" && value.is_number_unsigned() && value > 0 &&
             request.kind == Kind::subscribe)
      request.from = value.get<EventNumber>();
    else
      return unknown;
  }
  return request;
}

}  // namespace exchange
