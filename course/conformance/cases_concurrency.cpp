// Many clients at once, each with its own orders, queries and cancels: the clients of the load
// generator, which is beside this program. Its audit checks their replies: whether some order of
// these requests explains all of them.

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "course/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string rest_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int byte; (byte = std::fgetc(file)) != EOF;) text += char(byte);
  return text;
}

// The results of the clients.
struct RunReport {
  std::string wrong;       // the error; empty if there is none
  std::string unanswered;  // the requests without a reply; empty if all got one
};

RunReport outcome_of(const nlohmann::json& report) {
  static const std::set<std::string> wrong_kinds{"wrong answer", "protocol"};
  RunReport outcome;
  const auto& result = report.at("result");
  if (const std::string example = result.at("first_wrong_answer"); !example.empty())
    outcome.wrong += " " + first_line(example);
  for (const auto& [kind, count] : result.at("errors").items())
    if (count > 0)
      (wrong_kinds.contains(kind) ? outcome.wrong : outcome.unanswered) +=
          " " + count.dump() + " of the requests got no right reply (" + kind + ").";
  const auto& audit = report.at("audit");
  if (audit.is_null()) {  // the run ended before the audit
    if (outcome.wrong.empty() && outcome.unanswered.empty())
      outcome.unanswered = " The run ended early.";
    return outcome;
  }
  for (const std::string sentence : audit.at("findings")) outcome.wrong += " " + sentence;
  if (outcome.wrong.empty() && outcome.unanswered.empty() && !audit.at("passed"))
    outcome.unanswered = " " + audit.at("not_checked").get<std::string>();
  return outcome;
}

struct Load {
  unsigned clients;
  std::uint64_t requests;
  double reply_s;  // the longest time for a reply
  double run_s;    // the longest time for the run
};

RunReport run_clients(Talk& talk, const Load& load) {
  const Target& target = talk.target();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "loadgen";
  if (!std::filesystem::exists(program)) throw TestError(program.string() + " is missing");
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File report(std::tmpfile(), std::fclose), errors(std::tmpfile(), std::fclose);
  if (!report || !errors) throw TestError("no temporary file can be created");
  const auto path = [](const File& file) {
    return "/dev/fd/" + std::to_string(fileno(file.get()));
  };
  std::ostringstream command;
  // All requests of one account together cost less than its cash, and that cash fits into 32 bits
  // in cents.
  command << std::quoted(program.string(), '\'') << " --connect " << target.address() << " -c "
          << load.clients << " -n " << load.requests << " --lenient --audit"
          << " --audit-precision cent --timeout " << load.reply_s << " --connection "
          << (target.style().per_request ? "per-request" : "persistent")
          << " --mix order=70,query=15,cancel=15 --symbols 3 --cash 2000000 --seed "
          << talk.between(1, 1'000'000) << " --account-prefix " << talk.source().account_prefix()
          << " --symbol-prefix " << talk.source().symbol() << "x --json " << path(report) << " 2>"
          << path(errors);
  constexpr int wrong = 1, unreachable = 3;  // docs/load-generator.md, exit status
  int status = 0;
  try {
    status = run_command(command.str(), load.run_s);
  } catch (const NoReply&) {
    return {.wrong = {},
            .unanswered = " Not all of " + std::to_string(load.requests) +
                          " requests were answered within " +
                          std::to_string(std::int64_t(load.run_s)) + " s."};
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const std::string text = rest_of(report.get()), sentence = first_line(rest_of(errors.get()));
  if (!text.empty()) return outcome_of(nlohmann::json::parse(text));
  if (code == unreachable) return {.wrong = {}, .unanswered = " " + sentence};
  if (code == wrong) return {.wrong = " " + sentence, .unanswered = {}};
  throw TestError("the load generator ended with status " + std::to_string(code) + ": " + sentence);
}

// Measures how long one request of one client takes now: the median of a few.
double seconds_per_request(Talk& talk) {
  std::array<double, 5> seconds{};
  talk.given_account(4);  // the form of a first reply is also checked, which takes time
  for (double& one : seconds) {
    const auto start = std::chrono::steady_clock::now();
    talk.given_account(4);
    one = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Plans as many requests as the server can answer in some seconds, but at least one of each client.
// A reply may take `patience` times as long as one request of each client.
Load affordable(const Talk& talk, unsigned clients, std::uint64_t wanted, double request_s,
                double patience) {
  constexpr double enough_s = 5, reply_min_s = 30, reply_max_s = 600, run_min_s = 600;
  const double affordable = std::min(enough_s / request_s, double(wanted));
  const std::uint64_t requests = std::max<std::uint64_t>(clients, std::uint64_t(affordable));
  const double round_s = clients * request_s;
  return {.clients = clients,
          .requests = requests,
          .reply_s = std::clamp(patience * round_s,
                                std::max(reply_min_s, talk.target().timeout_s()), reply_max_s),
          .run_s = std::max(run_min_s, patience * double(requests) * request_s)};
}

void at_once(Talk& talk, unsigned clients, std::uint64_t requests) {
  if (talk.target().style().wants_end)
    throw Blocked("the load generator does not end the stream after each request", "F1");
  const std::string at_once = std::to_string(clients) + " clients at once";
  RunReport outcome;
  // The machine may be busy with something else: without ample waiting time the test proves
  // nothing.
  constexpr double ample = 100;
  for (const double patience : {5.0, 50.0}) {
    const double request_s = seconds_per_request(talk);
    const Load load = affordable(talk, clients, requests, request_s, patience);
    outcome = run_clients(talk, load);
    if (outcome.wrong.empty() && outcome.unanswered.empty()) return;
    expect(talk.target().answers(), "with " + at_once +
                                        " the server died or hangs: it does not answer any more." +
                                        outcome.wrong + outcome.unanswered);
    if (!outcome.wrong.empty() || load.reply_s > ample * clients * seconds_per_request(talk)) break;
  }
  if (outcome.wrong.empty())
    broken("with " + at_once + " the server did not answer all:" + outcome.unanswered);
  // an error with one client does not break this rule
  const RunReport alone =
      run_clients(talk, affordable(talk, 1, 400, seconds_per_request(talk), 50));
  if (!alone.wrong.empty())
    throw Blocked("results are wrong with one client already:" + alone.wrong, "");
  broken(at_once + ":" + outcome.wrong + outcome.unanswered);
}

}  // namespace

Cases concurrency_cases() {
  Cases cases;
  for (const unsigned clients : {2u, 20u, 200u})
    cases.push_back({"T17", std::to_string(clients) + " clients at once",
                     [=](Talk& talk) {
                       at_once(talk, clients, clients < 20 ? 400 : clients < 200 ? 1'000 : 2'000);
                     },
                     true});
  return cases;
}

}  // namespace exchange::conformance
