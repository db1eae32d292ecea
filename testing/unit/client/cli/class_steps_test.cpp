// The commands of a class if the exchange does not answer. With an exchange that answers, they run
// as the page of a class shows (testing/system/documents/test_class.py).
#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"
#include "unit/client/cli/seat.hpp"

using namespace exchange;
using namespace exchange::cli;
using namespace exchange::testing;

namespace {

struct Class {
  explicit Class(const std::string& name = "class") : path(folder / name) {
    std::ofstream(folder / "roster") << "name\nAda\n";
    std::ofstream(folder / "scenario") << "[student]\n[[instrument]]\nsymbol = \"ABC\"\n";
  }
  std::string init() const {
    return "class init '" + (folder / "roster") + "' '" + (folder / "scenario") + "' --folder '" +
           path + "'";
  }
  std::string command(const std::string& words) const {
    return "class " + words + " --folder '" + path + "'";
  }

  const TemporaryFolder folder;
  const std::string path;
};

}  // namespace

TEST_CASE("where no server runs, the command that starts one has its ports and quoted files") {
  const Class made("my class");
  Seat seat("127.0.0.1:1", "127.0.0.1:2,127.0.0.1:3");
  CHECK(seat.run(made.init()) == exit_ok);
  CHECK_THAT(seat.said(),
             contains_text("\n  exchange-server --auth --operator-key-file '" + made.path +
                           "/operator.key' --port 1 --http-port 2 --keep-journal --store 'sqlite:" +
                           made.path + "/exchange.db'\n"));
  std::ostringstream keys;
  keys << std::ifstream(made.path + "/keys.csv").rdbuf();
  CHECK_THAT(keys.str(), contains_text(",http://127.0.0.1:2/#sign-in=1001:"));
}

TEST_CASE("a class goes on after a reply that did not come, and the message says so") {
  const Class made;
  EditedServer silent([](std::string, unsigned) { return std::nullopt; });
  HttpStub http([](const std::string& target) -> HttpStub::Answer {
    if (target.starts_with("/api/symbols"))
      return {200, R"({"batch": 1, "symbols": [{"symbol": "ABC", "trades": 1}]})"};
    if (target == "/metrics") return {200, "# x\nexchange_journal_batch 1\n"};
    if (target == "/api/days") return {200, R"({"days": [{"day": "monday"}]})"};
    if (target.starts_with("/api/leaderboard"))
      return {200, R"({"rounds": [{"name": "first"}], "standings": []})"};
    return {503, R"({"error": "the key could not be checked now", "code": "key_unchecked"})"};
  });
  Seat seat(silent.address(), http.address());
  const std::string again = "Run the command again: it goes on where it stopped.\n";
  CHECK(seat.run(made.init()) == exit_unreachable);
  CHECK(seat.complained() == http.address() + ": the key could not be checked now\n" + again);
  CHECK(seat.run(made.command("pause")) == exit_unreachable);
  CHECK_THAT(seat.complained(), Catch::Matchers::EndsWith(again));
  CHECK(seat.run(made.command("new-day monday")) == exit_refused);
  CHECK(seat.complained() ==
        "day monday was closed before, and the next one has begun: 'exchange-cli class start' "
        "creates what it lacks\n");
}

TEST_CASE("text of a roster does not steer the terminal") {
  const Class made;
  std::ofstream(made.folder / "roster") << "name,email\nAda\x1b[2J,\n";
  Seat seat;
  CHECK(seat.run(made.init()) == exit_usage);
  CHECK(seat.complained().find('\x1b') == std::string::npos);
  std::ofstream(made.folder / "scenario")
      << "name = \"\\u001b[2J\"\n[student]\n[[instrument]]\nsymbol = \"ABC\"\n";
  std::ofstream(made.folder / "roster") << "name\nAda\n\"Points Possible \x1b[2J\"\n";
  CHECK(seat.run(made.init()) == exit_ok);
  CHECK(seat.said().find('\x1b') == std::string::npos);
}
