// conformance: tests any server of the protocol by the numbered rules of docs/protocol.md.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "base/process.hpp"
#include "base/version.hpp"
#include "client/connection/command_line.hpp"
#include "client/connection/option_checks.hpp"
#include "course/conformance/run.hpp"

using namespace exchange;
using namespace exchange::conformance;

namespace {

enum ExitCode {
  exit_kept = 0,
  exit_broken = 1,
  exit_usage = 2,
  exit_unreachable = 3,
  exit_test_error = 4,
  exit_interrupted = 130
};

bool write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return true;
  std::fprintf(stderr, "conformance: cannot write %s\n", name.c_str());
  return false;
}

// On a terminal one line that is rewritten, otherwise nothing.
class ProgressLine {
 public:
  void show(std::size_t done, std::size_t of, const std::string& name) {
    if (terminal_) std::fprintf(stderr, "\r\033[K%zu of %zu: %s", done + 1, of, name.c_str());
  }
  ~ProgressLine() {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

std::string check_rule(const std::string& number) {
  const std::vector<Rule> rules = all_rules();
  const bool is_known = std::ranges::find(rules, number, &Rule::number) != rules.end();
  return is_known ? "" : "docs/protocol.md has no rule '" + number + "'";
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process("conformance");
  ConformanceOptions options;
  std::string json_file, level = "should";
  std::vector<std::string> rules;
  CLI::App app(
      "Tests a server of the exchange protocol by the numbered rules of docs/protocol.md: any "
      "server, not only ours.\n"
      "It uses accounts and symbols of its own and removes nothing: give it a server of its own.\n"
      "Exit status: 0 every rule of the levels must and should is kept, 1 one is not, 2 an error "
      "in the command line, 3 the server cannot be reached or went away, 4 this program failed in "
      "a case, 130 interrupted.",
      "conformance");
  app.set_version_flag("--version", std::string("conformance ") + version());
  app.option_defaults()->always_capture_default();
  app.add_option("SERVER", options.target.address, "HOST:PORT")
      ->required()
      ->check(client::accepted_by(client::check_address));
  app.add_option("--seed", options.seed, "the same seed gives the same numbers in the requests");
  app.add_option("--rounds", options.rounds, "how often each case runs, with other numbers")
      ->check(CLI::Range(1u, rounds_max));
  app.add_option("--timeout", options.target.timeout_s, "seconds that one reply may take")
      ->check(client::is_from(0.05, 600.0));
  app.add_option("--connection", options.target.connection,
                 "how many requests a connection carries: auto finds out")
      ->check(CLI::IsMember({"auto", "persistent", "per-request"}));
  app.add_option(
         "--restart", options.target.restart,
         "shell command that starts the server again after it has died or hung, and returns")
      ->type_name("COMMAND");
  app.add_option(
         "--level", level,
         "rules shown in full: must, or should beside it, or ours and so all; --json has all "
         "of them")
      ->check(CLI::IsMember({"must", "should", "ours"}));
  app.add_option("--rule", rules, "test this rule alone, such as M4; may be repeated")
      ->check(check_rule);
  app.add_flag(
      "--strict", options.strict,
      "replies must be written byte for byte as docs/protocol.md has them, or R1 is broken");
  app.add_option("--json", json_file,
                 "write the result as JSON, for course/conformance/page.py too")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_kept : exit_usage;
  }
  options.rules = {rules.begin(), rules.end()};
  client::stop_on_signals();
  try {
    ConformanceReport report;
    {
      ProgressLine progress;
      report = run(options, [&](auto... step) { progress.show(step...); });
    }
    const Level shown = level == "must"   ? Level::must
                        : level == "ours" ? Level::ours
                                          : Level::should;
    std::fputs(text_of(report, shown).c_str(), stdout);
    if (!json_file.empty() && !write_file(json_file, to_json(report))) return exit_usage;
    if (client::stop_flag()) return exit_interrupted;
    if (!report.test_errors.empty()) return exit_test_error;
    if (!report.stopped.empty()) return exit_unreachable;
    return report.all_kept() ? exit_kept : exit_broken;
  } catch (const client::Interrupted&) {
    return exit_interrupted;
  } catch (const client::Unreachable& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return exit_unreachable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: an error of this test, not of the server: %s\n",
                 error.what());
    return exit_test_error;
  }
}
