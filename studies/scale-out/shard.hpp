#pragma once
// Shard holds the books and positions of its symbols, in a naive exchange of its own. There each
// account starts with the same large balance, so that the exchange never refuses a buy: the ledger
// has decided. A reservation pays for its order: the account's target drops by that cash. After a
// command, the cash of the account above its target (proceeds, price improvement, a canceled
// reservation) goes to the ledger as a credit. Called by World.
//
// Without ledgers the one shard is the exchange of today: accounts have their own cash, and the
// naive exchange refuses.

#include <algorithm>
#include <map>
#include <utility>

#include "model/naive_exchange.hpp"
#include "studies/scale-out/node.hpp"

namespace exchange::scale_out {

class Shard final : public Node {
 public:
  Shard(World& world, unsigned number) : Node(world), number_(number), state_(initial()) {}
  void retransmit() override {
    const bool is_committed = batch_.empty();  // otherwise acknowledgements could report too much
    for (unsigned ledger = 0; is_up() && is_committed && ledger < world_.config().ledgers; ++ledger)
      if (!state_.outbox[ledger].is_empty()) send(ledger, true, 0);
  }
  bool is_at_rest() const override {
    return Node::is_at_rest() && std::all_of(state_.outbox.begin(), state_.outbox.end(),
                                             [](const auto& outbox) { return outbox.is_empty(); });
  }

  const NaiveExchange& market() const { return state_.market; }

 private:
  static constexpr std::int64_t large_balance = 1'000'000'000'000;
  struct Resting {
    OrderId order;
    unsigned account;
  };
  struct Answer {
    Number request = 0;
    Outcome outcome;
  };
  // The state that a replay of the journal produces.
  struct State {
    NaiveExchange market;
    std::map<std::string, std::multimap<Price, Resting>, std::less<>> sells;  // cheapest first
    std::vector<Cash> targets;                                                // by account
    std::vector<Number> received;        // reservations, by ledger
    std::vector<Outbox<Credit>> outbox;  // by ledger
    std::map<unsigned, Answer> answers;  // the last of each client
  };

  void take(const Message& message) override {
    if (const auto* request = std::get_if<Request>(&message)) take(*request);
    if (const auto* from_ledger = std::get_if<ToShard>(&message)) take(*from_ledger);
  }
  void end_of_batch() override {}
  void commit() override {
    for (auto& outbox : state_.outbox) outbox.commit();
    if (batch_.empty()) return;
    journal_.push_back(std::move(batch_));
    batch_.clear();
    world_.audit().shard_committed(number_, journal_.back(), credits_, state_.market);
    credits_.clear();
  }
  void send_committed() override {
    for (unsigned ledger = 0; ledger < world_.config().ledgers; ++ledger)
      if (state_.outbox[ledger].has_unsent() || answer_.contains(ledger))
        send(ledger, false, answer_.contains(ledger) ? answer_[ledger] : 0);
    answer_.clear();
  }
  void replay() override {
    const State before = std::exchange(state_, initial());
    batch_.clear();
    answer_.clear();
    for (const auto& batch : journal_)
      for (const auto& [request, time, outcome] : batch)
        if (apply(request, time) != outcome) throw Violation("a replay differs from its journal");
    credits_.clear();
    for (unsigned ledger = 0; ledger < world_.config().ledgers; ++ledger) {
      state_.outbox[ledger].commit();
      state_.outbox[ledger].acknowledge(before.outbox[ledger].acknowledged(), [](const Credit&) {});
    }
  }

  void take(const Request& request) {
    charge(world_.config().costs.apply);
    const Answer& last = state_.answers[request.id.client];
    if (request.id.number < last.request) return;
    if (request.id.number == last.request && world_.config().plant != Plant::request_twice)
      return reply(request.id, last.outcome);
    // a buy comes with its reservation
    if (world_.config().ledgers == 0 || !is_buy(request.command)) execute(request);
  }
  void take(const ToShard& message) {
    state_.outbox[message.ledger].acknowledge(message.credits_received, [](const Credit&) {});
    for (std::size_t at = 0; at < message.reservations.items.size(); ++at) {
      const Number number = message.reservations.first + at;
      Number& received = state_.received[message.ledger];
      const bool is_next = number == received + 1;
      if (!is_next && !(world_.config().plant == Plant::reservation_twice && number <= received))
        continue;  // already executed, or an earlier one is missing
      charge(world_.config().costs.apply);
      const auto& [id, order] = message.reservations.items[at];
      execute({id, number_, order});
    }
    if (message.barrier != 0) charge(world_.config().costs.apply);
    if (!message.reservations.items.empty() || message.barrier != 0)
      answer_[message.ledger] = std::max(answer_[message.ledger], message.barrier);
  }
  void execute(const Request& request) {
    const Timestamp now{world_.now() / 1'000};
    const Outcome outcome = apply(request, now);
    batch_.push_back({request, now, outcome});
    reply(request.id, outcome);
  }
  Outcome apply(const Request& request, Timestamp now) {
    Outcome outcome = state_.market.apply(request.command, now);
    state_.answers[request.id.client] = {request.id.number, outcome};
    if (world_.config().ledgers == 0) return outcome;
    if (const auto* order = std::get_if<PlaceOrder>(&request.command)) {
      const unsigned account = account_number(order->account);
      if (order->side == Side::buy) {
        ++state_.received[account % world_.config().ledgers];
        state_.targets[account] -= cost(order->shares, order->limit);
        credit_buy(*order, outcome);
      } else if (const auto* opened = std::get_if<Opened>(&outcome)) {
        const std::string symbol(order->symbol.view());
        state_.sells[symbol].emplace(order->limit, Resting{opened->order, account});
        credit(account);
      }
    } else if (const auto* cancel = std::get_if<CancelOrder>(&request.command)) {
      credit(account_number(cancel->account));
    }
    return outcome;
  }
  // The buyer may have paid less than its limit; the sellers, whose orders are the cheapest, are
  // paid. Together their accounts have above their targets exactly the cash that was reserved for
  // the executed shares.
  void credit_buy(const PlaceOrder& order, const Outcome& outcome) {
    const Status status = state_.market.status(std::get<Opened>(outcome).order);
    const Cash expected = cost(order.shares - status.open, order.limit);
    Cash found = credit(account_number(order.account));
    auto& sells = state_.sells[std::string(order.symbol.view())];
    for (auto at = sells.begin(); found < expected;) {
      ENSURE(at != sells.end());
      found += credit(at->second.account);
      at = state_.market.is_open(at->second.order) ? std::next(at) : sells.erase(at);
    }
    ENSURE(found == expected);
  }
  // Sends the cash above the account's target to its ledger, and returns it.
  Cash credit(unsigned account) {
    const Cash left_over = state_.market.balance(account_id(account)) - state_.targets[account];
    if (left_over == Cash()) return left_over;
    charge(world_.config().costs.item);
    state_.targets[account] += left_over;
    const unsigned ledger = account % world_.config().ledgers;
    state_.outbox[ledger].add({account, left_over});
    credits_.push_back({ledger, {account, left_over}});
    return left_over;
  }
  void send(unsigned ledger, bool again, Number barrier) {
    Outbox<Credit>& outbox = state_.outbox[ledger];
    world_.send_to_ledger(ledger, ToLedger{number_, outbox.take(again), outbox.committed(),
                                           state_.received[ledger], barrier});
  }
  State initial() const {
    const Config& config = world_.config();
    State state;
    const Cash balance = Cash::whole(config.ledgers == 0 ? config.cash : large_balance);
    for (unsigned account = 0; account < config.accounts; ++account)
      state.market.apply(CreateAccount{account_id(account), balance}, {});
    for (const PlaceShares& placement : world_.placements())
      if (world_.shard_of(placement.symbol) == number_) state.market.apply(placement, {});
    state.targets.assign(config.accounts, balance);
    state.received.resize(config.ledgers);
    state.outbox.resize(config.ledgers);
    return state;
  }

  const unsigned number_;
  State state_;
  std::vector<Executed> batch_;
  std::vector<Sent> credits_;  // of the batch
  std::vector<std::vector<Executed>> journal_;
  std::map<unsigned, Number> answer_;  // the ledgers to answer, each with its barrier or 0
};

}  // namespace exchange::scale_out
