#pragma once
// audit() checks a store from outside: files, tables, journal, a replay of the journal, and the
// orders for which clients have acknowledgements (docs/audit.md). Called by exchange-audit and by
// tests. Only reads. Thread: one.

#include <optional>

#include "audit/findings.hpp"

namespace exchange::audit {

struct AuditOptions {
  std::string store;                         // its URL
  std::string acknowledged_file;             // checks.hpp; empty: none
  bool complete = false;                     // the file has all orders of its accounts
  std::optional<std::uint64_t> leaderboard;  // the number of a round; 0: all
  bool leaderboard_ids = false;              // also for accounts that have a name
  std::size_t violations_kept = 100;         // reported one by one; all are counted
};

struct Audit {
  std::string store;  // URL without password
  Findings findings;
  std::string leaderboard = {};  // as /api/leaderboard.csv; empty: it could not be made
};

// Damage is a result, not an exception. Throws CannotRead (source.hpp) if the store cannot be read
// at all, std::invalid_argument for an invalid URL or file of acknowledged orders.
Audit audit(const AuditOptions& options);

// The result as text, and as one JSON document; docs/audit.md shows both.
std::string text_of(const Audit& audit);
std::string to_json(const Audit& audit);

}  // namespace exchange::audit
