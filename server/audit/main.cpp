// exchange-audit: checks from outside that a store is sound, copies one for a backup, and lists the
// commands of its journal. Only reads the store; takes no epoch and no lock of a server.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "audit/audit.hpp"
#include "audit/backup.hpp"
#include "audit/commands_json.hpp"
#include "audit/source.hpp"
#include "base/process.hpp"
#include "base/version.hpp"
#include "store/store_url.hpp"

using namespace exchange::audit;

namespace {
enum ExitCode { exit_clean = 0, exit_violations = 1, exit_unusable = 2 };

// Returns true if a leaderboard from a page equals that of the journal; prints the first
// difference.
bool is_leaderboard(const std::string& file, const std::string& of_journal, std::FILE* out) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::istringstream wanted(of_journal);
  for (std::size_t line = 1;; ++line) {
    std::string shown, right;
    const bool more = bool(std::getline(in, shown)),
               more_wanted = bool(std::getline(wanted, right));
    if (shown.ends_with('\r')) shown.pop_back();
    if (more != more_wanted || shown != right) {
      std::fprintf(out, "leaderboard: line %zu of %s is '%s', but the journal leads to '%s'\n",
                   line, file.c_str(), shown.c_str(), right.c_str());
      return false;
    }
    if (!more) break;
  }
  std::fprintf(out, "leaderboard: %s is that of the journal\n", file.c_str());
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  exchange::prepare_process("exchange-audit");
  AuditOptions options;
  std::string backup_folder;
  bool json = false, commands = false;
  CLI::App app(
      "Audits a store of the exchange, read-only: tables, journal, replay, and acknowledged "
      "orders.\n"
      "Exit status: 0 clean, 1 violations, 2 the store cannot be read or an error in the command "
      "line.",
      "exchange-audit");
  app.set_version_flag("--version", std::string("exchange-audit ") + exchange::version());
  app.option_defaults()->always_capture_default();
  app.add_option("STORE", options.store, exchange::kept_store_urls)->required();
  app.add_option("--acknowledged", options.acknowledged_file,
                 "file of orders that were acknowledged to clients, one a line (docs/audit.md)");
  app.add_flag(
      "--complete", options.complete,
      "the file has every order that its accounts ever sent: none may be in the store twice");
  app.add_option("--backup", backup_folder,
                 "copy a SQLite store, tables and journal of one moment, into this new folder, and "
                 "audit the copy; a server may run meanwhile");
  app.add_option("--violations-max", options.violations_kept,
                 "violations reported one by one; all are counted");
  std::string leaderboard_file, shown_file;
  std::uint64_t round = 0;
  CLI::Option* const writes_board = app.add_option(
      "--leaderboard", leaderboard_file,
      "write the leaderboard that the journal alone leads to into this file, as CSV: "
      "what /api/leaderboard.csv shows");
  CLI::Option* const compares_board = app.add_option(
      "--compare-leaderboard", shown_file,
      "compare this file, such as /api/leaderboard.csv, with the leaderboard that the journal "
      "alone leads to, and say where they differ");
  app.add_flag("--ids", options.leaderboard_ids,
               "leaderboards with the ids of accounts that have a name, as ?ids=true");
  app.add_option("--round", round, "leaderboards of one round; 0: of all");
  app.add_flag("--json", json, "the result as one JSON document");
  app.add_flag("--commands", commands,
               "no audit: write the commands of the journal, one line of JSON for each batch "
               "(docs/audit.md)");
  try {
    app.parse(argc, argv);
    if (commands && app.parse_order().size() > 2)
      throw CLI::ExcludesError("--commands", "other options");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_clean : exit_unusable;
  }
  try {
    if (commands) {
      write_commands(*open_source(options.store), stdout);
      return exit_clean;
    }
    if (!backup_folder.empty()) options.store = back_up(options.store, backup_folder);
    const bool wants_board = *writes_board || *compares_board;
    if (wants_board) options.leaderboard = round;
    const Audit result = audit(options);
    std::fputs((json ? to_json(result) : text_of(result)).c_str(), stdout);
    if (wants_board && result.leaderboard.empty())
      throw std::runtime_error("no leaderboard: see 'not checked'");
    if (*writes_board && !(std::ofstream(leaderboard_file) << result.leaderboard << std::flush))
      throw std::runtime_error("cannot write " + leaderboard_file);
    const bool same =
        !*compares_board || is_leaderboard(shown_file, result.leaderboard, json ? stderr : stdout);
    return same && result.findings.violations() == 0 ? exit_clean : exit_violations;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exchange-audit: %s\n", error.what());
    return exit_unusable;
  }
}
