#pragma once
// Describes the state of an order and the rules of a symbol in sentences. Pure.

#include <map>

#include "client/cli/command.hpp"
#include "engine/commands.hpp"

namespace exchange::cli {

// Orders with known terms, by id: those placed or replaced in this session. The symbol is empty if
// the order was placed in another session.
using KnownOrders = std::map<std::string, NewOrder>;

Shares executed_shares(const Status& status);

// "order 7: bought 40 SPY @ 145.67, 60 still open at limit 145.67". `terms` may be null.
std::string sentence(const std::string& id, const Status& status, const NewOrder* terms);
// "symbol SPY: tick 0.05, no lot, trading halted".
// "symbol SPY", "all symbols".
std::string named(const SetRules& set);
// `auction`: what the change executed, or null.
std::string sentence(const SetRules& set, const Uncrossed* auction = nullptr);
// "account 7: frozen, orders max 10, no position max".
std::string sentence(const AccountChange& change);
// "account 7: 100 cash taken".
std::string sentence(const Adjustment& adjustment);
// Returns one line for each execution, oldest first.
std::string execution_lines(const Status& status);

}  // namespace exchange::cli
