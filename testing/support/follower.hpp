#pragma once
// A client that follows the events of an account over any number of connections and servers: each
// time it asks for the event after its last one. It writes the events into a file, for
// check-history --events. Owner: a test. Between start() and join() it has its own thread.

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace exchange::testing {

class Follower {
 public:
  Follower(std::string account, const std::string& file)
      : account_(std::move(account)), out_(file) {}
  ~Follower() { join(); }

  // Follows until the connection ends.
  void start(unsigned http_port);
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // Follows on this thread, up to the newest event. Requires: no client trades.
  void catch_up(unsigned http_port);
  // Follows on this thread, up to the newest event that the server shows now. Throws
  // std::runtime_error with the message of a refusal.
  void follow_newest(unsigned http_port) { follow(http_port, true); }
  std::uint64_t events() const { return next_ - 1; }

 private:
  void follow(unsigned http_port, bool only_up_to_newest);

  const std::string account_;
  std::ofstream out_;
  std::atomic<std::uint64_t> next_{1};
  std::thread thread_;
};

}  // namespace exchange::testing
