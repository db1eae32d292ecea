// Runs the process: options, signals, one Server at a time. Start reading here; then server.hpp,
// engine/exchange.hpp, core/core.hpp, protocol/xml_session.hpp.

#include <openssl/crypto.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>

#include "auth/scrypt.hpp"
#include "base/fail_point.hpp"
#include "base/key_file.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "net/listener.hpp"
#include "options.hpp"
#include "resource_plan.hpp"
#include "server.hpp"
#include "store/store_url.hpp"

using namespace exchange;

namespace {

constexpr auto stop_time_max = std::chrono::milliseconds(4'800);
// The time that exchange-cli waits; no supervisor limits it.
constexpr auto close_day_time_max = std::chrono::milliseconds(30'000);

[[noreturn]] void die(const std::string& why) {
  log_critical("{}", why);
  spdlog::default_logger()->flush();
  ::_exit(1);
}

// SIGXCPU and SIGPWR announce that the process will be ended; SIGUSR2 also leaves projection to a
// standby server.
constexpr int stop_signals[] = {SIGTERM, SIGINT, SIGUSR2, SIGXCPU, SIGPWR};

bool is_stop(int signal) {
  return std::find(std::begin(stop_signals), std::end(stop_signals), signal) !=
         std::end(stop_signals);
}

// This process sends it to itself when NewDay has a request. From outside it has no effect.
int new_day_signal() { return SIGRTMIN; }

// The server waits for the signals that request a stop and for SIGHUP, and ignores those that can
// only be sent in error. The remaining signals are errors of the program, SIGKILL, and SIGQUIT,
// which requests a core dump.
sigset_t take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : stop_signals) sigaddset(&set, signal);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, new_day_signal());
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (const int signal : {SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGSTKFLT})
    std::signal(signal, SIG_IGN);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    if (signal != new_day_signal()) std::signal(signal, SIG_IGN);
  return set;
}

void set_stop_timer(std::chrono::milliseconds time) {
  itimerval timer{};
  timer.it_value = {.tv_sec = time.count() / 1'000, .tv_usec = time.count() % 1'000 * 1'000};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Uses a timer, because the process may have no memory for a thread.
void end_if_stop_takes_longer_than(std::chrono::milliseconds time) {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view why =
        "server: could not stop in time (is the store unavailable?); what was acknowledged is in "
        "the journal\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(1);
  });
  set_stop_timer(time);
}

bool stop_requested() {
  sigset_t pending;
  sigpending(&pending);
  return std::any_of(std::begin(stop_signals), std::end(stop_signals),
                     [&](int signal) { return sigismember(&pending, signal) == 1; });
}

void arm_fail_points_of_environment() {
  const char* text = std::getenv("EXCHANGE_FAIL_POINT");
  if (text == nullptr || *text == '\0') return;
  arm_fail_points(text);
  log_critical("FAIL POINTS ARE ARMED: {}. This server fails on purpose and is good for tests only",
               text);
}

// Returns false if another server is active, and this one becomes its standby. Waits store_wait_s
// for the store; a process that has served before, and has closed a day, waits without limit.
bool open_store(Store& store, const Options& options, bool is_first) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = is_first ? Clock::now() + std::chrono::seconds(options.core.store_wait_s)
                                 : Clock::time_point::max();
  OutageReasons reasons;
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
      if (Clock::now() > deadline || stop_requested())
        throw std::runtime_error("cannot open the store: " + std::string(error.what()));
      if (reasons.is_new(error.what()))
        log_warning("the store is unavailable, trying again: {}", error.what());
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

template <class File>
void read_again(const char* what, File* file) try {
  if (file == nullptr) return;
  file->reload();
  log_info("the {} was read again", what);
} catch (const std::exception& error) {
  log_error("the {} was not read again: {}", what, error.what());
}

// Reads changed files again on SIGHUP. If a file cannot be used, the server keeps the old one.
void reload(Server& server) {
  if (server.certificate() == nullptr && server.scheduler() == nullptr)
    log_warning(
        "SIGHUP has no effect: it reads the files of --tls-cert and --timetable again, and there "
        "are none");
  read_again("certificate", server.certificate());
  read_again("timetable", server.scheduler());
}

struct OperatorKey {
  KeyHash hash;
  KeyProof proof;
};

OperatorKey read_operator_key(const AuthLimits& limits) {
  if (limits.operator_key_file.empty())
    throw std::invalid_argument(
        "--auth needs --operator-key-file FILE: without the operator's key in it no account, "
        "symbol or share is created. To make one: "
        "(umask 077; openssl rand -hex 24 > operator.key)");
  KeyFile file = read_key_file(limits.operator_key_file);
  if (!is_key(file.key))
    throw std::invalid_argument("--operator-key-file: a key has 8 to 128 bytes");
  if (file.others_can_read)
    log_warning("the operator's key can be read by every user of this machine: chmod 600 {}",
                limits.operator_key_file);
  OperatorKey key{.hash = hash_key(file.key, cost_for(file.key, limits.scrypt_log2_n))};
  key.proof = make_proof(operator_id, key.hash, file.key);
  OPENSSL_cleanse(file.key.data(), file.key.size());
  return key;
}

// Checks the port of a server that listens only once it takes over. Throws if it could never listen
// there; the active server on this machine may use the same port.
void check_port(const NetOptions& options) try {
  boost::asio::io_context context;
  listen(context, listening(options, options.port));
} catch (const std::system_error& error) {
  if (error.code() != std::errc::address_in_use) throw;
  log_warning("{}; this server needs it when it takes over", error.what());
}

// Reserves its ports for the life of the process, so that programs that request any free port do
// not get them, even between two days, when nothing listens there. Replaces port 0 in an option by
// the reserved port.
class ReservedPorts {
 public:
  void reserve_http(Options& options) {
    if (!options.http_port || http_) return;
    const Listening listening{
        .bind = options.http_bind, .port_option = "--http-port", .bind_option = "--http-bind"};
    http_.emplace(reserve(context_, listening, *options.http_port));
  }
  void reserve_xml(NetOptions& options) {
    if (!xml_) xml_.emplace(reserve(context_, listening(options, options.port), options.port));
  }

 private:
  boost::asio::io_context context_;
  std::optional<StreamAcceptor> http_, xml_;
};

// Returns true if this server is the active one now, false if a signal stopped it.
bool follow_until_active(Server& server, const sigset_t& signals) {
  constexpr timespec pause{0, 20'000'000}, long_pause{0, 200'000'000};
  OutageReasons reasons;
  for (bool available = true;;) {
    const int signal = sigtimedwait(&signals, nullptr, available ? &pause : &long_pause);
    if (signal == SIGHUP) reload(server);
    if (is_stop(signal)) {
      log_info("stopping on signal {}", signal);
      return false;
    }
    try {
      const bool active = server.follow();
      if (reasons.clear()) log_warning("the store is available again");
      available = true;
      if (active) return true;
    } catch (const StoreUnavailable& error) {
      if (reasons.is_new(error.what()))
        log_error("the store is unavailable, trying again: {}", error.what());
      available = false;
    }
  }
}

// Stops the server and closes the store as this day. If that fails, the store stays as it was.
void close_day(Server& server, NewDay& new_day, const std::string& day) {
  log_info("closing the store as the day {}", day);
  end_if_stop_takes_longer_than(close_day_time_max);
  try {
    server.close_day(day);
    new_day.closed();
  } catch (const StoreFenced&) {
    throw;
  } catch (const std::runtime_error& error) {  // StoreCorrupt too: PostgreSQL may lack rights
    log_error("the day {} is not closed: {}", day, error.what());
    new_day.failed(error.what());
  }
  set_stop_timer({});
}

// Runs a server on the store until a signal stops it; then returns false. If the store was closed
// as a day, or could not be closed, returns true: the next server follows on the same ports.
bool serve(Options& options, const sigset_t& signals,
           const std::optional<OperatorKey>& operator_key, NewDay& new_day, ReservedPorts& ports,
           bool is_first) {
  const auto print = [&](const std::string& line) {
    if (!is_first) return;  // the reader may have ended since; the ports are the same
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  KeyRing keys;
  if (operator_key) {
    keys.set_key(operator_id, operator_key->hash);
    keys.known().add(operator_key->proof, true);
  }

  // 2. Open the HTTP port, which shows that the server is alive while it waits for its store.
  const std::unique_ptr<Store> store = make_store(options.store, options.store_limits);
  if (options.standby && !store->allows_standby())
    throw std::invalid_argument("--standby needs a PostgreSQL store; " + options.store +
                                " has one server at a time");
  Metrics metrics;
  ports.reserve_http(options);
  Server server(options, {*store, system_clock(), metrics, keys, &new_day}, die);
  if (options.http_port) log_info("HTTP on port {}", server.http_port());
  const std::string http_port =
      options.http_port ? " http-port=" + std::to_string(server.http_port()) : "";

  // 3. Open the store and load the exchange from it. While another server is active, follow it.
  const bool active = open_store(*store, options, is_first);
  if (store_kind(options.store) == StoreKind::memory)
    log_warning("memory store: everything is lost when this process ends");
  if (!active) store->journal().keep_from(store->tables().projected_batch());
  server.load();
  if (!active) {
    check_port(options.net);
    print("standby" + http_port);
    server.begin_standby();
    if (!follow_until_active(server, signals)) return false;
  }

  // 4. Serve clients until a stop signal. Then answer the accepted requests, and project the
  // journal, unless a standby server does that.
  ports.reserve_xml(options.net);
  server.serve();
  const std::string local =
      options.net.local.path.empty() ? "" : " listen=unix:" + options.net.local.path;
  fail_point("start.before_ready");
  print("ready port=" + std::to_string(server.port()) + " policy=" +
        std::string(to_string(options.net.policy)) + " threads=" + threads_name(options.net) +
        " store=" + store->describe() + local + http_port);
  int signal = 0;
  while (sigwait(&signals, &signal) == 0 && !is_stop(signal)) {
    if (signal == SIGHUP) reload(server);
    if (const std::optional<std::string> day = new_day.asked()) {
      close_day(server, new_day, *day);
      return true;
    }
  }
  log_info("stopping on signal {}", signal);
  if (signal == SIGUSR2) server.leave_projection();
  end_if_stop_takes_longer_than(stop_time_max);
  return false;
}

int run(Options options) {
  // 1. Prepare the process: logs to stderr, signals for this thread only, its share of the machine.
  spdlog::set_default_logger(spdlog::stderr_color_mt("server"));
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  const sigset_t signals = take_signals();
  ::umask(077);  // a store holds key hashes
  require_space(std::uint64_t(256) << 20);
  share_heaps_in_limited_space();
  plan_memory(options, usable_memory());
  if (options.net.threads == 0) options.net.threads = usable_cpus();
  plan_descriptors(options);
  arm_fail_points_of_environment();
  options.auth.threads = std::min(usable_cpus(), AuthLimits::threads_max);
  std::optional<OperatorKey> operator_key;
  if (options.auth.required)
    operator_key = read_operator_key(options.auth);
  else if (!options.auth.operator_key_file.empty())
    log_warning("--operator-key-file has no effect without --auth: every client may create");

  NewDay new_day([] { ::kill(::getpid(), new_day_signal()); });
  ReservedPorts ports;
  for (bool is_first = true; serve(options, signals, operator_key, new_day, ports, is_first);)
    is_first = false;
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
