#include "client/cli/views.hpp"

#include <algorithm>
#include <numeric>

#include "client/cli/documents.hpp"

namespace exchange::cli {
namespace {

constexpr std::size_t prices_shown_max = 4;

// Returns "@ 145.67", or "for 14568.7 (40 @ 145.67, 60 @ 145.7)" if prices differ.
std::string at_prices(const Status& status) {
  std::vector<Execution> by_price;  // consecutive executions at one price are merged
  Int128 paid = 0;
  bool overflow = false;
  for (const Execution& execution : status.executions) {
    overflow |=
        __builtin_add_overflow(paid, cost(execution.shares, execution.price).units(), &paid);
    if (!by_price.empty() && by_price.back().price == execution.price)
      by_price.back().shares += execution.shares;
    else
      by_price.push_back(execution);
  }
  if (by_price.size() == 1) return "@ " + to_string(by_price.front().price);
  const std::string total = overflow ? "" : "for " + to_string(Cash::from_units(paid)) + " ";
  if (by_price.size() > prices_shown_max) {
    const auto [least, most] = std::minmax_element(
        by_price.begin(), by_price.end(),
        [](const Execution& one, const Execution& other) { return one.price < other.price; });
    return total + "(@ " + to_string(least->price) + " to " + to_string(most->price) + ")";
  }
  std::string list;
  for (const Execution& one : by_price)
    list += (list.empty() ? "" : ", ") + to_string(one.shares) + " @ " + to_string(one.price);
  return total + "(" + list + ")";
}

// Returns "tick 0.05", "no lot", "name Ada", "frozen".
std::string in_words(const Typed& typed) {
  const auto& [name, value] = typed;
  std::string words = name;
  std::replace(words.begin(), words.end(), '-', ' ');
  const auto number = parse_shares(value, Rounding::towards_zero);  // prices have the same form
  if (value.empty() || (name != "name" && number && number.value == Shares())) return "no " + words;
  if (name == "name") return "name " + printable(value);
  if (name == "access") return value;
  if (name == "cancel-orders") return "open orders canceled";
  if (name == "revoke") return "key revoked";
  return words + " " + (number ? to_string(number.value) : value);
}

// Returns what a change of cash or shares did.
std::string in_words(const std::string& amount, const std::string* symbol) {
  const bool takes = amount.starts_with('-');
  return amount.substr(takes ? 1 : 0) + (symbol ? " shares of " + *symbol : " cash") +
         (takes ? " taken" : " given");
}

// Shows a field of a row.
using Show = std::string (*)(const Json& row, const char* field, Style style);
std::string show_text(const Json& row, const char* field, Style) { return text_field(row, field); }
std::string show_number(const Json& row, const char* field, Style) {
  return std::to_string(number_field(row, field));
}
std::string show_time(const Json& row, const char* field, Style) {
  return local_time(number_field(row, field) / 1'000'000);
}
std::string show_side(const Json& row, const char* field, Style style) {
  const std::string side = text_field(row, field);
  return side == "buy" ? style.buy(side) : style.sell(side);
}
std::string show_bid(const Json& row, const char* field, Style style) {
  return style.buy(text_or_dash(row, field));
}
std::string show_ask(const Json& row, const char* field, Style style) {
  return style.sell(text_or_dash(row, field));
}
std::string show_limit(const Json& row, const char* field, Style) {
  const std::string limit = text_or_dash(row, field);
  return limit == "-" ? "market" : limit;
}
std::string show_profit(const Json& row, const char* field, Style style) {
  const std::string profit = text_field(row, field);
  return profit.starts_with('-') ? style.sell(profit) : style.buy(profit);
}
std::string show_or_blank(const Json& row, const char* field, Style) {
  return row.contains(field) ? text_field(row, field) : "";
}
std::string show_or_dash(const Json& row, const char* field, Style) {
  return row.contains(field) ? text_or_dash(row, field) : "-";
}

struct Column {
  const char* heading;
  const char* field;
  Show show = show_text;
  bool if_any = false;  // only if any row has the field
};
std::string table(const std::vector<Json>& rows, std::vector<Column> columns, Style style) {
  std::erase_if(columns, [&](const Column& column) {
    return column.if_any && std::none_of(rows.begin(), rows.end(), [&](const Json& row) {
             return row.contains(column.field);
           });
  });
  std::vector<std::string> headings;
  for (const Column& column : columns) headings.push_back(column.heading);
  Table table(headings, style);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const Column& column : columns) cells.push_back(column.show(row, column.field, style));
    table.add(std::move(cells));
  }
  return table.text();
}

// Returns the symbol, and its trading state unless it is open.
std::string book_heading(const Json& book, Style style) {
  std::string text = style.bold(text_field(book, "symbol"));
  if (book.contains("trading")) text += ", " + text_field(book, "trading");
  if (!book.contains("auction")) return text;
  const Json& auction = book["auction"];
  const std::string price = text_or_dash(auction, "price");
  text += price == "-" ? ": nothing would be executed"
                       : ": " + text_field(auction, "volume") + " @ " + price +
                             " if it ended now, surplus " + text_field(auction, "surplus");
  return text + "; market orders: " + text_field(auction, "market_buys") + " to buy, " +
         text_field(auction, "market_sells") + " to sell";
}

// Returns what the operator allows the account, if that is less or more than usual.
std::string rules_text(const Json& account) {
  std::string text;
  if (account.contains("access"))
    text += text_field(account, "access") + ": orders and replaces are refused\n";
  if (account.contains("role")) text += "role " + text_field(account, "role") + "\n";
  std::string limits;
  const auto add = [&](const char* name, const std::string& unit, Show show) {
    if (account.contains(name))
      limits += (limits.empty() ? "at most " : ", ") + show(account, name, {}) + unit;
  };
  add("orders_max", " open orders", show_number);
  add("orders_per_second_max", " orders a second", show_number);
  add("position_max", " shares of a symbol", show_text);
  return limits.empty() ? text : text + limits + "\n";
}

}  // namespace

Shares executed_shares(const Status& status) {
  return std::accumulate(
      status.executions.begin(), status.executions.end(), Shares(),
      [](Shares sum, const Execution& execution) { return sum + execution.shares; });
}

std::string sentence(const std::string& id, const Status& status, const NewOrder* terms) {
  const bool buy = terms != nullptr && terms->side == Side::buy;
  const std::string symbol = terms == nullptr || terms->symbol.empty() ? "" : " " + terms->symbol;
  std::string text = "order " + id + ": ", rest;
  if (status.open > Shares()) rest = to_string(status.open);
  if (status.canceled > Shares()) rest = to_string(status.canceled);
  const bool any = !status.executions.empty();
  const Shares executed = executed_shares(status);
  if (any) {
    text += terms == nullptr ? "executed " + to_string(executed)
                             : (buy ? "bought " : "sold ") + to_string(executed) + symbol;
    text += " " + at_prices(status);
    if (!rest.empty()) text += ", ";
  } else if (!rest.empty()) {
    rest += symbol;
  }
  if (status.open > Shares()) {
    text += rest + (any ? " still open" : " open");
    if (terms != nullptr)
      text += std::string(any   ? " at "
                          : buy ? ", to buy at "
                                : ", to sell at ") +
              (terms->limit == market_price ? "" : "limit ") + terms->limit;
  } else if (status.canceled > Shares()) {
    text += rest + " canceled";
  } else if (!any) {
    text += "nothing open";
  }
  return text;
}

std::string execution_lines(const Status& status) {
  std::string lines;
  for (const Execution& execution : status.executions)
    lines += "  " + local_time(execution.time.seconds()) + "  " + to_string(execution.shares) +
             " @ " + to_string(execution.price) + "\n";
  if (status.canceled > Shares())
    lines += "  " + local_time(status.canceled_at.seconds()) + "  " + to_string(status.canceled) +
             " canceled\n";
  return lines;
}

std::string named(const Change& change) {
  if (const auto* account = find_typed(change, "id")) return "account " + *account;
  if (const auto* symbol = find_typed(change, "sym")) return "symbol " + *symbol;
  if (const auto* round = find_typed(change, "name")) return "round " + *round;
  return "all symbols";
}

std::string sentence(const Change& change, const Uncrossed* auction) {
  std::string list;
  if (const auto* balance = find_typed(change, "balance"))
    list = "created with balance " + *balance;
  else if (const auto* amount = find_typed(change, "amount"))
    list = in_words(*amount, find_typed(change, "sym"));
  else if (change.kind == command_kind<BeginRound>)
    list = "begun";
  else
    for (const Typed& typed : change.elements.back())
      if (typed.name != "id" && typed.name != "sym")
        list += (list.empty() ? "" : ", ") + in_words(typed);
  if (auction != nullptr)
    list +=
        "; the auction executed " + to_string(auction->shares) + " @ " + to_string(auction->price);
  return named(change) + ": " + list;
}

std::string account_view(const Json& account, Style style) {
  std::string text = style.bold("account " + text_field(account, "account"));
  if (account.contains("name")) text += ", " + text_field(account, "name");
  text += "\nbalance " + text_field(account, "balance");
  if (const std::string reserved = text_field(account, "reserved"); reserved != "0")
    text += " free, " + reserved + " reserved by open orders";
  text += "\n" + rules_text(account);
  const std::vector<Json>& positions = list_field(account, "positions");
  if (!positions.empty())
    text += "\n" + table(positions,
                         {{"SYMBOL", "symbol"}, {">SHARES", "shares"}, {">RESERVED", "reserved"}},
                         style);
  return text + "\n" + orders_view(account, style);
}

std::string orders_view(const Json& account, Style style) {
  const std::vector<Json>& orders = list_field(account, "orders");
  std::string text = orders.empty() ? "no open orders\n"
                                    : table(orders,
                                            {{">ORDER", "order", show_number},
                                             {"SIDE", "side", show_side},
                                             {"SYMBOL", "symbol"},
                                             {">SHARES", "shares"},
                                             {">LIMIT", "limit", show_limit},
                                             {">OPEN", "open"},
                                             {"OPENED", "opened_at_us", show_time}},
                                            style);
  const std::int64_t open = number_field(account, "open_orders");
  if (open > std::int64_t(orders.size()))
    text += "the oldest of " + std::to_string(open) + " open orders\n";
  return text;
}

Table ladder(const std::vector<Level>& bids, const std::vector<Level>& asks, std::size_t levels_max,
             Style style, const OwnShares& own) {
  std::vector<std::string> headings{">ORDERS", ">SHARES", ">BID", "ASK", ">SHARES", ">ORDERS"};
  if (!own.empty()) {
    headings.insert(headings.begin(), ">YOURS");
    headings.push_back(">YOURS");
  }
  const auto yours = [&](const char* side, const Level& level) -> std::string {
    const auto found = own.find({side, to_string(level.price)});
    return found == own.end() ? "" : to_string(found->second);
  };
  Table table(headings, style);
  for (std::size_t i = 0; i < std::min(levels_max, std::max(bids.size(), asks.size())); ++i) {
    std::vector<std::string> bid(4), ask(4);
    if (i < bids.size())
      bid = {yours("buy", bids[i]), std::to_string(bids[i].orders), bids[i].shares,
             style.buy(to_string(bids[i].price))};
    if (i < asks.size())
      ask = {style.sell(to_string(asks[i].price)), asks[i].shares, std::to_string(asks[i].orders),
             yours("sell", asks[i])};
    if (own.empty()) {
      bid.erase(bid.begin());
      ask.pop_back();
    }
    bid.insert(bid.end(), ask.begin(), ask.end());
    table.add(std::move(bid));
  }
  return table;
}

std::string trade_text(const Trade& trade, Style style) {
  const std::string text = trade.shares + " @ " + trade.price;
  return trade.taker == "buy" ? style.buy(text) : style.sell(text);
}

std::string book_view(const Json& book, Style style, const Json& own_account) {
  const std::string symbol = text_field(book, "symbol");
  const std::vector<Level> bids = levels_field(book, "bids"), asks = levels_field(book, "asks");
  if (bids.empty() && asks.empty() && !book.contains("auction"))
    return symbol + ": no open orders\n";
  OwnShares own;
  if (!own_account.is_null())
    for (const Json& one : list_field(own_account, "orders")) {
      const auto open = parse_shares(text_field(one, "open"));
      if (open && text_field(one, "symbol") == symbol)
        own[{text_field(one, "side"), text_or_dash(one, "limit")}] += open.value;
    }
  const std::size_t levels = std::max(bids.size(), asks.size());
  return book_heading(book, style) + "\n" + ladder(bids, asks, levels, style, own).text();
}

std::string history_view(const std::vector<Json>& fills, Style style) {
  return table(fills,
               {{"TIME", "time_us", show_time},
                {">ORDER", "order", show_number},
                {"SIDE", "side", show_side},
                {"SYMBOL", "symbol"},
                {">SHARES", "shares"},
                {">PRICE", "price"}},
               style);
}

std::string trades_view(const Json& trades, Style style) {
  const std::vector<Json>& list = list_field(trades, "trades");
  if (list.empty()) return text_field(trades, "symbol") + ": no trades yet\n";
  return table(list,
               {{"TIME", "time_us", show_time},
                {">SHARES", "shares"},
                {">PRICE", "price"},
                {"TAKER", "taker", show_side},
                {">BUY ORDER", "buy_order", show_number},
                {">SELL ORDER", "sell_order", show_number}},
               style);
}

std::string leaderboard_view(const Json& leaderboard, Style style) {
  std::string text = "all rounds\n";
  const std::vector<Json>& rounds = list_field(leaderboard, "rounds");
  if (rounds.empty()) return "no round has begun\n";
  if (leaderboard.contains("round") && leaderboard["round"].is_number())
    for (const Json& round : rounds)
      if (round.contains("round") && round["round"] == leaderboard["round"])
        text = "round " + std::to_string(number_field(round, "round")) + ", " +
               text_field(round, "name") + ", from " +
               local_time(number_field(round, "began_at_us") / 1'000'000) + "\n";
  const std::vector<Json>& standings = list_field(leaderboard, "standings");
  if (standings.empty()) return text + "no trades yet\n";
  return text + "\n" +
         table(standings,
               {{">RANK", "rank", show_number},
                {">ACCOUNT", "account", show_or_blank, true},
                {"NAME", "name", show_or_blank, true},
                {">PROFIT", "profit", show_profit},
                {">VOLUME", "volume"},
                {">TRADES", "trades", show_number},
                {">LARGEST POSITION", "largest_position"}},
               style);
}

std::string symbols_view(const Json& symbols, Style style) {
  const std::vector<Json>& list = list_field(symbols, "symbols");
  if (list.empty()) return "no symbols yet\n";
  return table(list,
               {{"SYMBOL", "symbol"},
                {">BID", "bid", show_bid},
                {">ASK", "ask", show_ask},
                {">LAST", "last", show_or_dash},
                {">TRADES", "trades", show_number},
                {">TRADED", "traded_shares"},
                {">OPEN ORDERS", "open_orders", show_number},
                {">SHARES", "shares_total"},
                {">TICK", "tick", show_or_dash, true},
                {">LOT", "lot", show_or_dash, true},
                {">ORDER MAX", "order_max", show_or_dash, true},
                {">PRICE MIN", "price_min", show_or_dash, true},
                {">PRICE MAX", "price_max", show_or_dash, true},
                {">BAND", "band", show_or_dash, true},
                {"AT BAND", "at_band", show_or_dash, true},
                {"TRADING", "trading", show_or_dash, true}},
               style);
}

}  // namespace exchange::cli
