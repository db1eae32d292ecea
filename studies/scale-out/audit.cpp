#include "studies/scale-out/audit.hpp"

#include "model/print.hpp"
#include "studies/scale-out/world.hpp"

namespace exchange::scale_out {
namespace {

std::string name(RequestId id) {
  return "request " + std::to_string(id.number) + " of client " + std::to_string(id.client);
}

Outcome with_order(Outcome outcome, OrderId order) {
  if (auto* opened = std::get_if<Opened>(&outcome)) opened->order = order;
  if (auto* status = std::get_if<Status>(&outcome)) status->order = order;
  if (auto* canceled = std::get_if<Canceled>(&outcome)) canceled->status.order = order;
  return outcome;
}

OrderId order_of(const Outcome& outcome) {
  if (const auto* opened = std::get_if<Opened>(&outcome)) return opened->order;
  if (const auto* status = std::get_if<Status>(&outcome)) return status->order;
  if (const auto* canceled = std::get_if<Canceled>(&outcome)) return canceled->status.order;
  return 0;
}

Cash reserved_of(const NaiveExchange& market, unsigned symbols) {
  Cash reserved;
  for (unsigned symbol = 0; symbol < symbols; ++symbol)
    for (const Exchange::Depth& level : market.depth(symbol_name(symbol), Side::buy))
      reserved += Cash::from_units(Int128(level.shares_units) * level.price.units());
  return reserved;
}

}  // namespace

Audit::Audit(const World& world) : world_(world) {
  const Config& config = world.config();
  for (unsigned account = 0; account < config.accounts; ++account) {
    whole_.apply(CreateAccount{account_id(account), Cash::whole(config.cash)}, {});
    free_[account] = Cash::whole(config.cash);
    created_ += Cash::whole(config.cash);
  }
  for (const PlaceShares& placement : world.placements()) whole_.apply(placement, {});
  invoked_.resize(config.clients);
  durable_.resize(config.clients);
  reserved_.resize(config.shards);
}

void Audit::committed(RequestId id, const Outcome& outcome) {
  Durable& last = durable_[id.client];
  if (id.number != last.request + 1)
    throw Violation(name(id) + " was executed after request " + std::to_string(last.request));
  last = {id.number, outcome};
}

void Audit::ledger_committed(unsigned ledger, const std::vector<LedgerRecord>& batch,
                             const std::map<unsigned, Cash>& free) {
  for (const LedgerRecord& record : batch) {
    if (const auto* reserved = std::get_if<Reserved>(&record)) {
      const auto& order = std::get<PlaceOrder>(reserved->request.command);
      links_[{ledger, reserved->request.shard}].reservations.push_back(
          {reserved->request.id, cost(order.shares, order.limit)});
    } else if (const auto* refused = std::get_if<Refused>(&record)) {
      check_refusal(refused->request);
      committed(refused->request.id, Rejected{Reason::insufficient_funds});
      ++counts.refused;
    } else if (const auto* credited = std::get_if<Credited>(&record)) {
      Link& link = links_[{ledger, credited->shard}];
      const std::size_t next = link.credits_received++;
      const std::string text = "credit " + std::to_string(credited->number) + " of shard " +
                               std::to_string(credited->shard);
      if (credited->number <= next) throw Violation(text + " was applied twice");
      if (credited->number != next + 1 || next >= link.credits.size() ||
          link.credits[next].account != credited->credit.account ||
          link.credits[next].amount != credited->credit.amount)
        throw Violation(text + " is not what the shard has committed");
      ++counts.credits;
    }
  }
  for (const auto& [account, cash] : free) free_[account] = cash;
  if (!world_.config().is_load) check_cash();
}

void Audit::shard_committed(unsigned shard, const std::vector<Executed>& batch,
                            const std::vector<Sent>& credits, const NaiveExchange& market) {
  const unsigned ledgers = world_.config().ledgers;
  for (const auto& [request, time, outcome] : batch) {
    if (ledgers > 0 && is_buy(request.command)) {
      const AccountId& buyer = std::get<PlaceOrder>(request.command).account;
      Link& link = links_[{account_number(buyer) % ledgers, shard}];
      const std::size_t next = link.reservations_received++;
      if (next >= link.reservations.size() ||
          link.reservations[next].id.client != request.id.client ||
          link.reservations[next].id.number != request.id.number)
        throw Violation("a shard executed the buy of " + name(request.id) +
                        " that is not the next one reserved");
    }
    const Outcome whole = whole_.apply(in_whole(shard, request.command), time);
    if (const OrderId id = order_of(outcome); id != 0 && std::holds_alternative<Opened>(outcome))
      orders_[{shard, id}] = order_of(whole);
    if (with_order(whole, order_of(outcome)) != outcome)
      throw Violation(name(request.id) + ", " + print(request.command) + ": " + print(outcome) +
                      ", but one exchange says: " + print(whole));
    committed(request.id, outcome);
    ++counts.executed;
    if (std::holds_alternative<Opened>(outcome)) ++counts.opened;
  }
  counts.executions = whole_.executions();
  for (const auto& [ledger, credit] : credits) links_[{ledger, shard}].credits.push_back(credit);
  if (world_.config().is_load || ledgers == 0) return;
  reserved_[shard] = reserved_of(market, world_.config().symbols);
  check_cash();
}

// A refusal must be right at one moment at least, between the first sending of the request and its
// commit.
void Audit::check_refusal(const Request& request) const {
  const Outcome refused = Rejected{Reason::insufficient_funds};
  for (Version at = invoked_[request.id.client]; at <= whole_.version();
       at = whole_.next_change(request.command, at))
    if (whole_.outcome(request.command, at) == refused) return;
  throw Violation(name(request.id) + ", " + print(request.command) +
                  ": refused, but there was enough free cash all the time");
}

void Audit::check_cash() const {
  Cash found;
  for (const auto& [account, cash] : free_) {
    found += cash;
    if (cash < Cash()) throw Violation("an account has less than no cash");
    if (const Cash truth = whole_.balance(account_id(account)); cash > truth)
      throw Violation("account " + std::to_string(account + 1) + " has " + to_string(cash) +
                      " at the ledger, but " + to_string(truth) + " in truth");
  }
  for (const Cash reserved : reserved_) found += reserved;
  for (const auto& [nodes, link] : links_) {
    for (std::size_t at = link.reservations_received; at < link.reservations.size(); ++at)
      found += link.reservations[at].amount;
    for (std::size_t at = link.credits_received; at < link.credits.size(); ++at)
      found += link.credits[at].amount;
  }
  if (found != created_)
    throw Violation("free, reserved and in flight are " + to_string(found) + ", but created were " +
                    to_string(created_));
}

void Audit::replied(const Reply& reply) const {
  const Durable& last = durable_[reply.id.client];
  if (last.request != reply.id.number || last.outcome != reply.outcome)
    throw Violation(name(reply.id) +
                    " was answered, but is not committed so: " + print(reply.outcome));
}

void Audit::at_rest(const std::vector<const NaiveExchange*>& markets) const {
  const Config& config = world_.config();
  for (const auto& [nodes, link] : links_)
    if (link.credits_received != link.credits.size() ||
        link.reservations_received != link.reservations.size())
      throw Violation("at rest, but something is still on its way");
  for (unsigned account = 0; account < config.accounts; ++account) {
    const AccountId id = account_id(account);
    const Cash cash = config.ledgers > 0 ? free_.at(account) : markets[0]->balance(id);
    if (cash != whole_.balance(id))
      throw Violation("balance " + to_string(cash) + " of account " + print(id) +
                      ", but one exchange has " + to_string(whole_.balance(id)));
  }
  for (unsigned number = 0; number < config.symbols; ++number) {
    const SymbolName symbol = symbol_name(number);
    const NaiveExchange& market = *markets[world_.shard_of(symbol)];
    for (const Side side : {Side::buy, Side::sell})
      if (market.depth(symbol, side) != whole_.depth(symbol, side))
        throw Violation("the book of " + print(symbol) + " differs");
    for (unsigned account = 0; account < config.accounts; ++account)
      if (market.position(account_id(account), symbol) !=
          whole_.position(account_id(account), symbol))
        throw Violation("a position in " + print(symbol) + " differs");
  }
}

Command Audit::in_whole(unsigned shard, const Command& command) const {
  const auto whole_id = [&](OrderId order) {
    const auto found = orders_.find({shard, order});
    return found == orders_.end() ? UINT64_MAX : found->second;
  };
  Command same = command;
  if (auto* cancel = std::get_if<CancelOrder>(&same)) cancel->order = whole_id(cancel->order);
  if (auto* query = std::get_if<QueryOrder>(&same)) query->order = whole_id(query->order);
  return same;
}

}  // namespace exchange::scale_out
