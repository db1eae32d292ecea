#pragma once
// Clients that trade with a server that will soon be killed. Each remembers the replies that it
// got, and the orders that it sent without a reply. No two orders of a client are equal, so that an
// order applied twice differs from two orders. Owner: a test. Between start() and join() each
// client has its own thread; all else runs on the test's thread.

#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/wait_for.hpp"

namespace exchange::testing {

class CrashLoad {
 public:
  static constexpr int first_account = 1'000;
  CrashLoad(int clients, std::uint64_t seed);
  ~CrashLoad() { join(); }

  // Creates accounts and shares for all clients. The server must answer.
  void create_market(unsigned port);
  // Every client trades until its connection ends.
  void start(unsigned port);
  void join();
  std::uint64_t replies() const { return replies_; }
  // Polls until `wanted` more replies have come since the call, or the clients have ended. Returns
  // whether the replies came.
  bool await_replies(std::uint64_t wanted);

  // Asks the server for every acknowledged order: it must exist, and nothing acknowledged may be
  // taken back. Returns what is wrong, in words.
  std::string disagreement(unsigned port);
  // Writes all of it, for exchange-audit --acknowledged --complete.
  void write(const std::string& path) const;
  std::uint64_t acknowledged() const;

 private:
  struct Order {
    int amount;                                    // negative sells
    std::string limit;                             // different for each order of a client
    long open = -1, canceled = -1, executed = -1;  // as replied; -1: not replied
    std::string executions;                        // the elements as replied
  };
  struct Client {
    std::string account;
    std::mt19937_64 random;
    std::map<std::string, Order> orders;  // by id
    std::vector<std::string> ids;
    std::vector<Order> unanswered;
    std::string error;  // the first wrong reply
    std::uint64_t sent = 0;
  };
  static constexpr const char* symbol = "SPY";

  void trade(Client& client, unsigned port);
  static Order next_order(Client& client);
  // Reads the inside of a status or canceled reply into `order`; returns the parts of earlier
  // replies that it takes back.
  static std::string learn(Order& order, const std::string& reply);

  std::vector<Client> clients_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> replies_{0};
  std::atomic<int> running_{0};
};

// Returns whether the condition held within two minutes: a disk may take 30 ms for each of a
// thousand commits.
inline bool await(const std::function<bool()>& condition) {
  return wait_for(condition, std::chrono::minutes(2));
}

}  // namespace exchange::testing
