// Clients at once, each with orders, queries and cancels of its own: those of the load generator,
// which is beside this program. Its audit judges what they got: whether some order of these
// requests explains it all.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string rest_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int byte; (byte = std::fgetc(file)) != EOF;) text += char(byte);
  return text;
}

std::string sentences_of(const nlohmann::json& report) {
  const auto& result = report.at("result");
  std::string sentences;
  if (const std::string example = result.at("first_wrong_answer"); !example.empty())
    sentences += " " + first_line(example);
  for (const auto& [error, count] : result.at("errors").items())
    if (count > 0)
      sentences += " Without a right reply: " + count.dump() + " of the requests (" + error + ").";
  const auto& audit = report.at("audit");
  for (const std::string sentence : audit.at("findings")) sentences += " " + sentence;
  if (sentences.empty() && !audit.at("passed"))
    sentences = " " + audit.at("not_checked").get<std::string>();
  return sentences;
}

// What is wrong with what they got; empty if nothing is.
std::string findings_of(Talk& talk, unsigned clients, std::uint64_t requests) {
  constexpr double limit_s = 600;
  const Target& target = talk.target();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "loadgen";
  if (!std::filesystem::exists(program)) throw Blocked(program.string() + " is missing", "");
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File report(std::tmpfile(), std::fclose), errors(std::tmpfile(), std::fclose);
  if (!report || !errors) throw Blocked("no temporary file can be created", "");
  const auto path = [](const File& file) {
    return "/dev/fd/" + std::to_string(fileno(file.get()));
  };
  std::ostringstream command;
  // All requests of one account cost less than its cash, and 32 bits are enough for it in cents.
  command << std::quoted(program.string(), '\'') << " --connect " << target.address() << " -c "
          << clients << " -n " << requests << " --no-progress --lenient --audit"
          << " --audit-precision cent --timeout " << std::max(30.0, target.timeout_s())
          << " --connection " << (target.style().per_request ? "per-request" : "persistent")
          << " --mix order=70,query=15,cancel=15 --symbols 3 --cash 2000000 --seed "
          << talk.between(1, 1'000'000) << " --account-prefix " << talk.source().account_prefix()
          << " --symbol-prefix " << talk.source().symbol() << "x --json " << path(report) << " 2>"
          << path(errors);
  run_command(command.str(), limit_s);
  const std::string text = rest_of(report.get());
  return text.empty() ? " " + first_line(rest_of(errors.get()))
                      : sentences_of(nlohmann::json::parse(text));
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
