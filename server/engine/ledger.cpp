#include "engine/ledger.hpp"

#include "engine/flat_map.hpp"

namespace exchange {

void Ledger::hand_over(const ChangeSet& changes, Rows& rows) {
  rows.accounts.clear();
  for_each_prefetched(
      changes.accounts(),
      [&](AccountNumber number) __attribute__((always_inline)) {
        __builtin_prefetch(&accounts_[number]);
        account_ids_.prefetch_text(number);
      },
      [&](AccountNumber number) {
        accounts_[number].set_dirty(false);
        rows.accounts.push_back(
            {number, id(number), accounts_[number].balance, accounts_[number].events()});
      });
  rows.symbols.clear();
  for (const SymbolNumber number : changes.symbols()) {
    symbols_[number].set_dirty(false);
    rows.symbols.push_back(row(number));
  }
  rows.positions.clear();
  for_each_prefetched(
      changes.positions(),
      [&](std::uint64_t key) __attribute__((always_inline)) { positions_.prefetch(key); },
      [&](std::uint64_t key) {
        Position& position = *positions_.find(key);
        position.set_dirty(false);
        rows.positions.push_back({account_of(key), symbol_of(key), position.shares()});
      });
}

SymbolNumber Ledger::add_symbol(const SymbolRow& row) {
  Symbol& symbol = symbols_.emplace_back();
  copy_shared_members(row, symbol);
  symbol.instrument = row.instrument();
  symbol.restricted = symbol.instrument != Instrument();
  return symbol_names_.add(row.name);
}

SymbolRow Ledger::row(SymbolNumber number) const {
  SymbolRow row{.number = number, .name = name(number), .shares_total = {}};
  copy_shared_members(symbols_[number], row);
  copy_shared_members(symbols_[number].instrument, row);
  return row;
}

void Ledger::restore(const Rows& rows, ChangeSet& changes) {
  for (const AccountRow& row : rows.accounts) mark(row.number, changes);
  for (const SymbolRow& row : rows.symbols) mark_symbol(row.number, changes);
  for (const PositionRow& row : rows.positions) {
    const std::uint64_t position_key = key(row.account, row.symbol);
    changes.mark_position(*positions_.find(position_key), position_key);
  }
}

}  // namespace exchange
