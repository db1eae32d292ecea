#pragma once
// Checks the tables without the journal: references, ranges, sums, and that no book is crossed. It
// includes closed orders. Called by audit(). Streams orders, executions and replacements; keeps
// accounts, symbols, positions and the open orders in memory, as a server does.

#include "audit/stored_rows.hpp"
#include "store/tables.hpp"

namespace exchange::audit {

// Checks all tables and adds violations to `findings`. Returns what a server would load at its
// start, which is valid only if there were no violations. Throws CannotRead.
TablesImage check_tables(Source& source, Findings& findings);

}  // namespace exchange::audit
