#include "client/loadgen/options.hpp"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/key_file.hpp"
#include "base/version.hpp"
#include "client/connection/option_checks.hpp"

namespace exchange::loadgen {
namespace {

// Calls part(text) for each part of a list with commas.
template <class Part>
void for_each_part(const std::string& text, Part part) {
  std::istringstream parts(text + ",");
  for (std::string one; std::getline(parts, one, ',');) part(one);
}

// Parses "0,2-3" as {0, 2, 3}, each once. Throws std::invalid_argument, as the other parsers do.
std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  for_each_part(text, [&](const std::string& part) {
    int first = -1, last = -1;
    const char* const end = part.data() + part.size();
    const char* at = std::from_chars(part.data(), end, first).ptr;
    if (at != end && *at == '-')
      at = std::from_chars(at + 1, end, last).ptr;
    else
      last = first;
    if (at != end || first < 0 || last < first || last >= CPU_SETSIZE)
      throw std::invalid_argument("'" + text + "' is not a list of CPUs such as 0,2-3");
    for (int cpu = first; cpu <= last; ++cpu)
      if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) cpus.push_back(cpu);
  });
  return cpus;
}

// Parses "1000" as one stage without a length, "30s:1000,1m:5000" as two; times in ms, s, m or h.
std::vector<Stage> parse_stages(const std::string& text) {
  const bool is_constant = text.find_first_of(":,") == std::string::npos;
  std::vector<Stage> stages;
  double total_s = 0;
  for_each_part(text, [&](const std::string& part) {
    const std::size_t number = part.find(':') + 1;  // 0 without a colon
    const char* const end = part.data() + part.size();
    double rate = -1;
    if ((number == 0) != is_constant ||
        std::from_chars(part.data() + number, end, rate, std::chars_format::fixed).ptr != end ||
        !(rate >= (is_constant ? 0.001 : 0) && rate <= 1e8))
      throw std::invalid_argument("'" + part + "' is not a rate such as 1000, or 30s:1000");
    stages.push_back({is_constant ? 0 : client::parse_duration(part.substr(0, number - 1)), rate});
    total_s += stages.back().seconds;
  });
  if (total_s > client::duration_max_s)
    throw std::invalid_argument("'" + text + "' lasts too long");
  return stages;
}

// Parses the name of a workload, or weights such as "order=70,ioc=5,query=20,cancel=5".
std::pair<WorkloadKind, Mix> parse_workload(const std::string& text) {
  for (std::size_t i = 0; i < enumerators<WorkloadKind>; ++i)
    if (text == to_string(WorkloadKind(i))) return {WorkloadKind(i), mix_of(WorkloadKind(i))};
  Mix mix;
  for_each_part(text, [&](const std::string& part) {
    const std::size_t sign = part.find('=');
    unsigned Mix::*weight = nullptr;
    for_each_member<Mix>([&](auto named) {
      if (part.substr(0, sign) == named.name) weight = named.pointer;
    });
    unsigned value = 0;
    const char* const end = part.data() + part.size();
    if (weight == nullptr || sign == std::string::npos ||
        std::from_chars(part.data() + sign + 1, end, value).ptr != end || sign + 1 == part.size() ||
        value > 1'000'000)
      throw std::invalid_argument(
          "'" + part +
          "' is not a workload (create, transactions, mix, reads), nor a weight such as order=70 "
          "(create, order, query, cancel, cancel_all, replace; orders with terms: ioc, fok, post, "
          "market, stp)");
    mix.*weight = value;
  });
  if (mix.all() == 0) throw std::invalid_argument("'" + text + "': all weights are 0");
  if (mix.orders() == 0 && mix.query + mix.cancel > 0)
    throw std::invalid_argument("'" + text + "': queries and cancels need orders to name");
  return {WorkloadKind::mix, mix};
}

std::string check_digits(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.size() <= 24 ? "" : "must be 1 to 24 digits";
}

// Adds an option whose text `parse` reads. `parse` throws std::invalid_argument.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Value& value, Parse parse,
                        const std::string& type, const std::string& help) {
  const auto set = [&value, parse](const std::string& text) { value = parse(text); };
  return app.add_option_function<std::string>(name, set, help)
      ->check(client::accepted_by(parse))
      ->type_name(type);
}

// Adds an option that is a number within these bounds.
template <class Number, class Bound>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, Bound least,
                        Bound most, const std::string& help) {
  if constexpr (std::is_floating_point_v<Bound>)
    return app.add_option(name, value, help)->check(client::is_from(least, most));
  else
    return app.add_option(name, value, help)->check(CLI::Range(least, most));
}

// Adds an option that is a value of an enumeration, given by name.
template <class Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& value,
                        const std::string& help) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < enumerators<Enum>; ++i) names.push_back(name_with('-', Enum(i)));
  const auto set = [&value, names](const std::string& text) {
    value = Enum(std::find(names.begin(), names.end(), text) - names.begin());
  };
  return app.add_option_function<std::string>(name, set, help)
      ->check(CLI::IsMember(names))
      ->default_str(name_with('-', value));
}

void add_load_options(CLI::App& app, Options& options) {
  LoadOptions& load = options.load;
  add_number(app, "-c,--clients", load.clients, 1u, clients_max, "concurrent clients");
  auto* requests = add_number(app, "-n,--requests", load.requests, std::uint64_t(1),
                              std::uint64_t(1'000'000'000'000),
                              "requests to send in total, dealt out evenly to the clients");
  add_parsed(app, "-d,--duration", load.duration_s, client::parse_duration, "TIME",
             "how long to run in place of --requests: 10, 500ms, 2m")
      ->excludes(requests);
  auto* rate = add_parsed(
      app, "--rate", load.stages, parse_stages, "PER_SECOND|LIST",
      "open loop: plan this number of requests per second, whatever the server does, and count "
      "latency from the planned time; in stages, as 30s:1000,60s:5000: for 30 s 1000, then …");
  add_choice(app, "--arrivals", load.arrivals,
             "planned times: uniform, or poisson as of many independent users");
  add_parsed(
      app, "--find-capacity", options.capacity_while, parse_expectations, "CONDITIONS",
      "search the highest rate at which this holds, as 'p99<10ms'; each try takes --duration "
      "(default 3 s)")
      ->excludes(rate)
      ->excludes(requests);
  add_number(app, "--pipeline", load.pipeline, 1u, pipeline_max,
             "requests that a client keeps in flight at most");
  add_parsed(app, "--warmup", load.warmup_s, client::parse_duration, "TIME",
             "run so long before measuring: 2s, 500ms (default: none)");
  add_number(app, "--ramp-up", load.ramp_up_per_s, 0.001, 1e9,
             "clients that begin per second (default: all at once)")
      ->type_name("PER_SECOND");
  add_choice(
      app, "--connection", load.connection,
      "persistent, or per-request: a new connection for each request, reset after its reply so "
      "that ports last");
  add_choice(app, "--protocol", load.protocol,
             "of the orders: xml, or JSON over rest (POST /api/orders) or on a websocket; JSON is "
             "for orders alone, one in each request");
  add_number(app, "--idle", load.idle_connections, 0u, clients_max,
             "connections opened beside the clients' that never ask anything");
  add_number(app, "--timeout", load.timeout_s, 0.1, 86'400.0,
             "seconds until a request counts as lost");
  add_number(app, "--workers", load.workers, 1u, workers_max,
             "threads that play the clients; their histograms are merged");
  add_parsed(app, "--client-cpus", options.client_cpus, parse_cpu_list, "LIST",
             "CPUs for this process, as 0,2-3 (default: any)");
}

void add_workload_options(CLI::App& app, WorkloadOptions& workload) {
  const auto set = [&workload](const std::string& text) {
    std::tie(workload.kind, workload.mix) = parse_workload(text);
  };
  app.add_option_function<std::string>(
         "--workload", set,
         "create: new accounts, half of them with shares; transactions: orders; mix: 70 % orders, "
         "20 % queries, 10 % cancels; reads: three queries to one order; or weights of your own, "
         "as order=70,query=20,cancel=10 or create=1,order=9; "
         "orders with terms are ioc, fok, post, market and stp; "
         "replace is an order and the replace of an older one, "
         "cancel_all a cancel of all orders and a new one")
      ->check(client::accepted_by(parse_workload))
      ->type_name("NAME|WEIGHTS")
      ->default_str("transactions");
  add_number(app, "--symbols", workload.symbols, 1u, symbols_max, "symbols traded");
  add_number(app, "--accounts", workload.accounts, 0u, accounts_max,
             "accounts, dealt out to the clients; 0: one for each client");
  add_number(app, "--cash", workload.cash, std::int64_t(1), std::int64_t(9'000'000'000'000'000'000),
             "cash of each account at the start");
  add_number(app, "--match-ratio", workload.match_ratio, 0.0, 1.0,
             "share of the shares ordered that find a counterpart, about");
  add_number(app, "--orders-per-request", workload.orders_per_request, 1u, orders_per_request_max,
             "orders (or queries and cancels) in one request");
  app.add_option("--seed", workload.seed, "the same seed gives the same requests");
  app.add_option("--account-prefix", workload.account_prefix,
                 "digits that start every account id, new for each run against one store; symbols "
                 "have them too (default: three that the server has no account of)")
      ->check(CLI::Validator(check_digits, ""))
      ->type_name("DIGITS");
}

void add_server_options(CLI::App& app, Options& options) {
  app.add_flag("--auth", options.workload.keys,
               "accounts have keys: for a server with --auth, and a private one gets it");
  app.add_option("--operator-key-file", options.operator_key_file,
                 "file of the operator's key of that server, with which accounts are created "
                 "(default: none)")
      ->envname("EXCHANGE_OPERATOR_KEY_FILE")
      ->type_name("FILE");
  auto* connect = app.add_option("--connect", options.connect_to,
                                 "drive this running server, or the active one of several "
                                 "(default: start a private one)")
                      ->check(client::are_addresses())
                      ->type_name("HOST:PORT[,HOST:PORT]|unix:PATH");
  app.add_option("--http", options.http,
                 "HTTP port of that server, for --protocol rest and websocket (default: none)")
      ->needs(connect)
      ->type_name("HOST:PORT");
  add_number(app, "--server-pid", options.server_pid, 1, 1 << 22,
             "process id of that server, to report its CPU and memory (default: none)")
      ->needs(connect);
  add_number(
      app, "--database-pid", options.database_pid, 1, 1 << 22,
      "process id of the database's first process, to report the CPU of all of it (default: none)");
  LocalServerOptions& server = options.local_server;
  add_choice(app, "--policy", server.policy, "thread policy of the private server")
      ->excludes(connect);
  add_number(app, "--server-threads", server.threads, 0, 4096,
             "threads of pool and loop; 0: as many as CPUs")
      ->excludes(connect);
  app.add_option("--store", server.store,
                 "store of the private server, as its own --store "
                 "(default: SQLite in a temporary folder)")
      ->excludes(connect);
  add_parsed(
      app, "--transport", server.is_local, [](const std::string& text) { return text == "unix"; },
      "TEXT", "how clients reach the private server: tcp, or unix: over a UNIX-domain socket")
      ->check(CLI::IsMember({"tcp", "unix"}))
      ->default_str("tcp")
      ->excludes(connect);
  add_parsed(app, "--server-cpus", server.cpus, parse_cpu_list, "LIST",
             "CPUs for the private server, as 0,2-3 (default: any)")
      ->excludes(connect);
}

void add_output_options(CLI::App& app, Options& options) {
  add_choice(app, "--reply-check", options.load.checking,
             "lenient, for other people's servers: attributes that a reply does not repeat are "
             "reported and fail no run, and balances are audited to a cent; off: whatever ends "
             "with </results> will do, to measure a bare echo server");
  app.add_flag(
      "--retry", options.load.retry,
      "give each order a reference, and send orders and queries again whose connection ended");
  app.add_flag(
      "--audit", options.load.audit,
      "afterwards, ask for every order and prove that cash and shares are conserved and that the "
      "trades are those of the market rules");
  add_parsed(app, "--trading-days", options.load.trading_days_s, client::parse_duration, "TIME",
             "play the operator too: each TIME, halt a symbol, begin an auction of it or open it "
             "again (default: all stay open)");
  add_parsed(app, "--expect", options.expectations, parse_expectations, "CONDITIONS",
             "conditions of success, as 'p99<20ms,errors<0.1%,rate>5000'");
  app.add_option("--json", options.json_file,
                 "file for all figures as JSON; - is stdout, and the text goes to stderr "
                 "(default: none)");
  app.add_option(
      "--history", options.history_file,
      "file for every request and reply with their times, as JSON lines; until the end in memory, "
      "some 400 bytes a request (default: none)");
}

// Whether both names mean the same file. Two reports may go to the same device.
bool is_same_file(const std::string& one, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto resolved = [&](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name), ignored);
  };
  return !one.empty() && !other.empty() && !fs::is_character_file(one, ignored) &&
         resolved(one) == resolved(other);
}

// Checks and completes what depends on several options. Throws CLI::ValidationError.
void put_together(Options& options, const CLI::App& app) {
  LoadOptions& load = options.load;
  WorkloadOptions& workload = options.workload;
  workload.references = load.retry;
  const auto error = [](const std::string& text) { throw CLI::ValidationError(text); };
  load.transcript = !options.history_file.empty();
  if (!load.stages.empty() && load.stages.front().seconds == 0) {
    Stage& constant = load.stages.front();
    constant.seconds = load.duration_s.value_or(double(load.requests) / constant.requests_per_s);
    if (constant.seconds > client::duration_max_s)
      error("--rate: the requests would take longer than 11 days");
  } else if (!load.stages.empty() && app.count("--requests") + app.count("--duration") > 0) {
    error("--rate: a list of stages has its own length, without --requests or --duration");
  }
  if (load.workers > load.clients) error("--workers: more than clients");
  if (load.connection == ConnectionUse::per_request && load.pipeline > 1)
    error("--pipeline: needs persistent connections");
  if (std::uint64_t(load.pipeline) * workload.orders_per_request * load.clients > 10'000'000)
    error(
        "--pipeline: with this number of clients and orders per request, too many orders would be "
        "in flight at once");
  // The server remembers at most this number of references of an account.
  constexpr std::uint64_t references_max = 1'024;
  const unsigned accounts = workload.accounts == 0 ? load.clients : workload.accounts;
  const std::uint64_t clients_of_account = (load.clients + accounts - 1) / accounts;
  if (load.retry &&
      load.pipeline * clients_of_account * workload.orders_per_request > references_max)
    error(
        "--retry: more than 1024 orders of one account could be in flight, and be executed twice");
  if (load.protocol != Protocol::xml) {
    if (workload.mix.all() != workload.mix.order || workload.orders_per_request > 1)
      error("--protocol: requests in JSON contain one order; see --workload, --orders-per-request");
    if (workload.keys || load.audit || load.retry || load.transcript || load.trading_days_s)
      error("--protocol: JSON is not for --auth, --audit, --retry, --history or --trading-days");
    if (load.connection == ConnectionUse::per_request || load.idle_connections > 0)
      error("--protocol: JSON is not for --connection per-request or --idle");
    if (options.connect_to && !options.http) error("--protocol: needs --http");
  }
  if (load.arrivals == Arrivals::poisson && !load.open_loop() && options.capacity_while.empty())
    error("--arrivals: needs --rate");
  if (load.audit && !load.check_replies()) error("--audit: not with --reply-check off");
  if (load.audit && options.workload.keys)
    error(
        "--audit: not with --auth: it asks on a connection for each question, and each would cost "
        "a hash");
  if (load.audit && workload.mix.market > 0 && workload.cash < WorkloadOptions().cash)
    error("--audit: not with market orders and so little --cash: it relies on cash for every buy");
  if (workload.keys && !options.connect_to) {
    workload.operator_key = "operator of loadgen";  // for a private server, on loopback
    options.local_server.operator_key = workload.operator_key;
  } else if (workload.keys && !options.operator_key_file.empty()) {
    try {
      workload.operator_key = read_key_file(options.operator_key_file).key;
    } catch (const std::invalid_argument& problem) {
      error(std::string("--operator-key-file: ") + problem.what());
    }
  }
  if (is_same_file(options.json_file, options.history_file))
    error("--history: the same file as --json");
  if (load.trading_days_s && !load.check_replies())
    error("--trading-days: not with --reply-check off");
  if (load.trading_days_s && workload.mix.all() == workload.mix.create)
    error("--trading-days: needs orders in the mix");
  if (load.audit && !options.capacity_while.empty()) error("--audit: not with --find-capacity");
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.command.assign(argv, argv + argc);
  CLI::App app(
      "Drives an exchange with many clients at once, checks every reply, and reports throughput, "
      "latency and CPU.\n"
      "Starts a private server beside it, unless --connect names one.\n"
      "loadgen compare A.json B.json reports whether B is slower than A.\n"
      "Exit code: 0 all well, 1 wrong answers, errors or an expectation missed, 2 usage, "
      "3 server unreachable or not started, 130 interrupted.",
      "loadgen");
  app.footer(
      "To load a server that you start yourself, on CPUs of its own and with its CPU time:\n"
      "  taskset -c 0 build/bin/server --port 4000 --http-port off --store memory: &\n"
      "  build/bin/loadgen --connect 127.0.0.1:4000 --server-pid $! --client-cpus 1");
  app.set_version_flag("--version", std::string("loadgen ") + version());
  app.option_defaults()->always_capture_default();
  add_load_options(app, options);
  add_workload_options(app, options.workload);
  add_server_options(app, options);
  add_output_options(app, options);
  try {
    app.parse(argc, argv);
    put_together(options, app);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  return parsed;
}

Mix mix_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::create: return {.create = 100};
    case WorkloadKind::transactions: return {.order = 100};
    case WorkloadKind::mix: return {.order = 70, .query = 20, .cancel = 10};
    case WorkloadKind::reads: return {.order = 25, .query = 75};
  }
  return {};
}

}  // namespace exchange::loadgen
