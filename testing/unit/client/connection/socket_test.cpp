// The servers of one exchange: users find the one that accepts, and move to the next one together.
#include "client/connection/socket.hpp"

#include <netinet/in.h>

#include "catch.hpp"
#include "client/connection/command_line.hpp"

using namespace exchange::client;

namespace {

constexpr double timeout_s = 5;
const StopFlag never{false};

// A port of this machine, which accepts once it listens.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_.number(), any, bytes) == 0);
    REQUIRE(::getsockname(socket_.number(), any, &bytes) == 0);
    text = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  void listen() { REQUIRE(::listen(socket_.number(), 5) == 0); }
  std::string text;

 private:
  Descriptor socket_;
};

}  // namespace

TEST_CASE("addresses are given with commas between") {
  CHECK(split_addresses("a:1") == std::vector<std::string>{"a:1"});
  CHECK(split_addresses("a:1,[::1]:2") == std::vector<std::string>{"a:1", "[::1]:2"});
  CHECK_NOTHROW(check_addresses("a:1,b:2"));
  for (const char* wrong : {"", "a", "a:1,", ",a:1", "a:1,b", "a:1,,b:2"}) {
    INFO(wrong);
    CHECK_THROWS_AS(check_addresses(wrong), std::invalid_argument);
  }
}

TEST_CASE("the server that accepts is found, and kept until it is left") {
  Port standby, active;
  active.listen();
  Servers servers(standby.text + "," + active.text);
  CHECK(servers.current().text == standby.text);
  CHECK(connect_to(servers, timeout_s, never));
  CHECK(servers.current().text == active.text);
  CHECK(connect_to(servers, timeout_s, never));

  // Many users find it unavailable, but only the first of them moves on.
  const Address& gone = servers.current();
  servers.leave(gone);
  servers.leave(gone);
  CHECK(servers.current().text == standby.text);
}

TEST_CASE("each address of a name is tried, and a refusal of all is said once") {
  Port port;
  const auto localhost = [&] {  // a machine whose localhost is ::1 first
    const std::string number = port.text.substr(port.text.find(':') + 1);
    std::vector<Address> both = resolve_all("[::1]:" + number);
    both.push_back(resolve_all("127.0.0.1:" + number).front());
    for (Address& address : both) address.text = "localhost:" + number;
    return Servers("localhost:" + number, both);
  };
  Servers refused = localhost();
  try {
    connect_to(refused, timeout_s, never);
    FAIL("it connected");
  } catch (const Unreachable& error) {
    CHECK(std::string(error.what()) ==
          "cannot connect to " + refused.text() + ": Connection refused");
  }
  port.listen();
  Servers accepted = localhost();
  CHECK(connect_to(accepted, timeout_s, never));
  CHECK(accepted.current().storage.ss_family == AF_INET);
}

TEST_CASE("if no server accepts, the error names each of them") {
  Port one, other;
  Servers servers(one.text + "," + other.text);
  try {
    connect_to(servers, timeout_s, never);
    FAIL("it connected");
  } catch (const Unreachable& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains(one.text));
    CHECK_THAT(error.what(), Catch::Matchers::Contains(other.text));
  }
}
