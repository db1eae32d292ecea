// A server that follows a timetable, through crashes.

#include "catch.hpp"

#include <signal.h>

#include <fstream>

#include "journal/journal_record.hpp"
#include "support/clocks.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Returns "SYMBOL TRADING" of each change of trading, in order.
std::vector<std::string> changes_in(const std::string& store) {
  std::vector<std::string> changes;
  for (const JournalRow& row : read_journal_file(store + ".journal").rows)
    for (const Command& command : decode_journal_record(row.payload).commands)
      if (const auto* set = std::get_if<SetInstrument>(&command))
        changes.push_back(std::string(set->symbol->view()) + " " +
                          std::string(to_string(set->trading.value())));
  return changes;
}

}  // namespace

TEST_CASE("each step of a timetable is in the journal once, whatever crashes come between") {
  const Noon noon;
  TemporaryFolder folder;
  const std::string store = folder / "x.db", path = folder / "day.txt";
  const std::vector<std::string> options{"--store",        "sqlite:" + store, "--http-port", "off",
                                         "--keep-journal", "--timetable",     path};
  const auto wait_for_log = [](const ServerProcess& server, const std::string& text) {
    const bool logged =
        exchange::wait_for([&] { return server.log().find(text) != std::string::npos; });
    INFO(server.log());
    REQUIRE(logged);
  };
  std::string timetable = clock_time(-60) + " auction\n";
  std::ofstream(path) << timetable;
  {
    ServerProcess server(options);
    CHECK(TcpClient(server.port()).request("<create><symbol sym='A'/><symbol sym='B'/></create>") ==
          "<results><created sym=\"A\"/><created sym=\"B\"/></results>\n");
    wait_for_log(server, "auction: A, B");
    server.kill();
  }
  timetable += clock_time(2) + " uncross B\n";
  std::ofstream(path) << timetable;
  {
    ServerProcess server(options);
    wait_for_log(server, "uncross: B");
    server.kill();
  }
  {
    ServerProcess server(options);
    std::ofstream(path) << timetable << "close\n";
    ::kill(server.pid(), SIGHUP);
    wait_for_log(server, "the timetable was not read again: " + path + ":3: expected a time");
    std::ofstream(path) << timetable << clock_time(1) << " close\n";
    ::kill(server.pid(), SIGHUP);
    wait_for_log(server, "close: A, B");
    CHECK(server.stop() == 0);
  }
  CHECK(changes_in(store) == std::vector<std::string>{"A auction", "B auction", "B open",
                                                      "B auction", "A open", "A halted", "B open",
                                                      "B halted"});
}

TEST_CASE("a timetable with an error ends the start of a server") {
  TemporaryFolder folder;
  const std::string path = folder / "day.txt";
  std::ofstream(path) << "10:00 open\n11:00 closed\n";
  const RunResult result =
      run_program("server", {"--store", "memory:", "--http-port", "off", "--timetable", path});
  CHECK(result.status == 2);
  CHECK_THAT(result.output, contains_text(path + ":2: 'closed' is not a step: expected open, "
                                                 "auction, halt, close or uncross"));
}
