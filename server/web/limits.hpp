#pragma once
// The address of the HTTP port, and its limits. The command line sets them (options.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "days/limits.hpp"
#include "net/limits.hpp"
#include "protocol/limits.hpp"
#include "websocket/limits.hpp"

namespace exchange {

struct HttpLimits : WebSocketLimits {
  // small, because trading clients need the descriptors; half is for requests under way, half for
  // WebSockets. With more memory it is larger, so that a class of students behind one address has
  // room (resource_plan.hpp).
  std::size_t connections_max = 512;
  // of one address; 0: three quarters of connections_max
  std::size_t connections_per_address = 0;
  // request bodies being read and responses not sent yet, of all; at most half from one address
  std::size_t buffered_bytes_max = 128u << 20;
  std::uint32_t idle_ms = 30'000;  // time for a request, and between two
  std::size_t header_bytes_max = 8'192;
  std::size_t body_bytes_max = 1'024;         // of requests that need no body
  std::size_t symbols_max = 1'000;            // of one page of /api/symbols: 300 KB, 5 ms of work
  std::size_t standings_max = 10'000;         // of /api/leaderboard: 1 MB, 10 ms of work
  std::size_t trades_kept_max = 500;          // newest trades of each symbol, in memory
  std::size_t trades_in_all_max = 4'000'000;  // newest trades of all symbols, in memory
  std::size_t trades_loaded_max = 10'000;     // newest trades of the exchange, read at start
  std::size_t account_orders_max = 1'000;     // of one page of open orders
  std::size_t positions_max = 1'000;          // of one page of an account's positions
  // projected rows that the thread of answers has not read yet; beyond it, the projector waits
  std::size_t unread_rows_max = 1'000'000;
  // orders being read from the tables, at most three quarters for one address; more are refused
  std::size_t order_reads_max = 256;
  std::size_t order_executions_max = 1'000;  // of one page of an order's executions
  std::size_t fills_max = 1'000;             // executions of one page of an account's fills
  // executions of all accounts that one read of the tables searches before waiting reads have their
  // turn (5 ms with SQLite, 50 ms with PostgreSQL); and that one request searches
  std::uint64_t fills_read_max = 10'000, fills_reach = 200'000;
  // TLS handshakes of one address at once, each with a millisecond of work; more wait
  std::size_t tls_handshakes_max = 8;
  std::uint32_t tls_handshake_ms = 5'000;  // for one of them, once it has its turn
  std::size_t moments_max = 1'000;         // changes in one answer about a closed day: 300 KB
  ReplayLimits replay;
};

// The settings of the HTTP server. The limits must outlive the server.
struct HttpOptions {
  std::string bind;        // IP address to listen on
  std::uint16_t port = 0;  // 0 picks a free one
  const HttpLimits& limits;
  const ProtocolLimits& protocol;  // of the requests in POST /api/xml
  LocalSocket local = {};
};

}  // namespace exchange
