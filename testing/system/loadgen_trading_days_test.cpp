// Loads while symbols are halted, auctioned and opened: by the load generator, and by a timetable.

#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "support/clocks.hpp"
#include "support/folder.hpp"
#include "support/server_process.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// A run and its audit, from the report.
nlohmann::json audit_of(std::vector<std::string> arguments) {
  const TemporaryFolder folder;
  arguments.insert(arguments.end(), {"--audit", "--json", folder / "report.json"});
  const RunResult run = run_program("loadgen", arguments);
  INFO(run.output);
  REQUIRE(run.status == 0);
  return nlohmann::json::parse(contents(folder / "report.json"))["audit"];
}

}  // namespace

TEST_CASE("--audit proves the auctions and halts that the load generator makes") {
  for (const char* mix :
       {"order=1", "order=5,market=2,cancel=2,query=2",
        "order=4,ioc=1,fok=1,post=1,stp=2,query=1,cancel=1,replace=4,cancel_all=1"}) {
    const TemporaryFolder folder;
    const std::string store = "sqlite:" + (folder / "x.db");
    {
      ServerProcess server({"--store", store, "--http-port", "off", "--keep-journal"});
      const auto audit = audit_of({"-c", "6", "-n", "6000", "--workers", "2", "--symbols", "3",
                                   "--workload", mix, "--trading-days", "5ms", "--connect",
                                   "127.0.0.1:" + std::to_string(server.port()), "--history",
                                   folder / "run.jsonl"});
      CHECK(audit["not_checked"] == "");
      CHECK(audit["executions"] > 100);
    }
    CHECK_THAT(contents(folder / "run.jsonl"), contains_text("volume="));
    const RunResult history =
        run_program("check-history", {"--store", store, folder / "run.jsonl"});
    INFO(history.output);
    CHECK(history.status == 0);
  }
}

TEST_CASE("an audit names the symbols that a timetable halted, and finds nothing wrong") {
  const Noon noon;
  const TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder / "x.db");
  std::ofstream(folder / "day.txt") << clock_time(1) << " auction\n"
                                    << clock_time(2) << " open\n"
                                    << clock_time(3) << " halt\n";
  {
    ServerProcess server({"--store", store, "--http-port", "off", "--keep-journal", "--timetable",
                          folder / "day.txt"});
    const auto audit =
        audit_of({"-c", "6", "-d", "4s", "--rate", "1000", "--symbols", "2", "--workload",
                  "order=7,post=1,cancel=1,query=1", "--connect",
                  "127.0.0.1:" + std::to_string(server.port()), "--history", folder / "run.jsonl"});
    CHECK(audit["passed"] == true);
    const std::string not_checked = audit["not_checked"];
    CHECK_THAT(not_checked, contains_text("trading was halted, or in an auction"));
    CHECK_THAT(not_checked, contains_text("trading of this symbol is halted"));
  }
  for (const bool timetable : {true, false}) {
    std::vector<std::string> arguments{"--store", store, folder / "run.jsonl"};
    if (timetable) arguments.push_back("--timetable");
    const RunResult history = run_program("check-history", arguments);
    INFO(history.output);
    CHECK(history.status == (timetable ? 0 : 1));
  }
}
