#pragma once
// From a store to the exchange that was promised to clients.

#include "engine/exchange.hpp"
#include "store/store.hpp"

namespace exchange {

struct Recovered {
  Exchange exchange;
  BatchNumber last_batch = 0;                       // newest in the journal
  std::uint64_t batches_replayed = 0;               // those not in the tables yet
  Rows tables;                                      // as they were loaded, before the replay
  std::vector<std::pair<AccountId, KeyHash>> keys;  // of all accounts that have one
};

// Loads the tables of an opened store and replays the journal after them. Throws StoreCorrupt where
// the tables contradict themselves, the journal has a gap, or a replay differs from what was
// promised. `hash_seed`: see Exchange.
Recovered recover(Store& store, std::uint64_t hash_seed = 0);

}  // namespace exchange
