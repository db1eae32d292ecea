#pragma once
// The errors of stores and of their files. Every other exception from a store is a bug of ours.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace exchange {

// The store is unavailable: no connection, no disk space, a lock. Retryable, after a pause. An
// append that throws it is in doubt until resolve_in_doubt() returns; other calls changed nothing
// or may be repeated without harm.
struct StoreUnavailable : std::runtime_error {
  using runtime_error::runtime_error;
};
// Another server has taken the store over. Fatal: this server must stop and send no more replies.
struct StoreFenced : std::runtime_error {
  using runtime_error::runtime_error;
};
// The stored data is damaged, was changed by another program, or cannot be used by this server.
// Fatal; not retryable. The message names the file or row and what the operator can do.
struct StoreCorrupt : std::runtime_error {
  using runtime_error::runtime_error;
};
// Another version of the server wrote the data. This version cannot read it; it is not damaged.
struct StoreOtherVersion : StoreCorrupt {
  using StoreCorrupt::StoreCorrupt;
};
// Throws StoreOtherVersion if this server cannot read a store of this format (engine/rows.hpp).
// `what` is the file or the database.
void require_readable_format(const std::string& what, std::int64_t format);

// Ends of error messages: what the operator can do.
inline constexpr const char* restore_store = "restore the store from a backup (docs/recovery.md)";
inline constexpr const char* after_failed_sync =
    ": the disk failed to sync; start again once it is sound";

}  // namespace exchange
