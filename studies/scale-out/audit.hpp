#pragma once
// Audit checks each commit of ledgers and shards against one naive exchange that executes the same
// commands in the order of the shards' commits, and follows all cash. It shares no state with the
// nodes. Throws Violation. Owner: World.

#include <map>

#include "model/naive_exchange.hpp"
#include "studies/scale-out/messages.hpp"

namespace exchange::scale_out {

class World;

class Audit {
 public:
  explicit Audit(const World& world);

  // The client sends its next request, for the first time.
  void invoked(unsigned client) { invoked_[client] = whole_.version(); }
  void ledger_committed(unsigned ledger, const std::vector<LedgerRecord>& batch,
                        const std::map<unsigned, Cash>& free);
  void shard_committed(unsigned shard, const std::vector<Executed>& batch,
                       const std::vector<Sent>& credits, const NaiveExchange& market);
  // A reply to the client's newest request has arrived.
  void replied(const Reply& reply) const;
  // Requires: no message is in flight, and every node has replayed its journal.
  void at_rest(const std::vector<const NaiveExchange*>& markets) const;

  struct Counts {
    std::uint64_t executed = 0, opened = 0, executions = 0, refused = 0, credits = 0;
  } counts;

 private:
  // What one ledger and one shard have ever committed to send to each other.
  struct Link {
    struct Reserved {
      RequestId id;
      Cash amount;
    };
    std::vector<Reserved> reservations;
    std::vector<Credit> credits;
    std::size_t reservations_received = 0, credits_received = 0;  // and committed
  };
  struct Durable {
    Number request = 0;
    Outcome outcome;
  };

  void committed(RequestId id, const Outcome& outcome);
  void check_refusal(const Request& request) const;
  void check_cash() const;
  Command in_whole(unsigned shard, const Command& command) const;

  const World& world_;
  NaiveExchange whole_;
  std::map<std::pair<unsigned, OrderId>, OrderId> orders_;  // (shard, its id): id in whole_
  std::vector<Version> invoked_;                            // by client: version of whole_
  std::vector<Durable> durable_;                            // by client: the last
  std::map<unsigned, Cash> free_;                           // by account, committed
  std::vector<Cash> reserved_;                              // by shard: of open buys, committed
  std::map<std::pair<unsigned, unsigned>, Link> links_;     // (ledger, shard)
  Cash created_;
};

}  // namespace exchange::scale_out
