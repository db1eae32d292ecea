#pragma once
// Formats replies of the HTTP port as tables. Pure. All functions throw client::BadReply if a field
// is missing.

#include "client/cli/messages.hpp"
#include "client/cli/text.hpp"

namespace exchange::cli {

std::string account_view(const Json& account, Style style);
// Only its open orders.
std::string orders_view(const Json& account, Style style);
// Executions of these orders (of /api/orders), newest first.
// `fills`: with order, side, symbol, shares, price and time_us, the newest first.
std::string history_view(const std::vector<Json>& fills, Style style);
std::string book_view(const Json& book, Style style);
// Adds the shares of this account's own open orders at each price.
std::string own_book_view(const Json& book, const Json& account, Style style);
std::string trades_view(const Json& trades, Style style);
std::string leaderboard_view(const Json& leaderboard, Style style);
std::string symbols_view(const Json& symbols, Style style);

// Shows bids to the left of asks, best first, at most `levels_max` levels a side.
Table ladder(const std::vector<Level>& bids, const std::vector<Level>& asks, std::size_t levels_max,
             Style style);
// Returns "40 @ 145.67" in the colour of the side that took it.
std::string trade_text(const Trade& trade, Style style);

}  // namespace exchange::cli
