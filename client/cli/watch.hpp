#pragma once
// Book and trades as they happen: on a terminal a picture, redrawn in place, else a line for each
// trade and each change of the best prices. Thread: the caller's.

#include "client/cli/command.hpp"
#include "client/cli/console.hpp"
#include "client/cli/messages.hpp"
#include "client/cli/ports.hpp"

namespace exchange::cli {

// The server refused; what() is its sentence.
struct Refused : std::runtime_error {
  using runtime_error::runtime_error;
};

// Until `command.count`, q on a terminal, or `stop`; the names of its symbols were checked. Throws
// Refused, Unreachable when the server goes away, Interrupted, client::BadReply.
void watch(const Watch& command, const std::string& http_address, double timeout_s,
           Console& console, const client::StopFlag& stop, const client::Security& security = {});

// What happens to the account, an event a line; after a lost connection, on any of the HTTP servers
// for up to `settings.timeout_s`, from the next event on. Until `command.count` or `stop`. Throws
// as watch().
void watch_account(const WatchAccount& command, const Settings& settings, Console& console,
                   const client::StopFlag& stop);

// Parts of it, for the tests. What a message changed, a line each: "trade SPY 145.67 40 sell
// 2026-11-21T10:09:51.123456Z" and "top SPY 145.67 60 146 10" (best bid and its shares, best ask
// and its shares). `top_before` is kept up.
std::vector<std::string> change_lines(const std::string& symbol, const WatchedSymbol& market,
                                      std::string& top_before);
// The picture, at most so large: a ladder for each symbol, then the last trades of all.
std::vector<std::string> picture(
    const std::vector<std::pair<std::string, const WatchedSymbol*>>& markets, Size size,
    Style style);

}  // namespace exchange::cli
