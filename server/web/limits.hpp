#pragma once
// Where HTTP listens, and its limits. Set from the command line (options.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "days/limits.hpp"
#include "protocol/limits.hpp"

namespace exchange {

struct HttpLimits {
  // trading clients need the descriptors; half for requests under way, half for WebSockets. With
  // more memory more, so that a class of students behind one address has room (resource_plan.hpp).
  std::size_t connections_max = 512;
  // of one address; 0: three quarters of connections_max
  std::size_t connections_per_address = 0;
  // request bodies being read and responses not sent yet, of all; half of it of one address
  std::size_t buffered_bytes_max = 128u << 20;
  std::uint32_t idle_ms = 30'000;  // time for a request, and between two
  std::size_t header_bytes_max = 8'192;
  std::size_t body_bytes_max = 1'024;         // of requests that need no body
  std::size_t symbols_max = 1'000;            // of one page of /api/symbols: 300 KB, 5 ms of work
  std::size_t standings_max = 10'000;         // of /api/leaderboard: 1 MB, 10 ms of work
  std::size_t book_levels_max = 1'000;        // a side, of a book or a snapshot
  std::size_t trades_kept_max = 500;          // newest trades of each symbol, in memory
  std::size_t trades_in_all_max = 4'000'000;  // newest trades of all symbols, likewise
  std::size_t trades_loaded_max = 10'000;     // newest trades of the exchange, read at start
  std::size_t account_orders_max = 1'000;     // of one page of open orders
  std::size_t positions_max = 1'000;          // of one page of an account's positions
  // projected rows on their way to the thread of answers before the projector waits for it
  std::size_t unread_rows_max = 1'000'000;
  // orders being read from the tables, three quarters of them for one address; more are refused
  std::size_t order_reads_max = 64;
  std::size_t order_executions_max = 1'000;  // of one page of an order's executions
  std::size_t fills_max = 1'000;             // executions of one page of an account's fills
  // executions of all accounts that one read of the tables goes through before those that wait have
  // their turn, 5 ms with SQLite and 50 ms with PostgreSQL; and that one request goes through
  std::uint64_t fills_read_max = 10'000, fills_reach = 200'000;
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
  // TLS handshakes of one address at once, each with a millisecond of work; others wait
  std::size_t tls_handshakes_max = 8;
  // time for subscribers to take their last responses when the server stops
  std::uint32_t drain_ms = 1'500;
  std::uint32_t tls_handshake_ms = 5'000;            // for one of them, once it has its turn
  std::size_t websocket_message_bytes_max = 16'384;  // some 0.1 ms to parse
  // a subscriber that answers no ping for so long is disconnected
  std::uint32_t websocket_idle_ms = 60'000;
  std::size_t websocket_subscriptions_max = 256;  // symbols and accounts
  std::size_t events_max = 500;                   // of an account in one message
  std::size_t event_reads_max = 4;  // reads of events of one address at once; begins likewise
  std::size_t snapshot_lines_max = 10'000;  // orders of an account's snapshot; positions likewise
  // levels and trades in an update; a larger change is sent as a snapshot
  std::size_t update_entries_max = 2'000;
  // Of closed days. What waits for the one thread that replays them, three quarters of it of one
  // address; more is refused.
  std::size_t replay_requests_max = 16;
  // time for an answer before the request is refused, while the replay goes on
  std::uint32_t replay_answer_ms = 10'000;
  // a replay that was not asked for so long is dropped, with its memory
  std::uint32_t replay_idle_ms = 120'000;
  std::size_t moments_max = 1'000;  // changes in one answer: 300 KB
  // commands that one answer goes on by at most, though they change nothing of what was asked
  std::uint64_t moments_reach = 100'000;
  ReplayLimits replay;
  // unsent bytes of one subscriber before it is disconnected
  std::size_t websocket_backlog_bytes_max = 1u << 20;
};

// What the HTTP server is started with. The limits must outlive the server.
struct HttpOptions {
  std::string bind;        // IP address to listen on
  std::uint16_t port = 0;  // 0 picks a free one
  const HttpLimits& limits;
  const ProtocolLimits& protocol;  // of the requests in POST /api/xml
};

}  // namespace exchange
