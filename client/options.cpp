#include "client/options.hpp"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <stdexcept>

namespace exchange::loadgen {
namespace {

const std::map<std::string, WorkloadKind> workload_kinds{
    {"create", WorkloadKind::create}, {"transactions", WorkloadKind::transactions}, {"mix", WorkloadKind::mix}};
const std::map<std::string, ConnectionUse> connection_uses{
    {"persistent", ConnectionUse::persistent}, {"per-request", ConnectionUse::per_request}};

std::string check_cpus(const std::string& text) {
  try {
    parse_cpu_list(text);
    return {};
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

std::string check_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || colon == 0 || std::from_chars(text.data() + colon + 1, end, port).ptr != end ||
      port == 0 || port > 65535)
    return "'" + text + "' is not HOST:PORT";
  return {};
}

std::string check_digits(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.size() <= 32 ? "" : "must be 1 to 32 digits";
}

void add_load_options(CLI::App& app, Options& options) {
  app.add_option("-c,--clients", options.load.clients, "concurrent clients, one request in flight each")
      ->check(CLI::Range(1u, clients_max));
  auto* requests = app.add_option("-n,--requests", options.load.requests, "requests to send in total")
                       ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1'000'000'000'000)));
  app.add_option("-d,--duration", options.load.duration_s, "seconds to run, in place of --requests")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(requests);
  app.add_option_function<std::string>("--workload", [&](const std::string& name) { options.workload.kind = workload_kinds.at(name); },
                 "create: new accounts, half of them with shares; transactions: one order per request, about half match; "
                 "mix: 70 % orders, 20 % queries, 10 % cancels")
      ->check(CLI::IsMember({"create", "transactions", "mix"}))
      ->default_str("transactions");
  app.add_option_function<std::string>("--connection", [&](const std::string& name) { options.load.connection = connection_uses.at(name); },
                 "persistent, or per-request: a new connection for each request, reset after its reply so that ports last")
      ->check(CLI::IsMember({"persistent", "per-request"}))
      ->default_str("persistent");
  app.add_option("--symbols", options.workload.symbols, "symbols traded")->check(CLI::Range(1u, symbols_max));
  app.add_option("--seed", options.workload.seed, "the same seed gives the same requests");
  app.add_option("--account-prefix", options.workload.account_prefix,
                 "digits that start every account id, new for each run against one store (default: from the clock)")
      ->check(CLI::Validator(check_digits, ""))
      ->type_name("DIGITS");
  app.add_option("--timeout", options.load.timeout_s, "seconds until a request counts as lost; looked at once a second")
      ->check(CLI::Range(0.1, 86'400.0));
  app.add_option("--client-cpus", "CPUs for this process, as 0,2-3 (default: any)")
      ->check(CLI::Validator(check_cpus, ""))
      ->type_name("LIST")
      ->each([&](const std::string& text) { options.client_cpus = parse_cpu_list(text); });
}

void add_server_options(CLI::App& app, Options& options) {
  auto* connect = app.add_option("--connect", options.connect_to, "drive this running server (default: start a private one)")
                      ->check(CLI::Validator(check_address, ""))
                      ->type_name("HOST:PORT");
  app.add_option("--server-pid", options.server_pid, "process id of that server, to report its CPU and memory (default: none)")
      ->check(CLI::Range(1, 1 << 22))
      ->needs(connect);
  LocalServerOptions& server = options.local_server;
  app.add_option("--policy", server.policy, "thread policy of the private server")
      ->check(CLI::IsMember({"thread", "pool", "loop"}))
      ->excludes(connect);
  app.add_option("--server-threads", server.threads, "threads of pool and loop; 0: as many as CPUs")
      ->check(CLI::Range(0, 4096))
      ->excludes(connect);
  app.add_option("--store", server.store,
                 "store of the private server: sqlite:PATH, postgresql://USER@HOST/DATABASE, memory: "
                 "(default: SQLite in a temporary folder)")
      ->excludes(connect);
  app.add_option("--server-cpus", "CPUs for the private server, as 0,2-3 (default: any)")
      ->check(CLI::Validator(check_cpus, ""))
      ->type_name("LIST")
      ->excludes(connect)
      ->each([&](const std::string& text) { options.local_server.cpus = parse_cpu_list(text); });
}

}  // namespace

const char* name_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::create: return "create";
    case WorkloadKind::transactions: return "transactions";
    case WorkloadKind::mix: return "mix";
  }
  return "";
}

const char* name_of(ConnectionUse use) { return use == ConnectionUse::persistent ? "persistent" : "per-request"; }

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&] {
    int value = -1;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value >= CPU_SETSIZE)
      throw std::invalid_argument("'" + text + "' is not a list of CPUs such as 0,2-3");
    at = next;
    return value;
  };
  while (true) {
    const int first = number();
    int last = first;
    if (at != end && *at == '-') {
      ++at;
      last = number();
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end && !cpus.empty()) return cpus;
    if (at == end || *at != ',') throw std::invalid_argument("'" + text + "' is not a list of CPUs such as 0,2-3");
    ++at;
  }
}

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  CLI::App app(
      "Drives an exchange with many clients at once, checks every reply, and reports throughput, latency and CPU.\n"
      "Starts a private server beside it, unless --connect names one.\n"
      "Exit code: 0 all well, 1 wrong answers or errors, 2 usage, 3 server unreachable or not started, 130 interrupted.",
      "loadgen");
  app.option_defaults()->always_capture_default();
  add_load_options(app, options);
  add_server_options(app, options);

  std::string check = "on";
  app.add_option("--reply-check", check, "off: whatever ends with </results> will do, to measure a bare echo server")
      ->check(CLI::IsMember({"on", "off"}));
  bool progress = false;
  const auto* progress_flag = app.add_flag("--progress,!--no-progress", progress,
               "report on stderr while running: each second on a terminal (the default there), else each 5 s");
  app.add_option("--json", options.json_file, "file for the same figures as JSON (default: none)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  options.load.check_replies = check == "on";
  if (progress_flag->count() > 0) options.progress = progress;
  return parsed;
}

}  // namespace exchange::loadgen
