#pragma once
// ExchangeState is the whole state of an Exchange. The types that it dispatches to share it:
// Orders, TradingDay, Accounts and Settlement change it, LimitChecks and LookAhead read it, and
// image.hpp fills it at a start. Each change is recorded in `changes` (for the tables), in the
// digest (for replays), and in the events of its account, if these are recorded.
// Owner: Exchange. Thread: that of the Exchange.

#include "engine/books.hpp"
#include "engine/change_set.hpp"
#include "engine/commands.hpp"
#include "engine/digest.hpp"
#include "engine/ledger.hpp"
#include "engine/limits.hpp"
#include "engine/references.hpp"
#include "engine/rows.hpp"

namespace exchange {

// The part of a command's names that LookAhead::locate() found; Exchange::apply() looks up the
// rest. Accounts and symbols keep their numbers for ever; an order's index is valid until
// release_closed(); a level may be outdated.
struct Located {
  AccountNumber account = no_index;
  SymbolNumber symbol = no_index;
  std::uint32_t order = no_index;
  // where an order to place would rest now, or the first level against which it would be executed
  std::uint32_t level = no_index;
  bool executes = false;
};

// Orders canceled by the terms of an order since the start of the process; not part of the state.
struct TermCancels {
  std::uint64_t immediate = 0;   // the rest of ioc and market orders
  std::uint64_t self_trade = 0;  // resting and arriving orders, by stp
};

struct ExchangeState {
  // `hash_seed` seeds the hash tables and changes no outcome.
  explicit ExchangeState(std::uint64_t hash_seed)
      : ledger(hash_seed), books(hash_seed), references(hash_seed) {}

  AccountNumber find_account(const AccountId& id, const Located& located) const {
    return located.account != no_index ? located.account : ledger.find(id);
  }
  SymbolNumber add_symbol(const SymbolName& name);

  void mark_order(std::uint32_t index) {  // call it before the order changes
    changes.mark_order(books.order(index), index,
                       [this, index](OrderRow& row) { books.read_row(index, row); });
  }
  void update_digest(Timestamp now, Digested what, std::uint64_t a, std::uint64_t b) {
    totals.last_time = now;
    const std::uint64_t mixed =
        (totals.digest ^ a) * 0x9e3779b97f4a7c15u ^ (b + std::uint64_t(what));
    totals.digest = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u ^ std::uint64_t(now.microseconds);
  }
  // Records the event if the events of the account are recorded. `event` has the fields that depend
  // on its kind.
  void record(AccountNumber account, SymbolNumber symbol, Timestamp now, const EventRow& event) {
    if (ledger.account(account).events() != 0) [[unlikely]]
      add_event(account, symbol, now, event);
  }
  void record(const Books::Order& order, Timestamp now, EventKind kind, Shares shares, Price price,
              ExecutionId execution = 0) {
    if (ledger.account(order.account).events() != 0) [[unlikely]]
      add_event(order.account, order.symbol, now,
                {.kind = kind,
                 .order = order.id,
                 .side = order.side,
                 .shares = shares,
                 .price = price,
                 .open = order.open,
                 .execution = execution});
  }
  void add_event(AccountNumber account, SymbolNumber symbol, Timestamp now, EventRow event);

  Ledger ledger;
  Books books;
  References references;
  ChangeSet changes;
  Totals totals;
  std::uint64_t rounds = 0;  // number begun so far
  StateLimits limits;
  TermCancels term_cancels;
  BatchNumber batch = 0;  // in the journal
};

}  // namespace exchange
