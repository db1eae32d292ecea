// Memory depends on the open book, not on history, once the tables have the closed orders.

#include "catch.hpp"

#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "support/folder.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"

using namespace exchange::testing;

namespace {

std::size_t resident_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6));
  return 0;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST_CASE("memory is not measured under sanitizers") {
  WARN("skipped: sanitizers keep freed memory and reserve addresses for shadow memory");
}
#else
TEST_CASE("closed orders leave memory once they are in the tables") {
  TemporaryFolder folder;
  ServerProcess server({"--store", "sqlite:" + folder / "x.db", "--http-port", "0",
                        "--projection-interval-ms", "0"});
  const unsigned http_port = server.http_port();
  TcpClient client(server.port());
  REQUIRE(client
              .request("<create><account id='1' balance='1000000'/><symbol sym='SPY'><account "
                       "id='1'>1000000</account></symbol></create>")
              .find("<error") == std::string::npos);

  // The two orders of each pair execute against each other and close. Closed orders leave memory
  // once they are in the tables.
  constexpr int orders_per_request = 10'000;
  const std::string request =
      "<transactions id='1'>" +
      repeated(
          "<order sym='SPY' amount='1' limit='100'/><order sym='SPY' amount='-1' limit='100'/>",
          orders_per_request / 2) +
      "</transactions>";
  const auto close_orders = [&](int count) {
    for (; count > 0; count -= orders_per_request) {
      const std::string reply = client.request(request);
      REQUIRE(reply.find("<error") == std::string::npos);
      for (int tries = 0; read_metric(http_port, "orders_in_memory") > 0; ++tries) {
        REQUIRE(tries < 5'000);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
  };
  close_orders(100'000);
  const std::size_t after_100_thousand = resident_kib(server.pid());
  close_orders(900'000);
  const std::size_t after_1_million = resident_kib(server.pid());
  WARN("resident after 100,000 closed orders: " << after_100_thousand << " KiB, after 1,000,000: "
                                                << after_1_million << " KiB");
  // Rows that wait for the tables take memory too: their highest number depends on the machine, and
  // the heap keeps their memory. An order in memory takes some 100 bytes, and an execution 40.
  constexpr std::size_t bytes_of_one = 24, closed = 900'000;
  CHECK(after_1_million < after_100_thousand + closed * bytes_of_one / 1'024);
  CHECK(client.request("<transactions id='1'><query id='1'/><query id='1000000'/></transactions>")
            .find("<error") == std::string::npos);
  CHECK(server.stop() == 0);
}

TEST_CASE("a server refuses orders before memory ends, and starts again with what it accepted") {
  const TemporaryFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const auto started = [&] {
    const rlimit little{512u << 20, before.rlim_max};
    setrlimit(RLIMIT_AS, &little);
    auto server = std::make_unique<ServerProcess>(
        std::vector<std::string>{"--store", "sqlite:" + folder / "x.db", "--http-port", "0"});
    setrlimit(RLIMIT_AS, &before);
    return server;
  };
  auto server = started();
  TcpClient client(server->port(), patient);
  client.request("<create><account id='1' balance='1000000000000000'/></create>");
  std::string orders;
  for (int i = 1; i <= 16'000; ++i)
    orders += "<order sym='S' amount='1' limit='" + std::to_string(i) + "'/>";
  std::string reply;
  for (int i = 0; i < 60; ++i)  // 960,000 orders
    reply = client.request("<transactions id='1'>" + orders + "</transactions>");
  CHECK_THAT(reply, contains_text("the limit of open orders of an account is reached: 49152"));
  CHECK(reply.find("<opened") == std::string::npos);
  CHECK_THAT(client.request("<transactions id='1'><cancel id='1'/></transactions>"),
             contains_text("<canceled id=\"1\">"));
  // The gauge follows a moment after the reply.
  CHECK(exchange::wait_for(
      [&] { return read_metric(server->http_port(), "open_orders") == 49'151; }));
  CHECK(server->stop() == 0);
  server = started();
  CHECK(exchange::wait_for(
      [&] { return read_metric(server->http_port(), "open_orders") == 49'151; }));
}
TEST_CASE("a server without the addresses that it needs does not start") {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{150u << 20, before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  const RunResult ended = run_program("server", {"--store", "memory:", "--port", "0"});
  setrlimit(RLIMIT_AS, &before);
  CHECK(ended.status == 2);
  CHECK_THAT(ended.output, contains_text("the server needs 256 MiB of address space, and ulimit -v "
                                         "(RLIMIT_AS) leaves it 150 MiB"));
}
#endif

TEST_CASE("limits of the state can be set") {
  ServerProcess server({"--store", "memory:", "--accounts-max", "1", "--symbols-max", "1",
                        "--open-orders-max", "2", "--open-orders-per-account", "1"});
  TcpClient client(server.port());
  CHECK_THAT(
      client.request("<create codes='true'><account id='1' balance='9'/>"
                     "<account id='2' balance='9'/><symbol sym='A'/><symbol sym='B'/>"
                     "</create>"),
      contains_text("code=\"too_many_accounts\"") && contains_text("code=\"too_many_symbols\""));
  const std::string order = "<order sym='A' amount='1' limit='1'/>";
  CHECK_THAT(
      client.request("<transactions id='1' codes='true'>" + order + order + "</transactions>"),
      contains_text("code=\"too_many_orders_of_account\">the limit of open orders of an account is "
                    "reached: 1</error>"));
}
