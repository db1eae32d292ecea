#pragma once
// A user of the terminal client in tests: runs lines, and compares what they print.

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "client/cli/shell.hpp"
#include "support/edited_server.hpp"
#include "unit/client/cli/http_stub.hpp"

namespace exchange::testing {

using namespace exchange::cli;
using Lines = std::vector<std::string>;

inline const std::string book =
    R"({"symbol": "SPY", "sequence": 3, "bids": [["145.67", "60", 1]], "asks": []})";
inline const std::string symbols =
    R"({"batch": 1, "symbols": [{"symbol": "SPY"}, {"symbol": "SPQR"}, {"symbol": "ABC"}]})";

inline HttpStub::Answer answer(const std::string& target) {
  if (target == "/api/books/SPY?levels=10") return {200, book};
  if (target == "/api/symbols") return {200, symbols};
  if (target.starts_with("/api/books/")) return {404, R"({"error": "unknown symbol"})"};
  return {404, "not found\n"};
}

inline const std::string set_up =
    "create account 1 100000\ncreate account 2 0\ncreate symbol SPY 2=500\n";

// A runner and what it printed.
struct Seat {
  explicit Seat(const std::string& connect = "127.0.0.1:1", const std::string& http = "127.0.0.1:1",
                double timeout_s = 30, bool retry = false) {
    settings.connect = connect;
    settings.retry = retry;
    settings.http = http;
    settings.account = "1";
    settings.timeout_s = settings.completion_timeout_s = timeout_s;
    settings.completion_fresh_s = 3'600;
    runner.emplace(settings, console, stop);
  }
  int run(const std::string& line) { return runner->run_line(line); }
  int script(const std::string& lines) {
    std::istringstream in(lines);
    return run_script(*runner, in);
  }
  // Runs a line that must end with `status` and print these words only.
  void run(const std::string& line, int status, const std::string& out,
           const std::string& err = "") {
    INFO(line);
    CHECK(run(line) == status);
    CHECK(said() == out);
    CHECK(complained() == err);
  }
  // Sets up the market and then runs these lines.
  void start(const std::string& lines = "") {
    REQUIRE(script(set_up + lines) == exit_ok);
    said();
  }
  std::string said() { return std::exchange(said_, {}).str(); }
  std::string complained() { return std::exchange(complained_, {}).str(); }

  std::ostringstream said_, complained_;
  Console console{said_, complained_, {}};
  client::StopFlag stop{false};
  Settings settings;
  std::optional<Runner> runner;
};

inline std::optional<std::string> honest(std::string reply, unsigned) { return reply; }

// Uses an honest exchange of its own.
struct Honest {
  EditedServer server{honest};
};
struct Trader : private Honest, Seat {
  explicit Trader(const std::string& http = "127.0.0.1:1") : Seat(server.address(), http) {}
};

}  // namespace exchange::testing
