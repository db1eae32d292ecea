#pragma once
// The messages between the nodes of the scale-out study, and the configuration that a seed or a
// command line chooses. Owner: one World. Thread: one. Times are simulated nanoseconds.

#include <charconv>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "base/described.hpp"
#include "engine/commands.hpp"

namespace exchange::scale_out {

using Nanoseconds = std::int64_t;
using Number = std::uint64_t;  // of an item on the way from one node to another, from 1

// One command of a client. A client has one request at a time and numbers its requests from 1; a
// request that it sends again keeps its number.
struct RequestId {
  unsigned client = 0;
  Number number = 0;
};
struct Request {
  RequestId id;
  unsigned shard;  // of the symbol
  Command command;
};
struct Reply {
  RequestId id;
  Outcome outcome;
};

// A buy whose cash the ledger has reserved, on its way to the shard.
struct Reservation {
  RequestId id;
  PlaceOrder order;
};
// Cash on its way from a shard to the ledger.
struct Credit {
  unsigned account;
  Cash amount;
};

// One command that a shard executed or refused: a record of its journal.
struct Executed {
  Request request;
  Timestamp time;
  Outcome outcome;
};
// Credits that a shard made in a batch.
struct Sent {
  unsigned ledger;
  Credit credit;
};
// What a ledger decided: a record of its journal.
struct Reserved {
  Request request;
};
struct Refused {
  Request request;
};
struct Credited {
  unsigned shard;
  Number number;
  Credit credit;
};
using LedgerRecord = std::variant<Reserved, Refused, Credited>;

// Items first, first + 1, ...
template <class Item>
struct Numbered {
  Number first = 1;
  std::vector<Item> items;
};

struct ToShard {
  unsigned ledger;
  Numbered<Reservation> reservations;
  Number credits_received;  // committed by the ledger, all up to this one
  Number barrier;           // to be answered; 0: none
};
struct ToLedger {
  unsigned shard;
  Numbered<Credit> credits;
  Number credits_committed;      // by the shard
  Number reservations_received;  // committed by the shard, all up to this one
  Number barrier;                // that this answers; 0: none
};
using Message = std::variant<Request, Reply, ToShard, ToLedger>;

// Keeps items until the receiver has committed them; then they are deleted for ever. Part of the
// sender's state: a replay of its journal fills it again.
template <class Item>
class Outbox {
 public:
  void add(Item item) { items_.push_back(std::move(item)); }
  void commit() { committed_ = last(); }
  Number committed() const { return committed_; }
  Number acknowledged() const { return first_ - 1; }
  bool is_empty() const { return items_.empty(); }
  bool has_unsent() const { return sent_ < committed_; }

  // Returns committed items: those that were not sent yet, or all that the receiver has not
  // acknowledged.
  Numbered<Item> take(bool again) {
    Numbered<Item> taken{again ? first_ : std::max(first_, sent_ + 1), {}};
    for (Number n = taken.first; n <= committed_; ++n) taken.items.push_back(items_[n - first_]);
    sent_ = std::max(sent_, committed_);
    return taken;
  }
  // Calls forget(item) for each item up to this number.
  template <class Forget>
  void acknowledge(Number number, Forget forget) {
    for (; first_ <= std::min(number, committed_); ++first_, items_.pop_front())
      forget(items_.front());
  }

 private:
  Number last() const { return first_ + items_.size() - 1; }
  Number first_ = 1, committed_ = 0, sent_ = 0;
  std::deque<Item> items_;
};

inline AccountId account_id(unsigned account) { return AccountId(std::to_string(account + 1)); }
inline unsigned account_number(const AccountId& id) {
  unsigned number = 0;
  std::from_chars(id.view().data(), id.view().data() + id.view().size(), number);
  return number - 1;
}
inline bool is_buy(const Command& command) {
  const auto* order = std::get_if<PlaceOrder>(&command);
  return order != nullptr && order->side == Side::buy;
}
inline SymbolName symbol_name(unsigned symbol) { return SymbolName("S" + std::to_string(symbol)); }

// A fault in the design that the checks must find.
enum class Plant : std::uint8_t {
  none,
  credit_twice,           // after a crash the ledger does not look at the numbers of credits
  credit_lost,            // a ledger acknowledges credits before their commit
  refuse_at_once,         // no barrier
  barrier_skips_a_shard,  // the ledger does not wait for the last answer
  barrier_over_buys,      // begins while a buy of the account is on its way to its shard
  buys_pass_barrier,      // a buy of the account is accepted during its barrier
  stale_barrier,          // barriers reuse the same numbers after a crash
  reply_before_commit,
  reserve_before_commit,  // the ledger sends a reservation before its commit
  reservation_twice,      // the shard does not look at the numbers of reservations
  request_twice,          // requests that are sent again are executed again
};
BOOST_DESCRIBE_ENUM(Plant, none, credit_twice, credit_lost, refuse_at_once, barrier_skips_a_shard,
                    barrier_over_buys, buys_pass_barrier, stale_barrier, reply_before_commit,
                    reserve_before_commit, reservation_twice, request_twice)
// CPU time of a node's one thread, in nanoseconds, and what its commits wait for.
struct Costs {
  Nanoseconds apply = 0;     // a request, a reservation, an answer of a barrier
  Nanoseconds complete = 0;  // a reply
  Nanoseconds item = 0;      // a reservation or credit to send
  Nanoseconds credit = 0;    // a credit to add
  Nanoseconds commit = 0;    // a commit, beside its wait
  Nanoseconds wait_min = 0, wait_max = 0;
};

struct Config {
  std::uint64_t seed = 1;
  Plant plant = Plant::none;
  unsigned ledgers = 1, shards = 1;  // no ledger: one shard that is the exchange of today
  unsigned clients = 3, accounts = 3, symbols = 4;
  unsigned requests = 40;              // of each client
  std::int64_t cash = 40, shares = 6;  // of each account, the shares of each symbol
  bool is_load = false;                // the load whose throughput is measured, without faults
  unsigned refused_percent = 0;        // of the buys of that load
  Costs costs;
  // Network, one way. One message in `slow_one_in`, `lost_one_in` or `twice_one_in` is slow, lost
  // or delivered twice; 0: none.
  Nanoseconds delay_min = 0, delay_max = 0, slow_max = 0;
  unsigned slow_one_in = 0, lost_one_in = 0, twice_one_in = 0;
  Nanoseconds crash_every = 0, down_max = 0;  // 0: no crashes
  Nanoseconds think_max = 0;
  Nanoseconds retry = 0, retransmit = 0;  // 0: never
};

// The broken promise, in words; ends the run.
struct Violation : std::exception {
  explicit Violation(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

}  // namespace exchange::scale_out
