#pragma once
// Shard holds the books and positions of its symbols, in a naive exchange of its own. There each
// account starts with the same large balance, so that it never refuses a buy: the ledger has
// decided. A reservation pays for its order: the account's target drops by that cash. What the
// account has above its target after a command is left over (proceeds, price improvement, a
// canceled reservation), and goes to the ledger as a credit. Called by World.
//
// Without ledgers the one shard is the exchange of today: accounts have their own cash, and the
// naive exchange refuses.

#include <map>

#include "judge/model/naive_exchange.hpp"
#include "studies/scale-out/node.hpp"

namespace exchange::scale_out {

class Shard final : public Node {
 public:
  // One command that was executed, also if it was refused: the journal's record.
  struct Executed {
    Request request;
    Timestamp time;
    Outcome outcome;
  };
  struct Sent {
    unsigned ledger;
    Credit credit;
  };

  Shard(World& world, unsigned number);
  void retransmit() override;
  bool is_at_rest() const override;

  const NaiveExchange& market() const { return state_.market; }

 private:
  struct Resting {
    OrderId order;
    unsigned account;
  };
  struct Answer {
    Number request = 0;
    Outcome outcome;
  };
  // What the journal leads to.
  struct State {
    NaiveExchange market;
    std::map<std::string, std::multimap<Price, Resting>, std::less<>> sells;  // cheapest first
    std::vector<Cash> targets;                                                // by account
    std::vector<Number> received;        // reservations, by ledger
    std::vector<Outbox<Credit>> outbox;  // by ledger
    std::map<unsigned, Answer> answers;  // the last of each client
  };

  void take(const Message& message) override;
  void end_of_batch() override {}
  void commit() override;
  void send_committed() override;
  void replay() override;

  void take(const Request& request);
  void take(const ToShard& message);
  void execute(const Request& request);
  Outcome apply(const Request& request, Timestamp now);
  void credit_buy(const PlaceOrder& order, const Outcome& outcome);
  Cash credit(unsigned account);  // what is left over
  void send(unsigned ledger, bool again, Number barrier);
  State initial() const;

  const unsigned number_;
  State state_;
  std::vector<Executed> batch_;
  std::vector<Sent> credits_;  // of the batch
  std::vector<std::vector<Executed>> journal_;
  std::map<unsigned, Number> answer_;  // ledgers, and their barrier or 0
};

}  // namespace exchange::scale_out
