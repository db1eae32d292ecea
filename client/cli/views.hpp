#pragma once
// What commands print: sentences about orders and changes, and replies of the HTTP port as tables.
// Pure. The functions of JSON throw client::BadReply if a field is missing.

#include <map>

#include "client/cli/command.hpp"
#include "client/cli/messages.hpp"
#include "client/cli/terminal.hpp"

namespace exchange::cli {

Shares executed_shares(const Status& status);
// "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67". `terms`: null, or those of the
// order, whose symbol is empty if another session placed it.
std::string sentence(const std::string& id, const Status& status, const NewOrder* terms);
// Returns one line for each execution, oldest first.
std::string execution_lines(const Status& status);
// "symbol SPY", "all symbols", "account 7", "round one".
std::string named(const Change& change);
// "symbol SPY: tick 0.05, no lot", "account 7: 100 cash taken". `auction`: what the change
// executed, or null.
std::string sentence(const Change& change, const Uncrossed* auction = nullptr);

std::string account_view(const Json& account, Style style);
// Only its open orders.
std::string orders_view(const Json& account, Style style);
// `fills`: executions with order, side, symbol, shares, price and time_us, the newest first.
std::string history_view(const std::vector<Json>& fills, Style style);
// Adds the shares of the own account's open orders at each price.
std::string book_view(const Json& book, Style style, const Json& own_account = {});
std::string trades_view(const Json& trades, Style style);
std::string leaderboard_view(const Json& leaderboard, Style style);
std::string symbols_view(const Json& symbols, Style style);

// Shows bids to the left of asks, best first, at most `levels_max` levels a side. `own`: the shares
// of own orders by side and limit, for columns of their own.
using OwnShares = std::map<std::pair<std::string, std::string>, Shares>;
Table ladder(const std::vector<Level>& bids, const std::vector<Level>& asks, std::size_t levels_max,
             Style style, const OwnShares& own = {});
// Returns "40 @ 145.67" in the colour of the side that took it.
std::string trade_text(const Trade& trade, Style style);

}  // namespace exchange::cli
