#pragma once
// One store, servers on it one after another, and the clients of all of them.

#include <cstdlib>
#include <memory>

#include "catch.hpp"
#include "support/folder.hpp"
#include "support/server_process.hpp"
#include "system/crash/load.hpp"

namespace exchange::testing {

// An environment variable for the servers started in this scope.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;

 private:
  const char* const name_;
};

class Trial {
 public:
  Trial(std::string store, int clients, std::vector<std::string> options = {"--keep-journal"})
      : store_(std::move(store)), options_(std::move(options)), load(clients, test_seed()) {
    options_.insert(options_.end(),
                    {"--store", store_, "--log-level", "warn", "--projection-interval-ms", "5"});
    std::unique_ptr<ServerProcess> server = start();
    load.create_market(server->port());
    REQUIRE(server->stop() == 0);
  }

  std::unique_ptr<ServerProcess> start() { return std::make_unique<ServerProcess>(options_); }
  // Of a server that is to end before it is ready.
  int status_of_start() {
    std::vector<std::string> arguments = options_;
    arguments.insert(arguments.end(), {"--port", "0"});
    return run_server(arguments).status;
  }
  // A new server, which every client asks about everything; then the store is audited, with what
  // clients were sent.
  void verify() {
    load.join();
    {
      const std::unique_ptr<ServerProcess> server = start();
      CHECK(load.disagreement(server->port()) == "");
      CHECK(server->stop() == 0);
    }
    audit();
  }
  // With no server running.
  void audit() {
    const std::string file = folder_ / "acknowledged";
    load.write(file);
    const RunResult result =
        run_program("exchange-audit", {store_, "--acknowledged", file, "--complete"});
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK_THAT(
        result.output,
        contains_text("acknowledged orders found: " + std::to_string(load.acknowledged()) + "\n"));
  }

 private:
  TemporaryFolder folder_;
  const std::string store_;
  std::vector<std::string> options_;

 public:
  CrashLoad load;
};

}  // namespace exchange::testing
