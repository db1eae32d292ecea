#include "client/bots/symbol_list.hpp"

#include <sstream>
#include <stdexcept>

#include "client/bots/market.hpp"

namespace exchange::bots {

std::vector<ListedSymbol> parse_symbol_list(const std::string& text) {
  std::vector<ListedSymbol> symbols;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::optional<SymbolName> name = parse_symbol_name(part.substr(0, equals));
    if (!name)
      throw std::invalid_argument("'" + part + "': a symbol is 1 to 32 letters and digits");
    Parsed<Price> anchor{Price::whole(100)};
    if (equals != std::string::npos) anchor = parse_price(part.substr(equals + 1));
    if (!anchor || anchor.value < Market::anchor_min || anchor.value > Market::anchor_max)
      throw std::invalid_argument("'" + part + "': a price is from " +
                                  to_string(Market::anchor_min) + " to " +
                                  to_string(Market::anchor_max) + ", with at most 8 decimals");
    for (const ListedSymbol& other : symbols)
      if (other.name == *name) throw std::invalid_argument("'" + part + "' is there twice");
    symbols.push_back({*name, anchor.value});
  }
  return symbols;
}

}  // namespace exchange::bots
