// The load generator: wiring and the sequence of a run. Start reading here; then bench.hpp,
// fleet.hpp, driver.hpp, workload.hpp.

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>

#include "base/process.hpp"
#include "client/connection/command_line.hpp"
#include "client/loadgen/bench.hpp"
#include "client/loadgen/report/compare.hpp"
#include "client/loadgen/report/json.hpp"
#include "client/loadgen/report/report.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

// Returns which of the options this machine cannot provide. Checked before a long run, not after
// it.
std::string cannot_do(const Options& options) {
  constexpr unsigned own_descriptors = 64;
  const std::uint64_t wanted = std::uint64_t(options.load.clients) + options.load.idle_connections +
                               2 * options.load.workers + own_descriptors;
  if (std::string advice = raise_descriptor_limit(wanted); !advice.empty()) return advice;
  for (const int cpu : options.client_cpus)
    if (!may_run_on(cpu))
      return "--client-cpus: this process may not run on CPU " + std::to_string(cpu);
  for (const int cpu : options.local_server.cpus)
    if (!may_run_on(cpu))
      return "--server-cpus: this process may not run on CPU " + std::to_string(cpu);
  for (const std::string& file : {options.json_file, options.history_file})
    if (!file.empty() && file != standard_output && !std::ofstream(file, std::ios::app))
      return "cannot write " + file;
  return {};
}

// Returns the time of day in UTC as ISO 8601, to the second.
std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

// Calls write(stream) for the file, or for stdout if it is "-". If it cannot be written, prints
// that and returns false.
template <class Write>
bool write_file(const std::string& path, const Write& write) {
  if (path.empty()) return true;
  std::ofstream file;
  if (path != standard_output) file.open(path);
  std::ostream& out = path == standard_output ? std::cout : file;
  write(out);
  if (out.flush()) return true;
  std::fprintf(stderr, "loadgen: cannot write %s\n", path.c_str());
  return false;
}

int run(Options options) {
  // 1. The process, and a server to drive.
  if (const std::string error = cannot_do(options); !error.empty()) {
    std::fprintf(stderr, "loadgen: %s\n", error.c_str());
    return exit_usage;
  }
  client::stop_on_signals();
  const std::string started = utc_now();
  WorkloadOptions& workload_options = options.workload;
  Bench bench(options);
  // Only this run may trade the symbols that the audit checks.
  const bool own_symbols = options.load.audit || !workload_options.account_prefix.empty();
  if (workload_options.account_prefix.empty())
    workload_options.account_prefix = bench.unused_prefix();
  if (own_symbols) workload_options.symbol_prefix = "R" + workload_options.account_prefix + "S";

  // 2. The load, and its audit.
  Workload workload(workload_options, options.load.clients);
  RunResult result;
  std::optional<Capacity> capacity;
  if (!options.capacity_while.empty())
    capacity = bench.search_capacity(options.load, workload, result);
  else
    result = bench.run(options.load, workload);
  std::optional<AuditResult> audited;
  if (options.load.audit && !result.stopped_early) audited = bench.audit_history(workload, result);

  // 3. The results.
  const Report report{.options = options,
                      .workload = workload,
                      .result = result,
                      .started = started,
                      .server = bench.describe(),
                      .machine = this_machine(),
                      .client_cpus = bench.client_cpus(),
                      .judgements = loadgen::judge(options.expectations, result),
                      .audit = audited,
                      .capacity = capacity,
                      .stages = bench.stages(),
                      .bottleneck = capacity ? capacity->client_bottleneck()
                                             : bench.bottleneck(result, options.load)};
  int code = report.all_well() ? exit_ok : exit_wrong;
  const bool uses_stdout =
      options.json_file == standard_output || options.history_file == standard_output;
  print_text(uses_stdout ? stderr : stdout, report);
  const bool json_written = write_file(
      options.json_file, [&](std::ostream& out) { out << to_text(to_json(report), 1) << "\n"; });
  const bool history_written = write_file(options.history_file, [&](std::ostream& out) {
    bench.transcript().write(out, options.command);
  });
  if (!json_written || !history_written) code = exit_usage;
  if (client::stop_flag()) code = exit_interrupted;
  if (result.counts.answered == 0 && result.counts.errors[std::size_t(ErrorClass::refused)] > 0)
    code = exit_unreachable;
  std::fflush(stdout);
  if (const std::string problem = bench.stop_server(); !problem.empty()) {
    std::fprintf(stderr, "loadgen: %s", problem.c_str());
    if (code == exit_ok) code = exit_wrong;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process("loadgen");
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0)
    return compare_main(argc - 1, argv + 1, std::cout, std::cerr);
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  try {
    return run(parsed.options);
  } catch (const client::Interrupted&) {
    return exit_interrupted;
  } catch (const client::Unreachable& error) {
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
