#pragma once
// Restores the exchange from a store: the tables, then the journal after them. Called once at
// start, before any thread runs.

#include "engine/exchange.hpp"
#include "engine/login_change.hpp"
#include "store/store.hpp"

namespace exchange {

struct Recovered {
  Exchange exchange;
  BatchNumber last_batch = 0;          // newest in the journal
  std::uint64_t batches_replayed = 0;  // batches not in the tables yet
  Rows tables;                         // as loaded, before the replay
  std::vector<LoginChange> logins;     // in order
};

// Applies the next row of the journal. Throws StoreCorrupt if the result is not the state that its
// record gives.
void replay(Recovered& recovered, const JournalRow& row);
// Returns true if the row is the one that led to the recovered state.
bool is_newest(const Recovered& recovered, const JournalRow& row);

// Loads the tables of an open store and replays the journal after them. Throws StoreCorrupt if the
// tables contradict themselves, the journal has a gap, or the state after a replayed batch differs
// from the counters and digest in its record. `hash_seed`: see Exchange.
Recovered recover(Store& store, std::uint64_t hash_seed = 0);

}  // namespace exchange
