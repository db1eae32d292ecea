#include "engine/exchange_state.hpp"

namespace exchange {

SymbolNumber ExchangeState::add_symbol(const SymbolName& name) {
  const SymbolNumber number = ledger.add_symbol(name);
  books.add_symbol();
  ledger.mark_symbol(number, changes);
  return number;
}

void ExchangeState::add_event(AccountNumber account, SymbolNumber symbol, Timestamp now,
                              EventRow event) {
  Ledger::Account& owner = ledger.account(account);
  const Ledger::Position* position = nullptr;
  const bool of_cash =
      event.kind == EventKind::cash_received || event.kind == EventKind::cash_taken;
  if (event.kind != EventKind::began && !of_cash)
    position = ledger.find_position(Ledger::key(account, symbol));
  event.account = account;
  owner.add_event();
  event.number = owner.events();
  event.symbol = symbol;
  event.balance = owner.balance;
  if (position != nullptr) event.position = position->shares();
  event.batch = batch;
  event.time = now;
  changes.events.push_back(event);
  ledger.mark(account, changes);
}

}  // namespace exchange
