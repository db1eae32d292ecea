#pragma once
// Clients that trade with a server that will not live long. Each remembers the replies it got, and
// what it sent without a reply; no two orders of a client are alike, so that an order
// applied twice differs from two orders. Owner: a test. Each client is a thread of its own
// while start() to join(); all else on the test's thread.

#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace exchange::testing {

class CrashLoad {
 public:
  static constexpr int first_account = 1'000;
  CrashLoad(int clients, std::uint64_t seed);
  ~CrashLoad() { join(); }

  // Accounts and shares for all. The server must answer.
  void create_market(unsigned port);
  // Every client trades until its connection ends.
  void start(unsigned port);
  void join();
  std::uint64_t replies() const { return replies_; }
  // Polls until `wanted` more replies have come since the call, or the clients have ended. Whether
  // they came.
  bool await_replies(std::uint64_t wanted);

  // Asks the server for every order that was acknowledged: there, and nothing acknowledged was
  // taken back. What is found wrong, in words.
  std::string disagreement(unsigned port);
  // All of it, for exchange-audit --acknowledged --complete.
  void write(const std::string& path) const;
  std::uint64_t acknowledged() const;

 private:
  struct Order {
    int amount;                                    // negative sells
    std::string limit;                             // different for each of a client
    long open = -1, canceled = -1, executed = -1;  // as replied; -1: not replied
    std::string executions;                        // the elements as replied
  };
  struct Client {
    std::string account;
    std::mt19937_64 random;
    std::map<std::string, Order> orders;  // by id
    std::vector<std::string> ids;
    std::vector<Order> unanswered;
    std::string error;  // the first reply that must not be
    std::uint64_t sent = 0;
  };
  static constexpr const char* symbol = "SPY";

  void trade(Client& client, unsigned port);
  static Order next_order(Client& client);
  // Reads the inside of a status or canceled reply into `order`; returns what it takes back of
  // earlier replies.
  static std::string learn(Order& order, const std::string& reply);

  std::vector<Client> clients_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> replies_{0};
  std::atomic<int> running_{0};
};

// Polls `condition` until it holds, for two minutes at most (a disk may take 30 ms for each of a
// thousand commits); whether it did.
template <class Condition>
bool await(Condition condition) {
  for (int step = 0; step < 120 * 200; ++step) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

}  // namespace exchange::testing
