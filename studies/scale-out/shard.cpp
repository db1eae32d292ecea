#include "studies/scale-out/shard.hpp"

#include <algorithm>
#include <utility>

#include "studies/scale-out/world.hpp"

namespace exchange::scale_out {
namespace {

constexpr std::int64_t large_balance = 1'000'000'000'000;

bool is_buy(const Command& command) {
  const auto* order = std::get_if<PlaceOrder>(&command);
  return order != nullptr && order->side == Side::buy;
}

}  // namespace

Shard::Shard(World& world, unsigned number) : Node(world), number_(number), state_(initial()) {}

Shard::State Shard::initial() const {
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

void Shard::take(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) take(*request);
  if (const auto* from_ledger = std::get_if<ToShard>(&message)) take(*from_ledger);
}

void Shard::take(const Request& request) {
  charge(world_.config().costs.apply);
  const Answer& last = state_.answers[request.id.client];
  if (request.id.number < last.request) return;
  if (request.id.number == last.request && world_.config().plant != Plant::request_twice)
    return reply(request.id, last.outcome);
  // a buy comes with its reservation
  if (world_.config().ledgers == 0 || !is_buy(request.command)) execute(request);
}

void Shard::take(const ToShard& message) {
  state_.outbox[message.ledger].acknowledge(message.credits_received, [](const Credit&) {});
  for (std::size_t at = 0; at < message.reservations.items.size(); ++at) {
    const Number number = message.reservations.first + at;
    Number& received = state_.received[message.ledger];
    const bool is_next = number == received + 1;
    if (!is_next && !(world_.config().plant == Plant::reservation_twice && number <= received))
      continue;  // executed, or one is missing
    charge(world_.config().costs.apply);
    const auto& [id, order] = message.reservations.items[at];
    execute({id, number_, order});
  }
  if (message.barrier != 0) charge(world_.config().costs.apply);
  if (!message.reservations.items.empty() || message.barrier != 0)
    answer_[message.ledger] = std::max(answer_[message.ledger], message.barrier);
}

void Shard::execute(const Request& request) {
  const Timestamp now{world_.now() / 1'000};
  const Outcome outcome = apply(request, now);
  batch_.push_back({request, now, outcome});
  reply(request.id, outcome);
}

Outcome Shard::apply(const Request& request, Timestamp now) {
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
// paid. All that was reserved for the executed shares is left over for one of them.
void Shard::credit_buy(const PlaceOrder& order, const Outcome& outcome) {
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

Cash Shard::credit(unsigned account) {
  const Cash left_over = state_.market.balance(account_id(account)) - state_.targets[account];
  if (left_over == Cash()) return left_over;
  charge(world_.config().costs.item);
  state_.targets[account] += left_over;
  const unsigned ledger = account % world_.config().ledgers;
  state_.outbox[ledger].add({account, left_over});
  credits_.push_back({ledger, {account, left_over}});
  return left_over;
}

// --- commit and recovery ---

void Shard::commit() {
  for (auto& outbox : state_.outbox) outbox.commit();
  if (batch_.empty()) return;
  journal_.push_back(std::move(batch_));
  batch_.clear();
  world_.audit().shard_committed(number_, journal_.back(), credits_, state_.market);
  credits_.clear();
}

void Shard::send_committed() {
  for (unsigned ledger = 0; ledger < world_.config().ledgers; ++ledger)
    if (state_.outbox[ledger].has_unsent() || answer_.contains(ledger))
      send(ledger, false, answer_.contains(ledger) ? answer_[ledger] : 0);
  answer_.clear();
}

void Shard::retransmit() {
  const bool is_committed = batch_.empty();  // else acknowledgements could say too much
  for (unsigned ledger = 0; is_up() && is_committed && ledger < world_.config().ledgers; ++ledger)
    if (!state_.outbox[ledger].is_empty()) send(ledger, true, 0);
}

void Shard::send(unsigned ledger, bool again, Number barrier) {
  Outbox<Credit>& outbox = state_.outbox[ledger];
  world_.send_to_ledger(ledger, ToLedger{number_, outbox.take(again), outbox.committed(),
                                         state_.received[ledger], barrier});
}

void Shard::replay() {
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

bool Shard::is_at_rest() const {
  return Node::is_at_rest() && std::all_of(state_.outbox.begin(), state_.outbox.end(),
                                           [](const auto& outbox) { return outbox.is_empty(); });
}

}  // namespace exchange::scale_out
