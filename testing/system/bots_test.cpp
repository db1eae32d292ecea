// The demo bots as their users run them: against the real server, which stops and starts again.

#include <signal.h>
#include <sqlite3.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "catch.hpp"
#include "support/server_process.hpp"

using namespace exchange::testing;

namespace {

struct Bots : ChildProcess {
  explicit Bots(const std::vector<std::string>& arguments) : ChildProcess("demo-bots", arguments) {}
};

// Returns the number that a query finds in the tables; -1 while the tables do not exist yet.
std::int64_t count(const std::string& database_path, const char* query) {
  sqlite3* database = nullptr;
  std::int64_t result = -1;
  if (sqlite3_open_v2(database_path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) ==
      SQLITE_OK) {
    sqlite3_busy_timeout(database, 10'000);
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, query, -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
      result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
  }
  sqlite3_close(database);
  return result;
}

constexpr const char* trades = "SELECT count(*) FROM executions";
constexpr const char* open_orders = "SELECT count(*) FROM orders WHERE open_e8 > 0";
constexpr const char* accounts = "SELECT count(*) FROM accounts";

// Waits for a condition; the time limit of the test ends a wait that takes too long.
void await(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::string at(const ServerProcess& server) { return "127.0.0.1:" + std::to_string(server.port()); }

}  // namespace

TEST_CASE("bots trade, outlive their server, and clear the book on SIGTERM") {
  const TemporaryFolder folder;
  const std::string store = folder / "exchange.db";
  const std::vector<std::string> arguments{"--store", "sqlite:" + store};
  auto server = std::make_unique<ServerProcess>(arguments);
  const unsigned port = server->port();
  Bots bots({"--connect", at(*server), "--symbols", "SPY=580,QQQ=500.5,IWM", "--rate", "2000",
             "--seed", std::to_string(test_seed())});
  await([&] { return count(store, trades) >= 100; });
  CHECK(count(store, "SELECT count(DISTINCT symbol) FROM executions") == 3);

  server->kill();
  const std::int64_t before = count(store, trades);
  await([&] { return bots.output().find("trying again") != std::string::npos; });
  server = std::make_unique<ServerProcess>(arguments, port);
  await([&] { return count(store, trades) >= before + 100; });
  CHECK(count(store, open_orders) > 0);

  CHECK(bots.end_with(SIGTERM) == 0);
  CHECK(server->stop() == 0);
  INFO(bots.output());
  CHECK_THAT(bots.output(), contains_text(" lost=1 "));
  CHECK(count(store, open_orders) <= 1);  // the one whose reply was lost
  CHECK(count(store, accounts) <= 8);     // two a symbol, and one or two in place of those in doubt
}

TEST_CASE("bots that were killed start again at the same store, whatever is in it") {
  const TemporaryFolder folder;
  const std::string store = folder / "exchange.db";
  ServerProcess server({"--store", "sqlite:" + store});
  const std::vector<std::string> arguments{"--connect",        at(server), "--symbols", "SPY",
                                           "--rate",           "2000",     "--seed",    "7",
                                           "--account-prefix", "900"};
  for (int run = 1; run <= 3; ++run) {  // with one prefix: earlier runs have taken their ids
    const std::int64_t before = std::max<std::int64_t>(0, count(store, trades));
    Bots bots(arguments);
    await([&] { return count(store, trades) >= before + 50; });
    CHECK(bots.end_with(SIGKILL) == 128 + SIGKILL);
    await([&] { return count(store, accounts) == 2 * run; });
  }
  CHECK(count(store, open_orders) <= 33);
}

TEST_CASE("bots wait for a server to come up, and end on a signal or when their time is over") {
  unsigned port = 0;
  {
    ServerProcess server({"--store", "memory:"});
    port = server.port();
  }
  {
    Bots bots({"--connect", "127.0.0.1:" + std::to_string(port)});
    await([&] { return bots.output().find("cannot connect") != std::string::npos; });
    await([&] { return bots.output().find("trying again every 0.4 s") != std::string::npos; });
    CHECK(bots.end_with(SIGINT) == 0);
  }
  {
    Bots bots({"--connect", "127.0.0.1:" + std::to_string(port), "--duration", "300ms"});
    CHECK(bots.wait() == 0);
    CHECK_THAT(bots.output(), contains_text("requests=0 "));
  }
  const TemporaryFolder folder;
  ServerProcess server({"--store", "sqlite:" + (folder / "exchange.db")});
  Bots bots({"--connect", at(server), "--duration", "500ms", "--rate", "1000"});
  CHECK(bots.wait() == 0);
  CHECK(server.stop() == 0);
  CHECK(count(folder / "exchange.db", accounts) == 8);
  CHECK(count(folder / "exchange.db", open_orders) == 0);
}

TEST_CASE("invalid options of the bots end with status 2") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--symbols", "S-Y"},
                                                    {"--symbols", "SPY=0"},
                                                    {"--rate", "0"},
                                                    {"--duration", "soon"},
                                                    {"--account-prefix", "x"},
                                                    {"--connect", "here"},
                                                    {"more"}}) {
    Bots bots(arguments);
    CHECK(bots.wait() == 2);
  }
}
