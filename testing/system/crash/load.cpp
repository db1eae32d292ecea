#include "system/crash/load.hpp"

#include <fstream>
#include <stdexcept>

#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/xml_text.hpp"

namespace exchange::testing {
namespace {

std::string transaction(const std::string& account, const std::string& children) {
  return "<transactions id='" + account + "'>" + children + "</transactions>";
}

long shares_of(const std::string& element, std::size_t at) {
  return std::stol(attribute(element, "shares", at));
}

}  // namespace

CrashLoad::CrashLoad(int clients, std::uint64_t seed) {
  for (int i = 0; i < clients; ++i) {
    clients_.emplace_back();
    clients_.back().account = std::to_string(first_account + i);
    clients_.back().random.seed(seed + std::uint64_t(i));
  }
}

void CrashLoad::create_market(unsigned port) {
  std::string accounts, places;
  for (const Client& client : clients_) {
    accounts += "<account id='" + client.account + "' balance='100000000'/>";
    places += "<account id='" + client.account + "'>1000000</account>";
  }
  const std::string reply = TcpClient(port, patient)
                                .request("<create>" + accounts + "<symbol sym='" + symbol + "'>" +
                                         places + "</symbol></create>");
  if (reply.empty() || reply.find("<error") != std::string::npos)
    throw std::runtime_error("the market was not created: " + reply);
}

void CrashLoad::start(unsigned port) {
  join();
  running_ = int(clients_.size());
  for (Client& client : clients_)
    threads_.emplace_back([this, &client, port] {
      try {
        trade(client, port);
      } catch (const std::exception&) {  // refused: the server has ended
      }
      --running_;
    });
}

void CrashLoad::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool CrashLoad::await_replies(std::uint64_t wanted) {
  const std::uint64_t target = replies_ + wanted;
  await([&] { return replies_ >= target || running_ == 0; });
  return replies_ >= target;
}

CrashLoad::Order CrashLoad::next_order(Client& client) {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%u.%08llu", unsigned(95 + client.random() % 10),
                static_cast<unsigned long long>(++client.sent));
  const int amount = 1 + int(client.random() % 20);
  return {client.random() % 2 ? amount : -amount, limit};
}

void CrashLoad::trade(Client& client, unsigned port) {
  TcpClient connection(port, patient);
  while (true) {
    const unsigned kind = unsigned(client.random() % 10);
    if (client.ids.empty() || kind < 6) {
      const Order order = next_order(client);
      const std::string reply = connection.request(transaction(
          client.account, std::string("<order sym='") + symbol + "' amount='" +
                              std::to_string(order.amount) + "' limit='" + order.limit + "'/>"));
      if (reply.empty()) {
        client.unanswered.push_back(order);
        return;
      }
      const std::string id = attribute(reply, "id");
      if (reply.find("<opened") == std::string::npos || !client.orders.emplace(id, order).second)
        client.error = "an order got " + reply;
      else
        client.ids.push_back(id);
    } else {
      const std::string id = client.ids[client.random() % client.ids.size()];
      const std::string reply = connection.request(transaction(
          client.account, std::string(kind < 8 ? "<query" : "<cancel") + " id='" + id + "'/>"));
      if (reply.empty()) return;
      if (reply.find("<error") == std::string::npos) {
        if (const std::string taken_back = learn(client.orders.at(id), reply); !taken_back.empty())
          client.error = "order " + id + " " + taken_back;
      } else if (kind < 8) {
        client.error = "order " + id + " got " + reply;
      }
    }
    ++replies_;
  }
}

std::string CrashLoad::learn(Order& order, const std::string& reply) {
  Order now = order;
  now.open = now.canceled = now.executed = 0;
  now.executions.clear();
  if (const std::size_t at = reply.find("<open "); at != std::string::npos)
    now.open = shares_of(reply, at);
  if (const std::size_t at = reply.find("<canceled shares"); at != std::string::npos)
    now.canceled = shares_of(reply, at);
  for (std::size_t at = 0; (at = reply.find("<executed ", at)) != std::string::npos; ++at) {
    now.executed += shares_of(reply, at);
    now.executions += reply.substr(at, reply.find("/>", at) - at);
  }
  std::string problem;
  if (now.open + now.canceled + now.executed != std::abs(order.amount))
    problem = "is not whole: " + reply;
  if (!now.executions.starts_with(order.executions))
    problem = "lost an execution: " + order.executions + " became " + now.executions;
  if (order.canceled > 0 && now.canceled != order.canceled)
    problem = "is not canceled any more: " + reply;
  if (order.open >= 0 && now.open > order.open) problem = "has more open than before: " + reply;
  order = now;
  return problem;
}

std::string CrashLoad::disagreement(unsigned port) {
  constexpr std::size_t asked_at_once = 500;
  TcpClient connection(port, patient);
  for (Client& client : clients_) {
    if (!client.error.empty()) return client.error;
    for (std::size_t first = 0; first < client.ids.size(); first += asked_at_once) {
      const std::size_t last = std::min(first + asked_at_once, client.ids.size());
      std::string queries;
      for (std::size_t i = first; i < last; ++i) queries += "<query id='" + client.ids[i] + "'/>";
      const std::string reply = connection.request(transaction(client.account, queries));
      std::size_t at = 0;
      for (std::size_t i = first; i < last; ++i) {
        at = reply.find(R"(<status id=")" + client.ids[i] + R"(">)", at);
        if (at == std::string::npos)
          return "order " + client.ids[i] +
                 " was acknowledged and is gone: " + reply.substr(0, 500);
        const std::size_t end = reply.find("</status>", at);
        if (const std::string problem =
                learn(client.orders.at(client.ids[i]), reply.substr(at, end - at));
            !problem.empty())
          return "order " + client.ids[i] + " " + problem;
      }
    }
  }
  return {};
}

void CrashLoad::write(const std::string& path) const {
  std::ofstream file(path);
  for (const Client& client : clients_) {
    const auto sent = [&](const Order& order) {
      return " account=" + client.account + " symbol=" + symbol +
             " amount=" + std::to_string(order.amount) + " limit=" + order.limit;
    };
    for (const auto& [id, order] : client.orders) {
      file << id << sent(order);
      if (order.open >= 0)
        file << " open=" << order.open << " canceled=" << order.canceled
             << " executed=" << order.executed;
      file << "\n";
    }
    for (const Order& order : client.unanswered) file << "-" << sent(order) << "\n";
  }
}

std::uint64_t CrashLoad::acknowledged() const {
  std::uint64_t sum = 0;
  for (const Client& client : clients_) sum += client.orders.size();
  return sum;
}

}  // namespace exchange::testing
