#pragma once
// Shows book and trades as they happen: on a terminal a picture, redrawn in place; otherwise a line
// for each trade and each change of the best prices. Thread: the caller's.

#include "client/cli/command.hpp"
#include "client/cli/messages.hpp"
#include "client/cli/ports.hpp"
#include "client/cli/terminal.hpp"

namespace exchange::cli {

// The server refused; what() is its message.
struct Refused : std::runtime_error {
  using runtime_error::runtime_error;
};

// Runs until `command.count`, q on a terminal, or `stop`; the caller has checked the names of the
// symbols. Throws Refused, Unreachable if the server becomes unavailable, Interrupted,
// client::BadReply.
void watch(const Watch& command, const Settings& settings, Console& console,
           const client::StopFlag& stop);

// Shows the events of the account, one a line. After a lost connection it continues with the next
// event on any of the HTTP servers, for up to `settings.timeout_s`. Runs until `command.count` or
// `stop`. Throws what watch() throws.
void watch_account(const WatchAccount& command, const Settings& settings, Console& console,
                   const client::StopFlag& stop);

// Parts of watch(), for the tests. change_lines returns what a message changed, one line each:
// "trade SPY 145.67 40 sell 2026-11-21T10:09:51.123456Z" and "top SPY 145.67 60 146 10" (best bid
// and its shares, best ask and its shares). Updates `top_before`.
std::vector<std::string> change_lines(const std::string& symbol, const WatchedSymbol& market,
                                      std::string& top_before);
// Returns the picture, at most of this size: a ladder for each symbol, then the last trades of all.
std::vector<std::string> picture(
    const std::vector<std::pair<std::string, const WatchedSymbol*>>& markets, Size size,
    Style style);

}  // namespace exchange::cli
