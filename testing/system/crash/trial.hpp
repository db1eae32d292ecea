#pragma once
// One store, servers on it one after another, and the clients of all of them. If the whole journal
// is kept, some clients follow the events of their accounts, through every end of a server.

#include <deque>
#include <memory>

#include "catch.hpp"
#include "support/folder.hpp"
#include "support/follower.hpp"
#include "support/server_process.hpp"
#include "system/crash/load.hpp"

namespace exchange::testing {

class Trial {
 public:
  Trial(std::string store, int clients, std::vector<std::string> options = {"--keep-journal"})
      : store_(std::move(store)), options_(std::move(options)), load(clients, test_seed()) {
    const bool follows = options_ == std::vector<std::string>{"--keep-journal"};
    options_.insert(options_.end(), {"--store", store_, "--log-level", "warn", "--http-port", "0",
                                     "--projection-interval-ms", "5"});
    std::unique_ptr<ServerProcess> server = start();
    load.create_market(server->port());
    for (int i = 0; follows && i < 4; ++i) {
      const std::string account = std::to_string(CrashLoad::first_account + i);
      streams_.push_back(folder_ / "events-" + account);
      followers_.emplace_back(account, streams_.back());
    }
    follow(*server);  // so that their events are recorded
    REQUIRE(server->stop() == 0);
  }
  bool follows() const { return !followers_.empty(); }
  // Trades, and follows events, until the server ends.
  void start_clients(const ServerProcess& server) {
    for (Follower& follower : followers_) follower.start(server.http_port());
    load.start(server.port());
  }

  std::unique_ptr<ServerProcess> start() { return std::make_unique<ServerProcess>(options_); }
  // Runs a server that ends before it is ready; returns its exit status.
  int status_of_start() {
    std::vector<std::string> arguments = options_;
    arguments.insert(arguments.end(), {"--port", "0"});
    return run_program("server", arguments).status;
  }
  // Starts a new server, which every client asks about all its orders; then audits the store
  // against everything that clients received.
  void verify() {
    load.join();
    {
      const std::unique_ptr<ServerProcess> server = start();
      CHECK(load.disagreement(server->port()) == "");
      follow(*server);
      CHECK(server->stop() == 0);
    }
    audit();
  }
  // Requires: no server is running. Checks that each event of the followed accounts came once, in
  // order, and matches what the rules make of the journal. Returns the number of events.
  std::uint64_t judge_events() {
    std::vector<std::string> arguments{"--store", store_};
    std::uint64_t events = 0;
    for (const std::string& stream : streams_)
      arguments.insert(arguments.end(), {"--events", stream});
    for (const Follower& follower : followers_) events += follower.events();
    const RunResult result = run_program("check-history", arguments);
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK_THAT(result.output, contains_text(std::to_string(events) + " events of 4 accounts"));
    return events;
  }
  // Requires: no server is running.
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
  void follow(const ServerProcess& server) {
    for (Follower& follower : followers_) {
      follower.join();
      follower.catch_up(server.http_port());
    }
  }

  TemporaryFolder folder_;
  const std::string store_;
  std::vector<std::string> options_;
  std::vector<std::string> streams_;  // files
  std::deque<Follower> followers_;

 public:
  CrashLoad load;
};

}  // namespace exchange::testing
