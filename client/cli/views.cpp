#include "client/cli/views.hpp"

#include <algorithm>
#include <map>

namespace exchange::cli {
namespace {

std::string side_text(const std::string& side, Style style) {
  return side == "buy" ? style.buy(side) : style.sell(side);
}

std::vector<std::string> ladder_row(const std::vector<Level>& bids, const std::vector<Level>& asks,
                                    std::size_t i, Style style) {
  std::vector<std::string> row(6);
  if (i < bids.size()) {
    row[0] = std::to_string(bids[i].orders);
    row[1] = bids[i].shares;
    row[2] = style.buy(to_string(bids[i].price));
  }
  if (i < asks.size()) {
    row[3] = style.sell(to_string(asks[i].price));
    row[4] = asks[i].shares;
    row[5] = std::to_string(asks[i].orders);
  }
  return row;
}

std::string limit_text(const Json& order) {
  const std::string limit = text_or_dash(order, "limit");
  return limit == "-" ? "market" : limit;
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
  const auto add = [&](const char* name, const std::string& unit, auto field) {
    if (account.contains(name)) limits += (limits.empty() ? "at most " : ", ") + field(name) + unit;
  };
  const auto count = [&](const char* name) { return std::to_string(number_field(account, name)); };
  add("orders_max", " open orders", count);
  add("orders_per_second_max", " orders a second", count);
  add("position_max", " shares of a symbol",
      [&](const char* name) { return text_field(account, name); });
  return limits.empty() ? text : text + limits + "\n";
}

}  // namespace

std::string account_view(const Json& account, Style style) {
  std::string text = style.bold("account " + text_field(account, "account"));
  if (account.contains("name")) text += ", " + text_field(account, "name");
  text += "\nbalance " + text_field(account, "balance");
  if (const std::string reserved = text_field(account, "reserved"); reserved != "0")
    text += " free, " + reserved + " reserved by open orders";
  text += "\n" + rules_text(account);

  Table positions({"SYMBOL", ">SHARES", ">RESERVED"}, style);
  for (const Json& one : list_field(account, "positions"))
    positions.add(
        {text_field(one, "symbol"), text_field(one, "shares"), text_field(one, "reserved")});
  if (!positions.empty()) text += "\n" + positions.text();

  return text + "\n" + orders_view(account, style);
}

std::string orders_view(const Json& account, Style style) {
  Table orders({">ORDER", "SIDE", "SYMBOL", ">SHARES", ">LIMIT", ">OPEN", "OPENED"}, style);
  const std::vector<Json>& list = list_field(account, "orders");
  for (const Json& one : list)
    orders.add({std::to_string(number_field(one, "order")),
                side_text(text_field(one, "side"), style), text_field(one, "symbol"),
                text_field(one, "shares"), limit_text(one), text_field(one, "open"),
                local_time(number_field(one, "opened_at_us") / 1'000'000)});
  std::string text = orders.empty() ? "no open orders\n" : orders.text();
  const std::int64_t open = number_field(account, "open_orders");
  if (open > std::int64_t(list.size()))
    text += "the oldest of " + std::to_string(open) + " open orders\n";
  return text;
}

Table ladder(const std::vector<Level>& bids, const std::vector<Level>& asks, std::size_t levels_max,
             Style style) {
  Table table({">ORDERS", ">SHARES", ">BID", "ASK", ">SHARES", ">ORDERS"}, style);
  for (std::size_t i = 0; i < std::min(levels_max, std::max(bids.size(), asks.size())); ++i)
    table.add(ladder_row(bids, asks, i, style));
  return table;
}

std::string trade_text(const Trade& trade, Style style) {
  const std::string text = trade.shares + " @ " + trade.price;
  return trade.taker == "buy" ? style.buy(text) : style.sell(text);
}

std::string book_view(const Json& book, Style style) {
  const std::string symbol = text_field(book, "symbol");
  const std::vector<Level> bids = levels_field(book, "bids"), asks = levels_field(book, "asks");
  if (bids.empty() && asks.empty() && !book.contains("auction"))
    return symbol + ": no open orders\n";
  return book_heading(book, style) + "\n" +
         ladder(bids, asks, std::max(bids.size(), asks.size()), style).text();
}

std::string own_book_view(const Json& book, const Json& account, Style style) {
  const std::string symbol = text_field(book, "symbol");
  std::map<std::pair<std::string, std::string>, Shares> own;  // by side and limit
  for (const Json& one : list_field(account, "orders")) {
    const auto open = parse_shares(text_field(one, "open"));
    if (open && text_field(one, "symbol") == symbol)
      own[{text_field(one, "side"), limit_text(one)}] += open.value;
  }
  if (own.empty()) return book_view(book, style);
  const auto shares = [&](const char* side, const Level& level) -> std::string {
    const auto found = own.find({side, to_string(level.price)});
    return found == own.end() ? "" : to_string(found->second);
  };
  const std::vector<Level> bids = levels_field(book, "bids"), asks = levels_field(book, "asks");
  Table table({">YOURS", ">ORDERS", ">SHARES", ">BID", "ASK", ">SHARES", ">ORDERS", ">YOURS"},
              style);
  for (std::size_t i = 0; i < std::max(bids.size(), asks.size()); ++i) {
    std::vector<std::string> row = ladder_row(bids, asks, i, style);
    row.insert(row.begin(), i < bids.size() ? shares("buy", bids[i]) : "");
    row.push_back(i < asks.size() ? shares("sell", asks[i]) : "");
    table.add(std::move(row));
  }
  return book_heading(book, style) + "\n" + table.text();
}

std::string history_view(const std::vector<Json>& fills, Style style) {
  Table table({"TIME", ">ORDER", "SIDE", "SYMBOL", ">SHARES", ">PRICE"}, style);
  for (const Json& fill : fills)
    table.add({local_time(number_field(fill, "time_us") / 1'000'000),
               std::to_string(number_field(fill, "order")),
               side_text(text_field(fill, "side"), style), text_field(fill, "symbol"),
               text_field(fill, "shares"), text_field(fill, "price")});
  return table.text();
}

std::string trades_view(const Json& trades, Style style) {
  const std::vector<Trade> list = trades_field(trades, "trades");
  if (list.empty()) return text_field(trades, "symbol") + ": no trades yet\n";
  Table table({"TIME", ">SHARES", ">PRICE", "TAKER", ">BUY ORDER", ">SELL ORDER"}, style);
  for (const Trade& trade : list)
    table.add({local_time(trade.time_us / 1'000'000), trade.shares, trade.price,
               side_text(trade.taker, style), trade.buy_order, trade.sell_order});
  return table.text();
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
  const auto has = [&](const char* name) {
    return std::any_of(standings.begin(), standings.end(),
                       [&](const Json& one) { return one.contains(name); });
  };
  std::vector<std::string> headings{">RANK"};
  const bool accounts = has("account"), names = has("name");
  if (accounts) headings.push_back(">ACCOUNT");
  if (names) headings.push_back("NAME");
  for (const char* heading : {">PROFIT", ">VOLUME", ">TRADES", ">LARGEST POSITION"})
    headings.push_back(heading);
  Table table(headings, style);
  for (const Json& one : standings) {
    std::vector<std::string> row{std::to_string(number_field(one, "rank"))};
    const auto cell = [&](const char* name) {
      return one.contains(name) ? text_field(one, name) : std::string();
    };
    if (accounts) row.push_back(cell("account"));
    if (names) row.push_back(cell("name"));
    const std::string profit = text_field(one, "profit");
    row.push_back(profit.starts_with('-') ? style.sell(profit) : style.buy(profit));
    row.push_back(text_field(one, "volume"));
    row.push_back(std::to_string(number_field(one, "trades")));
    row.push_back(text_field(one, "largest_position"));
    table.add(std::move(row));
  }
  return text + "\n" + table.text();
}

std::string symbols_view(const Json& symbols, Style style) {
  // A rule becomes a column if any symbol has it.
  static constexpr std::pair<const char*, const char*> rules[] = {
      {"tick", ">TICK"},           {"lot", ">LOT"},
      {"order_max", ">ORDER MAX"}, {"price_min", ">PRICE MIN"},
      {"price_max", ">PRICE MAX"}, {"band", ">BAND"},
      {"at_band", "AT BAND"},      {"trading", "TRADING"}};
  const std::vector<Json>& list = list_field(symbols, "symbols");
  std::vector<std::string> headings = {"SYMBOL",  ">BID",    ">ASK",         ">LAST",
                                       ">TRADES", ">TRADED", ">OPEN ORDERS", ">SHARES"};
  std::vector<const char*> columns;
  for (const auto& [name, heading] : rules)
    if (std::any_of(list.begin(), list.end(),
                    [&](const Json& one) { return one.contains(name); })) {
      columns.push_back(name);
      headings.push_back(heading);
    }
  Table table(headings, style);
  for (const Json& one : list) {
    std::vector<std::string> row = {text_field(one, "symbol"),
                                    style.buy(text_or_dash(one, "bid")),
                                    style.sell(text_or_dash(one, "ask")),
                                    text_or_dash(one, "last"),
                                    std::to_string(number_field(one, "trades")),
                                    text_field(one, "traded_shares"),
                                    std::to_string(number_field(one, "open_orders")),
                                    text_field(one, "shares_total")};
    for (const char* name : columns)
      row.push_back(one.contains(name) ? text_field(one, name) : "-");
    table.add(std::move(row));
  }
  return table.empty() ? "no symbols yet\n" : table.text();
}

}  // namespace exchange::cli
