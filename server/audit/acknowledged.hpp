#pragma once
// Compares the orders for which clients have acknowledgements with the store. Called by audit(),
// for the option --acknowledged. The file is text, one order a line:
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

#include <string>

#include "audit/journal_check.hpp"

namespace exchange::audit {

// `image` comes from check_tables(), `after` from check_journal(). Adds violations to `findings`.
// Throws std::invalid_argument, with the line, if `file` has another form; CannotRead.
void check_acknowledged(Source& source, const TablesImage& image, const AfterTables& after,
                        const std::string& file, bool complete, Findings& findings);

}  // namespace exchange::audit
