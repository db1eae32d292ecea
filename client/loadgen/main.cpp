// The load generator: wiring and the sequence of a run. Start reading here; then bench.hpp,
// fleet.hpp, driver.hpp, workload.hpp.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/process.hpp"
#include "client/connection/command_line.hpp"
#include "client/loadgen/bench.hpp"
#include "client/loadgen/policies.hpp"
#include "client/loadgen/report/compare.hpp"
#include "client/loadgen/report/json.hpp"
#include "client/loadgen/report/policies_report.hpp"
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
  for (const auto& [flag, file] : output_files(options))
    if (!file.empty() && file != standard_output && !std::ofstream(file, std::ios::app))
      return flag + ": cannot write " + file;
  return {};
}

// Writes what text() returns, unless `file` is empty. If it cannot be written, prints why and
// returns false.
template <class Text>
bool write_report(const std::string& file, const Text& text) {
  if (file.empty()) return true;
  try {
    write_file(file, text());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
    return false;
  }
}

// Writes every report. Returns false if one of the files could not be written.
bool write_reports(const Options& options, const Report& report) {
  print_text(writes_to_stdout(options) ? stderr : stdout, report);
  bool written =
      write_report(options.json_file, [&] { return to_text(to_json(report), 1) + "\n"; });
  written &=
      write_report(options.hdr_file, [&] { return to_hdr(report.result.counts.response_ns); });
  return written;
}

// If it cannot be written, prints why and returns false.
bool write_history(const Options& options, Transcript& transcript) {
  if (options.history_file.empty()) return true;
  if (options.history_file == standard_output) {
    transcript.write(std::cout, options.command);
    return bool(std::cout.flush());
  }
  std::ofstream file(options.history_file,
                     options.history_append ? std::ios::app : std::ios::trunc);
  transcript.write(file, options.command);
  file.close();
  if (file) return true;
  std::fprintf(stderr, "loadgen: cannot write %s\n", options.history_file.c_str());
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
  if (workload_options.account_prefix.empty())
    workload_options.account_prefix = bench.unused_prefix();
  // Only this run may trade the symbols that the audit checks.
  if (options.load.audit && workload_options.symbol_prefix == WorkloadOptions().symbol_prefix)
    workload_options.symbol_prefix = "R" + workload_options.account_prefix + "S";

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
  if (!write_reports(options, report)) code = exit_usage;
  if (!write_history(options, bench.transcript())) code = exit_usage;
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

int run_policies(const PoliciesOptions& options) {
  const Options& each = options.each;
  std::string error = cannot_do(each);
  for (const int cpu : options.cpus)
    if (!may_run_on(cpu)) error = "--cpus: this process may not run on CPU " + std::to_string(cpu);
  if (!error.empty()) {
    std::fprintf(stderr, "loadgen policies: %s\n", error.c_str());
    return exit_usage;
  }
  client::stop_on_signals();
  PoliciesMeasured measured = measure_policies(options);
  Json& document = measured.document;
  add_summary(document);
  std::fputs(policies_text(document).c_str(), writes_to_stdout(each) ? stderr : stdout);
  const bool written = write_report(each.json_file, [&] { return to_text(document, 1) + "\n"; });
  if (client::stop_flag()) return exit_interrupted;
  if (!written) return exit_usage;
  return measured.all_well ? exit_ok : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process("loadgen");
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0) return compare_main(argc - 1, argv + 1);
  const bool policies = argc > 1 && std::strcmp(argv[1], "policies") == 0;
  const ParsedPoliciesOptions several =
      policies ? parse_policies_options(argc - 1, argv + 1) : ParsedPoliciesOptions();
  const ParsedOptions one = policies ? ParsedOptions() : parse_options(argc, argv);
  if (const auto code = policies ? several.exit_code : one.exit_code) return *code;
  try {
    return policies ? run_policies(several.options) : run(one.options);
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
