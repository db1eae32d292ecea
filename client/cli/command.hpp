#pragma once
// The commands of the terminal client, one struct each, with the words as typed, and its settings
// and limits. documents.hpp checks the commands against the protocol's rules. Plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "client/connection/stream.hpp"
#include "engine/ids.hpp"

namespace exchange::cli {

struct NewAccount {
  std::string account, balance;
  std::string key_file = {};  // of the account's key, as in NewKey; empty: that of the settings
};
struct NewSymbol {
  struct Holding {
    std::string account, shares;
  };
  std::string symbol;
  std::vector<Holding> holdings;
};
// An attribute of an element, as typed.
struct Rule {
  std::string name, value;
};
struct SetRules {
  std::optional<std::string> symbol;  // none: all symbols
  std::vector<Rule> rules;
  std::vector<std::string> trading = {};  // changes in sequence, with no other command between them
};
struct NewRound {
  std::string name;
};
struct NewDay {
  std::string day;       // the name of the day that ends
  std::string scenario;  // file of a <create> document for the next day; empty: none
};
struct NewKey {
  std::optional<std::string> account;  // none: the account of the settings changes its own key
  std::string file;                    // "-": the user types it; empty: made, and shown once
};
struct RevokedKey {
  std::string account;
};
struct AccountChange {
  std::string account;
  std::vector<Rule> rules;
};
struct Adjustment {
  std::string account;
  std::optional<std::string> symbol;  // of shares; none: cash
  std::string amount, reason;         // a negative amount is withdrawn
};
struct NewOrder {
  Side side = Side::buy;
  std::string symbol, shares, limit;  // limit: or market_price
  std::string reference = {};         // empty: none
  std::vector<Rule> terms = {};       // further attributes
};
inline constexpr const char* market_price = "market";
struct Replacement {
  std::string order;      // id, or "ref:" and a reference
  Side side = Side::buy;  // the order's own
  std::string shares, limit;
};
struct CancelOrders {
  std::vector<std::string> orders;  // as in Replacement; also for ShowOrders
};
struct CancelAllOrders {
  std::optional<std::string> symbol;  // none: all symbols
};
struct ShowOrders {
  std::vector<std::string> orders;
};
struct ShowAccount {};
struct ShowOpenOrders {};
struct ShowHistory {
  std::vector<std::string> orders;  // as in CancelOrders; none: all orders of the account
  unsigned count = 50;              // without orders: the newest executions
};
struct ShowBook {
  std::string symbol;
  unsigned levels = 10;  // a side
};
struct ShowTrades {
  std::string symbol;
  unsigned count = 20;
};
struct ShowSymbols {};
struct ShowLeaderboard {
  std::uint64_t round = 0;  // 0: all rounds
  unsigned count = 0;       // rows; 0: all
  bool ids = false;         // also of accounts with a name; for the operator only
};
struct Watch {
  std::vector<std::string> symbols;
  std::uint64_t count = 0;  // lines, or redraws on a terminal; 0: no end
};
struct WatchAccount {
  std::optional<std::uint64_t> from;  // the first event; none: a snapshot, and the events after it
  bool json = false;                  // shows messages as received
  std::uint64_t count = 0;            // events; 0: no end
};
struct StartShell {};

// Only in the shell.
struct UseAccount {
  std::optional<std::string> account;  // none: shows the account in use
};
struct ShowXml {
  bool on = true;
};
struct Help {
  std::vector<std::string> command;
};
struct Quit {};

// In the order of the help. For each command AllCommands has add(), and TraderStep carries it out.
using Command =
    std::variant<NewAccount, NewSymbol, SetRules, NewKey, RevokedKey, AccountChange, Adjustment,
                 NewRound, NewDay, NewOrder, Replacement, CancelOrders, CancelAllOrders, ShowOrders,
                 ShowAccount, ShowOpenOrders, ShowHistory, ShowBook, ShowTrades, ShowSymbols,
                 ShowLeaderboard, Watch, WatchAccount, StartShell, UseAccount, ShowXml, Help, Quit>;

// The user's input is not a valid command; what() is the sentence.
struct UsageError : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

enum ExitCode {
  exit_ok = 0,
  exit_refused = 1,
  exit_usage = 2,
  exit_unreachable = 3,
  exit_interrupted = 130
};

// The settings from the command line.
struct Settings {
  std::string connect = "127.0.0.1:12345";  // the XML port; several are separated by commas
  std::string http;                         // the same; empty: port 8080 of these hosts
  std::string account;                      // empty: no account is chosen
  std::string key;                          // of the account; empty: none
  std::string operator_key_file;            // for the operator's commands; empty: none
  std::string operator_key;                 // typed, in place of a file
  client::Security security;
  bool xml = false;                   // shows requests and replies unchanged
  bool keep_going = false;            // scripts: continues after a failure
  double timeout_s = 30;              // of a reply
  bool new_symbols = false;           // a command may create its symbol
  bool retry = false;                 // orders get references, and are sent again
  double completion_timeout_s = 0.5;  // Tab waits at most this long for the symbols …
  double completion_fresh_s = 5;      // … and does not ask again within this time

  std::string http_address() const;
  // Whether the HTTP port probably belongs to the same exchange: the user named it, or both ports
  // have their usual numbers.
  bool knows_http() const;
};

inline constexpr double connect_timeout_s = 5;
inline constexpr unsigned history_lines_max = 1'000;
// a command that shows data waits at most this long until the HTTP port shows what is committed …
inline constexpr std::chrono::milliseconds catch_up_max{5'000};
inline constexpr std::chrono::milliseconds catch_up_pause{10};  // … and asks at this interval
// the interval at which 'admin new-day' asks whether the day is closed
inline constexpr std::chrono::milliseconds new_day_pause{50};
// for information that a command prints in addition to its result
inline constexpr double aside_timeout_s = 2;
inline constexpr std::size_t noticed_orders_max = 1'000;

}  // namespace exchange::cli
