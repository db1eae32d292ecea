#pragma once
// The commands of the terminal client, with the words as typed, and its settings and limits.
// documents.hpp checks the commands against the protocol's rules. Plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "client/connection/stream.hpp"
#include "engine/commands.hpp"

namespace exchange::cli {

// An attribute of an element, as typed.
struct Typed {
  std::string name, value;
};
// Elements of one kind in sequence, with no other command between them. The exchange replies
// <created> to each.
struct Change {
  CommandKind kind = 0;  // of the elements
  std::vector<std::vector<Typed>> elements;
  std::string key_file = {};  // of a new account's key, as in NewKey; empty: that of the settings
};
struct NewSymbol {
  struct Holding {
    std::string account, shares;
  };
  std::string symbol;
  std::vector<Holding> holdings;
};
struct NewDay {
  std::string day;       // the name of the day that ends
  std::string scenario;  // file of a <create> document for the next day; empty: none
};
struct NewKey {
  std::optional<std::string> account;  // none: the account of the settings changes its own key
  std::string file;                    // "-": the user types it; empty: made, and shown once
};
struct NewOrder {
  Side side = Side::buy;
  std::string symbol, shares, limit;  // limit: or market_price
  std::string reference = {};         // empty: none
  std::vector<Typed> terms = {};      // further attributes
};
inline constexpr const char* market_price = "market";
struct Replacement {
  std::string order;      // id, or "ref:" and a reference
  Side side = Side::buy;  // the order's own
  std::string shares, limit;
};
// Cancels orders, or shows them.
struct NamedOrders {
  bool cancel = false;
  std::vector<std::string> orders;  // as in Replacement
};
struct CancelAllOrders {
  std::optional<std::string> symbol;  // none: all symbols
};
struct ShowAccount {};
struct ShowOpenOrders {};
struct ShowHistory {
  std::vector<std::string> orders;  // as in Replacement; none: all orders of the account
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

// CommandParser reads each of them, and Runner::Step carries it out.
using Command = std::variant<Change, NewSymbol, NewKey, NewDay, NewOrder, Replacement, NamedOrders,
                             CancelAllOrders, ShowAccount, ShowOpenOrders, ShowHistory, ShowBook,
                             ShowTrades, ShowSymbols, ShowLeaderboard, Watch, WatchAccount,
                             UseAccount, ShowXml, Help, Quit>;

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

// Who sends a request: an account, or the operator if there is no account. The key is empty if the
// exchange requires none.
struct Sender {
  std::string key = {}, account = {};
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
