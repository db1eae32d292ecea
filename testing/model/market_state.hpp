#pragma once
// All that the accounts and symbols of RandomCommands have, and their books, in lines to compare.

#include "engine/exchange.hpp"
#include "model/print.hpp"
#include "model/random_commands.hpp"

namespace exchange {

// Of an Exchange or a NaiveExchange.
template <class AnyExchange>
std::vector<std::string> state_of(const AnyExchange& exchange) {
  std::vector<std::string> state;
  for (std::uint64_t account = 0; account <= RandomCommands::accounts; ++account) {
    const AccountId id = RandomCommands::account(account);
    std::string& line =
        state.emplace_back("account " + print(id) + " " + to_string(exchange.balance(id)));
    for (std::uint64_t symbol = 0; symbol <= RandomCommands::symbols; ++symbol)
      line += " " + to_string(exchange.position(id, RandomCommands::symbol(symbol)));
  }
  for (std::uint64_t symbol = 0; symbol <= RandomCommands::symbols; ++symbol)
    for (const Side side : {Side::buy, Side::sell}) {
      std::string& line = state.emplace_back(side == Side::buy ? "bids" : "asks");
      for (const auto& depth : exchange.depth(RandomCommands::symbol(symbol), side))
        line += " | " + print(depth);
    }
  return state;
}

}  // namespace exchange
