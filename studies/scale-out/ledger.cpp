#include "studies/scale-out/ledger.hpp"

#include <algorithm>
#include <utility>

#include "studies/scale-out/world.hpp"

namespace exchange::scale_out {
namespace {

const PlaceOrder& order_of(const Request& request) { return std::get<PlaceOrder>(request.command); }
unsigned account_of(const Request& request) { return account_number(order_of(request).account); }
Cash cost_of(const PlaceOrder& order) { return cost(order.shares, order.limit); }

}  // namespace

Ledger::Ledger(World& world, unsigned number) : Node(world), number_(number), state_(initial()) {}

Ledger::State Ledger::initial() const {
  State state;
  const Config& config = world_.config();
  for (unsigned account = number_; account < config.accounts; account += config.ledgers)
    state.free[account] = Cash::whole(config.cash);
  state.received.resize(config.shards);
  state.outbox.resize(config.shards);
  return state;
}

void Ledger::take(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) take(*request);
  if (const auto* from_shard = std::get_if<ToLedger>(&message)) take(*from_shard);
}

void Ledger::take(const Request& request) {
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

void Ledger::take(const ToLedger& message) {
  for (std::size_t at = 0; at < message.credits.items.size(); ++at) {
    const Number number = message.credits.first + at;
    const Number received = state_.received[message.shard];
    const bool again = world_.config().plant == Plant::credit_twice && incarnation() > 0;
    // it is applied already, or one is missing
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

void Ledger::acknowledge(unsigned shard, Number received) {
  state_.outbox[shard].acknowledge(received, [&](const Reservation& reservation) {
    const auto of_account = buys_in_flight_.find(account_number(reservation.order.account));
    if (--of_account->second == 0) buys_in_flight_.erase(of_account);
  });
}

bool Ledger::reserve(const Request& request) {
  if (state_.free.at(account_of(request)) < cost_of(order_of(request))) return false;
  charge(world_.config().costs.item);
  record(Reserved{request});
  return true;
}

void Ledger::refuse(const Request& request) {
  record(Refused{request});
  reply(request.id, Rejected{Reason::insufficient_funds});
}

void Ledger::record(Record record) {
  needs_commit();
  apply(record);
  batch_.push_back(std::move(record));
}

void Ledger::apply(const Record& record) {
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

// --- the barrier ---

void Ledger::end_of_batch() {
  if (barrier_ != 0) {
    const unsigned shards = world_.config().shards;
    const bool skips = world_.config().plant == Plant::barrier_skips_a_shard && shards > 1;
    const bool is_complete = answers_.size() >= shards - (skips ? 1 : 0) &&
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

void Ledger::begin_barrier() {
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

void Ledger::end_barrier() {
  barrier_ = 0;
  for (const auto& [account, count] : in_barrier_) {
    std::deque<Request>& requests = waiting_.at(account);
    // Once a buy was accepted, the barrier says nothing of those behind it.
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

// --- commit and recovery ---

void Ledger::commit() {
  for (auto& outbox : state_.outbox) outbox.commit();
  if (batch_.empty()) return;
  journal_.push_back(std::move(batch_));
  batch_.clear();
  world_.audit().ledger_committed(number_, journal_.back(), state_.free);
}

void Ledger::send_committed() {
  for (unsigned shard = 0; shard < world_.config().shards; ++shard)
    if (state_.outbox[shard].has_unsent() || acknowledge_.contains(shard) || is_barrier_to_send_)
      send(shard, false, is_barrier_to_send_ ? barrier_ : 0);
  acknowledge_.clear();
  is_barrier_to_send_ = false;
}

void Ledger::retransmit() {
  const bool is_committed = batch_.empty();  // else acknowledgements could say too much
  for (unsigned shard = 0; is_up() && is_committed && shard < world_.config().shards; ++shard)
    send(shard, true, is_barrier_to_send_ || answers_.contains(shard) ? 0 : barrier_);
}

void Ledger::send(unsigned shard, bool again, Number barrier) {
  world_.send_to_shard(
      shard, ToShard{number_, state_.outbox[shard].take(again), state_.received[shard], barrier});
}

void Ledger::replay() {
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
    for (const Record& record : batch) apply(record);
  for (unsigned shard = 0; shard < world_.config().shards; ++shard) {
    state_.outbox[shard].commit();
    acknowledge(shard, before.outbox[shard].acknowledged());
  }
}

bool Ledger::is_at_rest() const {
  return Node::is_at_rest() && waiting_.empty() &&
         std::all_of(state_.outbox.begin(), state_.outbox.end(),
                     [](const auto& outbox) { return outbox.is_empty(); });
}

}  // namespace exchange::scale_out
