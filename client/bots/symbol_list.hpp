#pragma once
// The symbols to trade, as the command line names them.

#include <string>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"

namespace exchange::bots {

struct ListedSymbol {
  SymbolName name;
  Price anchor;  // round which its price walks
};

// "SPY=580.25,QQQ": names with their prices; 100 if none is given. Throws std::invalid_argument,
// with the reason.
std::vector<ListedSymbol> parse_symbol_list(const std::string& text);

}  // namespace exchange::bots
