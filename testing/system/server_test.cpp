// The server as its users run it: command line, ready line, signals, and a database that goes away.

#include "catch.hpp"

#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/folder.hpp"
#include "support/postgres_cluster.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"

using namespace exchange::testing;

namespace {

using Clock = std::chrono::steady_clock;

const std::string create_two =
    "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"0\"/>"
    "<symbol sym=\"SPY\"><account id=\"2\">10</account></symbol></create>";

}  // namespace

TEST_CASE(
    "the ready line shows port, policy, threads and store, and SIGTERM ends the server with 0") {
  TemporaryFolder folder;
  const std::string store = "sqlite:" + folder.path() + "/x.db";
  for (const std::string policy : {"thread", "pool", "loop"}) {
    ServerProcess server({"--store", store, "--policy", policy, "--threads", "3"});
    const std::string threads = policy == "thread" ? "per-client" : "3";
    CHECK(server.ready_line() == "ready port=" + std::to_string(server.port()) + " policy=" +
                                     policy + " threads=" + threads + " store=" + store);
    CHECK(server.stop() == 0);
  }
}

TEST_CASE(
    "SIGTERM with connected clients answers what was received, projects it, and ends within 5 s") {
  const std::string policy = GENERATE("thread", "pool", "loop");
  TemporaryFolder folder;
  ServerProcess server({"--store", "sqlite:" + folder.path() + "/x.db", "--policy", policy});
  TcpClient idle(server.port()), busy(server.port(), patient), half_sent(server.port());
  REQUIRE(busy.request(create_two).find("<error") == std::string::npos);
  half_sent.send("100\n<create>");
  const std::string orders =
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"2\"/></transactions>";
  std::string pipelined;
  for (int i = 0; i < 100; ++i) pipelined += std::to_string(orders.size()) + "\n" + orders;
  busy.send(pipelined);
  const std::string first = busy.reply();
  CHECK(first.find("<opened") != std::string::npos);
  const auto start = Clock::now();
  CHECK(server.stop() == 0);
  CHECK(Clock::now() - start < std::chrono::seconds(5));
  CHECK(idle.rest().empty());
  int opened = 1;
  const std::string replies = busy.rest();
  for (std::size_t at = replies.find("<opened"); at != std::string::npos;
       at = replies.find("<opened", at + 1))
    ++opened;

  ServerProcess again({"--store", "sqlite:" + folder.path() + "/x.db"});
  CHECK(again.log().find("(0 replayed from the journal)") != std::string::npos);  // all projected
  TcpClient client(again.port(), patient);
  for (int id = 1; id <= opened; ++id)
    CHECK(client
              .request("<transactions id=\"1\"><query id=\"" + std::to_string(id) +
                       "\"/></transactions>")
              .find("<open ") != std::string::npos);
}

TEST_CASE("errors on the command line are reported and end with 2, --help with 0") {
  CHECK(run_server({"--help"}).status == 0);
  for (const char* flag : {"--port", "--bind", "--policy", "--threads", "--store", "--http-port"})
    CHECK(run_server({"--help"}).output.find(flag) != std::string::npos);
  const auto error = [](const std::vector<std::string>& arguments, const std::string& says) {
    const RunResult result = run_server(arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK(result.output.find(says) != std::string::npos);
  };
  error({"--policy", "fibers"}, "--policy");
  error({"--port", "70000"}, "--port");
  error({"--frobnicate"}, "--frobnicate");
  error({"--store", "mysql://x"}, "mysql://x");
}

TEST_CASE(
    "an address in use, a store in use and a store that cannot be made are reported and end with 1") {
  TemporaryFolder folder;
  ServerProcess first({"--store", "sqlite:" + folder.path() + "/x.db"});
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& says) {
    const RunResult result = run_server(arguments);
    INFO(result.output);
    CHECK(result.status == 1);
    CHECK(result.output.find(says) != std::string::npos);
  };
  refused({"--port", "0", "--store", "sqlite:" + folder.path() + "/x.db"},
          "in use by another server");
  refused({"--port", "0", "--store", "sqlite:" + folder.path() + "/no/such/folder/x.db"},
          "No such file");
  for (const std::string policy : {"thread", "pool", "loop"})
    refused({"--port", std::to_string(first.port()), "--policy", policy, "--store", "memory:"},
            "Address already in use");
  refused({"--port", "0", "--store", "postgresql://x@127.0.0.1:1/x", "--store-wait-s", "0"},
          "cannot open the store");
}

TEST_CASE("options come from EXCHANGE_ variables too") {
  ::setenv("EXCHANGE_POLICY", "pool", 1);
  ::setenv("EXCHANGE_STORE", "memory:", 1);
  ServerProcess server({"--threads", "2"});
  ::unsetenv("EXCHANGE_POLICY");
  ::unsetenv("EXCHANGE_STORE");
  CHECK(server.ready_line().find("policy=pool threads=2 store=memory:") != std::string::npos);
}

TEST_CASE("the loops follow the CPUs that the process may use") {
  ServerProcess server({"--store", "memory:"});
  const std::string all = server.ready_line();
  CHECK(all.find("threads=" + std::to_string(std::thread::hardware_concurrency()) + " ") !=
        std::string::npos);
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  ServerProcess pinned({"--store", "memory:"});
  sched_setaffinity(0, sizeof before, &before);
  CHECK(pinned.ready_line().find("threads=1 ") != std::string::npos);
}

TEST_CASE(
    "while PostgreSQL is away nothing is acknowledged; service resumes by itself and nothing is lost or doubled") {
  PostgresCluster cluster;
  ServerProcess server({"--store", cluster.create_database()});
  TcpClient client(server.port(), patient);
  REQUIRE(client.request(create_two).find("<error") == std::string::npos);
  const std::string buy =
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"1\" limit=\"100\"/></transactions>";
  REQUIRE(client.request(buy).find("id=\"1\"") != std::string::npos);

  cluster.kill();
  std::string reply;
  std::atomic<bool> answered{false};
  std::thread waiting([&] {
    reply = client.request(buy);
    answered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1'000));
  CHECK_FALSE(answered);
  cluster.start();
  waiting.join();
  CHECK(reply.find("<opened sym=\"SPY\" amount=\"1\" limit=\"100\" id=\"2\"/>") !=
        std::string::npos);
  CHECK(client.request(buy).find("id=\"3\"") != std::string::npos);
  CHECK(client.request("<transactions id=\"1\"><query id=\"2\"/></transactions>")
            .find("<open shares=\"1\"/>") != std::string::npos);
  CHECK(server.log().find("the store is unavailable") != std::string::npos);
  CHECK(server.log().find("the store is available again") != std::string::npos);
  const int status = server.stop();
  INFO(server.log());
  CHECK(status == 0);
}

TEST_CASE("a closed order is still found after its row left memory, by its owner only") {
  TemporaryFolder folder;
  ServerProcess server(
      {"--store", "sqlite:" + folder.path() + "/x.db", "--projection-interval-ms", "0"});
  TcpClient client(server.port(), patient);
  REQUIRE(client.request(create_two).find("<error") == std::string::npos);
  client.request(
      "<transactions id=\"1\"><order sym=\"SPY\" amount=\"2\" limit=\"100\"/></transactions>");
  client.request(
      "<transactions id=\"2\"><order sym=\"SPY\" amount=\"-2\" limit=\"100\"/></transactions>");
  const auto ask = [&](const std::string& account, const std::string& child) {
    return client.request("<transactions id=\"" + account + "\">" + child + "</transactions>");
  };
  const std::string before = ask("1", "<query id=\"1\"/>");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  client.request("<create><account id=\"9\" balance=\"1\"/></create>");
  CHECK(ask("1", "<query id=\"1\"/>") == before);
  CHECK(ask("1", "<cancel id=\"1\"/>") ==
        "<results><error id=\"1\">order has nothing open</error></results>\n");
  CHECK(ask("2", "<query id=\"1\"/>") ==
        "<results><error id=\"1\">no such order of this account</error></results>\n");
}

TEST_CASE("over HTTP an operator sees that the server lives, is ready, and what it has done") {
  PostgresCluster cluster;
  ServerProcess server({"--store", cluster.create_database(), "--http-port", "0"});
  const unsigned http_port = server.http_port();
  const auto http = [&](const std::string& request_line) {
    TcpClient client(http_port);
    client.send(request_line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return client.rest();
  };
  TcpClient client(server.port(), patient);
  REQUIRE(client.request(create_two).find("<error") == std::string::npos);
  CHECK(http("GET /healthz").find("HTTP/1.1 200 ") == 0);
  CHECK(http("GET /readyz").find("HTTP/1.1 200 ") == 0);
  const std::string metrics = http("GET /metrics");
  CHECK(metrics.find("\nexchange_commands_total{kind=\"create_account\",result=\"ok\"} 2\n") !=
        std::string::npos);
  CHECK(metrics.find("\nexchange_batches_committed_total 1\n") != std::string::npos);
  CHECK(http("GET /nothing").find("HTTP/1.1 404 ") == 0);
  CHECK(http("POST /metrics").find("HTTP/1.1 405 ") == 0);

  cluster.kill();
  client.send("46\n<create><account id=\"7\" balance=\"1\"/></create>");
  for (int tries = 0; tries < 200 && http("GET /readyz").find("HTTP/1.1 503 ") != 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(http("GET /readyz").find("HTTP/1.1 503 ") == 0);
  CHECK(http("GET /healthz").find("HTTP/1.1 200 ") == 0);
  cluster.start();
  CHECK(client.reply() == "<results><created id=\"7\"/></results>\n");
  CHECK(http("GET /readyz").find("HTTP/1.1 200 ") == 0);
}
