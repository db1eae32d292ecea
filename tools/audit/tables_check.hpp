#pragma once
// What the tables must satisfy by themselves, whatever the journal says: references, ranges, sums
// and the book, of closed orders too. Streams orders and executions; keeps accounts, symbols,
// positions and the open orders, as a server does.

#include "store/store.hpp"
#include "tools/audit/rows.hpp"

namespace exchange::audit {

// Checks all tables. Returns what a server would load at its start; of no use where violations were
// found.
TablesImage check_tables(Source& source, Findings& findings);

}  // namespace exchange::audit
