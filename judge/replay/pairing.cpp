#include "judge/replay/pairing.hpp"

#include <algorithm>
#include <map>

namespace exchange::judge {

void check_pairing(const Evidence& evidence, const std::set<std::uint16_t>& unclear,
                   Findings& findings) {
  struct Side {
    Fill fill;
    std::uint32_t order;
  };
  struct Symbol {
    std::vector<Side> buys, sells;
  };
  std::map<std::uint16_t, Symbol> symbols;
  for (std::uint32_t i = 0; i < evidence.orders.size(); ++i) {
    Symbol& symbol = symbols[evidence.orders[i].symbol];
    for (const Fill& fill : evidence.fills_of(i))
      (evidence.orders[i].amount > 0 ? symbol.buys : symbol.sells).push_back({fill, i});
  }
  const auto alone = [&](const Side& side, const char* other) {
    findings.add(Check::pairing, "The server reported for " + evidence.name(side.order) +
                                     " an execution of " + text_of(side.fill) + " at time " +
                                     std::to_string(side.fill.time) + "; " + other +
                                     " has it (M9).");
  };
  for (auto& [number, symbol] : symbols) {
    if (unclear.contains(number)) continue;
    const auto by_fill = [](const Side& a, const Side& b) { return a.fill < b.fill; };
    std::sort(symbol.buys.begin(), symbol.buys.end(), by_fill);
    std::sort(symbol.sells.begin(), symbol.sells.end(), by_fill);
    auto buy = symbol.buys.begin(), sell = symbol.sells.begin();
    while (buy != symbol.buys.end() || sell != symbol.sells.end()) {
      if (sell == symbol.sells.end() || (buy != symbol.buys.end() && buy->fill < sell->fill))
        alone(*buy++, "no sell");
      else if (buy == symbol.buys.end() || sell->fill < buy->fill)
        alone(*sell++, "no buy");
      else
        ++buy, ++sell;
    }
  }
}

}  // namespace exchange::judge
