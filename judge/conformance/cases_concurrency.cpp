// Clients at once, each with orders, queries and cancels of its own. The audit of the load
// generator judges what they got: whether some order of these requests explains it all.

#include <algorithm>
#include <chrono>

#include "client/connection/command_line.hpp"
#include "client/loadgen/audit_input.hpp"
#include "client/loadgen/bench.hpp"
#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What is wrong with what they got; empty if nothing is.
std::string findings_of(Talk& talk, unsigned clients, std::uint64_t requests) {
  loadgen::Options options;
  options.connect_to = talk.target().address();
  options.progress = false;
  options.load.clients = clients;
  options.load.requests = requests;
  options.load.audit = true;
  options.load.audit_precision = loadgen::AuditPrecision::cent;
  options.load.lenient = true;
  options.load.timeout_s = std::max(options.load.timeout_s, talk.target().timeout_s());
  options.load.connection = talk.target().style().per_request ? loadgen::ConnectionUse::per_request
                                                              : loadgen::ConnectionUse::persistent;
  options.workload.kind = loadgen::WorkloadKind::mix;
  options.workload.mix = {.order = 70, .query = 15, .cancel = 15};
  options.workload.symbols = 3;
  // All requests of one account cost less, and 32 bits are enough for it in cents.
  options.workload.cash = 2'000'000;
  options.workload.seed = std::uint64_t(talk.between(1, 1'000'000));
  options.workload.account_prefix = talk.source().account_prefix();
  options.workload.symbol_prefix = talk.source().symbol() + "x";
  std::string findings;
  try {
    loadgen::Bench bench(options);
    const loadgen::Workload workload(options.workload, clients);
    loadgen::RunResult result = bench.run(options.load, workload);
    if (client::stop_flag()) throw client::Interrupted();
    if (const std::string& example = result.examples.wrong_answer; !example.empty())
      findings += " " + first_line(example);
    for (std::size_t i = 0; i < result.counts.errors.size(); ++i)
      if (const std::uint64_t errors = result.counts.errors[i]; errors > 0)
        findings += " Without a right reply: " + std::to_string(errors) + " of the requests (" +
                    name_of(loadgen::ErrorClass(i)) + ").";
    const loadgen::AuditResult audited = bench.audit_history(workload, result);
    for (const std::string& sentence : audited.findings) findings += " " + sentence;
    if (findings.empty() && !audited.passed) findings = " " + audited.not_checked;
  } catch (const client::Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    findings = std::string(" ") + error.what();
  }
  return findings;
}

// As many requests as a slow server can answer in some seconds. Blocks if not each client gets one.
std::uint64_t affordable(Talk& talk, std::uint64_t wanted, unsigned clients) {
  constexpr double enough_s = 5;
  talk.given_account(4);  // the first reply is also looked at for its form
  const auto start = std::chrono::steady_clock::now();
  talk.given_account(4);
  const std::chrono::duration<double> one = std::chrono::steady_clock::now() - start;
  const double requests = enough_s / one.count();
  if (requests < clients)
    throw Blocked("the server is too slow: a request takes " + std::to_string(one.count()) + " s",
                  "");
  return std::uint64_t(std::min(requests, double(wanted)));
}

void at_once(Talk& talk, unsigned clients, std::uint64_t requests) {
  if (talk.target().style().wants_end)
    throw Blocked("the load generator does not end the stream after each request", "F1");
  const std::string findings = findings_of(talk, clients, affordable(talk, requests, clients));
  if (findings.empty()) return;
  const std::string sentence = std::to_string(clients) + " clients at once:" + findings;
  expect(talk.target().answers(), sentence);
  // what it gets wrong with one client is no fault of this rule
  if (const std::string alone = findings_of(talk, 1, affordable(talk, 400, 1)); !alone.empty())
    throw Blocked("results are wrong with one client already:" + alone, "");
  broken(sentence);
}

void two(Talk& talk) { at_once(talk, 2, 400); }
void twenty(Talk& talk) { at_once(talk, 20, 1'000); }
void two_hundred(Talk& talk) { at_once(talk, 200, 2'000); }

}  // namespace

void add_concurrency_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"T17", "2 clients at once", two, true},
                                {"T17", "20 clients at once", twenty, true},
                                {"T17", "200 clients at once", two_hundred, true},
                            });
}

Cases all_cases() {
  Cases cases;
  for (const auto add :
       {add_framing_cases, add_document_cases, add_reply_cases, add_create_cases,
        add_transaction_cases, add_reference_cases, add_term_cases, add_cancel_cases,
        add_replace_cases, add_market_cases, add_number_cases, add_concurrency_cases})
    add(cases);
  return cases;
}

}  // namespace exchange::conformance
