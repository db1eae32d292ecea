#pragma once
// Ledger holds the free cash of its accounts. It reserves the cash of each buy and hands the order
// to the shard of its symbol; shards send back the cash that becomes free. It refuses a buy only
// after a barrier: every shard has answered, with all credits that the shard has committed.
//
// Free cash here is at most the true free cash, since credits only come late. So the ledger accepts
// without asking the shards. A refusal is right at the moment at which its barrier began: then no
// buy of the account was in flight to a shard, none was accepted until the decision, and each
// credit that was committed at that moment has arrived. Called by World.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "studies/scale-out/node.hpp"

namespace exchange::scale_out {

class Ledger final : public Node {
 public:
  Ledger(World& world, unsigned number) : Node(world), number_(number), state_(initial()) {}
  void retransmit() override {
    const bool is_committed = batch_.empty();  // otherwise acknowledgements could report too much
    for (unsigned shard = 0; is_up() && is_committed && shard < world_.config().shards; ++shard)
      send(shard, true, is_barrier_to_send_ || answers_.contains(shard) ? 0 : barrier_);
  }
  bool is_at_rest() const override {
    return Node::is_at_rest() && waiting_.empty() &&
           std::all_of(state_.outbox.begin(), state_.outbox.end(),
                       [](const auto& outbox) { return outbox.is_empty(); });
  }

  std::uint64_t barriers() const { return barriers_; }

 private:
  // The state that a replay of the journal produces.
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

  void take(const Message& message) override {
    if (const auto* request = std::get_if<Request>(&message)) take(*request);
    if (const auto* from_shard = std::get_if<ToLedger>(&message)) take(*from_shard);
  }
  void end_of_batch() override {
    if (barrier_ != 0) {
      const unsigned shards = world_.config().shards;
      const bool skips = world_.config().plant == Plant::barrier_skips_a_shard && shards > 1;
      const bool is_complete =
          answers_.size() >= shards - (skips ? 1 : 0) &&
          std::all_of(answers_.begin(), answers_.end(), [&](const auto& answer) {
            return state_.received[answer.first] >= answer.second;
          });
      if (is_complete) end_barrier();
    }
    if (barrier_ == 0) begin_barrier();
    if (world_.config().plant == Plant::reserve_before_commit) {
      for (auto& outbox : state_.outbox) outbox.commit();
      send_committed();
    }
  }
  void commit() override {
    for (auto& outbox : state_.outbox) outbox.commit();
    if (batch_.empty()) return;
    journal_.push_back(std::move(batch_));
    batch_.clear();
    world_.audit().ledger_committed(number_, journal_.back(), state_.free);
  }
  void send_committed() override {
    for (unsigned shard = 0; shard < world_.config().shards; ++shard)
      if (state_.outbox[shard].has_unsent() || acknowledge_.contains(shard) || is_barrier_to_send_)
        send(shard, false, is_barrier_to_send_ ? barrier_ : 0);
    acknowledge_.clear();
    is_barrier_to_send_ = false;
  }
  void replay() override {
    const State before = std::exchange(state_, initial());
    batch_.clear();
    waiting_.clear();
    buys_in_flight_.clear();
    in_barrier_.clear();
    answers_.clear();
    acknowledge_.clear();
    is_barrier_to_send_ = false;
    barrier_ = last_barrier_ = 0;
    for (const auto& batch : journal_)
      for (const LedgerRecord& record : batch) apply(record);
    for (unsigned shard = 0; shard < world_.config().shards; ++shard) {
      state_.outbox[shard].commit();
      acknowledge(shard, before.outbox[shard].acknowledged());
    }
  }

  static const PlaceOrder& order_of(const Request& request) {
    return std::get<PlaceOrder>(request.command);
  }
  static unsigned account_of(const Request& request) {
    return account_number(order_of(request).account);
  }
  static Cash cost_of(const PlaceOrder& order) { return cost(order.shares, order.limit); }

  void take(const Request& request) {
    charge(world_.config().costs.apply);
    const State::Decision& last = state_.decisions[request.id.client];
    if (request.id.number < last.request) return;
    if (request.id.number == last.request && world_.config().plant != Plant::request_twice) {
      if (last.is_refused) return reply(request.id, Rejected{Reason::insufficient_funds});
      return world_.send_to_shard(request.shard, request);  // it replies again if it has replied
    }
    const auto of_account = waiting_.find(account_of(request));
    const bool must_wait = of_account != waiting_.end();
    if (must_wait)
      for (const Request& one : of_account->second)
        if (one.id.client == request.id.client && one.id.number == request.id.number) return;
    const bool may_pass = world_.config().plant == Plant::buys_pass_barrier;
    if ((!must_wait || may_pass) && reserve(request)) return;
    if (world_.config().plant == Plant::refuse_at_once) return refuse(request);
    waiting_[account_of(request)].push_back(request);
  }
  void take(const ToLedger& message) {
    for (std::size_t at = 0; at < message.credits.items.size(); ++at) {
      const Number number = message.credits.first + at;
      const Number received = state_.received[message.shard];
      const bool again = world_.config().plant == Plant::credit_twice && incarnation() > 0;
      // it is already applied, or an earlier one is missing
      if (number != received + 1 && !(again && number <= received)) continue;
      charge(world_.config().costs.credit);
      record(Credited{message.shard, number, message.credits.items[at]});
    }
    if (world_.config().plant == Plant::credit_lost) send(message.shard, true, 0);
    if (!message.credits.items.empty()) acknowledge_.insert(message.shard);
    acknowledge(message.shard, message.reservations_received);
    if (message.barrier != 0 && message.barrier == barrier_) {
      charge(world_.config().costs.apply);
      answers_[message.shard] = message.credits_committed;
    }
  }
  void apply(const LedgerRecord& record) {
    if (const auto* reserved = std::get_if<Reserved>(&record)) {
      const Request& request = reserved->request;
      state_.free.at(account_of(request)) -= cost_of(order_of(request));
      state_.outbox[request.shard].add({request.id, order_of(request)});
      state_.decisions[request.id.client] = {request.id.number, false};
      ++buys_in_flight_[account_of(request)];
    } else if (const auto* refused = std::get_if<Refused>(&record)) {
      state_.decisions[refused->request.id.client] = {refused->request.id.number, true};
    } else if (const auto* credited = std::get_if<Credited>(&record)) {
      state_.free.at(credited->credit.account) += credited->credit.amount;
      state_.received[credited->shard] = credited->number;
    }
  }
  void record(LedgerRecord record) {
    needs_commit();
    apply(record);
    batch_.push_back(std::move(record));
  }
  // Reservations.
  void acknowledge(unsigned shard, Number received) {
    state_.outbox[shard].acknowledge(received, [&](const Reservation& reservation) {
      const auto of_account = buys_in_flight_.find(account_number(reservation.order.account));
      if (--of_account->second == 0) buys_in_flight_.erase(of_account);
    });
  }
  // Returns false if the account has not enough free cash here.
  bool reserve(const Request& request) {
    if (state_.free.at(account_of(request)) < cost_of(order_of(request))) return false;
    charge(world_.config().costs.item);
    record(Reserved{request});
    return true;
  }
  void refuse(const Request& request) {
    record(Refused{request});
    reply(request.id, Rejected{Reason::insufficient_funds});
  }
  void begin_barrier() {
    const bool over_buys = world_.config().plant == Plant::barrier_over_buys;
    in_barrier_.clear();
    answers_.clear();
    for (const auto& [account, requests] : waiting_)
      if (!buys_in_flight_.contains(account) || over_buys) in_barrier_[account] = requests.size();
    if (in_barrier_.empty()) return;
    barrier_ = ++last_barrier_;
    if (world_.config().plant != Plant::stale_barrier) barrier_ += Number(incarnation()) << 32;
    is_barrier_to_send_ = true;
    ++barriers_;
  }
  void end_barrier() {
    barrier_ = 0;
    for (const auto& [account, count] : in_barrier_) {
      std::deque<Request>& requests = waiting_.at(account);
      // Once a buy was accepted, the barrier proves nothing about the buys behind it.
      bool was_accepted = false;
      for (std::size_t decided = 0; !requests.empty(); ++decided, requests.pop_front()) {
        if (reserve(requests.front())) {
          was_accepted = true;
          continue;
        }
        if (was_accepted || decided >= count) break;
        charge(world_.config().costs.apply);
        refuse(requests.front());
      }
      if (requests.empty()) waiting_.erase(account);
    }
  }
  void send(unsigned shard, bool again, Number barrier) {
    world_.send_to_shard(
        shard, ToShard{number_, state_.outbox[shard].take(again), state_.received[shard], barrier});
  }
  State initial() const {
    State state;
    const Config& config = world_.config();
    for (unsigned account = number_; account < config.accounts; account += config.ledgers)
      state.free[account] = Cash::whole(config.cash);
    state.received.resize(config.shards);
    state.outbox.resize(config.shards);
    return state;
  }

  const unsigned number_;
  State state_;
  std::vector<LedgerRecord> batch_;
  std::vector<std::vector<LedgerRecord>> journal_;

  // In memory only: after a crash clients send the waiting requests again.
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
