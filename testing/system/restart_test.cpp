// Everything acknowledged or observed before a kill -9 is there after it, under load, on both
// durable stores.

#include "catch.hpp"

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "core/recovery.hpp"
#include "store/store.hpp"
#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"
#include "support/server_process.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

constexpr int clients_count = 50;

// What one client was told, by order id: the element of the newest reply that speaks of it.
struct Told {
  // "opened", or the inside of a status or canceled reply
  std::map<std::string, std::string> orders;
  std::size_t in_flight = 0;  // requests sent and never answered
};

std::string account_of(int client) { return std::to_string(100 + client); }

std::string transaction(int client, const std::string& child) {
  return "<transactions id=\"" + account_of(client) + "\">" + child + "</transactions>";
}

// The children of <status ...> or of the outer <canceled ...>.
std::string inside(const std::string& reply, const std::string& element) {
  const std::size_t begin = reply.find('>', reply.find("<" + element + " id=")) + 1;
  return reply.substr(begin, reply.rfind("</" + element + ">") - begin);
}

void create_market(unsigned port) {
  std::string accounts, places;
  for (int client = 0; client < clients_count; ++client) {
    accounts += "<account id=\"" + account_of(client) + "\" balance=\"1000000\"/>";
    places += "<account id=\"" + account_of(client) + "\">100000</account>";
  }
  const std::string reply = Client(port).request("<create>" + accounts + "<symbol sym=\"SPY\">" +
                                                 places + "</symbol></create>");
  REQUIRE(reply.find("<error") == std::string::npos);
}

// Trades until the server is gone.
void trade(int client, unsigned port, std::uint64_t seed, Told& told,
           std::atomic<int>& replies) try {
  std::mt19937_64 random(seed);
  Client connection(port);
  std::vector<std::string> own;
  while (true) {
    std::string child;
    const auto kind = random() % 10;
    std::string id = own.empty() ? "" : own[random() % own.size()];
    if (kind < 6 || own.empty())
      child = "<order sym=\"SPY\" amount=\"" + std::string(random() % 2 ? "-" : "") +
              std::to_string(1 + random() % 20) + "\" limit=\"" +
              std::to_string(95 + random() % 10) + "\"/>";
    else
      child = std::string(kind < 8 ? "<query" : "<cancel") + " id=\"" + id + "\"/>";
    ++told.in_flight;
    const std::string reply = connection.request(transaction(client, child));
    if (reply.empty()) return;
    --told.in_flight;
    ++replies;
    if (reply.find("<opened") != std::string::npos) {
      id = attribute(reply, "id");
      own.push_back(id);
      told.orders[id] = "opened";
    } else if (reply.find("<status") != std::string::npos) {
      told.orders[id] = inside(reply, "status");
    } else if (reply.find("<canceled id=") != std::string::npos) {
      told.orders[id] = inside(reply, "canceled");
    }
  }
} catch (const std::exception&) {  // refused: gone already
}

// What was seen of an order and what is there now agree: nothing told was taken back.
void check_kept(const std::string& before, const std::string& now) {
  if (before == "opened") return;
  const std::string executed_before =
      before.substr(std::min(before.find("<executed"), before.size()));
  const std::string executed_now = now.substr(std::min(now.find("<executed"), now.size()));
  CHECK(executed_now.substr(0, executed_before.size()) == executed_before);
  const bool was_canceled = before.find("<canceled") != std::string::npos;
  // closed: nothing more can happen
  if (was_canceled || before.find("<open") == std::string::npos) CHECK(now == before);
}

void kill_and_check(const std::string& store_url, std::uint64_t seed) {
  INFO("--seed " << seed);
  std::vector<Told> told(clients_count);
  std::set<std::string> ids;
  std::size_t acknowledged = 0;
  const std::vector<std::string> arguments{"--store", store_url, "--log-level", "error"};
  bool created = false;
  for (int round = 0; round < 3; ++round) {
    ServerProcess server(arguments);
    if (!created) create_market(server.port());
    created = true;

    for (int client = 0; client < clients_count; ++client) {
      if (told[client].orders.empty()) continue;
      Client connection(server.port());
      for (const auto& [id, before] : told[client].orders) {
        const std::string reply =
            connection.request(transaction(client, "<query id=\"" + id + "\"/>"));
        INFO("order " << id << " told as: " << before << ", now: " << reply);
        REQUIRE(reply.find("<status id=\"" + id + "\">") != std::string::npos);
        check_kept(before, inside(reply, "status"));
      }
    }

    std::atomic<int> replies{0};
    std::vector<std::thread> threads;
    std::vector<Told> round_told(clients_count);
    for (int client = 0; client < clients_count; ++client)
      threads.emplace_back([&, client] {
        trade(client, server.port(), seed + std::uint64_t(round * 1000 + client),
              round_told[client], replies);
      });
    const int wanted = 2'000 + int(seed % 1'000);
    for (int waited_ms = 0; replies < wanted && waited_ms < 30'000; waited_ms += 5)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    server.kill();
    for (std::thread& thread : threads) thread.join();
    CHECK(replies >= wanted);
    for (int client = 0; client < clients_count; ++client)
      for (const auto& [id, element] : round_told[client].orders) {
        CHECK(ids.insert(id).second);  // ids are unique across restarts
        told[client].orders[id] = element;
        ++acknowledged;
      }
  }
  INFO(acknowledged << " orders acknowledged");
  CHECK(acknowledged > 1'000);

  // Recovery itself proves conservation and that the replay ends where it was promised to.
  const auto store = make_store(store_url);
  store->open();
  Recovered recovered = recover(*store);
  CHECK(recovered.exchange.check_invariants() == "");
  CHECK(recovered.exchange.totals().cash_created == Cash::whole(1'000'000 * clients_count));
  for (int client = 0; client < clients_count; ++client)
    for (const auto& [id, element] : told[client].orders)
      CHECK(std::stoull(id) <= recovered.exchange.totals().orders);
}

}  // namespace

TEST_CASE("what was acknowledged before a kill -9 under 50 clients is there after it, on SQLite") {
  TemporaryFolder folder;
  kill_and_check("sqlite:" + folder.path() + "/x.db", test_seed());
}

TEST_CASE(
    "what was acknowledged before a kill -9 under 50 clients is there after it, on PostgreSQL") {
  kill_and_check(shared_cluster().create_database(), test_seed());
}
