#pragma once
// Every setting and limit of the load generator, with its default, its unit and its reason.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.hpp"
#include "client/loadgen/audit/history.hpp"
#include "client/loadgen/expectation.hpp"
#include "net/limits.hpp"

namespace exchange::loadgen {

using namespace run_audit;  // the records of a run, which the audit reads

BOOST_DEFINE_ENUM_CLASS(WorkloadKind, create, transactions, mix, reads)
BOOST_DEFINE_ENUM_CLASS(ConnectionUse, persistent, per_request)
BOOST_DEFINE_ENUM_CLASS(Arrivals, uniform, poisson)
// rest, websocket: orders in JSON, on the HTTP port
BOOST_DEFINE_ENUM_CLASS(Protocol, xml, rest, websocket)
// lenient: for other people's servers. off: only the end of a reply is found.
BOOST_DEFINE_ENUM_CLASS(Checking, strict, lenient, off)

// Returns the name as options and reports write it: per-request, wrong answer.
template <class Enum>
std::string name_with(char separator, Enum value) {
  std::string name(to_string(value));
  std::replace(name.begin(), name.end(), '_', separator);
  return name;
}

// Weights of the request kinds; their sum is positive.
struct Mix {
  unsigned create = 0, order = 0, query = 0, cancel = 0;
  unsigned ioc = 0, fok = 0, post = 0, market = 0, stp = 0;  // orders with terms
  unsigned replace = 0, cancel_all = 0;                      // each beside an order
  unsigned orders() const { return order + ioc + fok + post + market + stp + replace + cancel_all; }
  unsigned all() const { return create + orders() + query + cancel; }
  friend bool operator==(const Mix&, const Mix&) = default;
};
BOOST_DESCRIBE_STRUCT(Mix, (),
                      (create, order, query, cancel, ioc, fok, post, market, stp, replace,
                       cancel_all))
Mix mix_of(WorkloadKind kind);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::transactions;
  Mix mix = {.order = 100};
  unsigned symbols = 10;            // SYM1 to SYMn
  unsigned accounts = 0;            // dealt out to the clients; 0: one for each client
  double match_ratio = 0.5;         // the share of the ordered shares that trade, approximately
  unsigned orders_per_request = 1;  // or queries and cancels, by the mix
  // the same seed gives the same requests, except for the account prefix
  std::uint64_t seed = 1;
  std::string account_prefix;  // digits that start every account id; empty: unused ones
  std::string symbol_prefix = "SYM";
  std::int64_t cash = 1'000'000'000'000;  // of each account at the start, whole
  bool keys = false;                      // accounts have a key, and each request contains it
  std::string operator_key;               // in each request that creates; empty: no key
  bool references = false;                // orders have a reference
};
// As reports write it.
BOOST_DESCRIBE_STRUCT(WorkloadOptions, (),
                      (kind, mix, symbols, accounts, match_ratio, orders_per_request, seed,
                       account_prefix, symbol_prefix))

// A part of an open-loop run: its length and its planned rate.
struct Stage {
  double seconds = 0;
  double requests_per_s = 0;
  friend bool operator==(const Stage&, const Stage&) = default;
};
BOOST_DESCRIBE_STRUCT(Stage, (), (seconds, requests_per_s))

struct LoadOptions {
  unsigned clients = 20;
  unsigned idle_connections = 0;     // opened in addition to the clients', and left unused
  unsigned workers = 1;              // threads that play the clients
  unsigned pipeline = 1;             // the most requests that a client keeps in flight
  std::uint64_t requests = 20'000;   // in total, dealt out evenly to the clients
  std::optional<double> duration_s;  // instead of `requests`
  std::vector<Stage> stages;         // not empty: open loop, and instead of both
  Arrivals arrivals = Arrivals::uniform;
  double warmup_s = 0;                  // before the measured part
  std::optional<double> ramp_up_per_s;  // clients that begin per second; unset: all at once
  ConnectionUse connection = ConnectionUse::persistent;
  Protocol protocol = Protocol::xml;
  double timeout_s = 30;  // of one request; also the longest time without any answer
  Checking checking = Checking::strict;
  bool audit = false;       // keep the data that audit.hpp needs
  bool transcript = false;  // keep every request and reply (transcript.hpp)
  // The load generator also acts as the operator: one step per this time (TradingDays).
  std::optional<double> trading_days_s;
  // Orders have references. If a connection ends, its requests that contain only orders and queries
  // are sent again.
  bool retry = false;

  bool open_loop() const { return !stages.empty(); }
  bool check_replies() const { return checking != Checking::off; }
  bool lenient() const { return checking == Checking::lenient; }  // as ReplyCheck
};
// As reports write it.
BOOST_DESCRIBE_STRUCT(LoadOptions, (),
                      (clients, idle_connections, workers, pipeline, connection, protocol, requests,
                       stages, arrivals, duration_s, warmup_s, timeout_s, trading_days_s))

// A private server.
struct LocalServerOptions {
  Policy policy = Policy::loop;
  unsigned threads = 0;      // 0: one for each CPU that it may use
  std::string store;         // empty: SQLite in a temporary folder
  std::string operator_key;  // not empty: --auth
  bool is_local = false;     // clients connect to its UNIX-domain socket
  std::vector<int> cpus;     // empty: any
};

struct Options {
  std::vector<std::string> command;  // as given
  WorkloadOptions workload;
  LoadOptions load;
  LocalServerOptions local_server;
  // HOST:PORT or unix:PATH of a running server, in place of a private one; or several, separated by
  // commas, of which one is active
  std::optional<std::string> connect_to;
  std::optional<std::string> http;  // HOST:PORT of that server's HTTP port
  std::string operator_key_file;    // of that server; empty: none
  std::optional<int> server_pid;    // of that server, for its CPU and memory
  std::optional<int> database_pid;  // the database's first process, with its children
  std::vector<int> client_cpus;     // empty: any
  std::vector<Expectation> expectations;
  // not empty: search for the highest rate at which these hold
  std::vector<Expectation> capacity_while;
  std::string json_file, history_file;  // empty: no file; "-": stdout
};

inline constexpr std::string_view standard_output = "-";  // as the name of a file

inline constexpr unsigned clients_max = 100'000;
inline constexpr unsigned accounts_max = 1'000'000;
inline constexpr unsigned symbols_max = 1'000;             // every account gets shares of each
inline constexpr unsigned orders_per_request_max = 1'000;  // about 60 kB
inline constexpr unsigned pipeline_max = 10'000;
inline constexpr unsigned workers_max = 256;
// creations in one set-up request: about 250 kB, a quarter of the server's limit
inline constexpr unsigned setup_elements_max = 4'000;
inline constexpr std::size_t read_bytes_max = 64u << 10;  // taken from a socket at once
// connections opened at once at the start, so that listen backlogs do not overflow
inline constexpr unsigned connecting_max = 256;
// the pause after a refused connection; the shorter one if a standby may take over soon
inline constexpr unsigned reconnect_pause_ms = 100, reconnect_soon_ms = 20;
inline constexpr unsigned server_start_s = 60;  // a database may take 30 s to appear
inline constexpr unsigned server_stop_s = 60;   // then it is killed; a busy machine may need this
inline constexpr unsigned server_stop_notice_s = 5;  // then stderr names what it waits for

enum ExitCode {
  exit_ok = 0,
  exit_wrong = 1,
  exit_usage = 2,
  exit_unreachable = 3,
  exit_cannot_tell = 4,  // compare
  exit_interrupted = 130
};

// The parsed options; or, after --help or an error was printed, the exit code.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace exchange::loadgen
