#pragma once
// Every setting and every limit of the server, with its default, its unit and why. A element:
// includes nothing of the project. Values come from the command line or EXCHANGE_* variables
// (options.cpp).

#include <cstddef>
#include <cstdint>
#include <string>

namespace exchange {

struct ProtocolLimits {
  // bytes of XML in one request; a larger length is refused unread
  std::size_t frame_bytes_max = 1u << 20;
  std::size_t length_line_bytes_max = 20;  // PROTOCOL: a newline must come within so many bytes
  // elements answered in one request; bounds memory per frame byte
  std::size_t elements_max = 16'384;
  std::size_t xml_depth_max = 16;  // protocol documents are 3 deep
  // per element; keeps the search for repeated ones short
  std::size_t xml_attributes_max = 16;
  // of a value; replies repeat them, so this bounds how replies grow
  std::size_t xml_attribute_bytes_max = 256;
  std::size_t read_buffer_bytes_min = 4096;  // per connection at rest: 10,000 idle ones cost 40 MB
  std::size_t read_buffer_bytes_max = 65'536;  // grown to by a busy pipeline; a frame may need more
  bool keys = false;                           // --auth: accounts have keys
  bool length_before_reply = false;            // --reply-framing length
  bool close_after_reply = false;              // --close-after-reply
};

struct CoreLimits {
  std::size_t batch_commands_max = 8'192;  // commands in one commit; a request is never split
  // executions told by one request batch before further queries are refused; bounds memory
  std::size_t reply_executions_max = 100'000;
  // rows the tables may lag behind before the core waits for them
  std::size_t unprojected_rows_max = 400'000;
  // least time between two projections: rows that change often are written once
  std::uint32_t projection_interval_ms = 200;
  std::uint64_t journal_batches_kept = 1'000;  // projected journal rows kept before pruning
  std::uint64_t journal_prune_step = 1'000;    // rows that go together, at least
  // executions told by outcomes and not in a reply yet (24 bytes each) before the core waits
  std::size_t executions_held_max = 1'000'000;
  // a request batch of so many commands or fewer goes before larger ones
  std::size_t small_commands_max = 64;
  bool keep_journal = false;        // --keep-journal: never prune
  std::uint32_t store_wait_s = 30;  // at start: how long a database may take to appear
  // pause between attempts to reach a store that is away
  std::uint32_t store_retry_ms = 100;
};

struct HttpLimits {
  // trading clients need the descriptors; half for requests under way, half for WebSockets
  std::size_t connections_max = 512;
  // of one address; 0: three quarters of connections_max
  std::size_t connections_per_address = 0;
  // bodies being read and responses not taken yet, of all; half of it of one address
  std::size_t buffered_bytes_max = 128u << 20;
  std::uint32_t idle_ms = 30'000;  // time for a request, and between two
  std::size_t header_bytes_max = 8'192;
  std::size_t body_bytes_max = 1'024;      // of requests that want no body
  std::size_t book_levels_max = 1'000;     // a side, of a book or a snapshot
  std::size_t trades_kept_max = 500;       // newest trades of each symbol, in memory
  std::size_t trades_loaded_max = 10'000;  // newest trades of the exchange, read at start
  std::size_t account_orders_max = 1'000;  // open orders told of one account
  // projected rows on their way to the HTTP thread before the projector waits for it
  std::size_t unread_rows_max = 1'000'000;
  // orders waiting to be read from the tables; more are refused
  std::size_t order_reads_max = 64;
  std::size_t order_executions_max = 1'000;  // newest executions told of one order
  // time for the store to answer before it counts as away
  std::uint32_t store_answer_ms = 2'000;
  // time for one batch before the journal counts as stuck
  std::uint32_t journal_stall_ms = 5'000;
  std::size_t websocket_message_bytes_max = 4'096;
  // a subscriber that answers no ping for so long is ended
  std::uint32_t websocket_idle_ms = 60'000;
  std::size_t websocket_subscriptions_max = 256;
  // levels and trades in an update; where there are more, a snapshot goes instead
  std::size_t update_entries_max = 2'000;
  // unsent bytes of one reader before it is cut off
  std::size_t websocket_backlog_bytes_max = 1u << 20;
};

enum class Policy { thread, pool, loop };

struct AuthLimits {
  bool required = false;  // --auth
  // that hash keys, at low priority: each takes a CPU when it can and scrypt_log2_n's memory
  unsigned threads = 1;
  // of these threads: a third of the share that others get of a busy CPU
  int nice = 5;
  // accounts that one connection stays logged in to; the oldest goes first
  std::size_t session_logins_max = 16;
  // request batches and questions of one address that wait for a hash; more are refused
  std::size_t waiting_per_peer_max = 1'024;
  // with r = 8 16 MiB and some 50 ms a hash; stored with each, so it may be raised
  std::uint8_t scrypt_log2_n = 14;
};

struct TlsFiles {
  std::string certificate, key;  // PEM; both or neither
  bool enabled() const { return !certificate.empty(); }
};

struct TransportLimits {
  // open connections; for one more the one idle longest is ended, or it is told so and closed
  std::size_t connections_max = 16'384;
  // of one address (IPv6: of one /64); 0: three quarters of connections_max
  std::size_t connections_per_address = 0;
  // unfinished requests, large request batches and untaken replies, of all; 0: a quarter of the
  // memory, 1 GiB at most
  std::size_t buffered_bytes_max = 0;
  // without a complete request, then the connection is ended; 0: never
  std::uint64_t idle_ms = 600'000;
  // idle so long a connection may be ended for a newcomer although no peer has more than his
  std::uint32_t room_idle_ms = 1'000;
  // ended to make room and not closed yet; more newcomers are refused meanwhile
  std::size_t ending_max = 64;
  // between two looks at deadlines; idle times are exact to this, but where thousands end at once
  std::uint32_t sweep_ms = 250;
  std::uint32_t drain_ms = 1'500;   // at stop: time for clients to take their replies
  std::uint32_t stall_ms = 60'000;  // time to finish sending a request, or to take a reply
  // after a refusal: time to discard what the client still sends
  std::uint32_t linger_ms = 1'000;
  std::uint32_t accept_retry_ms = 10;  // pause in accepting when descriptors run out
  int listen_backlog = 4'096;          // capped by net.core.somaxconn
};

struct Options {
  static constexpr std::uint32_t http_off = 65'536;  // no HTTP
  std::uint16_t port = 12345;                        // 0 picks a free one
  std::string bind = "127.0.0.1";
  Policy policy = Policy::loop;
  unsigned threads = 0;  // 0: as many as CPUs this process may use
  std::string store = "sqlite:exchange.db";
  std::uint32_t http_port = 8080;  // 0 picks a free one
  std::string log_level = "info";
  ProtocolLimits protocol;
  CoreLimits core;
  TransportLimits transport;
  HttpLimits http;
  AuthLimits auth;
  TlsFiles tls;
};

const char* policy_name(Policy policy);

// Three quarters, so that nobody can take all.
inline std::size_t per_peer(std::size_t wanted, std::size_t all) {
  return wanted != 0 ? wanted : all - all / 4;
}

// The options of this command line and environment. On --help or an error prints and exits (0 or
// 2).
Options parse_options(int argc, char** argv);

}  // namespace exchange
