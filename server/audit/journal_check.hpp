#pragma once
// Checks the journal in one pass: every record decodes, batch numbers have no gaps, epochs and
// times never decrease, and the replay leads to the state of the tables. Called by audit().
//   A journal that is complete from batch 1 is replayed from an empty exchange; at the projected
//   batch every row of every table is compared.
//   If the journal was pruned, the batches after the projected one are replayed on the loaded
// tables.
// The counters and the digest of each replayed record are compared in both cases.
// Memory: as much as a server with the same open orders needs, twice for a complete journal; and
// the orders that changed after the projected batch, with their replacements since then.

#include <map>

#include "audit/stored_rows.hpp"
#include "store/tables.hpp"

namespace exchange::audit {

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

// `image` comes from check_tables(). `sound`: check_tables() found no violation, so that the tables
// can be loaded. `board` may be null: then no leaderboard is made. Adds violations to `findings`.
// Throws CannotRead.
AfterTables check_journal(Source& source, const TablesImage& image, bool sound, Findings& findings,
                          JournalLeaderboard* board = nullptr);

}  // namespace exchange::audit
