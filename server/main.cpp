// The server: wiring and the life of the process. Start reading here; then engine/exchange.hpp,
// core/core.hpp, protocol/session.hpp.

#include <openssl/crypto.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>

#include "auth/authenticator.hpp"
#include "auth/scrypt.hpp"
#include "base/fail_point.hpp"
#include "base/key_file.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"
#include "core/core.hpp"
#include "core/spare_pages.hpp"
#include "core/standby.hpp"
#include "http/http_server.hpp"
#include "market_data/market_feed.hpp"
#include "market_data/market_view.hpp"
#include "memory_plan.hpp"
#include "net/listener.hpp"
#include "net/transport.hpp"
#include "options.hpp"
#include "store/store.hpp"

using namespace exchange;

namespace {

constexpr auto stop_time_max = std::chrono::milliseconds(4'800);
// At full load the engine needs five a second.
constexpr std::size_t spare_pages_kept = 4;

[[noreturn]] void die(const std::string& why) {
  spdlog::critical("{}", why);
  spdlog::default_logger()->flush();
  ::_exit(1);
}

// SIGXCPU and SIGPWR announce an end; SIGUSR2 leaves projection to a standby server.
constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGUSR2, SIGXCPU, SIGPWR};

bool is_stop(int signal) {
  return std::find(std::begin(stop_signals), std::end(stop_signals), signal) !=
         std::end(stop_signals);
}

// Of all signals that end a process by default, the server waits for those that ask it to stop,
// and for SIGHUP, and ignores those that can only be sent in error. What remains are errors of the
// program, SIGKILL, and SIGQUIT, which asks for a core dump.
sigset_t take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : stop_signals) sigaddset(&set, signal);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (const int signal : {SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGSTKFLT})
    std::signal(signal, SIG_IGN);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
  return set;
}

// By a timer: there may be no memory for a thread.
void end_if_stop_takes_too_long() {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view why =
        "server: could not stop in time (is the store unavailable?); what was acknowledged is in "
        "the journal\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(1);
  });
  itimerval timer{};
  timer.it_value = {.tv_sec = stop_time_max.count() / 1'000,
                    .tv_usec = stop_time_max.count() % 1'000 * 1'000};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool stop_requested() {
  sigset_t pending;
  sigpending(&pending);
  return std::any_of(std::begin(stop_signals), std::end(stop_signals),
                     [&](int signal) { return sigismember(&pending, signal) == 1; });
}

// Every connection needs a descriptor: takes as many as the process may have, and divides them.
// Throws std::invalid_argument if they are too few.
void fit_descriptor_limit(Options& options) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto all = std::size_t(limit.rlim_cur);
  std::size_t& for_http = options.http.connections_max;
  for_http = options.http_port ? std::min(for_http, all / 8) : 0;
  std::size_t& closing = options.net.limits.closing_max;
  closing = std::min(closing, std::max<std::size_t>(all / 16, 1));
  // Files, databases and the reserve; the event queue and the listener of each loop.
  constexpr std::size_t of_process = 40, of_loop = 4, clients_min = 8;
  const std::size_t loops = options.net.policy == Policy::loop ? options.net.threads : 0;
  const std::size_t own = of_process + of_loop * loops + for_http + closing;
  if (all < own + clients_min)
    throw std::invalid_argument("the limit of " + std::to_string(all) +
                                " file descriptors is too low, " +
                                std::to_string(own + clients_min) +
                                " are needed; raise it (ulimit -n, LimitNOFILE= of systemd)");
  if (all - own >= options.net.limits.connections_max) return;
  spdlog::warn("the limit of {} file descriptors allows {} connections, not {}", all, all - own,
               options.net.limits.connections_max);
  options.net.limits.connections_max = all - own;
}

void arm_fail_points_of_environment() {
  const char* text = std::getenv("EXCHANGE_FAIL_POINT");
  if (text == nullptr || *text == '\0') return;
  arm_fail_points(text);
  spdlog::critical(
      "FAIL POINTS ARE ARMED: {}. This server fails on purpose and is good for tests only", text);
}

// Returns false if another server is active, and this one is to be its standby.
bool open_store(Store& store, const Options& options) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(options.core.store_wait_s);
  while (true) {
    try {
      if (!options.standby) {
        store.open();
        return true;
      }
      if (store.try_open()) return true;
      store.attach();
      return false;
    } catch (const StoreUnavailable& error) {
      if (std::chrono::steady_clock::now() > deadline || stop_requested())
        throw std::runtime_error("cannot open the store: " + std::string(error.what()));
      spdlog::warn("the store is unavailable, trying again: {}", error.what());
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

// Runs a function at the end of its scope, however that comes.
class ScopeExit {
 public:
  explicit ScopeExit(std::function<void()> function) : function_(std::move(function)) {}
  ~ScopeExit() { function_(); }
  ScopeExit(const ScopeExit&) = delete;

 private:
  const std::function<void()> function_;
};

// On SIGHUP: a certificate that was renewed; with what cannot be used the server goes on as it was.
void reload(Certificate* certificate) try {
  if (certificate == nullptr) {
    spdlog::warn(
        "SIGHUP has no effect: it reads the files of --tls-cert again, and there are none");
    return;
  }
  certificate->reload();
  spdlog::info("the certificate was read again");
} catch (const std::exception& error) {
  spdlog::error("the certificate was not read again: {}", error.what());
}

KeyHash operator_key_hash(const AuthLimits& limits) {
  if (limits.operator_key_file.empty())
    throw std::invalid_argument(
        "--auth needs --operator-key-file FILE: without the operator's key in it no account, "
        "symbol or share is created. To make one: (umask 077; openssl rand -hex 24 > operator.key)");
  KeyFile file = read_key_file(limits.operator_key_file);
  if (!is_key(file.key))
    throw std::invalid_argument("--operator-key-file: a key has 8 to 128 bytes");
  if (file.others_can_read)
    spdlog::warn("the operator's key can be read by every user of this machine: chmod 600 {}",
                 limits.operator_key_file);
  const KeyHash hash = hash_key(file.key, limits.scrypt_log2_n);
  OPENSSL_cleanse(file.key.data(), file.key.size());
  return hash;
}

void add_keys(KeyRing& keys, const std::vector<std::pair<AccountId, KeyHash>>& of_accounts) {
  for (const auto& [account, key] : of_accounts) keys.add(account, key);
}

// For a server that listens only once it takes over. Throws if it never could; the port may be that
// of the active server on this machine.
void check_port(const NetOptions& options) try {
  boost::asio::io_context context;
  listen(context, options, options.port);
} catch (const std::system_error& error) {
  if (error.code() != std::errc::address_in_use) throw;
  spdlog::warn("{}; this server needs it when it takes over", error.what());
}

// Returns whether this server is the active one now; false: a signal stopped it.
bool follow_until_active(Standby& standby, KeyRing* keys, const sigset_t& signals,
                         Certificate* certificate) {
  constexpr timespec pause{0, 20'000'000}, long_pause{0, 200'000'000};
  for (bool available = true;;) {
    const int signal = sigtimedwait(&signals, nullptr, available ? &pause : &long_pause);
    if (signal == SIGHUP) reload(certificate);
    if (is_stop(signal)) {
      spdlog::info("stopping on signal {}", signal);
      return false;
    }
    try {
      const bool active = standby.follow();
      if (keys != nullptr) add_keys(*keys, standby.take_keys());
      if (!available) spdlog::warn("the store is available again");
      available = true;
      if (!active) continue;
      spdlog::warn("no other server is alive: this one takes over at batch {}",
                   standby.last_batch());
      return true;
    } catch (const StoreUnavailable& error) {
      if (available) spdlog::error("the store is unavailable, trying again: {}", error.what());
      available = false;
    }
  }
}

ServerInfo server_info(const Options& options) {
  return {.policy = policy_name(options.net.policy),
          .threads = options.net.policy == Policy::thread ? "per-client"
                                                          : std::to_string(options.net.threads),
          .store = options.store.substr(0, options.store.find(':')),
          .version = EXCHANGE_VERSION,
          .started_s = ::time(nullptr),
          .replicas_required = options.store_limits.replicas_required,
          .state = options.state};
}

int run(Options options) {
  // 1. The process: logs to stderr, signals for this thread only.
  spdlog::set_default_logger(spdlog::stderr_color_mt("server"));
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  const sigset_t signals = take_signals();
  ::umask(077);  // a store holds key hashes
  plan_memory(options, usable_memory());
  if (options.net.threads == 0) options.net.threads = usable_cpus();
  fit_descriptor_limit(options);
  arm_fail_points_of_environment();

  Metrics metrics;
  const auto certificate =
      options.tls.enabled() ? std::make_unique<Certificate>(options.tls, metrics) : nullptr;
  KeyRing keys;
  if (options.auth.required)
    keys.add(operator_id, operator_key_hash(options.auth));
  else if (!options.auth.operator_key_file.empty())
    spdlog::warn("--operator-key-file has no effect without --auth: every client may create");

  const std::unique_ptr<Store> store = make_store(options.store, options.store_limits);
  if (options.standby && !store->allows_standby())
    throw std::invalid_argument("--standby needs a PostgreSQL store; " + options.store +
                                " has one server at a time");
  SparePages spare_pages(spare_pages_kept, die);

  // 2. The HTTP port, which shows that the server lives while it waits for its store.
  MarketFeed feed(options.http.unread_rows_max);
  OnProjected on_projected;
  if (options.http_port)
    on_projected = [&feed](const Rows& rows, BatchNumber batch) { feed.push(rows, batch); };
  std::unique_ptr<Core> core;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<Transport> transport;
  if (options.auth.required)
    authenticator = std::make_unique<Authenticator>(options.auth, keys, metrics);
  if (options.http_port) {
    http = std::make_unique<HttpServer>(
        HttpOptions{options.http_bind, *options.http_port, options.http, options.protocol},
        server_info(options), feed, *store, metrics, authenticator.get(), certificate.get());
    spdlog::info("HTTP on port {}", http->port());
  }
  // However the start ends: no thread may use then what is gone.
  const ScopeExit stop([&] {
    if (authenticator) authenticator->stop();
    if (http) http->stop();
    if (transport) transport->stop();
    const bool served = core != nullptr;
    core.reset();  // all outlive it: it may be inside of one of their sinks
    if (served) store->end_lease();
    spdlog::info("stopped");
  });
  const std::string http_port = http ? " http-port=" + std::to_string(http->port()) : "";

  // 3. The store, and from it the exchange as it was promised to clients.
  const bool active = open_store(*store, options);
  if (options.store == "memory:")
    spdlog::warn("memory store: everything is lost when this process ends");
  if (!active) store->keep_journal_from(store->projected_batch());
  Recovered recovered = recover(*store, std::random_device()());
  recovered.exchange.take_pages_from(spare_pages);
  spdlog::info("{}: {} accounts, {} open orders, batch {} ({} replayed from the journal)",
               options.store == "memory:" ? "memory store" : store->describe(),
               recovered.exchange.accounts(), recovered.exchange.orders_in_memory(),
               recovered.last_batch, recovered.batches_replayed);
  MarketView view(options.http.trades_kept_max, options.http.trades_in_all_max,
                  std::random_device()());
  if (options.http_port) {
    std::vector<ExecutionRow> trades = store->newest_executions(options.http.trades_loaded_max);
    // An active server may have projected more since the tables were loaded: they come as changes.
    std::erase_if(trades, [&](const ExecutionRow& row) {
      return row.id > recovered.tables.totals.executions;
    });
    view.load(recovered.tables, recovered.last_batch - recovered.batches_replayed, trades);
  }
  view.take_pages_from(spare_pages);
  recovered.tables = {};

  // 4. While another server is active: follow it.
  if (!active) {
    check_port(options.net);
    std::printf("standby%s\n", http_port.c_str());
    std::fflush(stdout);
    Standby standby(std::move(recovered), *store, system_clock(), options.core, metrics,
                    on_projected);
    if (http) http->show(std::move(view), standby.health());
    if (!follow_until_active(standby, options.auth.required ? &keys : nullptr, signals,
                             certificate.get()))
      return 0;
    recovered = standby.take();
  } else if (http) {
    http->show(std::move(view));
  }

  // 5. The core and the XML port.
  if (options.auth.required) add_keys(keys, std::exchange(recovered.keys, {}));
  recovered.exchange.set_limits(options.state);
  core = std::make_unique<Core>(std::move(recovered), *store, system_clock(), options.core, metrics,
                                die, on_projected);
  transport = make_transport({.options = options.net,
                              .protocol = options.protocol,
                              .service = *core,
                              .metrics = metrics,
                              .authenticator = authenticator.get(),
                              .certificate = certificate.get()});
  if (http) http->attach(*core);
  fail_point("start.before_ready");
  std::printf("ready port=%u policy=%s threads=%s store=%s%s\n", unsigned(transport->port()),
              policy_name(options.net.policy), server_info(options).threads.c_str(),
              store->describe().c_str(), http_port.c_str());
  std::fflush(stdout);

  // 6. Wait for a stop signal; then answer accepted requests, and project the journal unless a
  // standby server does.
  int signal = 0;
  while (sigwait(&signals, &signal) == 0 && signal == SIGHUP) reload(certificate.get());
  spdlog::info("stopping on signal {}", signal);
  if (signal == SIGUSR2 && store->allows_standby()) core->leave_projection();
  end_if_stop_takes_too_long();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process("server");
  const Options options = parse_options(argc, argv);
  const auto report = [&](const std::exception& error) {
    std::fprintf(stderr, "server: %s\n", name_variables(error.what(), options.variables).c_str());
  };
  try {
    return run(options);
  } catch (const std::invalid_argument& error) {
    report(error);
    return 2;
  } catch (const std::exception& error) {
    report(error);
    return 1;
  }
}
