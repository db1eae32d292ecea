#pragma once
// The limits of the gateway.

#include <cstddef>
#include <cstdint>

namespace exchange {

struct GatewayLimits {
  // time for the store to answer before a request is refused
  std::uint32_t store_answer_ms = 2'000;
  // time for one batch, for one read of the store, and between two signs of life of the core,
  // before the server is not ready. A large batch on a slow disk takes less.
  std::uint32_t journal_stall_ms = 5'000;
  // time that the threads of clients do not go on before the server is not ready
  std::uint32_t clients_stall_ms = 5'000;
  // time without a sign of life of the core, but not waiting for the store, or of the threads of
  // clients, before the process counts as dead: a restart is the last resort
  std::uint32_t dead_ms = 60'000;
  // time since this server knew that it is the active one, or had read the journal as a standby,
  // before it shows nothing more; the time that standbys wait for a database that was away
  std::uint32_t stale_ms = 5'000;
  std::size_t events_max = 500;     // of an account in one message
  std::size_t event_reads_max = 4;  // reads of events of one address at once; begins likewise
  std::size_t snapshot_lines_max = 10'000;  // orders of an account's snapshot; positions likewise
};

}  // namespace exchange
