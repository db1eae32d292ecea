#pragma once
// The commands of the terminal client, one struct each, with the words as typed; documents.hpp
// checks them against the protocol's rules. Plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/ids.hpp"

namespace exchange::cli {

struct NewAccount {
  std::string account, balance;
};
struct NewSymbol {
  struct Holding {
    std::string account, shares;
  };
  std::string symbol;
  std::vector<Holding> holdings;
};
struct NewOrder {
  Side side = Side::buy;
  std::string symbol, shares, limit;  // limit: or market_price
  std::string reference = {};         // empty: none, as the next one
  std::string tif = {};
  bool post_only = false;
  std::string stp = {};  // self-trade prevention; empty: none
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
  std::vector<std::string> orders;  // none: the open ones, and those of this session
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
struct Watch {
  std::vector<std::string> symbols;
  std::uint64_t count = 0;  // lines, or redraws on a terminal; 0: no end
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

using Command =
    std::variant<NewAccount, NewSymbol, NewOrder, Replacement, CancelOrders, CancelAllOrders,
                 ShowOrders, ShowAccount, ShowOpenOrders, ShowHistory, ShowBook, ShowTrades,
                 ShowSymbols, Watch, StartShell, UseAccount, ShowXml, Help, Quit>;

enum ExitCode {
  exit_ok = 0,
  exit_refused = 1,
  exit_usage = 2,
  exit_unreachable = 3,
  exit_interrupted = 130
};

}  // namespace exchange::cli
