#pragma once
// The journal, walked once: every record must decode, batches follow each other, epochs and time
// never go back, and the exchange that it leads to must be the one that the tables hold.
//   Complete from batch 1: replayed from an empty exchange; at the projected batch every row of
//   every table is compared. Pruned: what follows the projected batch is replayed on the loaded
//   tables.
// Each record's counters and digest are compared either way.
// Memory: what a server with the same open orders needs, twice where the journal is complete; and
// the orders that changed after the projected batch.

#include <map>

#include "store/store.hpp"
#include "tools/audit/rows.hpp"

namespace exchange::audit {

// What the journal adds to the tables.
struct AfterTables {
  bool known = false;  // false: the journal could not be followed to its end
  std::map<OrderId, OrderRow> orders;
  std::vector<AccountRow> accounts;
  std::vector<SymbolRow> symbols;
};

// `image`: from check_tables; `sound`: it found no violation, so that the tables can be loaded.
AfterTables check_journal(Source& source, const TablesImage& image, bool sound, Findings& findings);

}  // namespace exchange::audit
