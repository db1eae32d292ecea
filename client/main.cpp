// The load generator: wiring and the life of a run. Start reading here; then driver.hpp, workload.hpp.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>

#include "client/driver.hpp"
#include "client/local_server.hpp"
#include "client/process.hpp"
#include "client/progress.hpp"
#include "client/reply.hpp"
#include "client/report.hpp"

using namespace exchange::loadgen;

namespace {

StopFlag stop_flag{false};

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

// Accounts of two runs against one store must not be the same.
std::string prefix_from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// What this machine does not allow of the options, noticed before a long run rather than after.
std::string cannot_do(const Options& options) {
  constexpr unsigned own_descriptors = 64;
  if (std::string advice = raise_descriptor_limit(options.load.clients + own_descriptors); !advice.empty()) return advice;
  for (const int cpu : options.client_cpus)
    if (!may_run_on(cpu)) return "--client-cpus: this process may not run on CPU " + std::to_string(cpu);
  for (const int cpu : options.local_server.cpus)
    if (!may_run_on(cpu)) return "--server-cpus: this process may not run on CPU " + std::to_string(cpu);
  if (!options.json_file.empty() && !std::ofstream(options.json_file, std::ios::app)) return "--json: cannot write " + options.json_file;
  return {};
}

std::string describe_server(const Options& options, const LocalServer* server) {
  if (server == nullptr) return "server at " + *options.connect_to;
  std::string description = "private server, " + server->description();
  const std::size_t store = description.find("store=");
  if (options.local_server.store.empty() && store != std::string::npos) description.replace(store, std::string::npos, "store=sqlite (temporary)");
  return description;
}

// Creates the accounts and shares that the workload needs, before anything is measured.
void set_up(const Options& options, const Address& address) {
  for (const SetupRequest& request : setup_requests(options.workload, options.load.clients)) {
    std::size_t scanned = 0;
    ReplyEnd end{};
    const std::string reply = round_trip(address, request.frame, options.load.timeout_s, stop_flag, [&](std::string_view bytes) {
      end = find_reply(bytes, scanned);
      return end.state != ReplyEnd::State::incomplete;
    });
    if (!options.load.check_replies) continue;
    if (end.state == ReplyEnd::State::bad) throw std::runtime_error("set-up: not a reply: " + reply.substr(0, 300));
    ReplyElements elements(std::string_view(reply).substr(0, end.end).substr(end.begin));
    ReplyElement element;
    std::size_t created = 0;
    for (; elements.next(element); ++created)
      if (element.name != "created")
        throw std::runtime_error("set-up: wanted <created>, got <" + std::string(element.name) + "> " + std::string(element.content));
    if (created != request.leaves)
      throw std::runtime_error("set-up: " + std::to_string(created) + " reply elements to " + std::to_string(request.leaves) + " creations");
  }
}

int run(Options options) {
  // 1. The process, and a server to drive.
  if (const std::string mistake = cannot_do(options); !mistake.empty()) {
    std::fprintf(stderr, "loadgen: %s\n", mistake.c_str());
    return exit_usage;
  }
  stop_on_signals();
  if (options.workload.account_prefix.empty()) options.workload.account_prefix = prefix_from_clock();
  std::unique_ptr<LocalServer> server;
  if (!options.connect_to) server = std::make_unique<LocalServer>(options.local_server, stop_flag);
  const std::optional<int> server_pid = server ? std::optional(server->pid()) : options.server_pid;
  if (!options.client_cpus.empty()) pin_to(options.client_cpus);

  // 2. Accounts, connections, and the measured part.
  const Address address = resolve(server ? server->address() : *options.connect_to);
  set_up(options, address);
  auto driver = std::make_unique<Driver>(options.load, options.workload, address);
  driver->open_connections(stop_flag);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Progress progress(!options.progress.value_or(terminal) ? Progress::Form::none : terminal ? Progress::Form::live : Progress::Form::lines);
  Report report{.options = options, .tally = driver->tally(), .server = describe_server(options, server.get())};
  const auto server_cpu = [&] { return server_pid ? cpu_seconds(*server_pid) : std::nullopt; };
  const std::optional<double> server_cpu_before = server_cpu();
  const double client_cpu_before = own_cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  driver->run(stop_flag, [&](const Snapshot& snapshot) {
    progress.show(snapshot);
    return !server || server->running();
  });
  report.measured_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.client_cpu_s = own_cpu_seconds() - client_cpu_before;
  if (const auto after = server_cpu(); after && server_cpu_before) report.server_cpu_s = *after - *server_cpu_before;
  if (server_pid) report.server_resident_bytes = resident_bytes(*server_pid);

  // 3. What came of it.
  progress.clear();
  print_text(stdout, report);
  if (!options.json_file.empty()) write_json(options.json_file, report);
  int code = report.tally.errors_in_all() > 0 || report.tally.stopped ? exit_wrong : exit_ok;
  if (stop_flag) code = exit_interrupted;
  if (report.tally.answered == 0 && report.tally.errors[std::size_t(ErrorClass::connect)] > 0) code = exit_unreachable;
  std::fflush(stdout);
  driver.reset();
  if (server) {
    if (const std::string problem = server->stop(); !problem.empty()) {
      std::fprintf(stderr, "loadgen: %s", problem.c_str());
      if (code == exit_ok) code = exit_wrong;
    }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  try {
    return run(parsed.options);
  } catch (const Interrupted&) {
    return exit_interrupted;
  } catch (const Unreachable& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
    return exit_unreachable;
  } catch (const ServerFailed& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
    return exit_unreachable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
    return exit_wrong;
  }
}
