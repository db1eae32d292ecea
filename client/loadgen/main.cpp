// The load generator: wiring and the life of a run. Start reading here; then fleet.hpp, driver.hpp,
// workload.hpp.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <utility>

#include "client/connection/ask.hpp"
#include "client/connection/reply.hpp"
#include "client/loadgen/audit/audit_input.hpp"
#include "client/loadgen/command_line.hpp"
#include "client/loadgen/fleet.hpp"
#include "client/loadgen/local_server.hpp"
#include "client/loadgen/progress.hpp"
#include "client/loadgen/report/compare.hpp"
#include "client/loadgen/report/csv.hpp"
#include "client/loadgen/report/html_page.hpp"
#include "client/loadgen/report/report.hpp"

using namespace exchange::loadgen;

namespace {

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

// What this machine does not allow of the options, noticed before a long run rather than after.
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
  for (const auto& [flag, file] : {std::pair("--json", options.json_file),
                                   {"--csv", options.csv_file},
                                   {"--html", options.html_file},
                                   {"--history", options.history_file}})
    if (!file.empty() && !std::ofstream(file, std::ios::app))
      return std::string(flag) + ": cannot write " + file;
  return {};
}

std::string describe_server(const Options& options, const LocalServer* server) {
  if (server == nullptr) return "server at " + *options.connect_to;
  std::string description = "private server, " + server->description();
  const std::size_t store = description.find("store=");
  if (options.local_server.store.empty() && store != std::string::npos)
    description.replace(store, std::string::npos, "store=sqlite (temporary)");
  return description;
}

using Ask = std::function<std::string(std::string_view document)>;

// Creates the accounts and shares that the workload needs, before anything is measured.
void set_up(const Options& options, const Workload& workload, const Ask& ask_server) {
  for (const SetupRequest& request : setup_requests(workload)) {
    const std::string reply = ask_server(request.document);
    if (!options.load.check_replies) continue;
    ReplyElements elements(reply);
    ReplyElement element;
    std::size_t created = 0;
    for (; elements.next(element); ++created)
      if (element.name != "created")
        throw std::runtime_error("set-up: wanted <created>, got <" + std::string(element.name) +
                                 "> " + std::string(element.content));
    if (created != request.elements)
      throw std::runtime_error("set-up: " + std::to_string(created) + " reply elements to " +
                               std::to_string(request.elements) + " creations");
  }
}

// One load after another against one server.
class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), progress_(form(options)) {
    if (!options.connect_to)
      server_ = std::make_unique<LocalServer>(options.local_server, stop_flag());
    if (!options.client_cpus.empty()) pin_to(options.client_cpus);
    address_ = resolve(server_ ? server_->address() : *options.connect_to);
  }

  // With accounts of its own, the load as given.
  RunResult run(const LoadOptions& load, const Workload& workload) try {
    set_up(options_, workload, [this](std::string_view document) { return ask_server(document); });
    StageReading before;
    const Watched watched{server_ ? std::optional(server_->pid()) : options_.server_pid,
                          options_.database_pid, [&] { before = stages_now(); }};
    RunResult result = run_load(load, workload, address_, watched, stop_flag(),
                                [this](const Second& second, const Counts& so_far, double share) {
                                  progress_.show(second, so_far, share);
                                  return !server_ || server_->running();
                                });
    stages_ = between(before, stages_now());
    transcript_.add(std::move(result.transcript));
    progress_.clear();
    return result;
  } catch (const Unreachable&) {
    // its own words say more
    if (server_ && !server_->running()) throw ServerFailed(server_->stop());
    throw;
  }

  // What cannot be asked for any more is a finding too.
  AuditResult audit_history(const Workload& workload, RunResult& result) {
    progress_.say("auditing …");
    const std::size_t created = result.history.new_accounts.size();
    AuditResult audited;
    try {
      audited = audit(audit_input(workload, std::move(result.history)),
                      [this](std::string_view document) { return ask_server(document); });
      if (created > new_accounts_audited_max)
        audited.not_checked += "Of " + std::to_string(created) +
                               " new accounts some, evenly chosen, were checked, " +
                               std::to_string(audited.accounts) + " accounts in all.";
    } catch (const Interrupted&) {
      audited.not_checked = "The audit was interrupted.";
    } catch (const std::exception& error) {
      audited.findings = {std::string("The audit could not be finished: ") + error.what()};
    }
    progress_.clear();
    return audited;
  }

  // Closed loop first, for a guess; then open loops until the rate is found. `last`: the run of the
  // last try, with the wrong answers of all. Cut short where it is interrupted or the server goes
  // away: the tries until then are kept.
  Capacity search_capacity(LoadOptions& load, Workload& workload, RunResult& last) {
    Capacity capacity;
    ErrorCounts wrong{};  // of all tries but the last
    load.duration_s = load.duration_s.value_or(3);
    if (load.warmup_s == 0) load.warmup_s = 0.5;
    const auto one_run = [&] {
      for (const ErrorClass error : {ErrorClass::protocol, ErrorClass::wrong_answer})
        wrong[std::size_t(error)] += last.counts.errors[std::size_t(error)];
      const Examples examples = last.examples;
      last = run(load, workload);
      last.examples.add({.wrong_answer = examples.wrong_answer});
    };
    try {
      const double duration_s = *std::exchange(load.duration_s, 1);
      one_run();
      load.duration_s = duration_s;
      find_capacity(
          last.requests_per_s() / 2,
          [&](double rate) {
            if (stop_flag()) throw Interrupted();
            WorkloadOptions fresh = options_.workload;
            char number[8];
            std::snprintf(number, sizeof number, "%03zu", capacity.tries.size());
            fresh.account_prefix += number;
            workload = Workload(fresh, load.clients);
            load.stages = {{duration_s, rate}};
            one_run();
            return judge_try(rate, load, last);
          },
          capacity);
    } catch (const Interrupted&) {
      last.stopped_early = true;
    } catch (const Unreachable& error) {
      progress_.clear();
      std::fprintf(stderr, "loadgen: the search for the capacity ended early: %s\n", error.what());
      last.stopped_early = true;
    }
    for (std::size_t i = 0; i < error_classes; ++i) last.counts.errors[i] += wrong[i];
    return capacity;
  }

  std::string bottleneck(const RunResult& result, const LoadOptions& load) const {
    const unsigned cpus = this_machine().cpus;
    const std::size_t server_cpus = options_.local_server.cpus.size();
    return client_bottleneck(result, load, cpus, server_cpus > 0 ? unsigned(server_cpus) : cpus);
  }
  std::string describe() const { return describe_server(options_, server_.get()); }
  const std::vector<StageLatency>& stages() const { return stages_; }
  // All that was asked so far and what came of it, where it is kept.
  Transcript& transcript() { return transcript_; }
  // Returns what went wrong with it.
  std::string stop_server() { return server_ ? server_->stop() : ""; }

 private:
  static Progress::Form form(const Options& options) {
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return !options.progress.value_or(terminal) ? Progress::Form::none
           : terminal                           ? Progress::Form::live
                                                : Progress::Form::lines;
  }
  CapacityTry judge_try(double rate, const LoadOptions& load, const RunResult& result) {
    const Counts& counts = result.counts;
    CapacityTry one{.planned_per_s = rate,
                    .achieved_per_s = result.requests_per_s(),
                    .response_p99_ms = measured(Measure::p99, result),
                    .measured = measured(options_.capacity_while.front().measure, result),
                    .held = !result.stopped_early,
                    .client_bottleneck = bottleneck(result, load)};
    for (const Judgement& judgement : judge(options_.capacity_while, result))
      one.held &= judgement.met;
    one.held &= no_errors_but_those_judged(options_.capacity_while, counts);
    // else a queue grows, whatever the latency says so far
    one.held &= double(counts.answered) > 0.98 * double(counts.planned);
    char text[120];
    std::snprintf(text, sizeof text, "%.0f requests/s: %s, p99 %.2f ms", rate,
                  one.held ? "held" : "not held", one.response_p99_ms);
    progress_.say(text);
    return one;
  }
  // On a connection of its own.
  std::string ask_server(std::string_view document) {
    const auto now_ns = [] {
      return std::chrono::nanoseconds(Ticks::Clock::now().time_since_epoch()).count();
    };
    if (!options_.load.transcript)
      return ask(address_, document, options_.load.timeout_s, stop_flag());
    const Transcript::Entry entry =
        transcript_.asked(Transcript::set_up, next_connection(), now_ns(), document);
    const std::string reply = ask(address_, document, options_.load.timeout_s, stop_flag());
    transcript_.answered(entry, now_ns(), reply);
    return reply;
  }
  StageReading stages_now() const {
    const StopFlag never{false};  // also of an interrupted run
    return server_ && server_->http_address()
               ? read_stages(resolve(*server_->http_address()), 5, never)
               : StageReading();
  }

  const Options& options_;
  Progress progress_;
  std::unique_ptr<LocalServer> server_;
  Address address_;
  std::vector<StageLatency> stages_;
  Transcript transcript_;
};

// Returns false, and says why, where a file could not be written; the others are.
bool write_reports(const Options& options, const Report& report) {
  print_text(stdout, report);
  if (options.json_file.empty() && options.csv_file.empty() && options.html_file.empty())
    return true;
  const Json json = to_json(report);
  bool written = true;
  const auto write = [&](const std::string& file, const auto& text) {
    if (file.empty()) return;
    try {
      write_file(file, text());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "loadgen: %s\n", error.what());
      written = false;
    }
  };
  // What servers sent may be no UTF-8.
  write(options.json_file,
        [&] { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; });
  write(options.html_file, [&] { return html_page(json); });
  write(options.csv_file, [&] {
    std::string rows = csv_header();
    for (const Json& second : json["series"]) rows += csv_row(second);
    return rows;
  });
  return written;
}

// Returns false, and says why, where it cannot be written.
bool write_history(const Options& options, Transcript& transcript) {
  if (options.history_file.empty()) return true;
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
  stop_on_signals();
  const std::string started = time_of_day();
  WorkloadOptions& workload_options = options.workload;
  if (workload_options.account_prefix.empty())
    workload_options.account_prefix = prefix_from_clock();
  // Nobody else may trade what is audited.
  if (options.load.audit && workload_options.symbol_prefix == WorkloadOptions().symbol_prefix)
    workload_options.symbol_prefix = "R" + workload_options.account_prefix + "S";
  Bench bench(options);

  // 2. The load, and what can be said of it.
  Workload workload(workload_options, options.load.clients);
  RunResult result;
  std::optional<Capacity> capacity;
  if (!options.capacity_while.empty())
    capacity = bench.search_capacity(options.load, workload, result);
  else
    result = bench.run(options.load, workload);
  std::optional<AuditResult> audited;
  if (options.load.audit && !result.stopped_early) audited = bench.audit_history(workload, result);

  // 3. What came of it.
  const Report report{.options = options,
                      .workload = workload,
                      .result = result,
                      .started = started,
                      .server = bench.describe(),
                      .machine = this_machine(),
                      .judgements = judge(options.expectations, result),
                      .audit = audited,
                      .capacity = capacity,
                      .stages = bench.stages(),
                      .bottleneck = capacity ? capacity->client_bottleneck()
                                             : bench.bottleneck(result, options.load)};
  int code = report.all_well() ? exit_ok : exit_wrong;
  if (!write_reports(options, report)) code = exit_usage;
  if (!write_history(options, bench.transcript())) code = exit_usage;
  if (stop_flag()) code = exit_interrupted;
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
  if (argc > 1 && std::strcmp(argv[1], "compare") == 0) return compare_main(argc - 1, argv + 1);
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
