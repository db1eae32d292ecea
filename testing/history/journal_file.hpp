#pragma once
// Reads the whole journal (--keep-journal) of a store that no server holds, as the order of
// commits. Does not change the store.

#include <stdexcept>
#include <string>
#include <vector>

#include "journal/journal_record.hpp"

namespace exchange::history {

struct Batch {
  BatchNumber number;
  JournalRecord record;
};

// Reports input that cannot be read or judged: a wrong path, a pruned journal, a damaged record.
struct Unusable : std::runtime_error {
  using runtime_error::runtime_error;
};

// `store`: as the server's --store, of a kind that is kept. Throws Unusable.
std::vector<Batch> read_journal(const std::string& store);

}  // namespace exchange::history
