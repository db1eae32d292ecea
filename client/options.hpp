#pragma once
// Every setting and limit of the load generator, with its default, its unit and why. A leaf.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace exchange::loadgen {

enum class WorkloadKind { create, transactions, mix };
enum class ConnectionUse { persistent, per_request };

const char* name_of(WorkloadKind kind);
const char* name_of(ConnectionUse use);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::transactions;
  unsigned symbols = 10;        // SYM1 to SYMn
  std::uint64_t seed = 1;       // the same seed gives the same requests, but for the account prefix
  std::string account_prefix;   // digits that start every account id; empty: from the clock
};

struct LoadOptions {
  unsigned clients = 20;             // each keeps one request in flight
  std::uint64_t requests = 20'000;   // in total
  std::optional<double> duration_s;  // instead of `requests`
  ConnectionUse connection = ConnectionUse::persistent;
  double timeout_s = 30;             // of one request; also how long no answer at all is borne
  bool check_replies = true;
};

// A server of our own.
struct LocalServerOptions {
  std::string policy = "loop";
  unsigned threads = 0;  // 0: as many as CPUs it may use
  std::string store;     // empty: SQLite in a temporary folder
  std::vector<int> cpus; // empty: any
};

struct Options {
  WorkloadOptions workload;
  LoadOptions load;
  LocalServerOptions local_server;
  std::optional<std::string> connect_to;  // HOST:PORT of a running server, in place of a local one
  std::optional<int> server_pid;          // of that server, for its CPU and memory
  std::vector<int> client_cpus;           // empty: any
  std::optional<bool> progress;           // default: where stderr is a terminal
  std::string json_file;                  // empty: none
};

inline constexpr unsigned clients_max = 100'000;             // account ids leave five digits for the client
inline constexpr unsigned symbols_max = 1'000;               // every account gets shares of each
inline constexpr unsigned setup_leaves_max = 4'000;          // creations in one set-up request: about 250 kB, a quarter of the server's limit
inline constexpr std::size_t reply_bytes_max = 64u << 20;    // a longer reply is a wrong answer
inline constexpr std::size_t read_bytes_max = 64u << 10;     // taken from a socket at once
inline constexpr unsigned connecting_max = 256;              // connections opened at once at the start: kind to listen backlogs
inline constexpr unsigned reconnect_pause_ms = 100;          // after a refused connection
inline constexpr unsigned server_start_s = 60;               // a database may take 30 s to appear
inline constexpr unsigned server_stop_s = 10;                // then it is killed

enum ExitCode { exit_ok = 0, exit_wrong = 1, exit_usage = 2, exit_unreachable = 3, exit_interrupted = 130 };

// The options of this command line; or, after --help or a mistake, what was printed decides: an exit code.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
ParsedOptions parse_options(int argc, const char* const* argv);

// "0,2-3" as {0, 2, 3}; throws std::invalid_argument.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace exchange::loadgen
