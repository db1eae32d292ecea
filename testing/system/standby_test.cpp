// Two server programs on one PostgreSQL database: one active, the other its standby.

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "catch.hpp"
#include "support/folder.hpp"
#include "support/follower.hpp"
#include "support/postgres_cluster.hpp"
#include "support/server_process.hpp"
#include "support/tcp_client.hpp"
#include "support/wait_for.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// Runs a server that prints its lines into a file.
class StandbyProcess {
 public:
  explicit StandbyProcess(const std::string& url, unsigned port = 0,
                          const std::string& timetable = "")
      : process_("server", {"--store", url, "--standby", "--keep-journal", "--port",
                            std::to_string(port), "--http-port", "0", "--timetable", timetable}) {
    REQUIRE(wait_for([&] { return shows("standby http-port="); }));
  }
  bool shows(const std::string& text) const {
    return process_.output().find(text) != std::string::npos;
  }
  unsigned number_after(const std::string& text) const {
    const std::string output = process_.output();
    return unsigned(std::stoul(output.substr(output.find(text) + text.size())));
  }
  unsigned http_port() const { return number_after("standby http-port="); }
  std::string http(const std::string& path) const { return ask_http(http_port(), "GET " + path); }
  int end_with(int signal) { return process_.end_with(signal); }
  std::string output() const { return process_.output(); }

 private:
  ChildProcess process_;
};

// Returns a port that is free now, and that the system does not choose for other programs: Linux
// chooses ports from 32768 on.
unsigned free_port() {
  std::random_device random;
  while (true) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(std::uint16_t(15'000 + random() % 15'000));
    const bool is_free =
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (is_free) return ntohs(address.sin_port);
  }
}

std::string order(const std::string& attributes) {
  return "<transactions id='1'><order sym='SPY' " + attributes + "/></transactions>";
}

}  // namespace

TEST_CASE("a standby server shows the market, and takes over when the active one ends") {
  const std::string url = shared_cluster().create_database();
  const std::string how = GENERATE("kill -9", "SIGTERM", "SIGUSR2");
  ServerProcess active({"--store", url, "--standby"});  // no other server is there
  TcpClient client(active.port());
  REQUIRE_THAT(client.request("<create><account id='1' balance='1000'/></create>"),
               contains_text("<created"));
  REQUIRE_THAT(client.request(order("amount='5' limit='2'")), contains_text("id=\"1\""));

  StandbyProcess standby(url);
  CHECK(wait_for([&] { return standby.http("/readyz").find("standby") != std::string::npos; }));
  CHECK_THAT(standby.http("/readyz"), contains_text("503"));
  CHECK_THAT(standby.http("/readyz?standby"), contains_text("200 OK"));
  CHECK_THAT(standby.http("/healthz"), contains_text("200 OK"));
  CHECK_THAT(standby.http("/metrics"), contains_text("exchange_active 0"));
  CHECK_THAT(standby.http("/api/orders/1"), contains_text("another one is active"));
  REQUIRE_THAT(client.request(order("amount='7' limit='3'")), contains_text("id=\"2\""));
  CHECK(wait_for(
      [&] { return standby.http("/api/books/SPY").find(R"(["3","7",1])") != std::string::npos; }));

  if (how == "kill -9") {
    active.kill();
  } else {
    ::kill(active.pid(), how == "SIGTERM" ? SIGTERM : SIGUSR2);
    REQUIRE(wait_for([&] { return active.ended().has_value(); }));
    CHECK(active.ended() == 0);
  }
  REQUIRE(wait_for([&] { return standby.shows("ready port="); }));
  CHECK_THAT(
      standby.output(),
      contains_text(how == "kill -9" ? "[warning] the active server was lost: this one takes over"
                                     : "[info] no other server is active: this one takes over"));
  CHECK_THAT(standby.http("/metrics"), contains_text("exchange_active 1"));
  TcpClient again(standby.number_after("ready port="));
  CHECK_THAT(again.request("<transactions id='1'><query id='2'/></transactions>"),
             contains_text("<open shares=\"7\"/>"));
  CHECK_THAT(again.request(order("amount='-7' limit='3'")), contains_text("insufficient shares"));
  CHECK_THAT(again.request(order("amount='1' limit='1'")), contains_text("id=\"3\""));
  CHECK(wait_for([&] { return standby.http("/readyz").find("200 OK") != std::string::npos; }));
  CHECK(standby.end_with(SIGTERM) == 0);
  const RunResult audit = run_program("exchange-audit", {url});
  CHECK(audit.status == 0);
}

TEST_CASE("a standby server follows its timetable once it is active") {
  const std::string url = shared_cluster().create_database();
  const TemporaryFolder folder;
  const std::string path = folder / "day.txt";
  std::ofstream(path) << "00:00 halt\n23:59 halt LATER\n";
  ServerProcess active({"--store", url, "--standby", "--http-port", "off"});
  TcpClient client(active.port());
  REQUIRE_THAT(client.request("<create><symbol sym='SPY'/></create>"), contains_text("<created"));
  StandbyProcess standby(url, 0, path);
  REQUIRE_THAT(client.request("<create><symbol sym='XYZ'/></create>"), contains_text("<created"));
  active.kill();
  const std::string step = "timetable: 00:00 halt: SPY, XYZ";
  REQUIRE(wait_for([&] { return standby.shows(step); }));
  CHECK(standby.output().find("this one takes over") < standby.output().find(step));
  // This line is expected before the symbols of a new day are created.
  CHECK_THAT(standby.output(),
             contains_text("[info] timetable " + path + ": there is no symbol LATER yet"));
}

TEST_CASE("a takeover loses and doubles no event of an account") {
  const std::string url = shared_cluster().create_database();
  const TemporaryFolder folder;
  const std::string stream = folder / "events";
  Follower follower("1", stream);
  ServerProcess active({"--store", url, "--standby", "--keep-journal", "--http-port", "0"});
  TcpClient client(active.port());
  REQUIRE_THAT(client.request("<create><account id='1' balance='1000'/></create>"),
               contains_text("<created"));
  StandbyProcess standby(url);
  const unsigned other_port = standby.http_port();
  follower.start(active.http_port());
  CHECK(wait_for([&] { return follower.events() == 1; }));  // the event `began`
  REQUIRE_THAT(client.request(order("amount='5' limit='2'")), contains_text("id=\"1\""));
  CHECK(wait_for([&] { return follower.events() == 2; }));
  // a standby sends no events of accounts
  CHECK_THROWS_WITH(follower.follow_newest(other_port), contains_text("not the active one"));
  REQUIRE_THAT(client.request(order("amount='7' limit='3'")), contains_text("id=\"2\""));
  active.kill();
  follower.join();
  REQUIRE(wait_for([&] { return standby.shows("ready port="); }));
  TcpClient again(standby.number_after("ready port="));
  CHECK_THAT(again.request("<transactions id='1'><cancel id='1'/></transactions>"),
             contains_text("<canceled"));
  follower.catch_up(other_port);
  CHECK(follower.events() == 4);
  CHECK(standby.end_with(SIGTERM) == 0);
  const RunResult judged = run_program("check-history", {"--store", url, "--events", stream});
  CHECK_THAT(judged.output, contains_text("4 events of 1 accounts"));
  CHECK(judged.status == 0);
}

TEST_CASE("with references, a load that is sent again after a takeover is executed once") {
  const std::string url = shared_cluster().create_database();
  const int signal = GENERATE(SIGKILL, SIGUSR2);
  const TemporaryFolder folder;
  const std::string history = folder.path() + "/history";
  ServerProcess active({"--store", url, "--standby", "--keep-journal"});
  const unsigned port = free_port();
  StandbyProcess standby(url, port);
  ChildProcess load("loadgen", {"--connect",
                                "127.0.0.1:" + std::to_string(active.port()) +
                                    ",127.0.0.1:" + std::to_string(port),
                                "-c", "20", "-n", "20000", "--workload", "order=80,query=20",
                                "--retry", "--audit", "--history", history});
  REQUIRE(wait_for([&] { return read_metric(standby.http_port(), "journal_batch") > 60; }));
  ::kill(active.pid(), signal);
  CHECK(load.wait() == 0);
  INFO(load.output());
  CHECK_THAT(load.output(), contains_text("20,000 answered"));
  if (signal == SIGKILL) CHECK_THAT(load.output(), !contains_text("sent again     0 requests"));
  CHECK(wait_for([&] { return standby.shows("ready port="); }));
  CHECK(standby.end_with(SIGTERM) == 0);
  const RunResult judged = run_program("check-history", {"--store", url, history});
  INFO(judged.output);
  CHECK(judged.status == 0);
}

TEST_CASE("a standby server ends on SIGTERM, and the active one does not notice") {
  const std::string url = shared_cluster().create_database();
  ServerProcess active({"--store", url});
  StandbyProcess standby(url);
  CHECK(standby.end_with(SIGTERM) == 0);
  TcpClient client(active.port());
  CHECK_THAT(client.request("<create><account id='1' balance='1000'/></create>"),
             contains_text("<created"));
}

TEST_CASE("a standby server says at its start that it could not listen") {
  const std::string url = shared_cluster().create_database();
  ServerProcess active({"--store", url});
  StandbyProcess on_its_port(url, active.port());
  CHECK(on_its_port.shows("Address already in use; this server needs it when it takes over"));
  const RunResult elsewhere = run_program(
      "server", {"--store", url, "--standby", "--bind", "192.0.2.1", "--http-port", "off"});
  CHECK(elsewhere.status == 1);
  CHECK_THAT(elsewhere.output, contains_text("cannot listen on 192.0.2.1"));
}

TEST_CASE("a store that one server uses at a time refuses --standby") {
  const RunResult result = run_program("server", {"--store", "memory:", "--standby"});
  CHECK(result.status == 2);
  CHECK_THAT(result.output, contains_text("--standby needs a PostgreSQL store"));
}
