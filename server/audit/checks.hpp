#pragma once
// The checks of an audit, in their order. Called by audit(). Each adds its violations to
// `findings`, and throws CannotRead.

#include <map>
#include <string>
#include <vector>

#include "audit/stored_rows.hpp"
#include "store/tables.hpp"

namespace exchange::audit {

// --- the tables ---

// Checks the tables without the journal: references, ranges, sums, and that no book is crossed. It
// includes closed orders. Streams orders, executions and replacements; keeps accounts, symbols,
// positions and the open orders in memory, as a server does. Returns what a server would load at
// its start, which is valid only if there were no violations.
TablesImage check_tables(Source& source, Findings& findings);

// --- the journal ---

// The changes that the journal adds to the tables after the projected batch.
struct AfterTables {
  bool known = false;  // false: the journal could not be replayed to its end
  std::map<OrderId, OrderRow> orders;
  std::vector<AccountRow> accounts;
  std::vector<SymbolRow> symbols;
  std::multimap<OrderId, ReplacementRow> replacements;  // by order, the oldest first
};

// The leaderboard that follows from the journal alone, if the journal is complete.
struct JournalLeaderboard {
  Leaderboard standings;
  std::vector<AccountId> accounts;  // by number
  std::map<AccountNumber, AccountName> names;
  bool complete = false;
  void add(const Rows& rows);
};

// Checks the journal in one pass: every record decodes, batch numbers have no gaps, epochs and
// times never decrease, and the replay leads to the state of the tables.
//   A journal that is complete from batch 1 is replayed from an empty exchange; at the projected
// batch every row of every table is compared.
//   If the journal was pruned, the batches after the projected one are replayed on the loaded
// tables.
// The counters and the digest of each replayed record are compared in both cases.
// Memory: as much as a server with the same open orders needs, twice for a complete journal; and
// the orders that changed after the projected batch, with their replacements since then.
//
// `image` comes from check_tables(). `sound`: check_tables() found no violation, so that the tables
// can be loaded. `board` may be null: then no leaderboard is made.
AfterTables check_journal(Source& source, const TablesImage& image, bool sound, Findings& findings,
                          JournalLeaderboard* board = nullptr);

// --- the orders for which clients have acknowledgements ---

// Compares the orders for which clients have acknowledgements with the store. They are in
// the file of the option --acknowledged, as text, one order a line:
//   17 account=100 symbol=SPY amount=-5 limit=95.5 open=2 executed=3     acknowledged with id 17
//   -  account=100 symbol=SPY amount=7 limit=96                          sent, not acknowledged
// With an id all other words are optional; with "-" account, symbol, amount and limit are required.
// amount and limit are those with which the order was sent, or which a replace gave it. open,
// canceled and executed are from the last reply that the client received: the order may have
// executed further since, but not less. Blank lines and lines that begin with # are skipped.
//
// Every acknowledged order must be in the store, as acknowledged. If the file is complete (it has
// all orders that its accounts ever sent), the store must not have an order of these accounts more
// often than it was sent, or one that was not sent.
//
// `image` comes from check_tables(), `after` from check_journal(). Throws std::invalid_argument,
// with the line, if `file` has another form.
void check_acknowledged(Source& source, const TablesImage& image, const AfterTables& after,
                        const std::string& file, bool complete, Findings& findings);

}  // namespace exchange::audit
