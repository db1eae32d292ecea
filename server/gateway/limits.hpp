#pragma once
// The limits of the gateway.

#include <cstddef>
#include <cstdint>

namespace exchange {

struct GatewayLimits {
  // time for the store to answer before a request is refused
  std::uint32_t store_answer_ms = 2'000;
  // time for one batch, for one read of the store, and between two signs of life of the core; if it
  // is exceeded, the server is not ready. A large batch on a slow disk takes less.
  std::uint32_t journal_stall_ms = 5'000;
  // if the threads of clients make no progress for longer, the server is not ready
  std::uint32_t clients_stall_ms = 5'000;
  // if the core, while it does not wait for the store, or the threads of clients give no sign of
  // life for longer, the process counts as dead: a restart is the last resort
  std::uint32_t dead_ms = 60'000;
  // if an active server has not confirmed for longer that it is the active one, or a standby has
  // not read the journal, it shows nothing more; also the time that standbys wait for a database
  // that was unavailable
  std::uint32_t stale_ms = 5'000;
  std::size_t events_max = 500;             // of an account in one message
  std::size_t read_events_max = 2'000;      // of one connection, in one read of the tables
  std::size_t recent_events_max = 100'000;  // in memory, of all accounts: 20 MB
  std::size_t event_reads_max = 4;          // of one address at once; also the limit of its begins
  std::size_t snapshot_lines_max = 10'000;  // orders, and positions, in the snapshot of an account
};

}  // namespace exchange
