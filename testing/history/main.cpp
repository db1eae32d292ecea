// check-history: judges the replies that clients received by the journal of the exchange. Start
// reading here; then check.hpp, matching.hpp.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "base/process.hpp"
#include "history/check.hpp"
#include "store/store_url.hpp"

using namespace exchange::history;

namespace {

enum ExitCode { exit_ok = 0, exit_impossible = 1, exit_unusable = 2 };

void print(const std::vector<Finding>& findings, std::size_t findings_max, const char* praise) {
  for (std::size_t i = 0; i < std::min(findings_max, findings.size()); ++i)
    std::printf("%s%s%s\n", findings[i].line.c_str(), findings[i].line.empty() ? "" : ": ",
                findings[i].sentence.c_str());
  if (findings.size() > findings_max)
    std::printf("… and %zu more\n", findings.size() - findings_max);
  if (findings.empty())
    std::printf("possible: %s\n", praise);
  else
    std::printf("IMPOSSIBLE: %zu findings\n", findings.size());
}

void print(const Verdict& verdict, std::size_t findings_max) {
  std::printf(
      "%zu requests, %zu of them unanswered (%zu of these committed); %zu commits in %zu "
      "batches, %zu executions\n",
      verdict.requests, verdict.unanswered, verdict.unanswered_but_committed, verdict.commits,
      verdict.batches, verdict.executions);
  std::printf("%zu reply elements compared; a place found for %zu requests that changed nothing",
              verdict.compared, verdict.placed);
  if (verdict.not_compared > 0)
    std::printf("; %zu refusals of long replies not compared", verdict.not_compared);
  std::printf("\n");
  print(verdict.findings, findings_max, "every reply fits the commit order and real time");
}

}  // namespace

int main(int argc, char** argv) {
  exchange::prepare_process("check-history");
  CLI::App app(
      "Judges histories of `loadgen --history`, or streams of account events, by the whole journal "
      "of the store (server --keep-journal), which no server may hold meanwhile.\n"
      "Exit code: 0 every reply and event is possible, 1 some are not, 2 usage or something that "
      "cannot be read.",
      "check-history");
  std::string store;
  std::vector<std::string> files, streams;
  std::size_t findings_max = 20;
  app.add_option("--store", store, exchange::kept_store_urls + "; only read")->required();
  app.add_option("files", files, "histories; all that was asked of this store from its beginning")
      ->check(CLI::ExistingFile);
  app.add_option("--events", streams,
                 "messages of /ws with events of accounts, one a line, over any number of "
                 "connections (docs/account-stream.md)")
      ->check(CLI::ExistingFile);
  bool timetable = false;
  app.add_flag("--timetable", timetable,
               "the server followed a timetable: trading of symbols may change without a request");
  app.add_option("--findings-max", findings_max, "findings that are printed")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_unusable;
  }
  try {
    std::vector<RecordedRequest> requests;
    std::uint64_t runs = 0;
    for (const std::string& file : files) {
      std::ifstream in(file);
      read_history(in, file, runs, requests);
    }
    if (files.empty() == streams.empty()) throw Unusable("give histories, or --events");
    std::vector<StreamEvent> events;
    for (const std::string& stream : streams) {
      std::ifstream in(stream);
      read_events(in, stream, events);
    }
    const std::vector<Batch> journal = read_journal(store);
    if (!streams.empty()) {
      const EventVerdict verdict = check_events(events, journal);
      std::printf("%zu events of %zu accounts compared with the journal\n", verdict.events,
                  verdict.accounts);
      print(verdict.findings, findings_max, "every event is there once, and right");
      return verdict.findings.empty() ? exit_ok : exit_impossible;
    }
    const Verdict verdict = check(
        requests, journal, timetable ? TradingChanges::of_timetable : TradingChanges::of_requests);
    print(verdict, findings_max);
    return verdict.findings.empty() ? exit_ok : exit_impossible;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check-history: %s\n", error.what());
    return exit_unusable;
  }
}
