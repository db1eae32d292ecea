#pragma once
// Ledger holds the free cash of its accounts. It reserves the cash of each buy and hands the order
// to the shard of its symbol; shards send back what becomes free. It refuses a buy only after a
// barrier: an answer of every shard, with all credits that the shard has committed.
//
// Free cash here is at most the true free cash, since credits only come late. So it accepts without
// asking. A refusal is right at the moment at which its barrier began: then no buy of the account
// was on its way to a shard, none was accepted until the decision, and each credit that was
// committed at that moment has arrived. Called by World.

#include <map>
#include <set>

#include "studies/scale-out/node.hpp"

namespace exchange::scale_out {

class Ledger final : public Node {
 public:
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
  using Record = std::variant<Reserved, Refused, Credited>;

  Ledger(World& world, unsigned number);
  void retransmit() override;
  bool is_at_rest() const override;

  const std::map<unsigned, Cash>& free() const { return state_.free; }
  std::uint64_t barriers() const { return barriers_; }

 private:
  // What the journal leads to.
  struct State {
    struct Decision {
      Number request = 0;
      bool is_refused = false;
    };
    std::map<unsigned, Cash> free;            // by account
    std::vector<Number> received;             // credits, by shard
    std::vector<Outbox<Reservation>> outbox;  // by shard
    std::map<unsigned, Decision> decisions;   // the last of each client
  };

  void take(const Message& message) override;
  void end_of_batch() override;
  void commit() override;
  void send_committed() override;
  void replay() override;

  void take(const Request& request);
  void take(const ToLedger& message);
  void apply(const Record& record);
  void record(Record record);
  void acknowledge(unsigned shard, Number received);  // reservations
  bool reserve(const Request& request);               // false: not enough free cash here
  void refuse(const Request& request);
  void begin_barrier();
  void end_barrier();
  void send(unsigned shard, bool again, Number barrier);
  State initial() const;

  const unsigned number_;
  State state_;
  std::vector<Record> batch_;
  std::vector<std::vector<Record>> journal_;

  // In memory only: after a crash clients send again what waits here.
  std::map<unsigned, std::deque<Request>> waiting_;  // short of cash, or behind one; by account
  std::map<unsigned, unsigned> buys_in_flight_;      // to their shards, by account
  std::map<unsigned, std::size_t> in_barrier_;       // requests that it decides, by account
  std::map<unsigned, Number> answers_;               // by shard: the credits that it had committed
  std::set<unsigned> acknowledge_;                   // shards
  Number barrier_ = 0;                               // in progress; 0: none
  Number last_barrier_ = 0;
  bool is_barrier_to_send_ = false;
  std::uint64_t barriers_ = 0;
};

}  // namespace exchange::scale_out
