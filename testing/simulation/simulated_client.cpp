#include <algorithm>

#include "journal/journal_record.hpp"
#include "protocol/request_writer.hpp"
#include "simulation/world.hpp"

namespace exchange::simulation {
namespace {

// Makes the command one that a request of this account can contain: the protocol has no order 0.
void fit(Command& command, const AccountId& account) {
  if (is_creation(command)) return;
  const auto fit = [&](auto& one) {
    if constexpr (requires { one.account; }) one.account = account;
    if constexpr (requires { one.order; })
      if (!one.reference) one.order = std::max<OrderId>(one.order, 1);
  };
  std::visit(fit, command);
}

// Names an open order of its account, if the tables have one: a random number usually belongs to
// another account, or to a closed order.
void aim(ReplaceOrder& replace, const ModelTables& tables, Scheduler& scheduler) {
  const Rows image = tables.image();
  std::vector<OrderRow> own;
  for (const OrderRow& order : image.orders)
    if (image.accounts[order.account].id == replace.account) own.push_back(order);
  if (own.empty()) return;
  const OrderRow& order = own[scheduler.below(own.size())];
  replace.order = order.id;
  replace.reference = {};
  if (!scheduler.chance(8)) replace.side = order.side;
  if (scheduler.chance(2) && order.limit > Price()) replace.limit = order.limit;
}

AskedRequest request(std::vector<Command> commands, const AccountId& account) {
  AskedRequest asked;
  const std::string xml = write_request(commands, account);
  asked.bytes = std::to_string(xml.size()) + "\n" + xml;
  asked.commands = std::move(commands);
  return asked;
}

}  // namespace

// Creates a market, so that most of the following requests have an effect.
AskedRequest World::first_request() {
  std::vector<Command> commands;
  for (std::uint64_t a = 0; a < RandomCommands::accounts - 1; ++a)
    commands.push_back(CreateAccount{RandomCommands::account(a), Cash::whole(100)});
  for (std::uint64_t a = 0; a < RandomCommands::accounts - 1; ++a)
    commands.push_back(
        PlaceShares{RandomCommands::symbol(a % 2), RandomCommands::account(a), Shares::whole(10)});
  return request(std::move(commands), {});
}

AskedRequest World::next_request() {
  if (scheduler.chance(30)) return {.bytes = "12\n<create></x>", .commands = {}};
  const OrderId orders = disk.archive.empty()
                             ? 0
                             : decode_journal_record(disk.archive.rbegin()->second.payload).orders;
  const bool creation = !plan.mostly_queries && scheduler.chance(8);
  const AccountId account = RandomCommands::account(scheduler.below(RandomCommands::accounts));
  std::vector<Command> commands;
  for (std::uint64_t left = 1 + scheduler.below(4); left > 0;) {
    Command command = commands_.next(orders);
    if (is_creation(command) != creation || std::holds_alternative<RecordEvents>(command) ||
        std::holds_alternative<SetKey>(command))  // accounts have no keys
      continue;
    const bool queries = std::holds_alternative<QueryOrder>(command);
    if (plan.mostly_queries && !queries && !scheduler.chance(200)) continue;
    fit(command, account);
    if (auto* replace = std::get_if<ReplaceOrder>(&command); replace && !scheduler.chance(4))
      aim(*replace, disk.projections.back().tables, scheduler);
    commands.push_back(command);
    --left;
  }
  return request(std::move(commands), account);
}

std::size_t World::connect() {
  while (servers_.empty()) scheduler.wait(&servers_);
  Server& server = *servers_[scheduler.below(servers_.size())];
  const std::size_t number = connections.size();
  connections.push_back({.process = server.process});
  ++server.connections;
  scheduler.spawn("connection", server.process, false,
                  [this, &server, number] { serve_connection(server, number); });
  return number;
}

void World::send(Connection& connection, std::string_view bytes) {
  while (!bytes.empty() && !connection.to_server.broken) {
    const std::size_t part =
        1 + scheduler.below(scheduler.chance(2) ? bytes.size()
                                                : std::min<std::size_t>(bytes.size(), 20));
    connection.to_server.bytes += bytes.substr(0, part);
    bytes.remove_prefix(part);
    scheduler.notify(&connection.to_server);
    scheduler.preempt();
  }
}

// Reads until `wanted` replies have come. Returns false if the connection ended first.
bool World::read_replies(Connection& connection, std::size_t wanted) {
  constexpr std::string_view end = "</results>\n";
  std::size_t replies = 0;
  for (std::size_t at = 0; (at = connection.received.find(end, at)) != std::string::npos;
       at += end.size())
    ++replies;
  Pipe& input = connection.to_client;
  while (replies < wanted) {
    while (input.bytes.empty() && !input.ended) scheduler.wait(&input);
    if (input.bytes.empty()) return false;
    const std::size_t before =
        connection.received.size() < end.size() ? 0 : connection.received.size() - end.size() + 1;
    const std::size_t part = 1 + scheduler.below(input.bytes.size());
    connection.received += input.bytes.substr(0, part);
    input.bytes.erase(0, part);
    for (std::size_t at = before; (at = connection.received.find(end, at)) != std::string::npos;
         at += end.size())
      ++replies;
  }
  return true;
}

void World::run_client(unsigned number) {
  std::optional<std::size_t> connected;
  bool first = number == 0;
  for (unsigned asked = 0; asked < plan.requests;) {
    // Time passes only while every task waits, and leases end by time.
    if (plan.mostly_queries || plan.timetable)
      scheduler.sleep(Nanoseconds(scheduler.below(plan.timetable ? 2'000 : 100)) * 1'000'000);
    if (!connected) connected = connect();
    Connection& connection = connections[*connected];
    std::string bytes;
    for (std::uint64_t left = 1 + scheduler.below(3); left > 0; --left, ++asked) {
      connection.asked.push_back(std::exchange(first, false) ? first_request() : next_request());
      bytes += connection.asked.back().bytes;
    }
    if (scheduler.chance(plan.cuts_one_in)) {
      ++counts.cuts;
      connection.cut = true;
      send(connection, std::string_view(bytes).substr(0, scheduler.below(bytes.size() + 1)));
      if (scheduler.chance(2)) {  // half-closed: the replies still come
        connection.to_server.ended = true;
        scheduler.notify(&connection.to_server);
        read_replies(connection, connection.asked.size() + 1);
      }
      connection.to_server.broken = connection.to_client.ended = true;
      scheduler.notify(&connection.to_server);
      connected.reset();
      continue;
    }
    send(connection, bytes);
    if (!read_replies(connection, connection.asked.size())) connected.reset();
  }
  if (connected) {
    Connection& connection = connections[*connected];
    connection.to_server.ended = true;
    scheduler.notify(&connection.to_server);
    // reads to the end of the stream: no further reply may come
    read_replies(connection, connection.asked.size() + 1);
  }
  --clients_left_;
}

}  // namespace exchange::simulation
