#pragma once
// The mark in PATH.lock: the newest batch that was durable when its append returned, and of which
// store. Never synced: a crash of the process keeps it, a power cut may put it back to an older
// batch, never to a newer one. So a journal that ends before it has lost acknowledged batches (a
// log that was deleted, or cut at a commit), which the journal alone cannot tell from a crash
// before those commits. Thread: core thread.

#include <optional>
#include <string>
#include <string_view>

#include "store/store.hpp"

namespace exchange {

struct AcknowledgedMark {
  std::string store;  // the id that both files carry
  BatchNumber batch = 0;
};

// Empty where there is none, or none that is whole.
std::optional<AcknowledgedMark> read_mark(int file);
// Best effort: without it less damage is told, nothing is lost.
void write_mark(int file, std::string_view store, BatchNumber batch);

}  // namespace exchange
