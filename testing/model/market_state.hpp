#pragma once
// Prints the complete state of some accounts, and the books of some symbols, in lines to compare.

#include "engine/exchange.hpp"
#include "model/print.hpp"
#include "model/random_commands.hpp"

namespace exchange {

inline std::string print(const Exchange::Depth& depth) {
  return units_text(depth.shares_units) + " units @" + to_string(depth.price) + " in " +
         std::to_string(depth.orders);
}

// Takes an Exchange or a NaiveExchange. `Names` has these accounts and symbols.
template <class Names = RandomCommands, class AnyExchange>
std::vector<std::string> state_of(const AnyExchange& exchange) {
  std::vector<std::string> state;
  for (unsigned account = 0; account <= Names::accounts; ++account) {
    const AccountId id = Names::account(account);
    std::string& line =
        state.emplace_back("account " + print(id) + " " + to_string(exchange.balance(id)));
    for (unsigned symbol = 0; symbol <= Names::symbols; ++symbol)
      line += " " + to_string(exchange.position(id, Names::symbol(symbol)));
  }
  for (unsigned symbol = 0; symbol <= Names::symbols; ++symbol)
    for (const Side side : {Side::buy, Side::sell}) {
      std::string& line = state.emplace_back((side == Side::buy ? "bids " : "asks ") +
                                             print(Names::symbol(symbol)));
      for (const auto& depth : exchange.depth(Names::symbol(symbol), side))
        line += " | " + print(depth);
    }
  return state;
}

}  // namespace exchange
