// The operator's commands, executed by an honest exchange in this process. docs/operator.md and
// docs/trading-days.md, which are run, show the others.
#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"
#include "unit/client/cli/seat.hpp"

using namespace exchange;
using namespace exchange::cli;
using namespace exchange::testing;

TEST_CASE("rules of a symbol are shown rounded, and refused with their reason") {
  HttpStub http(answer);
  Trader seat(http.address());
  seat.start();
  seat.run("instrument SPX --tick 0.05", exit_refused, "", "symbol SPX: unknown symbol\n");
  seat.run("instrument SPY --tick 0.0500000001 --order-max 10.0 --lot 0", exit_ok,
           "symbol SPY: tick 0.05, no lot, order max 10\n");
  seat.run("instrument SPY --price-min 2 --price-max 1", exit_refused, "",
           "symbol SPY: the lowest price would be above the highest\n");
  seat.run("halt --all", exit_ok, "all symbols: trading halted\n");
}

TEST_CASE("what the operator changes of accounts is described, or refused") {
  Trader seat;
  seat.start();
  seat.run("admin cash 1 -100000.5 --reason fine", exit_refused, "",
           "account 1: insufficient funds\n");
  seat.run("admin cash 1 0.5 --reason fine", exit_ok, "account 1: 0.5 cash given\n");
  seat.run("admin shares 1 SPY -6 --reason gift", exit_refused, "",
           "account 1: insufficient shares\n");
  seat.run("admin shares 1 NONE 5 --reason gift", exit_refused, "", "account 1: unknown symbol\n");
  seat.run("admin shares 2 SPY -0.5 --reason fine", exit_ok,
           "account 2: 0.5 shares of SPY taken\n");
  seat.run("admin role 1 operator", exit_ok, "account 1: role operator\n");
  seat.run("admin freeze 1 --cancel-orders", exit_ok, "account 1: frozen, open orders canceled\n");
  seat.run("admin unfreeze 1", exit_ok, "account 1: active\n");
  seat.run("admin limits 1 --orders-max 10 --position-max 0.0", exit_ok,
           "account 1: orders max 10, no position max\n");
  seat.run("admin name 1 0", exit_ok, "account 1: name 0\n");
  seat.run("admin name 1 ''", exit_ok, "account 1: no name\n");
  seat.run("admin name 9 Eve", exit_refused, "", "account 9: unknown account\n");
  seat.run("admin role 9 trader", exit_refused, "", "account 9: unknown account\n");
}

TEST_CASE("a new key is read from a file, typed twice, or made and shown before it is sent") {
  const TemporaryFolder folder;
  std::ofstream(folder / "key") << "secret-of-1\n";
  Trader seat;
  seat.start();
  const std::string no_keys = "account 1: accounts of this exchange have no keys\n",
                    replied =
                        "<results><error id=\"1\">accounts of this exchange have no keys"
                        "</error></results>\n";
  seat.run("admin set-key 1 --key-file " + (folder / "key"), exit_refused, "", no_keys);
  CHECK(seat.run("admin set-key 1 --key-file " + (folder / "none")) == exit_usage);
  CHECK_THAT(seat.complained(), contains_text(folder / "none"));

  Lines typed{"secret-of-1", "secret-of-1", "secret-of-1", "secret-of-2"}, prompts;
  seat.console.secret = [&](const std::string& prompt) {
    prompts.push_back(prompt);
    return typed[prompts.size() - 1];
  };
  seat.run("set-key --key-file -", exit_refused, "", no_keys);
  CHECK(prompts == Lines{"key of account 1: ", "the same key again: "});
  seat.run("set-key --key-file -", exit_usage, "", "the keys differ\n");

  CHECK(seat.run("admin set-key 1 --xml") == exit_refused);
  const std::string said = seat.said(), before = "new key of account 1, shown only now: ";
  REQUIRE(said.starts_with(before));
  const std::string key = said.substr(before.size(), said.find('\n') - before.size());
  CHECK(key.size() == 48);
  CHECK(key.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(said.substr(before.size() + key.size()) ==
        "\n> <create><set-key id=\"1\" key=\"…\"/></create>\n" + replied);
  CHECK(seat.complained() == no_keys);
  CHECK(seat.run("admin set-key 1") == exit_refused);
  CHECK(seat.said().find(key) == std::string::npos);  // each time a different key
}

TEST_CASE("if no reply to the operator comes, the message says what to do") {
  EditedServer server([](std::string, unsigned) { return std::nullopt; });
  Seat seat(server.address());
  const auto advice = [&](const std::string& line) {
    CHECK(seat.run(line) == exit_unreachable);
    const std::string text = seat.complained();
    return text.substr(text.find('\n') + 1);
  };
  const std::string unknown = "Whether the exchange executed it is not known: ";
  for (const char* line : {"admin freeze 1", "admin role 1 trader"})
    CHECK(advice(line) == unknown + "run the command again.\n");
  CHECK(advice("admin cash 1 5 --reason gift") == unknown + "'--account 1 status' shows.\n");
}

TEST_CASE("a new day needs the operator's key, since no account lasts into it") {
  Seat seat;
  const std::string needed = "'admin new-day' needs the operator's key: --operator-key-file FILE\n";
  seat.run("admin new-day monday", exit_usage, "", needed);
  seat.runner->settings().key = "secret-of-1";
  seat.run("admin new-day monday", exit_usage, "", needed);
}

TEST_CASE("where a new day is not closed in time, the message says what the server has not done") {
  const auto message = [](HttpStub::Answer answer) {
    HttpStub http([&](const std::string&) { return answer; });
    Seat seat("127.0.0.1:1", http.address(), 0.2);
    seat.runner->settings().operator_key = "key-of-operator";
    CHECK(seat.run("admin new-day monday") == exit_unreachable);
    return seat.complained();
  };
  CHECK(message({202, R"({"state": "closing"})"}) ==
        "day monday: the server has not closed it yet; its log says why. Run the command again\n");
  CHECK(message({503, R"({"error": "busy", "code": "key_unchecked"})"}) ==
        "day monday: the server has not answered: it may not have checked the operator's key yet, "
        "behind other logins. Run the command again, with more time: --timeout 1\n");
}
