// Which connection is ended, and when. Uses the table alone, with real sockets from several
// loopback addresses.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "catch.hpp"
#include "net/connection_table.hpp"
#include "net/listener.hpp"
#include "options.hpp"
#include "support/wait_for.hpp"

using namespace exchange;

namespace {

// A connection as its server sees it, and the client's end.
struct Guest {
  Guest(StreamAcceptor& acceptor, const char* from)
      : client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), socket(acceptor.get_executor()) {
    sockaddr_in own{.sin_family = AF_INET},
        server{.sin_family = AF_INET, .sin_port = htons(port_of(acceptor))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::inet_pton(AF_INET, from, &own.sin_addr);
    REQUIRE(::bind(client, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
    REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0);
    acceptor.accept(socket);
  }
  ~Guest() { ::close(client); }
  // The server's side sees the end of the stream.
  bool ended() {
    char byte;
    return ::recv(socket.native_handle(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }
  std::string received() {
    timeval patience{10, 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string text;
    char bytes[256];
    for (ssize_t count; (count = ::recv(client, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, std::size_t(count));
    return text;
  }
  int client;
  StreamSocket socket;
  std::optional<ConnectionSlot> slot;  // ends before the socket
};

struct TablePort {
  explicit TablePort(const std::function<void(Options&)>& adjust)
      : table(adjusted(options, adjust).net.limits, options.protocol, metrics) {}
  static const Options& adjusted(Options& options, const std::function<void(Options&)>& adjust) {
    options.net.limits.sweep_ms = 1;
    options.net.limits.evictable_idle_ms = 1'000'000;
    adjust(options);
    return options;
  }
  // Returns the admitted client, or null and the reply to the refused client.
  Guest* enter(const char* from, std::string* reply = nullptr) {
    auto guest = std::make_unique<Guest>(acceptor, from);
    std::optional<ConnectionSlot> slot = table.admit(guest->socket);
    if (!slot) {
      guest->socket.close();
      if (reply) *reply = guest->received();
      return nullptr;
    }
    guest->slot.emplace(std::move(*slot));
    guests.push_back(std::move(guest));
    return guests.back().get();
  }
  void leave(Guest* guest) {
    for (auto& one : guests)
      if (one.get() == guest) one.reset();
  }
  // Lets time pass, so that earlier and later answers have different times.
  void let_time_pass() {
    const std::uint64_t now = table.now_ms();
    REQUIRE(wait_for([&] { return table.now_ms() > now; }));
  }
  // A request is answered.
  static void serve(Guest* guest) {
    guest->slot->executing(0);
    guest->slot->idle();
  }
  void serve_later(Guest* guest) {
    let_time_pass();
    serve(guest);
  }
  // Begins a request that a slow store does not complete.
  static void execute(Guest* guest) { guest->slot->executing(0); }

  Options options;
  Metrics metrics;
  boost::asio::io_context context;
  StreamAcceptor acceptor = listen(context, listening(NetOptions{}, 0));
  ConnectionTable table;
  std::vector<std::unique_ptr<Guest>> guests;
};

std::string full(int limit) {
  return "<results><error>the server takes no more connections now (limit " +
         std::to_string(limit) + ", --connections-max)</error></results>\n";
}
constexpr const char* exhausted =
    "<results><error>the server takes no more connections now "
    "(out of file descriptors)</error></results>\n";

constexpr const char *host_one = "127.0.0.1", *host_two = "127.0.0.2", *host_three = "127.0.0.3";

}  // namespace

TEST_CASE(
    "an address at its limit gets a reply that names it, framed as others, until one leaves") {
  const bool length_first = GENERATE(false, true);
  TablePort port([&](Options& options) {
    options.net.limits.connections_per_address = 1;
    options.protocol.length_before_reply = length_first;
  });
  Guest* const first = port.enter(host_one);
  std::string reply;
  REQUIRE(port.enter(host_one, &reply) == nullptr);
  const std::string refusal =
      "<results><error>too many connections from your address (limit 1, "
      "--connections-per-address)</error></results>\n";
  CHECK(reply == (length_first ? std::to_string(refusal.size()) + "\n" : "") + refusal);
  CHECK(port.metrics.connections_refused[AdmissionLimit::peer].load() == 1);
  port.leave(first);
  CHECK(port.enter(host_one));
}

TEST_CASE("a new connection gets the place of the one idle longest, of the address with most") {
  TablePort port([](Options& options) { options.net.limits.connections_max = 5; });
  Guest* const oldest_of_all = port.enter(host_one);
  Guest* const first = port.enter(host_two);
  Guest* const idle_longest = port.enter(host_two);
  Guest* const busy = port.enter(host_two);
  port.execute(busy);
  port.serve_later(port.enter(host_one));
  port.serve_later(first);
  REQUIRE(port.enter(host_three));
  CHECK(idle_longest->ended());
  for (Guest* guest : {oldest_of_all, first, busy}) CHECK_FALSE(guest->ended());
  CHECK(port.metrics.connections_ended[EndCause::evicted].load() == 1);
  // All addresses have as many now, and no connection has been idle for long.
  port.leave(idle_longest);
  std::string reply;
  REQUIRE(port.enter(host_three, &reply) == nullptr);
  CHECK(reply == full(5));
  CHECK(port.metrics.connections_refused[AdmissionLimit::limit].load() == 1);
}

TEST_CASE(
    "when descriptors run out, there is no room beyond what is open: a new connection gets a place of the address with most") {
  TablePort port([](Options& options) { options.net.limits.sweep_ms = 1'000'000; });
  for (int i = 0; i < 20; ++i) REQUIRE(port.enter(host_two));
  Guest* const good = port.enter(host_one);
  port.execute(port.guests.front().get());
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  port.table.handle_fd_exhaustion();
  CHECK(descriptors() < before);  // one is free for the new connection
  REQUIRE(port.enter(host_one));
  CHECK(port.guests[1]->ended());
  CHECK(port.metrics.connections_ended[EndCause::evicted].load() == 1);
  CHECK_FALSE(good->ended());
  CHECK_FALSE(port.guests.front()->ended());
  std::string reply;
  CHECK(port.enter(host_two, &reply) == nullptr);
  CHECK(reply == exhausted);
  port.table.handle_fd_exhaustion();  // no reserve is left, and accepting would fail for ever
  CHECK(port.guests[2]->ended());
  CHECK_FALSE(good->ended());
}

TEST_CASE("descriptors that come back are used again") {
  TablePort port([](Options&) {});
  for (int i = 0; i < 4; ++i) REQUIRE(port.enter(host_one));
  port.table.handle_fd_exhaustion();
  Guest* fifth = nullptr;
  CHECK(wait_for([&] { return fifth != nullptr || (fifth = port.enter(host_one)) != nullptr; }));
}

TEST_CASE(
    "a connection without a request for the idle time is ended; one that is answered, or waits for the store, is not") {
  TablePort port([](Options& options) { options.net.limits.idle_ms = 500; });
  Guest* const silent = port.enter(host_one);
  Guest* const works = port.enter(host_one);
  Guest* const waits = port.enter(host_one);
  port.execute(waits);
  REQUIRE(wait_for([&] {
    TablePort::serve(works);
    return silent->ended();
  }));
  CHECK_FALSE(works->ended());
  CHECK_FALSE(waits->ended());
  CHECK(port.metrics.connections_ended[EndCause::idle].load() == 1);
  waits->slot->idle();  // its idle time counts again from here
  CHECK(wait_for([&] { return waits->ended(); }));
}

TEST_CASE(
    "many connections late at once are ended a few at a time, but not those that are answered meanwhile") {
  constexpr std::uint64_t many = 150;
  bool some_stayed = false;
  // a busy machine may end them all before the test looks
  for (int attempt = 0; attempt < 10 && !some_stayed; ++attempt) {
    TablePort port([](Options& options) {
      options.net.limits.idle_ms = 200;
      options.net.limits.sweep_ms = 100;
    });
    port.let_time_pass();
    for (std::uint64_t i = 0; i < many; ++i) REQUIRE(port.enter(host_one));
    REQUIRE(wait_for([&] { return port.metrics.connections_ended[EndCause::idle].load() > 0; }));
    for (const auto& guest : port.guests) TablePort::serve(guest.get());
    // enough for all, and less than the time that makes a connection idle again
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    some_stayed = port.metrics.connections_ended[EndCause::idle].load() < many;
    CHECK(wait_for([&] { return port.metrics.connections_ended[EndCause::idle].load() == many; }));
  }
  CHECK(some_stayed);
}

TEST_CASE("a connection that is ended, or lingers, is cut off if it still does not leave") {
  TablePort port([](Options& options) {
    options.net.limits.linger_ms = 50;
    options.net.limits.stall_ms = 10;
  });
  Guest *const lingers = port.enter(host_one), *const stalled = port.enter(host_one);
  ::shutdown(lingers->socket.native_handle(), SHUT_WR);
  lingers->slot->closing();
  CHECK(lingers->received() == "");  // the server sends no more
  stalled->slot->receiving(1);
  CHECK(stalled->received() == "");
  CHECK(wait_for([&] { return lingers->ended() && stalled->ended(); }));
}

TEST_CASE(
    "if all hold too much, the connection that holds most and longest is ended, and its bytes are free") {
  TablePort port([](Options& options) {
    options.protocol.frame_bytes_max = 100;
    options.net.limits.buffered_bytes_max = 2'000;  // half of it for this
  });
  Guest *const good = port.enter(host_one), *const hog = port.enter(host_two),
               *const small = port.enter(host_two), *const large = port.enter(host_three);
  good->slot->receiving(100);
  good->slot->idle();
  CHECK(port.table.buffered_bytes() == 0);
  hog->slot->sending(500);
  small->slot->receiving(100);
  small->slot->receiving(150);  // replaces the 100
  CHECK(port.table.buffered_bytes() == 650);
  for (int i = 0; i < 5; ++i) port.let_time_pass();
  good->slot->receiving(200);
  CHECK(port.table.buffered_bytes() == 850);
  CHECK(port.metrics.connections_ended[EndCause::memory].load() == 0);
  large->slot->receiving(300);
  CHECK(hog->ended());
  for (Guest* guest : {good, small, large}) CHECK_FALSE(guest->ended());
  CHECK(port.table.buffered_bytes() == 650);
  CHECK(port.metrics.connections_ended[EndCause::memory].load() == 1);
  port.leave(large);
  CHECK(port.table.buffered_bytes() == 350);
  small->slot->closing();
  CHECK(port.table.buffered_bytes() == 200);
}
