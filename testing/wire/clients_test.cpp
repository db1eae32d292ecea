// Many clients, clients that leave, clients that do not read, and a server that stops while clients
// are connected.

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "support/self_signed.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"
#include "wire/any_server.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const std::string cut_short =
    error_reply("bad framing: the stream ended inside a request: 100 bytes announced, 8 came");
const std::string bad_digits =
    error_reply("bad framing: a request begins with its length in digits");
const std::string what = framed("<what/>"), what_reply = error_reply("unknown element 'what'");

std::string account(int id) {
  return framed("<create><account id='" + std::to_string(id) +
                "' balance='1000'/><symbol sym='S'/></create>");
}
std::string account_reply(int id) {
  return results("<created id=\"" + std::to_string(id) + R"("/><created sym="S"/>)");
}
std::string buy(int id) {
  return framed("<transactions id='" + std::to_string(id) +
                "'><order sym='S' amount='1' limit='2'/></transactions>");
}
bool is_opened(const std::string& reply) {
  return reply.starts_with(R"(<results><opened sym="S" amount="1" limit="2" id=")") &&
         reply.ends_with("\"/></results>\n");
}
// Sends a request and returns its reply.
std::string ask(TcpClient& client, const std::string& request) {
  REQUIRE(client.send(request));
  return client.reply();
}
using Clients = std::vector<std::unique_ptr<TcpClient>>;
Clients connect(const InProcessServer& server, int count) {
  Clients clients;
  for (; count > 0; --count) clients.push_back(std::make_unique<TcpClient>(server.port()));
  return clients;
}
std::string query(int id, const std::string& order) {
  return framed("<transactions id='" + std::to_string(id) + "'><query id='" + order +
                "'/></transactions>");
}

bool can_connect(std::uint16_t port) {
  try {
    TcpClient client(port);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// Order 1 of account 1 has this number of executions; a request queries it this number of times,
// and its reply lists all of them each time.
constexpr int executions = 900, queries_of_them = 100;

void make_large_order(std::uint16_t port) {
  TcpClient client(port);
  const std::string sells = repeated("<order sym='S' amount='-1' limit='2'/>", executions);
  REQUIRE(client.send(
      framed("<create><account id='1' balance='9999'/><account id='2' balance='0'/>"
             "<symbol sym=\"S\"><account id=\"2\">9999</account></symbol></create>") +
      framed("<transactions id='1'><order sym='S' amount='900' limit='2'/></transactions>") +
      framed("<transactions id='2'>" + sells + "</transactions>")));
  for (int i = 0; i < 3; ++i) REQUIRE(client.reply().find("<error") == std::string::npos);
}

std::string queries_of(const std::string& order, int times) {
  return framed("<transactions id='1'>" + repeated("<query id='" + order + "'/>", times) +
                "</transactions>");
}
// The request is short and arrives at once. Its reply is larger than a socket's buffer.
std::string large_query() { return queries_of("1", queries_of_them); }
std::string large_reply() {
  const std::string executed =
      repeated(R"(<executed shares="1" price="2" time="1700000000"/>)", executions);
  return results(repeated("<status id=\"1\">" + executed + "</status>", queries_of_them));
}
std::string cheap_orders(int count) {
  return framed("<transactions id='1'>" +
                repeated("<order sym='S' amount='1' limit='0.01'/>", count) + "</transactions>");
}

AnyServer::Adjust drain(std::uint32_t drain_ms) {
  return [=](Options& options) { options.net.limits.drain_ms = drain_ms; };
}
AnyServer::Adjust stall(std::uint32_t stall_ms) {
  return [=](Options& options) { options.net.limits.stall_ms = stall_ms; };
}

}  // namespace

TEST_CASE("300 clients at once each hold their conversation") {
  constexpr int count = 300;
  AnyServer server;
  Clients clients = connect(server, count);
  for (int i = 0; i < count; ++i) REQUIRE(clients[std::size_t(i)]->send(account(i)));
  for (int i = 0; i < count; ++i) REQUIRE(clients[std::size_t(i)]->reply() == account_reply(i));
  CHECK(server.metrics.connections.load() == count);
  // Each client pipelines three requests, in two pieces, while all others do the same.
  for (int i = 0; i < count; ++i)
    REQUIRE(clients[std::size_t(i)]->send((buy(i) + buy(i)).substr(0, 100)));
  for (int i = 0; i < count; ++i)
    REQUIRE(clients[std::size_t(i)]->send((buy(i) + buy(i)).substr(100) + what));
  std::vector<std::string> opened;
  for (int i = 0; i < count; ++i) {
    TcpClient& client = *clients[std::size_t(i)];
    for (int j = 0; j < 2; ++j) {
      const std::string reply = client.reply();
      REQUIRE(is_opened(reply));
      opened.push_back(reply);
      if (j == 0) continue;
      REQUIRE(client.reply() == what_reply);
      const std::size_t id_at = reply.find(" id=\"") + 5;
      const std::string id = reply.substr(id_at, reply.find('"', id_at) - id_at);
      REQUIRE(ask(client, query(i, id)) ==
              results("<status id=\"" + id + R"("><open shares="1"/></status>)"));
    }
  }
  std::sort(opened.begin(), opened.end());
  CHECK(std::adjacent_find(opened.begin(), opened.end()) == opened.end());  // no id twice
  clients.clear();
  CHECK(wait_for([&] { return server.metrics.connections == 0; }));
}

TEST_CASE(
    "clients that connect and leave without a request, or in the middle of one, harm no others") {
  AnyServer server;
  TcpClient stays(server.port());
  for (int i = 0; i < 50; ++i) {
    TcpClient silent(server.port()), amid(server.port()), hasty(server.port());
    amid.send("100\n<create>");
    hasty.send(account(100 + i));
  }
  CHECK(ask(stays, account(1)) == account_reply(1));
  CHECK(wait_for([&] { return server.metrics.connections == 1; }));
}

TEST_CASE("a stopping server answers what it has received, then closes") {
  constexpr int count = 20, requests = 200;  // more bytes than a session reads at once
  AnyServer server;
  const Clients clients = connect(server, count);
  for (int i = 0; i < count; ++i)
    REQUIRE(ask(*clients[std::size_t(i)], account(i)) == account_reply(i));
  server.store.hold_appends.begin();
  const std::string pipeline = repeated(buy(7), requests);
  for (int i = 0; i < count; i += 2) REQUIRE(clients[std::size_t(i)]->send(pipeline));
  for (const auto& client : clients) REQUIRE(wait_for([&] { return client->has_arrived(); }));

  long long stopped_after = -1;
  std::thread stopping([&] { stopped_after = server.stop(); });
  const bool refuses = wait_for([port = server.port()] { return !can_connect(port); });
  server.store.hold_appends.end();
  stopping.join();
  CHECK(refuses);
  CHECK(stopped_after < 2'500);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < (i % 2 == 0 ? requests : 0); ++j) {
      const std::string reply = clients[std::size_t(i)]->reply();
      REQUIRE(
          (is_opened(reply) ||
           reply == results(R"(<error sym="S" amount="1" limit="2">insufficient funds</error>)")));
    }
    REQUIRE(clients[std::size_t(i)]->rest() == "");
  }
}

TEST_CASE(
    "a server stops promptly while clients keep sending, and among half requests and silence") {
  AnyServer server(drain(300));
  TcpClient silent(server.port()), half(server.port());
  REQUIRE(ask(half, account(1) + "100\n<create>") == account_reply(1));
  std::atomic<int> answered = 0;
  const Clients clients = connect(server, 4);
  std::vector<std::thread> busy;
  for (int i = 0; i < 4; ++i)
    busy.emplace_back([&, i] {
      TcpClient& client = *clients[std::size_t(i)];
      client.send(account(10 + i));
      client.reply();
      while (client.send(buy(10 + i)) && client.reply() != "") ++answered;
    });
  CHECK(wait_for([&] { return answered > 100; }));
  CHECK(server.stop() < 2'000);
  for (std::thread& thread : busy) thread.join();
  CHECK(half.rest() == cut_short);
  CHECK(silent.rest() == "");
}

TEST_CASE("a client that never reads does not hinder others, nor the server's end") {
  AnyServer server(drain(200));
  TcpClient reads(server.port());
  REQUIRE(ask(reads, account(1)) == account_reply(1));

  // There are more such clients than threads under any policy here; each sends until the server
  // takes no more.
  const std::string queries = queries_of("99", 5'000);
  struct Deaf {
    TcpClient client;
    std::size_t sent = 0;
  };
  std::vector<std::unique_ptr<Deaf>> deaf;
  for (int i = 0; i < 6; ++i)
    deaf.emplace_back(new Deaf{TcpClient(server.port(), {.receive_buffer = 4'096})});
  std::size_t in_vain = 0, taken = 0;
  while (in_vain < 50) {
    const std::size_t before = taken;
    for (const auto& one : deaf) {
      const std::size_t now = one->client.send_without_waiting(
          std::string_view(queries).substr(one->sent % queries.size()));
      one->sent += now;
      taken += now;
    }
    in_vain = taken == before ? in_vain + 1 : 0;
    REQUIRE(reads.send(buy(1)));  // the server serves other clients meanwhile
    REQUIRE(reads.reply().starts_with("<results><"));
    REQUIRE(taken < 500'000'000);  // the server stops taking bytes that are never read
  }
  CHECK(server.stop() < 2'000);
  CHECK(reads.rest() == "");
}

TEST_CASE("after bad framing the error arrives although the client goes on sending") {
  AnyServer server;
  TcpClient client(server.port());
  CHECK(ask(client, account(1) + "garbage") == account_reply(1));
  client.send(std::string(200'000, 'x'));
  CHECK(client.rest() == bad_digits);
  CHECK(server.metrics.bad_frames.load() == 1);
}

TEST_CASE("after bad framing a client that stays is cut off, though orders ended with it") {
  AnyServer server([](Options& options) { options.net.limits.linger_ms = 50; });
  TcpClient client(server.port());
  CHECK(ask(client, account(1)) == account_reply(1));
  CHECK(is_opened(ask(client, framed("<transactions id='1' cancel-on-disconnect='true'>"
                                     "<order sym='S' amount='1' limit='2'/></transactions>"))));
  REQUIRE(client.send("garbage\n"));
  CHECK(wait_for([&] { return server.metrics.connections.load() == 0; }));
  CHECK(server.metrics.canceled_orders[CancelCause::disconnect].load() == 1);
}

TEST_CASE(
    "after bad framing the connection ends in order, whatever the client had sent behind it") {
  AnyServer server;
  TcpClient client(server.port());
  // more bytes than the server has read when it refuses
  REQUIRE(client.send("garbage" + std::string(500'000, 'x')));
  CHECK(client.rest() == bad_digits);
  CHECK_FALSE(client.was_reset());
}

TEST_CASE("one connection too many is refused with the reason, until another leaves") {
  AnyServer server([](Options& options) {
    options.net.limits.connections_max = 3;
    options.net.limits.connections_per_address = 4;
    options.net.limits.evictable_idle_ms = 1'000'000;
  });
  TcpClient one(server.port()), two(server.port());
  {
    TcpClient three(server.port());
    REQUIRE(ask(three, account(3)) == account_reply(3));
    REQUIRE(wait_for([&] { return server.metrics.connections.load() == 3; }));
    CHECK(TcpClient(server.port()).rest() ==
          error_reply("the server takes no more connections now (limit 3, --connections-max)"));
  }
  REQUIRE(wait_for([&] { return server.metrics.connections.load() == 2; }));
  TcpClient four(server.port());
  CHECK(ask(four, account(4)) == account_reply(4));
  CHECK(server.metrics.connections_refused[AdmissionLimit::limit].load() == 1);
}

TEST_CASE("large requests and large replies pass whole, under every policy") {
  std::string request, reply;
  for (int i = 0; i < 16'000; ++i) {
    request += "<account id='" + std::to_string(i) + "' balance='1'/>";
    reply += "<created id=\"" + std::to_string(i) + "\"/>";
  }
  reply = results(reply);
  AnyServer server;
  TcpClient client(server.port());
  REQUIRE(client.send(framed("<create>" + request + "</create>") + what));
  const std::string got = client.reply();
  CHECK(got.size() == reply.size());
  CHECK((got == reply));  // not printed: it is long
  CHECK(client.reply() == what_reply);
}

TEST_CASE("orders that have left the memory are answered from the tables, in the same words") {
  AnyServer server;
  TcpClient client(server.port());
  REQUIRE(client.send(account(1) +
                      framed("<create><account id='2' balance='0'/><symbol sym='S'><account "
                             "id='2'>9</account></symbol></create>")));
  client.reply();
  client.reply();
  REQUIRE(client.send(
      framed("<transactions id='1'><order sym='S' amount='5' limit='2'/><order sym='S' amount='5' "
             "limit='1'/><cancel id='2'/></transactions>") +
      framed(
          "<transactions id='2'><order sym='S' amount='-2' limit='2'/><order sym='S' amount='-3' "
          "limit='2'/></transactions>")));
  client.reply();
  client.reply();
  const std::string first = R"(<status id="1"><executed shares="2" price="2" time="1700000000"/>)"
                            R"(<executed shares="3" price="2" time="1700000000"/></status>)";
  REQUIRE(wait_for([&] {
    REQUIRE(ask(client, query(1, "1")) == results(first));
    return server.metrics.orders_read.load() > 0;
  }));
  const std::uint64_t read_before = server.metrics.orders_read;
  CHECK(
      ask(client,
          framed("<transactions id='1'><query id='1'/><cancel id='1'/><query id='2'/><cancel "
                 "id='2'/><query id='3'/><order sym='S' amount='1' limit='1'/></transactions>")) ==
      results(first + R"(<error id="1">order has nothing open</error>)"
                      R"(<status id="2"><canceled shares="5" time="1700000000"/></status>)"
                      R"(<error id="2">order has nothing open</error>)"
                      R"(<error id="3">no such order of this account</error>)"
                      R"(<opened sym="S" amount="1" limit="1" id="5"/>)"));
  CHECK(server.metrics.orders_read.load() == read_before + 5);
}

TEST_CASE("with open queries any account sees an order that has left the memory") {
  AnyServer server([](Options& options) { options.protocol.open_queries = true; });
  TcpClient client(server.port());
  REQUIRE(client.send(account(1) + account(2) +
                      framed("<transactions id='1'><order sym='S' amount='1' limit='2'/><cancel "
                             "id='1'/></transactions>")));
  for (int i = 0; i < 3; ++i) REQUIRE(client.reply().find("<error") == std::string::npos);
  REQUIRE(wait_for([&] {
    REQUIRE(ask(client, query(2, "1")) ==
            results(R"(<status id="1"><canceled shares="1" time="1700000000"/></status>)"));
    return server.metrics.orders_read.load() > 0;
  }));
  CHECK(ask(client, framed("<transactions id='2'><cancel id='1'/></transactions>")) ==
        results(R"(<error id="1">no such order of this account</error>)"));
}

TEST_CASE("a client that does not finish a request or take a reply is ended; a silent one is not") {
  AnyServer server(stall(100));
  TcpClient silent(server.port()), stalled(server.port()),
      deaf(server.port(), {.receive_buffer = 4'096}), slow(server.port());
  REQUIRE(ask(slow, account(1)) == account_reply(1));

  REQUIRE(stalled.send("100\n<create>"));
  const std::string queries = queries_of("99", 15'000);
  for (int i = 0; i < 20; ++i) deaf.send_without_waiting(queries);
  // the silent and the slow client remain
  REQUIRE(wait_for([&] { return server.metrics.connections.load() == 2; }));

  // A request that is finished in time is answered, and does not count against the next.
  REQUIRE(slow.send_bytewise("46\n<create><account id='2' balance='1'/></create>"));
  CHECK(slow.reply() == results(R"(<created id="2"/>)"));
  CHECK(ask(silent, account(3)) == account_reply(3));

  // Nor is it ended later: the test waits as long as the server takes to end another client.
  TcpClient also_stalled(server.port());
  REQUIRE(also_stalled.send("100\n<create>"));
  REQUIRE(also_stalled.rest() == cut_short);
  CHECK(ask(slow, account(4)) == account_reply(4));
}

TEST_CASE("a length that is too large for its document is answered soon") {
  const SelfSigned certificate;
  const bool secure = GENERATE(false, true);
  CAPTURE(secure);
  AnyServer server([&](Options& options) {
    // stall_ms is one minute, and a client of this test waits ten seconds
    options.net.limits.complete_document_ms = 100;
    if (secure) options.tls = certificate.files();
  });
  TcpClient client(server.port(), {.secure = secure}), half(server.port(), {.secure = secure});
  REQUIRE(half.send("100\n<create>"));
  REQUIRE(client.send("50\n<create><account id='1' balance='1'/></create>"));
  CHECK(client.rest() ==
        error_reply(
            "bad framing: 50 bytes announced, 46 came, and the document is complete: is the length "
            "right?"));
  // nothing was executed, and other requests keep their full time
  REQUIRE(half.send("<account id='1' balance='100'/>" + std::string(52, ' ') + "</create>"));
  CHECK(half.reply() == results(R"(<created id="1"/>)"));
  CHECK(server.metrics.bad_frames.load() == 1);
}

TEST_CASE("white space that comes in time finishes a request whose document was complete before") {
  std::vector<std::unique_ptr<InProcessServer>> servers;
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (const Policy policy : policies()) {
    servers.push_back(std::make_unique<InProcessServer>(
        policy, [](Options& options) { options.net.limits.complete_document_ms = 1'500; }));
    clients.push_back(std::make_unique<TcpClient>(servers.back()->port()));
    REQUIRE(clients.back()->send("50\n<create><account id='1' balance='1'/></create>"));
  }
  for (int i = 0; i < 4; ++i) {  // together longer than a complete document may wait
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (const auto& client : clients) REQUIRE(client->send("\n"));
  }
  for (const auto& client : clients) CHECK(client->reply() == results(R"(<created id="1"/>)"));
}

TEST_CASE("a reply larger than any buffer passes whole to a client that reads late") {
  AnyServer server;
  make_large_order(server.port());
  TcpClient client(server.port()), other(server.port());
  REQUIRE(client.send(large_query() + what));
  REQUIRE(wait_for([&] { return server.metrics.requests.load() >= 5; }));
  REQUIRE(other.send(account(7)));  // served meanwhile
  CHECK(other.reply() == account_reply(7));
  CHECK((client.reply() == large_reply()));
  CHECK(client.reply() == what_reply);
}

TEST_CASE("a client that does not take a reply is ended in time, though its request came at once") {
  AnyServer server(stall(300));
  make_large_order(server.port());
  TcpClient deaf(server.port(), {.receive_buffer = 4'096});
  REQUIRE(deaf.send(large_query()));
  REQUIRE(wait_for([&] { return server.metrics.requests.load() == 4; }));
  CHECK(wait_for([&] { return server.metrics.connections.load() == 0; }));
}

TEST_CASE("a client that took a large reply in time is not ended for it later") {
  AnyServer server(stall(500));
  make_large_order(server.port());
  TcpClient silent(server.port());
  REQUIRE(silent.send(large_query()));
  REQUIRE((silent.reply() == large_reply()));
  TcpClient stalled(server.port());  // waits as long as the server takes to end another
  REQUIRE(stalled.send("100\n<create>"));
  REQUIRE(stalled.rest() == cut_short);
  CHECK(ask(silent, account(7)) == account_reply(7));
}

TEST_CASE("a client that sends a request byte by byte is ended all the same") {
  AnyServer server(stall(500));
  TcpClient drips(server.port());
  REQUIRE(drips.send("100000\n"));
  REQUIRE(wait_for([&] { return server.metrics.connections.load() == 1; }));
  CHECK(wait_for([&] {
    drips.send(" ");
    return server.metrics.connections.load() == 0;
  }));
}

TEST_CASE("a small request does not wait for all large ones") {
  InProcessServer server(Policy::loop,
                         [](Options& options) { options.core.batch_commands_max = 4; });
  TcpClient first(server.port()), small(server.port());
  REQUIRE(ask(first, account(1)) == account_reply(1));
  const std::string orders = cheap_orders(100);
  const Clients large = connect(server, 3);

  server.store.hold_appends.begin();
  REQUIRE(first.send(buy(1)));
  REQUIRE(wait_for([&] { return server.metrics.batches == 2; }));  // applied, and being committed
  for (const auto& client : large) REQUIRE(client->send(orders));
  REQUIRE(wait_for([&] { return server.metrics.inbox_depth == 3; }));
  REQUIRE(small.send(buy(1)));
  REQUIRE(wait_for([&] { return server.metrics.inbox_depth == 4; }));
  server.store.hold_appends.end();
  CHECK(first.reply().ends_with("id=\"1\"/></results>\n"));
  // ids are given in the order of execution
  CHECK(small.reply().ends_with("id=\"2\"/></results>\n"));
  for (const auto& client : large) CHECK(client->reply().find("<opened") != std::string::npos);
}

TEST_CASE(
    "request batches without memory for them are refused whole, unexecuted, and others are not") {
  AnyServer server([](Options& options) {
    options.protocol.frame_bytes_max = 65'536;
    options.net.limits.buffered_bytes_max = 1;  // four frames then
  });
  TcpClient one(server.port()), two(server.port()), small(server.port());
  REQUIRE(ask(one, account(1)) == account_reply(1));
  const std::string orders = cheap_orders(300);
  server.store.hold_appends.begin();
  REQUIRE(one.send(orders));
  REQUIRE(wait_for([&] { return server.metrics.batches == 2; }));
  CHECK(ask(two, orders) ==
        error_reply(
            "the server has no memory for so large a request now; nothing of it was executed"));
  REQUIRE(small.send(query(1, "301")));
  server.store.hold_appends.end();
  CHECK(one.reply().find("id=\"300\"/></results>") != std::string::npos);
  CHECK(small.reply() == results(R"(<error id="301">no such order of this account</error>)"));
  REQUIRE(two.send(orders));  // the server has room again
  CHECK(two.reply().find("id=\"600\"/></results>") != std::string::npos);
  CHECK(server.metrics.requests_refused.load() == 1);
}

TEST_CASE("orders end with a connection that is reset") {
  AnyServer server;
  TcpClient other(server.port());
  CHECK(ask(other, account(1)) == account_reply(1));
  const std::string order = framed(
      "<transactions id='1' cancel-on-disconnect='true'>"
      "<order sym='S' amount='1' limit='2'/></transactions>");
  {
    TcpClient client(server.port());
    CHECK(is_opened(ask(client, order)));
    // The client closes before it has read a reply, so its system sends a reset. The second order
    // is in flight at that time.
    REQUIRE(client.send(query(1, "1")));
    CHECK_THAT(ask(other, query(1, "1")), contains_text("<open shares"));
    REQUIRE(client.send(order));
  }
  for (const char* id : {"1", "2"})
    REQUIRE(wait_for([&] {
      return ask(other, query(1, id)).find("<canceled shares=\"1\"") != std::string::npos;
    }));
}
