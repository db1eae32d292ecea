#pragma once
// Copies a SQLite store, whether a server runs on it or not. Called by exchange-audit and by tests.
// Only reads the store; takes no lock of a server. Thread: one.

#include <string>

namespace exchange::audit {

// Copies the store "sqlite:PATH" into `folder`, which must not exist or must be empty: tables,
// journal and acknowledged mark, under their own names. A server that starts on the copy has every
// batch that was acknowledged before the call, and all batches up to some later one. If the journal
// goes back to the first batch, so does its copy. The folder appears under its name once it is
// complete and synced; until then it is `folder`.partial. Returns the URL of the copy.
//
// While the tables are copied, a server cannot prune its journal. Throws CannotRead if the store
// cannot be read or the copy cannot be written, std::invalid_argument for a store of another kind.
std::string back_up(const std::string& store, const std::string& folder);

}  // namespace exchange::audit
