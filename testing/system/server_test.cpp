// The server as its users run it: command line, ready line, signals, and a database that becomes
// unavailable.

#include "catch.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "support/folder.hpp"
#include "support/policies.hpp"
#include "support/postgres_cluster.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"

using namespace exchange::testing;

namespace {

using Clock = std::chrono::steady_clock;

// Runs a server that ends by itself.
void check_end(int status, const std::vector<std::string>& arguments, const std::string& message) {
  const RunResult result = run_program("server", arguments);
  CHECK(result.status == status);
  CHECK_THAT(result.output, contains_text(message));
}

void create_market(TcpClient& client) {
  const std::string reply = client.request(
      "<create><account id='1' balance='1000'/><account id='2' balance='0'/>"
      "<symbol sym='SPY'><account id='2'>10</account></symbol></create>");
  REQUIRE(reply.find("<error") == std::string::npos);
}

std::string transactions(int account, const std::string& children) {
  return "<transactions id='" + std::to_string(account) + "'>" + children + "</transactions>";
}

}  // namespace

TEST_CASE(
    "the ready line shows port, policy, threads and store, and SIGTERM ends the server with 0") {
  TemporaryFolder folder;
  const std::string store = "sqlite:" + folder / "x.db";
  for (const std::string& policy : policy_names()) {
    ServerProcess server({"--store", store, "--policy", policy, "--threads", "3"});
    const std::string threads = policy == "thread" ? "per-client" : "3";
    CHECK(server.ready_line() == "ready port=" + std::to_string(server.port()) + " policy=" +
                                     policy + " threads=" + threads + " store=" + store);
    CHECK(server.stop() == 0);
  }
}

TEST_CASE(
    "SIGTERM with connected clients answers what was received, projects it, and ends within 5 s") {
  const std::string policy = GENERATE(from_range(policy_names()));
  TemporaryFolder folder;
  ServerProcess server({"--store", "sqlite:" + folder / "x.db", "--policy", policy});
  TcpClient idle(server.port()), busy(server.port(), patient), half_sent(server.port());
  create_market(busy);
  half_sent.send("100\n<create>");
  const std::string orders = transactions(1, "<order sym='SPY' amount='1' limit='2'/>");
  busy.send(repeated(framed(orders), 100));
  const std::string first = busy.reply();
  CHECK_THAT(first, contains_text("<opened"));
  const auto start = Clock::now();
  CHECK(server.stop() == 0);
  CHECK(Clock::now() - start < std::chrono::seconds(5));
  CHECK(idle.rest().empty());
  int opened = 1;
  const std::string replies = busy.rest();
  for (std::size_t at = replies.find("<opened"); at != std::string::npos;
       at = replies.find("<opened", at + 1))
    ++opened;

  ServerProcess again({"--store", "sqlite:" + folder / "x.db"});
  CHECK_THAT(again.log(), contains_text("(0 replayed from the journal)"));  // all projected
  TcpClient client(again.port(), patient);
  for (int id = 1; id <= opened; ++id)
    CHECK_THAT(client.request(transactions(1, "<query id='" + std::to_string(id) + "'/>")),
               contains_text("<open "));
}

TEST_CASE("the log of a start counts open orders, not those that the tables lack") {
  TemporaryFolder folder;
  const std::string store = "sqlite:" + folder / "x.db";
  {
    ServerProcess server({"--store", store, "--projection-interval-ms", "10000"});
    TcpClient client(server.port(), patient);
    create_market(client);
    for (int id = 1; id <= 3; ++id) {
      client.request(transactions(1, "<order sym='SPY' amount='1' limit='2'/>"));
      if (id < 3) client.request(transactions(1, "<cancel id='" + std::to_string(id) + "'/>"));
    }
    server.kill();
  }
  ServerProcess again({"--store", store});
  CHECK_THAT(again.log(), contains_text(" 1 open orders,"));
}

TEST_CASE("errors on the command line are reported and end with 2, --help with 0") {
  CHECK(run_program("server", {"--help"}).status == 0);
  for (const char* flag : {"--port", "--bind", "--policy", "--threads", "--store", "--http-port"})
    CHECK_THAT(run_program("server", {"--help"}).output, contains_text(flag));
  check_end(2, {"--policy", "fibers"}, "--policy");
  check_end(2, {"--port", "70000"}, "--port");
  check_end(2, {"--frobnicate"}, "--frobnicate");
  check_end(2, {"--store", "mysql://x"}, "mysql://x");
}

TEST_CASE(
    "messages about a value name the variable that it came from, and a service link is no port") {
  const std::vector<std::string> no_store = {"--store", "mysql://x"};  // ends a server that parsed
  {
    const Environment port("EXCHANGE_PORT", "tcp://10.96.0.10:12345");
    check_end(2, no_store, "server: ignored EXCHANGE_PORT=tcp://10.96.0.10:12345");
    check_end(2, no_store, "mysql://x");
  }
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"EXCHANGE_PORT", "70000"},
                                                        {"EXCHANGE_PORT", "http"},
                                                        {"EXCHANGE_POLICY", "fibers"},
                                                        {"EXCHANGE_AUTH", "perhaps"},
                                                        {"EXCHANGE_TLS_CERT", "cert.pem"},
                                                        {"EXCHANGE_STORE", "mysql://x"}}) {
    const Environment variable(name, value);
    const RunResult result = run_program("server", {});
    INFO(name << "=" << value << ": " << result.output);
    CHECK(result.status == 2);
    CHECK_THAT(result.output, contains_text(name) || contains_text("mysql://x"));
    CHECK(result.output.find("--port") == std::string::npos);
    CHECK(result.output.find("--policy") == std::string::npos);
  }
  const Environment policy("EXCHANGE_POLICY", "fibers");
  check_end(2, {"--policy", "threads"}, "--policy: ");  // the command line has priority
  const Environment bind("EXCHANGE_BIND", "localhost");
  check_end(2, {"--policy", "loop"}, "EXCHANGE_BIND: 'localhost' is not an IP address");
}

TEST_CASE("the HTTP port may have an address of its own") {
  ServerProcess server({"--store", "memory:", "--http-port", "0", "--http-bind", "127.0.0.2"});
  CHECK_THROWS(TcpClient(server.http_port()));
  CHECK(TcpClient(server.port()).request("<create/>") == "<results></results>\n");
  check_end(2, {"--http-bind", "host"}, "--http-bind: 'host' is not an IP address");
}

TEST_CASE(
    "an address or store in use and a store that cannot be made are reported and end with 1") {
  TemporaryFolder folder;
  ServerProcess first({"--store", "sqlite:" + folder / "x.db"});
  const auto refused = [](std::vector<std::string> arguments, const std::string& message) {
    check_end(1, std::move(arguments), message);
  };
  refused({"--port", "0", "--store", "sqlite:" + folder / "x.db"}, "in use by another server");
  refused({"--port", "0", "--store", "sqlite:" + folder / "no/such/folder/x.db"}, "No such file");
  for (const std::string& policy : policy_names())
    refused({"--port", std::to_string(first.port()), "--policy", policy, "--store", "memory:"},
            "Address already in use");
  refused({"--port", "0", "--store", "postgresql://x@127.0.0.1:1/x", "--store-wait-s", "0"},
          "cannot open the store");
}

TEST_CASE("no file of a server gets a descriptor that its caller has closed") {
  TemporaryFolder folder;
  const auto file_of = [&](pid_t pid, int descriptor) {
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" +
                                         std::to_string(descriptor));
  };
  ServerProcess server({"--store", "sqlite:" + folder / "x.db"}, {.without_streams = true});
  for (const int descriptor : {STDIN_FILENO, STDERR_FILENO})
    CHECK(file_of(server.pid(), descriptor) == "/dev/null");
  TcpClient client(server.port(), patient);
  create_market(client);
  ::kill(server.pid(), SIGHUP);  // logged
  CHECK(server.stop() == 0);
  CHECK(contents(folder / "x.db.lock").starts_with("acknowledged 0"));
}

TEST_CASE("the files of a store belong to their owner alone") {
  TemporaryFolder folder;
  std::ofstream(folder / "x.db.lock").flush();
  std::filesystem::permissions(folder / "x.db.lock", std::filesystem::perms(0644));
  ServerProcess server({"--store", "sqlite:" + folder / "x.db"});
  TcpClient client(server.port(), patient);
  create_market(client);
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    INFO(file.path());
    CHECK(file.status().permissions() == std::filesystem::perms(0600));
    ++files;
  }
  CHECK(files >= 3);
}

TEST_CASE("signals that can only be sent in error do not end a server; those that end it stop it") {
  TemporaryFolder folder;
  const std::vector<std::string> options{"--store", "sqlite:" + folder / "x.db"};
  {
    ServerProcess server(options);
    for (const int signal : {SIGHUP, SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
                             SIGSTKFLT, SIGXFSZ, SIGRTMIN, SIGRTMAX})
      ::kill(server.pid(), signal);
    TcpClient client(server.port(), patient);
    create_market(client);
    CHECK_FALSE(server.ended());
    CHECK_THAT(server.log(), contains_text("SIGHUP has no effect"));
  }
  for (const int signal : {SIGTERM, SIGINT, SIGUSR2, SIGXCPU, SIGPWR}) {
    ServerProcess server(options);
    ::kill(server.pid(), signal);
    std::optional<int> status;
    CHECK(exchange::wait_for([&] { return (status = server.ended()).has_value(); }));
    CHECK(status == 0);
    CHECK_THAT(server.log(), contains_text("stopping on signal " + std::to_string(signal)));
  }
}

TEST_CASE("a limit of file sizes makes a server wait with its replies, not end") {
  TemporaryFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  ServerProcess server({"--store", "sqlite:" + folder / "x.db", "--http-port", "0"});
  TcpClient client(server.port(), patient);
  create_market(client);
  const rlimit none{1, before.rlim_max};
  prlimit(server.pid(), RLIMIT_FSIZE, &none, nullptr);
  client.send(framed("<create><account id='3' balance='1'/></create>"));
  CHECK(exchange::wait_for([&] {  // its log is a file too
    return ask_http(server.http_port(), "GET /readyz").find("HTTP/1.1 503 ") == 0;
  }));
  prlimit(server.pid(), RLIMIT_FSIZE, &before, nullptr);
  CHECK(client.reply() == results(R"(<created id="3"/>)"));
  CHECK(server.stop() == 0);
}

TEST_CASE("with few descriptors a server serves as many clients as it says, and HTTP too") {
  ServerProcess server({"--store", "memory:", "--http-port", "0", "--threads", "2"},
                       {.descriptors = 80});
  const std::string log = server.log(), says = "file descriptors allows ";
  const std::size_t at = log.find(says);
  REQUIRE(at != std::string::npos);
  const std::size_t allowed = std::stoul(log.substr(at + says.size()));
  CHECK(allowed >= 8);
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (std::size_t i = 0; i < allowed; ++i) {
    const bool other = i >= allowed * 3 / 4;  // an address has three quarters of them
    clients.push_back(std::make_unique<TcpClient>(
        server.port(), TcpClient::Settings{.from = other ? "127.0.0.2" : nullptr}));
    CHECK(clients.back()->request("<create/>") == results(""));
  }
  for (const auto& client : clients) CHECK(client->request("<create/>") == results(""));
  CHECK(ask_http(server.http_port(), "GET /healthz").find("HTTP/1.1 200 ") == 0);
  CHECK_THROWS_WITH(ServerProcess({"--store", "memory:"}, {.descriptors = 40}),
                    contains_text("the limit of 40 file descriptors is too low"));
}

TEST_CASE("the loops follow the CPUs that the process may use") {
  ServerProcess server({"--store", "memory:"});
  const std::string all = server.ready_line();
  CHECK_THAT(all,
             contains_text("threads=" + std::to_string(std::thread::hardware_concurrency()) + " "));
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  ServerProcess pinned({"--store", "memory:"});
  sched_setaffinity(0, sizeof before, &before);
  CHECK_THAT(pinned.ready_line(), contains_text("threads=1 "));
}

TEST_CASE("a server may take requests without a length line, and refuse unknown symbols") {
  ServerProcess server({"--store", "memory:", "--http-port", "off", "--request-framing", "lenient",
                        "--refuse-unknown-symbols"});
  TcpClient client(server.port());
  client.send("<create><account id='1' balance='9'/></create>");
  CHECK(client.reply() == "<results><created id=\"1\"/></results>\n");
  CHECK_THAT(client.request(transactions(1, "<order sym='SPX' amount='1' limit='1'/>")),
             contains_text("unknown symbol"));
}

TEST_CASE("a closed order is still found after its row left memory, by its owner only") {
  TemporaryFolder folder;
  ServerProcess server({"--store", "sqlite:" + folder / "x.db", "--projection-interval-ms", "0"});
  TcpClient client(server.port(), patient);
  create_market(client);
  client.request(transactions(1, "<order sym='SPY' amount='2' limit='100'/>"));
  client.request(transactions(2, "<order sym='SPY' amount='-2' limit='100'/>"));
  const auto ask = [&](int account, const std::string& child) {
    return client.request(transactions(account, child));
  };
  const std::string before = ask(1, "<query id='1'/>");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  client.request("<create><account id='9' balance='1'/></create>");
  CHECK(ask(1, "<query id='1'/>") == before);
  CHECK(ask(1, "<cancel id='1'/>") == results(R"(<error id="1">order has nothing open</error>)"));
  CHECK(ask(2, "<query id='1'/>") ==
        results(R"(<error id="1">no such order of this account</error>)"));
}

TEST_CASE(
    "over HTTP an operator sees that the server lives, is ready, and what it has done; without PostgreSQL nothing is acknowledged") {
  PostgresCluster& cluster = shared_cluster();
  ServerProcess server({"--store", cluster.create_database(), "--http-port", "0"});
  const unsigned http_port = server.http_port();
  const auto http = [&](const std::string& request_line) {
    return ask_http(http_port, request_line);
  };
  TcpClient client(server.port(), patient);
  create_market(client);
  CHECK(http("GET /healthz").find("HTTP/1.1 200 ") == 0);
  CHECK(http("GET /readyz").find("HTTP/1.1 200 ") == 0);
  const std::string metrics = http("GET /metrics");
  CHECK_THAT(metrics,
             contains_text("\nexchange_commands_total{kind=\"create_account\",result=\"ok\"} 2\n"));
  CHECK_THAT(metrics, contains_text("\nexchange_batches_committed_total 1\n"));
  CHECK(http("GET /nothing").find("HTTP/1.1 404 ") == 0);
  CHECK(http("POST /metrics").find("HTTP/1.1 405 ") == 0);

  cluster.kill();
  std::string reply;
  std::atomic<bool> answered{false};
  std::thread waiting([&] {
    reply = client.request("<create><account id='7' balance='1'/></create>");
    answered = true;
  });
  CHECK(exchange::wait_for([&] { return http("GET /readyz").find("HTTP/1.1 503 ") == 0; }));
  CHECK(http("GET /healthz").find("HTTP/1.1 200 ") == 0);
  CHECK_FALSE(answered);
  cluster.start();
  waiting.join();
  CHECK(reply == results(R"(<created id="7"/>)"));
  CHECK(http("GET /readyz").find("HTTP/1.1 200 ") == 0);
  CHECK_THAT(server.log(), contains_text("the store is unavailable"));
  CHECK_THAT(server.log(), contains_text("the store is available again"));
  const int status = server.stop();
  INFO(server.log());
  CHECK(status == 0);
}

// A normal stop ends the connections, and so the orders that end with them.
TEST_CASE("orders that end with their connection outlive a killed server") {
  const bool killed = GENERATE(true, false);
  CAPTURE(killed);
  TemporaryFolder folder;
  const std::vector<std::string> options{"--store", "sqlite:" + folder / "x.db"};
  const std::string query = transactions(1, "<query id='1'/>");
  {
    ServerProcess server(options);
    TcpClient client(server.port(), patient);
    create_market(client);
    const std::string reply = client.request(
        "<transactions id='1' cancel-on-disconnect='true'>"
        "<order sym='SPY' amount='1' limit='2'/></transactions>");
    REQUIRE_THAT(reply, contains_text("<opened"));
    if (killed)
      server.kill();
    else
      CHECK(server.stop() == 0);
  }
  ServerProcess server(options);
  TcpClient client(server.port(), patient);
  CHECK_THAT(client.request(query), contains_text(killed ? "<open shares" : "<canceled shares"));
  if (killed) {
    CHECK_THAT(client.request(transactions(1, "<cancel all=\"true\"/>")),
               contains_text("<canceled id=\"1\">"));
    CHECK_THAT(client.request(query), contains_text("<canceled shares"));
  }
}
