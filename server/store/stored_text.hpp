#pragma once
// Reading back what a store holds as text. Throws StoreCorrupt for what we cannot have written.

#include "store/store.hpp"

namespace exchange {

inline AccountId stored_account_id(std::string_view text) {
  const auto id = parse_account_id(text);
  if (!id) throw StoreCorrupt("accounts: '" + std::string(text) + "' is no account id");
  return *id;
}

inline SymbolName stored_symbol_name(std::string_view text) {
  const auto name = parse_symbol_name(text);
  if (!name) throw StoreCorrupt("symbols: '" + std::string(text) + "' is no symbol");
  return *name;
}

inline Cash stored_cash(std::string_view text) {
  const auto units = parse_units(text);
  if (!units) throw StoreCorrupt("'" + std::string(text) + "' is no amount of cash");
  return Cash::from_units(units.value);
}

}  // namespace exchange
