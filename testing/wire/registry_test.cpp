// Which connection is ended, when and for whom: the registry alone, with real sockets from several
// loopback addresses.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "catch.hpp"
#include "net/listener.hpp"
#include "support/wait_for.hpp"

using namespace exchange;

namespace {

// A connection as its server sees it, and the client's end.
struct Guest {
  Guest(tcp::acceptor& acceptor, const char* from)
      : client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), socket(acceptor.get_executor()) {
    sockaddr_in own{.sin_family = AF_INET},
        server{.sin_family = AF_INET, .sin_port = htons(acceptor.local_endpoint().port())};
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
  std::string told() {
    timeval patience{10, 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string text;
    char bytes[256];
    for (ssize_t count; (count = ::recv(client, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, std::size_t(count));
    return text;
  }
  int client;
  tcp::socket socket;
  Activity activity;
};

struct Door {
  explicit Door(const std::function<void(Options&)>& adjust)
      : registry(adjusted(options, adjust), metrics) {}
  ~Door() {
    for (const auto& guest : guests)
      if (guest) registry.remove(guest->socket);
  }
  static const Options& adjusted(Options& options, const std::function<void(Options&)>& adjust) {
    options.transport.sweep_ms = 1;
    options.transport.room_idle_ms = 1'000'000;
    adjust(options);
    return options;
  }
  // Admitted, or null and what it was told.
  Guest* enter(const char* from, std::string* told = nullptr) {
    auto guest = std::make_unique<Guest>(acceptor, from);
    const bool admitted = registry.add(guest->socket, guest->activity);
    if (!admitted) {
      guest->socket.close();
      if (told) *told = guest->told();
      return nullptr;
    }
    guests.push_back(std::move(guest));
    return guests.back().get();
  }
  void leave(Guest* guest) {
    for (auto& one : guests) {
      if (one.get() != guest) continue;
      registry.remove(guest->socket);
      one.reset();
    }
  }
  // So that those answered before and after differ.
  void let_time_pass() {
    const std::uint64_t now = registry.now_ms();
    REQUIRE(wait_for([&] { return registry.now_ms() > now; }));
  }
  void work(Guest* guest) {
    let_time_pass();
    registry.answered(guest->activity);
  }
  // The store takes its time.
  void execute(Guest* guest) {
    Session session(options.protocol);
    registry.begin_requests(guest->socket, guest->activity, session, false);
  }

  Options options;
  Metrics metrics;
  boost::asio::io_context context;
  tcp::acceptor acceptor = listen(context, "127.0.0.1", 0, Sharing::exclusive, 16);
  ConnectionRegistry registry;
  std::vector<std::unique_ptr<Guest>> guests;
};

constexpr const char *one = "127.0.0.1", *two = "127.0.0.2", *three = "127.0.0.3";

}  // namespace

TEST_CASE("one address gets so many connections; they are its own again when they leave") {
  Door door([](Options& options) { options.transport.connections_per_address = 2; });
  REQUIRE(door.enter(one));
  Guest* second = door.enter(one);
  REQUIRE(second);
  std::string told;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(door.enter(one, &told) == nullptr);
    CHECK(told == "<results><error>too many connections from your address</error></results>\n");
    REQUIRE(door.enter(two));
    door.leave(door.guests.back().get());
    door.leave(second);
    second = door.enter(one);
    REQUIRE(second);
  }
  CHECK(door.metrics.connections_refused_peer.load() == 20);
  CHECK(door.metrics.connections_refused.load() == 0);
  CHECK(door.metrics.connections.load() == 2);
}

TEST_CASE("a refusal is framed as replies are") {
  Door door([](Options& options) {
    options.transport.connections_per_address = 1;
    options.protocol.length_before_reply = true;
  });
  REQUIRE(door.enter(one));
  std::string told;
  REQUIRE(door.enter(one, &told) == nullptr);
  CHECK(told == "73\n<results><error>too many connections from your address</error></results>\n");
}

TEST_CASE("three quarters of the connections are one address's at most") {
  Door door([](Options& options) { options.transport.connections_max = 8; });
  for (int i = 0; i < 6; ++i) REQUIRE(door.enter(one));
  CHECK(door.enter(one) == nullptr);
  CHECK(door.enter(two));
}

TEST_CASE("a newcomer gets the place of the one idle longest, of the peer that has most") {
  Door door([](Options& options) { options.transport.connections_max = 5; });
  Guest* const oldest_of_all = door.enter(one);
  Guest* const first = door.enter(two);
  Guest* const idle_longest = door.enter(two);
  Guest* const busy = door.enter(two);
  door.execute(busy);
  door.work(door.enter(one));
  door.work(first);
  REQUIRE(door.enter(three));
  CHECK(idle_longest->ended());
  for (Guest* guest : {oldest_of_all, first, busy}) CHECK_FALSE(guest->ended());
  CHECK(door.metrics.evicted.load() == 1);
  // All have as many now, and nobody has been idle for long.
  door.leave(idle_longest);
  std::string told;
  REQUIRE(door.enter(three, &told) == nullptr);
  CHECK(told == "<results><error>the server takes no more connections now</error></results>\n");
  CHECK(door.metrics.connections_refused.load() == 1);
}

TEST_CASE("who was ended and has left counts no more, neither as there nor as leaving") {
  Door door([](Options& options) { options.transport.connections_max = 4; });
  Guest* const first = door.enter(two);
  Guest* const second = door.enter(two);
  REQUIRE(door.enter(two));
  REQUIRE(door.enter(one));
  REQUIRE(door.enter(three));
  REQUIRE(first->ended());
  door.leave(first);
  REQUIRE(door.enter("127.0.0.4"));
  CHECK(second->ended());  // of the two that the peer still had
}

TEST_CASE("a peer that has most already takes no place but of those idle for long") {
  Door door([](Options& options) {
    options.transport.connections_max = 4;
    options.transport.room_idle_ms = 300;
  });
  Guest* const silent = door.enter(two);
  Guest* const works = door.enter(two);
  REQUIRE(door.enter(one));
  REQUIRE(door.enter(one));
  door.execute(works);
  REQUIRE(door.enter(one) == nullptr);
  const std::uint64_t now = door.registry.now_ms();
  REQUIRE(wait_for([&] { return door.registry.now_ms() > now + 300; }));
  for (const auto& guest : door.guests)
    if (guest.get() != silent && guest.get() != works) door.registry.answered(guest->activity);
  REQUIRE(door.enter(one));
  CHECK(silent->ended());
  CHECK_FALSE(works->ended());
}

TEST_CASE(
    "a newcomer of a peer with many takes no place of those with fewer, however long they have been idle") {
  Door door([](Options& options) {
    options.transport.connections_max = 5;
    options.transport.room_idle_ms = 0;
  });
  Guest* const good = door.enter(three);
  for (const char* peer : {one, one, two, two}) REQUIRE(door.enter(peer));
  for (const auto& guest : door.guests)
    if (guest.get() != good) door.work(guest.get());  // fresh, while the good one is silent
  REQUIRE(door.enter(one));
  REQUIRE(door.enter(two));
  CHECK_FALSE(good->ended());
  CHECK(door.metrics.evicted.load() == 2);
}

TEST_CASE("a storm that gets no room leaves it to others who deserve it") {
  Door door([](Options& options) {
    options.transport.connections_max = 4;
    options.transport.sweep_ms = 1'000'000;
  });
  for (int i = 0; i < 3; ++i) REQUIRE(door.enter(two));
  REQUIRE(door.enter(one));
  CHECK(door.enter(two) == nullptr);
  CHECK(door.enter(three));  // in the same moment
}

TEST_CASE("those who were ended and do not leave keep no more than ending_max places") {
  Door door([](Options& options) {
    options.transport.connections_max = 8;
    options.transport.ending_max = 2;
  });
  for (int i = 0; i < 6; ++i) REQUIRE(door.enter(two));
  for (int i = 0; i < 2; ++i) REQUIRE(door.enter(one));
  for (int i = 0; i < 2; ++i) REQUIRE(door.enter(one));  // in place of two that linger on
  CHECK(door.enter(one) == nullptr);
  for (const auto& guest : door.guests)
    if (guest && guest->ended()) {
      door.leave(guest.get());
      break;
    }
  CHECK(door.enter(three));
}

TEST_CASE(
    "where descriptors run out, what is open is all that there is room for: a newcomer gets a place of the peer that has most") {
  Door door([](Options& options) { options.transport.sweep_ms = 1'000'000; });
  for (int i = 0; i < 20; ++i) REQUIRE(door.enter(two));
  Guest* const good = door.enter(one);
  door.execute(door.guests.front().get());
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  door.registry.handle_fd_exhaustion();
  CHECK(descriptors() < before);  // there is one for the newcomer
  REQUIRE(door.enter(one));
  CHECK(door.guests[1]->ended());
  CHECK(door.metrics.evicted.load() == 1);
  CHECK_FALSE(good->ended());
  CHECK_FALSE(door.guests.front()->ended());
  std::string told;
  CHECK(door.enter(two, &told) == nullptr);
  CHECK(told == "<results><error>the server takes no more connections now</error></results>\n");
}

TEST_CASE(
    "where descriptors run out and none is kept, one of the peer that has most is ended, or accepting would fail for ever") {
  Door door([](Options& options) { options.transport.sweep_ms = 1'000'000; });
  for (int i = 0; i < 3; ++i) REQUIRE(door.enter(two));
  Guest* const good = door.enter(one);
  door.registry.handle_fd_exhaustion();
  CHECK(door.metrics.evicted.load() == 0);
  door.registry.handle_fd_exhaustion();  // what was kept is used up
  CHECK(door.metrics.evicted.load() == 1);
  CHECK(door.guests.front()->ended());
  door.registry.handle_fd_exhaustion();
  CHECK(door.guests[1]->ended());
  CHECK_FALSE(good->ended());
}

TEST_CASE("descriptors that come back are used again") {
  Door door([](Options&) {});
  for (int i = 0; i < 4; ++i) REQUIRE(door.enter(one));
  door.registry.handle_fd_exhaustion();
  Guest* fifth = nullptr;
  CHECK(wait_for([&] { return fifth != nullptr || (fifth = door.enter(one)) != nullptr; }));
}

TEST_CASE(
    "who asks nothing for the idle time is ended; who is answered, or waits for the store, is not") {
  Door door([](Options& options) { options.transport.idle_ms = 500; });
  Guest* const silent = door.enter(one);
  Guest* const works = door.enter(one);
  Guest* const waits = door.enter(one);
  door.execute(waits);
  REQUIRE(wait_for([&] {
    door.registry.answered(works->activity);
    return silent->ended();
  }));
  CHECK_FALSE(works->ended());
  CHECK_FALSE(waits->ended());
  CHECK(door.metrics.ended_idle.load() == 1);
  door.registry.answered(waits->activity);  // from here it counts again
  CHECK(wait_for([&] { return waits->ended(); }));
}

TEST_CASE("many who are due at once are ended by and by, but for those who come back meanwhile") {
  constexpr std::uint64_t many = 150;
  bool some_stayed = false;
  // a busy machine may let them all go before we look
  for (int attempt = 0; attempt < 10 && !some_stayed; ++attempt) {
    Door door([](Options& options) {
      options.transport.idle_ms = 200;
      options.transport.sweep_ms = 100;
    });
    door.let_time_pass();
    for (std::uint64_t i = 0; i < many; ++i) REQUIRE(door.enter(one));
    REQUIRE(wait_for([&] { return door.metrics.ended_idle.load() > 0; }));
    for (const auto& guest : door.guests) door.registry.answered(guest->activity);
    // enough for all, and less than makes idle again
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    some_stayed = door.metrics.ended_idle.load() < many;
    CHECK(wait_for([&] { return door.metrics.ended_idle.load() == many; }));
  }
  CHECK(some_stayed);
}

TEST_CASE("without an idle timeout nobody is ended for silence") {
  Door door([](Options& options) { options.transport.idle_ms = 0; });
  Guest* const silent = door.enter(one);
  for (int i = 0; i < 20; ++i) door.let_time_pass();
  CHECK_FALSE(silent->ended());
}

TEST_CASE(
    "a request or a reply that is due ends the connection at its deadline, unless it comes, and not while the store is waited for") {
  Door door([](Options& options) { options.transport.stall_ms = 100; });
  Guest *const stalled = door.enter(one), *const deaf = door.enter(one),
               *const in_time = door.enter(one), *const waits = door.enter(one);
  door.registry.expect_request(stalled->socket, 1);
  door.registry.expect_taking(deaf->socket, 1);
  door.registry.expect_request(in_time->socket, 1);
  door.registry.keep(in_time->socket);
  door.registry.expect_request(waits->socket, 1);
  door.execute(waits);
  REQUIRE(wait_for([&] { return door.metrics.ended_stalled.load() == 2; }));
  CHECK(stalled->ended());
  CHECK(deaf->ended());
  CHECK(deaf->told() == "");  // both ways, at once
  for (int i = 0; i < 10; ++i) door.let_time_pass();
  CHECK_FALSE(in_time->ended());
  CHECK_FALSE(waits->ended());
}

TEST_CASE("who is ended, or lingers, is cut off when it still does not leave") {
  Door door([](Options& options) {
    options.transport.linger_ms = 50;
    options.transport.stall_ms = 10;
  });
  Guest *const lingers = door.enter(one), *const stalled = door.enter(one);
  door.registry.linger(lingers->socket);
  CHECK(lingers->told() == "");  // we send no more
  door.registry.expect_request(stalled->socket, 1);
  CHECK(stalled->told() == "");
  CHECK(wait_for([&] { return lingers->ended() && stalled->ended(); }));
}

TEST_CASE(
    "where all hold too much, the one that holds most and longest is ended, and what it held is given back") {
  Door door([](Options& options) {
    options.protocol.frame_bytes_max = 100;
    options.transport.buffered_bytes_max = 2'000;  // half of it for this
  });
  Guest *const good = door.enter(one), *const hog = door.enter(two), *const small = door.enter(two),
               *const large = door.enter(three);
  door.registry.expect_request(good->socket, 100);
  door.registry.keep(good->socket);
  CHECK(door.registry.buffered_bytes() == 0);
  door.registry.expect_taking(hog->socket, 500);
  door.registry.expect_request(small->socket, 100);
  door.registry.expect_request(small->socket, 150);  // in place of the 100
  CHECK(door.registry.buffered_bytes() == 650);
  for (int i = 0; i < 5; ++i) door.let_time_pass();
  door.registry.expect_request(good->socket, 200);
  CHECK(door.registry.buffered_bytes() == 850);
  CHECK(door.metrics.ended_for_memory.load() == 0);
  door.registry.expect_request(large->socket, 300);
  CHECK(hog->ended());
  for (Guest* guest : {good, small, large}) CHECK_FALSE(guest->ended());
  CHECK(door.registry.buffered_bytes() == 650);
  CHECK(door.metrics.ended_for_memory.load() == 1);
  door.leave(large);
  CHECK(door.registry.buffered_bytes() == 350);
  door.registry.linger(small->socket);
  CHECK(door.registry.buffered_bytes() == 200);
}

TEST_CASE("peers are IPv4 addresses, and IPv6 networks of 64 bits") {
  const auto peer = [](const char* text) {
    return peer_address(boost::asio::ip::make_address(text));
  };
  CHECK(peer("127.0.0.1") == peer("::ffff:127.0.0.1"));
  CHECK_FALSE(peer("127.0.0.1") == peer("127.0.0.2"));
  CHECK(peer("2001:db8:1:2::1") == peer("2001:db8:1:2:ffff::9"));
  CHECK_FALSE(peer("2001:db8:1:2::1") == peer("2001:db8:1:3::1"));
  CHECK_FALSE(peer("::1") == peer("127.0.0.1"));
}
