#pragma once
// What clients were told, held against the store. A text file, one order a line:
//   17 account=100 symbol=SPY amount=-5 limit=95.5 open=2 executed=3     acknowledged as 17
//   -  account=100 symbol=SPY amount=7 limit=96                          sent, and never answered
// All words after the id are optional; those of a line without one are not. open, canceled and
// executed are what the client heard last: an order may have executed further since, but never
// less. Blank lines and lines that begin with # are skipped. Every acknowledged order must be
// there, as told. Where the file is complete, which tells of all orders that its accounts ever
// sent, no order of theirs may be there twice, and none that nobody sent.

#include <string>

#include "tools/audit/journal_check.hpp"

namespace exchange::audit {

// Throws std::invalid_argument, naming the line, for what is not such a file.
void check_acknowledged(Source& source, const TablesImage& image, const AfterTables& after,
                        const std::string& file, bool complete, Findings& findings);

}  // namespace exchange::audit
