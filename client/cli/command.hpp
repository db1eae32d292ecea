#pragma once
// The commands of the terminal client, one struct each, with the words as typed; documents.hpp
// checks them against the protocol's rules. Its settings and limits. Plain values.

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
  std::string key_file = {};  // of its key: as in NewKey; empty: that of the settings
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
  std::optional<std::string> symbol;  // none: all that there are
  std::vector<Rule> rules;
  std::vector<std::string> trading = {};  // one after another, with no other command between them
};
struct NewRound {
  std::string name;
};
struct NewDay {
  std::string day;       // the name of the one that ends
  std::string scenario;  // file of a <create> document for the next one; empty: none
};
// Of a class, which the teacher keeps in `folder`.
struct InitClass {
  std::string folder, roster, scenario;  // files: CSV, TOML
  std::vector<std::string> names = {};   // columns of the roster; empty: as its heading says
  std::string identity = {};             // the same
};
struct StartClass {
  std::string folder, round;  // the name of a round that begins; empty: the first one begins
};
struct PauseClass {
  std::string folder;
};
struct StopClass {
  std::string folder;
};
struct NewClassDay {
  std::string folder, day;  // the name of the one that ends
};
struct ShowClass {
  std::string folder;
};
struct ExportClass {
  std::string folder, to;
};
struct NewKey {
  std::optional<std::string> account;  // none: that of the settings, which changes its own
  std::string file;                    // "-": the user types it; empty: it is made, and shown once
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
  std::string amount, reason;         // amount: below zero, it is taken
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
  std::vector<std::string> orders;  // as in Replacement; of ShowOrders too
};
struct CancelAllOrders {
  std::optional<std::string> symbol;  // none: of all
};
struct ShowOrders {
  std::vector<std::string> orders;
};
struct ShowAccount {};
struct ShowOpenOrders {};
struct ShowHistory {
  std::vector<std::string> orders;  // as in CancelOrders; none: all of the account
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
  std::uint64_t round = 0;  // 0: all of them
  unsigned count = 0;       // rows; 0: all
  bool ids = false;         // of accounts that have a name, too; the operator's
};
struct Watch {
  std::vector<std::string> symbols;
  std::uint64_t count = 0;  // lines, or redraws on a terminal; 0: no end
};
struct WatchAccount {
  std::optional<std::uint64_t> from;  // the first event; none: a snapshot, and what comes after it
  bool json = false;                  // messages as they came
  std::uint64_t count = 0;            // events; 0: no end
};
struct StartShell {};

// In the shell only.
struct UseAccount {
  std::optional<std::string> account;  // none: show which it is
};
struct ShowXml {
  bool on = true;
};
struct Help {
  std::vector<std::string> command;
};
struct Quit {};

// In the order of the help. For each one AllCommands has add(), and TraderStep what it does.
using Command = std::variant<NewAccount, NewSymbol, SetRules, NewKey, RevokedKey, AccountChange,
                             Adjustment, NewRound, NewDay, InitClass, StartClass, PauseClass,
                             StopClass, NewClassDay, ShowClass, ExportClass, NewOrder, Replacement,
                             CancelOrders, CancelAllOrders, ShowOrders, ShowAccount, ShowOpenOrders,
                             ShowHistory, ShowBook, ShowTrades, ShowSymbols, ShowLeaderboard, Watch,
                             WatchAccount, StartShell, UseAccount, ShowXml, Help, Quit>;

// What the user typed is no valid command; what() is the sentence.
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

// From the command line.
struct Settings {
  std::string connect = "127.0.0.1:12345";  // the XML port; several with a comma between
  std::string http;                         // the same; empty: port 8080 of these hosts
  std::string account;                      // empty: none chosen
  std::string key;                          // of the account; empty: none
  std::string operator_key_file;            // read for what is the operator's; empty: none
  std::string operator_key;                 // typed in place of a file
  client::Security security;
  bool xml = false;                   // show requests and replies as they are
  bool keep_going = false;            // scripts: on after a failure
  double timeout_s = 30;              // of a reply
  bool new_symbols = false;           // a command may create its symbol
  bool retry = false;                 // orders get references, and are sent again
  double completion_timeout_s = 0.5;  // Tab waits no longer for the symbols …
  double completion_fresh_s = 5;      // … and does not ask again so soon

  std::string http_address() const;
  // Whether that is the exchange's own, as far as one can say: it was named, or both ports are the
  // usual ones.
  bool knows_http() const;
};

inline constexpr double connect_timeout_s = 5;
inline constexpr unsigned history_lines_max = 1'000;
// a command that shows something waits so long for the HTTP port to show what is committed …
inline constexpr std::chrono::milliseconds catch_up_max{5'000};
inline constexpr std::chrono::milliseconds catch_up_pause{10};  // … and asks so often
// how often 'admin new-day' asks whether the day is closed
inline constexpr std::chrono::milliseconds new_day_pause{50};
// for what a command tells beside what it was asked for
inline constexpr double aside_timeout_s = 2;
inline constexpr std::size_t noticed_orders_max = 1'000;

}  // namespace exchange::cli
