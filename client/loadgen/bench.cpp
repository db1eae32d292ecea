#include "client/loadgen/bench.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "client/connection/command_line.hpp"
#include "client/connection/results.hpp"
#include "client/connection/stream.hpp"
#include "client/loadgen/report/report.hpp"
#include "client/loadgen/trading_days.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::loadgen {
namespace {

// Creates the accounts and shares that the workload needs, before anything is measured.
void set_up(const Options& options, const Workload& workload, const Ask& ask_server) {
  for (const SetupRequest& request : setup_requests(workload)) {
    const std::string reply = ask_server(request.document);
    if (!options.load.check_replies()) continue;
    for (const client::ReplyOutcome& result : client::read_outcomes(reply, request.elements))
      if (!std::holds_alternative<Created>(result)) {
        const auto* error = std::get_if<client::ErrorElement>(&result);
        throw std::runtime_error("set-up: the server created nothing: " +
                                 (error ? error->message : "a reply element of another kind") +
                                 " (--account-prefix chooses other ids)");
      }
  }
}

void set_up_operator(const Options& options, const Workload& workload, const Ask& ask_server) {
  if (!options.load.trading_days_s) return;
  const std::string reply = ask_server(set_up_trading_days(workload));
  for (const client::ReplyOutcome& result : client::read_outcomes(reply, 2))
    if (const auto* error = std::get_if<client::ErrorElement>(&result))
      throw std::runtime_error("--trading-days: the server refuses to change trading: " +
                               error->message);
}

// If there are more new accounts, the audit checks an even sample: each takes two requests.
constexpr std::size_t new_accounts_audited_max = 20'000;

// Returns the input of the audit: the history, and the accounts of the workload, which must outlive
// it.
AuditInput audit_input(const Workload& workload, const LoadOptions& load, History history) {
  AuditInput input{
      .symbol_name = [&workload](unsigned symbol) { return workload.symbol_name(symbol); },
      .probe_symbol = workload.options().symbol_prefix + "X",
      .lenient = load.lenient()};
  if (workload.trades()) {  // accounts from the set-up, in number order, as orders name them
    for (std::uint32_t account = 0; account < workload.accounts(); ++account) {
      AuditAccount& created = input.accounts.emplace_back(
          AuditAccount{workload.account_id(account), workload.options().cash, {}});
      for (unsigned symbol = 1; symbol <= workload.options().symbols; ++symbol)
        created.shares.push_back({std::uint16_t(symbol), workload.shares_per_account()});
    }
  }
  const std::size_t stride =
      (history.new_accounts.size() + new_accounts_audited_max - 1) / new_accounts_audited_max;
  for (std::size_t i = 0; i < history.new_accounts.size(); i += stride) {
    const NewAccount& account = history.new_accounts[i];
    char id[128];
    char* const end = write_new_account(id, workload, account.client, account.number);
    AuditAccount& created = input.accounts.emplace_back(
        AuditAccount{std::string(id, end), Workload::cash_of_new_account, {}});
    if (account.symbol != 0) created.shares.push_back({account.symbol, account.shares});
  }
  input.history = std::move(history);
  return input;
}

}  // namespace

Bench::Bench(const Options& options) : options_(options), progress_(::isatty(STDERR_FILENO) == 1) {
  if (!options.connect_to)
    server_ = std::make_unique<LocalServer>(options.local_server, client::stop_flag());
  const auto count = [](const std::vector<int>& cpus) {
    return unsigned(cpus.empty() ? usable_cpus().size() : cpus.size());
  };
  server_cpus_ = count(options.local_server.cpus);
  if (!options.client_cpus.empty()) pin_to(options.client_cpus);
  client_cpus_ = count(options.client_cpus);
  servers_.emplace(server_ ? server_->address() : *options.connect_to);
  if (options.load.protocol != Protocol::xml) {
    const std::optional<std::string>& http = server_ ? server_->http_address() : options.http;
    if (!http) throw ServerFailed("the server has no HTTP port");
    http_servers_.emplace(*http);
  }
}

std::string Bench::unused_prefix() try {
  const std::string clock = client::prefix_from_clock();
  if (!options_.load.check_replies()) return clock;  // an echo server does not create accounts
  constexpr unsigned tries_max = 8;
  for (unsigned tries = 0; tries < tries_max; ++tries) {
    const std::string prefix = std::to_string(100 + (std::stoull(clock) + tries * 271) % 900),
                      key = options_.workload.keys ? "loadgen-" + prefix : "";
    const CreateAccount create(AccountId(prefix), Cash::whole(1));
    const std::string reply = ask_server(
        write_creations(write_element(create, key), options_.workload.operator_key) + "\n");
    client::ReplyElements elements(reply);
    client::ReplyElement element;
    if (!elements.next(element) || element.name == "created") return prefix;
  }
  return clock;
} catch (const client::Unreachable&) {
  throw_failure();
}

RunResult Bench::run(const LoadOptions& load, const Workload& workload) try {
  const Ask ask = [this](std::string_view document) { return ask_server(document); };
  set_up(options_, workload, ask);
  set_up_operator(options_, workload, ask);
  StageReading before;
  const Watched watched{server_ ? std::optional(server_->pid()) : options_.server_pid,
                        options_.database_pid, [&] { before = stages_now(); }};
  client::Servers& servers = http_servers_ ? *http_servers_ : *servers_;
  RunResult result = run_load(load, workload, servers, watched, client::stop_flag(),
                              [this](const Second& second, const Counts& so_far, double share) {
                                progress_.show(second, so_far, share);
                                return !server_ || server_->running();
                              });
  stages_ = between(before, stages_now());
  transcript_.add(std::move(result.transcript));
  progress_.clear();
  return result;
} catch (const client::Unreachable&) {
  throw_failure();
}

// Call it while an exception is handled: the error output of a private server explains more.
void Bench::throw_failure() {
  if (server_ && !server_->running()) throw ServerFailed(server_->stop());
  throw;
}

AuditResult Bench::audit_history(const Workload& workload, RunResult& result) {
  progress_.say("auditing …");
  const std::size_t created = result.history.new_accounts.size();
  AuditResult audited;
  try {
    audited = audit(audit_input(workload, options_.load, std::move(result.history)),
                    [this](std::string_view document) { return ask_server(document); });
    result.deviations.add(audited.deviations);
    if (created > new_accounts_audited_max)
      audited.not_checked += "Of " + std::to_string(created) +
                             " new accounts some, evenly chosen, were checked, " +
                             std::to_string(audited.accounts) + " accounts in all.";
  } catch (const client::Interrupted&) {
    audited.not_checked = "The audit was interrupted.";
  } catch (const std::exception& error) {
    audited.findings = {std::string("The audit could not be finished: ") + error.what()};
  }
  progress_.clear();
  return audited;
}

Capacity Bench::search_capacity(LoadOptions& load, Workload& workload, RunResult& last) {
  Capacity capacity;
  ErrorCounts wrong{};  // of all tries except the last
  load.duration_s = load.duration_s.value_or(3);
  if (load.warmup_s == 0) load.warmup_s = 0.5;
  // each number has the same width, so that no id of one run is an id of another
  auto fresh_workload = [&, runs = 0u]() mutable {
    WorkloadOptions fresh = options_.workload;
    char number[8];
    std::snprintf(number, sizeof number, "%03u", runs++);
    fresh.account_prefix += number;
    return Workload(fresh, load.clients);
  };
  const auto one_run = [&] {
    workload = fresh_workload();
    for (const ErrorClass error : {ErrorClass::protocol, ErrorClass::wrong_answer})
      wrong[std::size_t(error)] += last.counts.errors[std::size_t(error)];
    const Examples examples = last.examples;
    const std::optional<double> stolen = last.stolen_cpu_share;
    last = run(load, workload);
    last.stolen_cpu_share = std::max(last.stolen_cpu_share, stolen);  // of the worst try
    last.examples.add({.wrong_answer = examples.wrong_answer});
  };
  try {
    const double duration_s = *std::exchange(load.duration_s, 1);
    one_run();
    capacity.closed_loop_per_s = last.requests_per_s();
    capacity.closed_loop_p99_ms = measured(Measure::p99, last);
    load.duration_s = duration_s;
    find_capacity(
        last.requests_per_s() / 2,
        [&](double rate) {
          if (client::stop_flag()) throw client::Interrupted();
          load.stages = {{duration_s, rate}};
          one_run();
          return judge_try(rate, load, last);
        },
        capacity);
  } catch (const client::Interrupted&) {
    last.stopped_early = true;
  } catch (const client::Unreachable& error) {
    progress_.clear();
    std::fprintf(stderr, "loadgen: the search for the capacity ended early: %s\n", error.what());
    last.stopped_early = true;
  }
  add_each(last.counts.errors, wrong);
  return capacity;
}

std::string Bench::bottleneck(const RunResult& result, const LoadOptions& load) const {
  return client_bottleneck(result, load, client_cpus_, server_cpus_);
}

std::string Bench::describe() const {
  if (!server_) return "server at " + *options_.connect_to;
  std::string description = "private server, " + server_->description();
  description.resize(std::min(description.find(" listen="), description.size()));
  const std::size_t store = description.find("store=");
  if (options_.local_server.store.empty() && store != std::string::npos)
    description.replace(store, std::string::npos, "store=sqlite (temporary)");
  return description + (options_.local_server.is_local ? " transport=unix" : "");
}

std::string Bench::stop_server() { return server_ ? server_->stop() : ""; }

CapacityTry Bench::judge_try(double rate, const LoadOptions& load, const RunResult& result) {
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
  // otherwise a queue grows, however low the latency is so far
  one.held &= double(counts.answered) > 0.98 * double(counts.planned);
  char text[120];
  std::snprintf(text, sizeof text, "%.0f requests/s: %s, p99 %.2f ms", rate,
                one.held ? "held" : "not held", one.response_p99_ms);
  progress_.say(text);
  return one;
}

std::string Bench::ask_server(std::string_view document) {
  const auto now_ns = [] {
    return std::chrono::nanoseconds(Ticks::Clock::now().time_since_epoch()).count();
  };
  if (!options_.load.transcript)
    return client::ask(*servers_, document, options_.load.timeout_s, client::stop_flag());
  const Transcript::Entry entry =
      transcript_.asked(Transcript::set_up, next_connection(), now_ns(), document);
  const std::string reply =
      client::ask(*servers_, document, options_.load.timeout_s, client::stop_flag());
  transcript_.answered(entry, now_ns(), reply);
  return reply;
}

StageReading Bench::stages_now() const { return server_ ? server_->read_stages() : StageReading(); }

void Progress::show(const Second& second, const Counts& so_far, double share_done) {
  constexpr int bar_characters = 20;
  if (!live_) return;
  const int filled = std::clamp(int(share_done * bar_characters), 0, bar_characters);
  const std::string bar = std::string(std::size_t(filled), '#') +
                          std::string(std::size_t(bar_characters - filled), '.');
  char planned[40] = "";
  if (second.planned_per_s)
    std::snprintf(planned, sizeof planned, " of %.0f planned", *second.planned_per_s);
  char text[256];
  char latency[64] = "no answer";
  if (second.response_p50_ms)
    std::snprintf(latency, sizeof latency, "p50 %.2f ms  p99 %.2f ms", *second.response_p50_ms,
                  *second.response_p99_ms);
  std::snprintf(text, sizeof text,
                "[%s] %3.0f %%  %5.0f s  %8.0f requests/s%s  %s  %llu in flight  %llu errors%s",
                bar.c_str(), share_done * 100, second.second, second.requests_per_s, planned,
                latency, static_cast<unsigned long long>(second.in_flight),
                static_cast<unsigned long long>(so_far.errors_in_all()),
                second.warmup ? "  warming up" : "");
  write(text);
}

void Progress::say(const std::string& text) {
  if (live_) write(text);
}

void Progress::write(const std::string& text) {
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace exchange::loadgen
