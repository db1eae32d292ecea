#pragma once
// World is one run: ledgers, shards, clients, a network and its faults, as discrete events in
// simulated time. A run is a function of its Config. Thread: one.

#include <functional>
#include <memory>
#include <queue>
#include <random>

#include "studies/scale-out/audit.hpp"

namespace exchange::scale_out {

// Draws from the seed a run with few clients on few accounts with little cash, and faults.
Config draw(std::uint64_t seed, Plant plant);
// A load with many clients, no faults and measured costs.
Config load(unsigned ledgers, unsigned shards, unsigned refused_percent);

class Node;
class Ledger;
class Shard;

class World {
 public:
  explicit World(const Config& config);
  ~World();
  // Runs until all requests are answered and no message is in flight. Throws Violation.
  void run();

  // --- for nodes and audit ---
  const Config& config() const { return config_; }
  Audit& audit() { return audit_; }
  const std::vector<PlaceShares>& placements() const { return placements_; }  // at the beginning
  unsigned shard_of(const SymbolName& symbol) const;
  Nanoseconds now() const { return now_; }
  void after(Nanoseconds delay, std::function<void()> work);
  Nanoseconds between(Nanoseconds least, Nanoseconds most);
  void send_to_shard(unsigned shard, Message message);
  void send_to_ledger(unsigned ledger, Message message);
  void send_to_client(Message message);

  // --- results ---
  struct Times {
    std::vector<Nanoseconds> buys, refused, others;
  };
  struct Figures {
    double per_second = 0;                 // requests, in the middle of the run
    Times times;                           // from sending to reply, in the middle of the run
    double ledger_cpu = 0, shard_cpu = 0;  // shares of time, of the busiest
    std::uint64_t crashes = 0, barriers = 0;
  };
  Figures figures() const;
  // Two runs with the same seed must return the same value.
  std::uint64_t fingerprint() { return random_() ^ std::uint64_t(now_); }

 private:
  struct Event {
    Nanoseconds at;
    std::uint64_t number;
    std::function<void()> work;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Known {
    unsigned shard, account;
    OrderId order;
  };
  struct Client {
    Request request;  // the newest
    bool is_waiting = false;
    Nanoseconds sent_at = 0;
    std::vector<Known> orders;
  };

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(unsigned n) { return n != 0 && below(n) == 0; }
  void deliver(const std::function<void(Message)>& receive, Message message);
  void next_request(unsigned client);
  Request draw_request(unsigned client);
  Request draw_load(unsigned client);
  Request order(unsigned account, unsigned symbol, Side side, std::int64_t shares,
                std::int64_t limit) const;
  void send_request(unsigned client);
  void receive_reply(const Reply& reply);
  void crash_one();
  void tick();  // retransmits
  bool is_at_rest() const;

  const Config config_;
  std::mt19937_64 random_;
  std::vector<PlaceShares> placements_;
  Audit audit_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Node*> nodes_;
  std::vector<Client> clients_;
  std::vector<Known> orders_;  // of all clients
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t last_event_ = 0, requests_ = 0, replies_ = 0;
  Nanoseconds now_ = 0, middle_from_ = 0, middle_to_ = 0;
  bool is_ended_ = false;
  Figures figures_;
};

// Runs the world. Returns the violation in words, or an empty string.
std::string violation_of(World& world);

}  // namespace exchange::scale_out
