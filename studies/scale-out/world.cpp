#include "studies/scale-out/world.hpp"

#include <algorithm>

#include "studies/scale-out/ledger.hpp"
#include "studies/scale-out/shard.hpp"

namespace exchange::scale_out {
namespace {

constexpr Nanoseconds us = 1'000, ms = 1'000'000;
constexpr Nanoseconds time_max = 10'000 * ms;  // a run that takes longer is stuck

std::vector<PlaceShares> place(const Config& config) {
  std::vector<PlaceShares> placements;
  for (unsigned account = 0; account < config.accounts; ++account)
    for (unsigned symbol = 0; symbol < config.symbols; ++symbol)
      if (!config.is_load ||
          (symbol + config.symbols - account % config.symbols) % config.symbols < 4)
        placements.push_back(
            {symbol_name(symbol), account_id(account), Shares::whole(config.shares)});
  return placements;
}

}  // namespace

Config draw(std::uint64_t seed, Plant plant) {
  std::mt19937_64 random(seed);
  const auto from = [&](std::uint64_t least, std::uint64_t most) {
    return least + random() % (most - least + 1);
  };
  Config config{.seed = seed, .plant = plant};
  config.ledgers = unsigned(from(1, 2));
  config.shards = unsigned(from(1, 4));
  config.clients = unsigned(from(2, 6));
  config.accounts = unsigned(from(2, 4));
  config.symbols = unsigned(from(config.shards, 5));
  config.cash = std::int64_t(from(5, 40));
  config.costs = {.apply = 2 * us, .complete = us, .item = us, .credit = us, .commit = 10 * us};
  config.costs.wait_min = 20 * us;
  config.costs.wait_max = Nanoseconds(from(50, 1'000)) * us;
  config.delay_min = 10 * us;
  config.delay_max = 100 * us;
  config.slow_max = Nanoseconds(from(500, 10'000)) * us;
  config.think_max = Nanoseconds(from(0, 1'000)) * us;
  config.slow_one_in = unsigned(from(0, 8));
  config.lost_one_in = from(0, 1) == 0 ? 0 : unsigned(from(10, 60));
  config.twice_one_in = from(0, 1) == 0 ? 0 : unsigned(from(4, 30));
  config.crash_every = from(0, 3) == 0 ? 0 : Nanoseconds(from(500, 10'000)) * us;
  config.down_max = Nanoseconds(from(50, 3'000)) * us;
  config.retry = Nanoseconds(from(500, 8'000)) * us;
  config.retransmit = Nanoseconds(from(500, 2'000)) * us;
  if (from(0, 3) == 0) {  // messages outlive their sender, and its next life too
    config.crash_every = Nanoseconds(from(500, 1'500)) * us;
    config.down_max = 100 * us;
    config.retry = config.retransmit = Nanoseconds(from(300, 600)) * us;
    config.slow_one_in = 2;
    config.slow_max = Nanoseconds(from(2'000, 6'000)) * us;
    config.costs.wait_max = 60 * us;
  }
  return config;
}

Config load(unsigned ledgers, unsigned shards, unsigned refused_percent) {
  Config config{.ledgers = ledgers, .shards = shards};
  config.is_load = true;
  config.refused_percent = refused_percent;
  config.clients = 8'000;
  config.accounts = 2'000;
  config.symbols = 64;
  config.requests = 25;
  config.cash = 1'000'000;
  config.shares = 10'000;
  // docs/scale-out.md has the source of each figure.
  config.costs = {.apply = 770, .complete = 700, .item = 300, .credit = 400, .commit = 63 * us};
  config.costs.wait_min = config.costs.wait_max = 200 * us;
  config.delay_min = config.delay_max = 50 * us;
  return config;
}

World::World(const Config& config)
    : config_(config),
      random_(config.seed),
      placements_(place(config)),
      audit_(*this),
      clients_(config.clients) {
  for (unsigned ledger = 0; ledger < config.ledgers; ++ledger)
    nodes_.push_back(ledgers_.emplace_back(std::make_unique<Ledger>(*this, ledger)).get());
  for (unsigned shard = 0; shard < config.shards; ++shard)
    nodes_.push_back(shards_.emplace_back(std::make_unique<Shard>(*this, shard)).get());
}

World::~World() = default;

unsigned World::shard_of(const SymbolName& symbol) const {
  unsigned number = 0;
  std::from_chars(symbol.view().data() + 1, symbol.view().data() + symbol.view().size(), number);
  return number % config_.shards;
}

void World::after(Nanoseconds delay, std::function<void()> work) {
  events_.push({now_ + delay, ++last_event_, std::move(work)});
}

Nanoseconds World::between(Nanoseconds least, Nanoseconds most) {
  return least + Nanoseconds(below(std::uint64_t(most - least) + 1));
}

void World::run() {
  for (unsigned client = 0; client < config_.clients; ++client)
    after(between(0, config_.delay_max), [this, client] { next_request(client); });
  if (config_.retransmit > 0) after(config_.retransmit, [this] { tick(); });
  if (config_.crash_every > 0) after(config_.crash_every, [this] { crash_one(); });
  while (!events_.empty() && !is_ended_) {
    now_ = events_.top().at;
    if (now_ > time_max) throw Violation("after 10 s there is still something on its way");
    const std::function<void()> work = events_.top().work;
    events_.pop();
    work();
  }
  if (!is_at_rest()) throw Violation("a request was never answered");
  if (!config_.is_load)  // what is not in the journals is lost
    for (Node* const node : nodes_) {
      node->crash(false);
      node->recover();
    }
  std::vector<const NaiveExchange*> markets;
  for (const auto& shard : shards_) markets.push_back(&shard->market());
  audit_.at_rest(markets);
}

// --- network and faults ---

void World::deliver(const std::function<void(Message)>& receive, Message message) {
  for (unsigned copies = one_in(config_.twice_one_in) ? 2 : 1; copies > 0; --copies) {
    if (one_in(config_.lost_one_in)) continue;
    const bool is_slow = one_in(config_.slow_one_in);
    after(between(config_.delay_min, is_slow ? config_.slow_max : config_.delay_max),
          [receive, message] { receive(message); });
  }
}

void World::send_to_shard(unsigned shard, Message message) {
  deliver([this, shard](Message arrived) { shards_[shard]->receive(std::move(arrived)); },
          std::move(message));
}

void World::send_to_ledger(unsigned ledger, Message message) {
  deliver([this, ledger](Message arrived) { ledgers_[ledger]->receive(std::move(arrived)); },
          std::move(message));
}

void World::send_to_client(Message message) {
  deliver([this](const Message& arrived) { receive_reply(std::get<Reply>(arrived)); },
          std::move(message));
}

void World::crash_one() {
  if (requests_ == std::uint64_t(config_.clients) * config_.requests)
    return;  // no crashes at the end
  Node* const node = nodes_[below(nodes_.size())];
  if (node->is_up()) {
    ++figures_.crashes;
    node->crash(one_in(2));
    after(between(0, config_.down_max), [node] { node->recover(); });
  }
  after(between(0, 2 * config_.crash_every), [this] { crash_one(); });
}

void World::tick() {
  if (is_at_rest()) {
    is_ended_ = true;
    return;
  }
  for (Node* const node : nodes_)
    if (node->is_up()) node->retransmit();
  after(between(config_.retransmit / 2, config_.retransmit), [this] { tick(); });
}

bool World::is_at_rest() const {
  return replies_ == std::uint64_t(config_.clients) * config_.requests &&
         std::all_of(nodes_.begin(), nodes_.end(), [](const Node* n) { return n->is_at_rest(); });
}

// --- clients ---

void World::next_request(unsigned number) {
  Client& client = clients_[number];
  const RequestId id{number, client.request.id.number + 1};
  if (id.number > config_.requests) return;
  ++requests_;
  client.request = config_.is_load ? draw_load(number) : draw_request(number);
  client.request.id = id;
  client.is_waiting = true;
  client.sent_at = now_;
  audit_.invoked(number);
  send_request(number);
}

void World::send_request(unsigned number) {
  const Request& request = clients_[number].request;
  if (config_.ledgers > 0 && is_buy(request.command)) {
    const AccountId& buyer = std::get<PlaceOrder>(request.command).account;
    send_to_ledger(account_number(buyer) % config_.ledgers, request);
  } else
    send_to_shard(request.shard, request);
  if (config_.retry > 0)
    after(config_.retry, [this, number, sent = request.id.number] {
      const Client& client = clients_[number];
      if (client.is_waiting && client.request.id.number == sent) send_request(number);
    });
}

void World::receive_reply(const Reply& reply) {
  Client& client = clients_[reply.id.client];
  if (!client.is_waiting || client.request.id.number != reply.id.number) return;  // a second reply
  audit_.replied(reply);
  client.is_waiting = false;
  ++replies_;
  if (const auto* opened = std::get_if<Opened>(&reply.outcome)) {
    const auto& order = std::get<PlaceOrder>(client.request.command);
    const Known known{client.request.shard, account_number(order.account), opened->order};
    client.orders.push_back(known);
    orders_.push_back(known);
  }
  const std::uint64_t all = std::uint64_t(config_.clients) * config_.requests;
  if (replies_ == all * 3 / 10) middle_from_ = now_;
  if (replies_ == all * 8 / 10) middle_to_ = now_;
  if (middle_from_ > 0 && middle_to_ == 0) {
    const bool is_refused = std::holds_alternative<Rejected>(reply.outcome);
    (!is_buy(client.request.command) ? figures_.times.others
     : is_refused                    ? figures_.times.refused
                                     : figures_.times.buys)
        .push_back(now_ - client.sent_at);
  }
  after(between(0, config_.think_max), [this, number = reply.id.client] { next_request(number); });
}

Request World::order(unsigned account, unsigned symbol, Side side, std::int64_t shares,
                     std::int64_t limit) const {
  const SymbolName name = symbol_name(symbol);
  return {{},
          shard_of(name),
          PlaceOrder{account_id(account), name, side, Shares::whole(shares), Price::whole(limit)}};
}

Request World::draw_request(unsigned) {
  const unsigned account = unsigned(below(config_.accounts));
  const auto kind = below(20);
  if (kind >= 15 && !orders_.empty()) {
    const std::size_t recent = std::min<std::size_t>(orders_.size(), 8);
    const Known& known = orders_[orders_.size() - 1 - below(recent)];
    const AccountId by = account_id(one_in(8) ? account : known.account);
    if (kind >= 18) return {{}, known.shard, QueryOrder{by, known.order}};
    return {{}, known.shard, CancelOrder{by, known.order}};
  }
  return order(account, unsigned(below(config_.symbols)), kind < 9 ? Side::buy : Side::sell,
               1 + std::int64_t(below(5)), 1 + std::int64_t(below(6)));
}

// 40 % buys, 40 % sells, 20 % cancels; each account trades four symbols.
Request World::draw_load(unsigned number) {
  Client& client = clients_[number];
  const unsigned account = number % config_.accounts;
  const unsigned symbol = (account + unsigned(below(4))) % config_.symbols;
  const auto kind = below(10);
  if (kind >= 8 && !client.orders.empty()) {
    const Known known = client.orders.back();
    client.orders.pop_back();
    return {{}, known.shard, CancelOrder{account_id(account), known.order}};
  }
  const Side side = kind % 2 == 0 ? Side::buy : Side::sell;
  const bool is_refused = side == Side::buy && below(100) < config_.refused_percent;
  return order(account, symbol, side, 1 + std::int64_t(below(10)),
               is_refused ? 10 * config_.cash : 90 + std::int64_t(below(21)));
}

World::Figures World::figures() const {
  Figures figures = figures_;
  figures.per_second =
      double(replies_) * 0.5 / (double(std::max<Nanoseconds>(middle_to_ - middle_from_, 1)) / 1e9);
  for (const auto& ledger : ledgers_) {
    figures.ledger_cpu = std::max(figures.ledger_cpu, double(ledger->cpu_used()) / double(now_));
    figures.barriers += ledger->barriers();
  }
  for (const auto& shard : shards_)
    figures.shard_cpu = std::max(figures.shard_cpu, double(shard->cpu_used()) / double(now_));
  return figures;
}

std::string violation_of(World& world) {
  try {
    world.run();
  } catch (const std::exception& violation) {
    return violation.what();
  }
  return "";
}

}  // namespace exchange::scale_out
