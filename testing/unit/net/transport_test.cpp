// The transport of XML over TCP: ports on which a server listens, and which it keeps while it does
// not listen; threads that are blocked.

#include "net/transport.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "catch.hpp"
#include "metrics/stages.hpp"
#include "net/listener.hpp"

using namespace exchange;
using boost::asio::ip::tcp;

namespace {

// Returns whether a program that asks for any free port could get this one; nothing if the system
// cannot report it (Linux before 6.3).
std::optional<bool> is_free(boost::asio::io_context& context, std::uint16_t port) {
  constexpr int ip_local_port_range = 51;  // linux/in.h
  const std::uint32_t range = port | std::uint32_t(port) << 16;
  tcp::acceptor other(context);
  other.open(tcp::v4());
  if (::setsockopt(other.native_handle(), IPPROTO_IP, ip_local_port_range, &range, sizeof range))
    return {};
  boost::system::error_code error;
  other.bind({boost::asio::ip::address_v4::loopback(), 0}, error);
  if (error && error != boost::system::errc::address_in_use) throw std::system_error(error);
  return !error;
}

// Blocks the thread that submits until it is released.
struct HoldingService final : Service {
  void submit(std::span<Submission* const> submissions) override {
    entered.set_value();
    released.wait();
    for (Submission* const one : submissions) {
      one->refuse(Reason::key_unchecked);
      one->sink->completed({&one, 1});
    }
  }
  std::promise<void> entered, release;
  std::shared_future<void> released = release.get_future().share();
};

}  // namespace

TEST_CASE("a reserved port is listened on again and again, and no other program gets it") {
  boost::asio::io_context context;
  const NetOptions options;
  std::uint16_t port = 0;
  std::optional<StreamAcceptor> reserved(reserve(context, listening(options, 0), port));
  REQUIRE(port != 0);
  for (const bool one_of_many : {false, true}) {
    const StreamAcceptor first = listen(context, listening(options, port, one_of_many));
    CHECK(port_of(first) == port);
    if (one_of_many) listen(context, listening(options, port, one_of_many));
    // Binds the port as a second server would.
    CHECK_THROWS_AS(reserve(context, listening(options, port), port), std::system_error);
  }
  const std::optional<bool> free = is_free(context, port);
  if (!free) {
    WARN("whether others get the port is not tested: it takes Linux 6.3");
    return;
  }
  CHECK_FALSE(*free);
  reserved.reset();
  CHECK(is_free(context, port) == true);
}

TEST_CASE("an event queue whose threads do not go on has been silent for longer and longer") {
  NetOptions options;
  options.port = 0;
  options.policy = GENERATE(Policy::pool, Policy::loop);
  options.threads = 1;
  const ProtocolLimits protocol;
  Metrics metrics;
  HoldingService service;
  const auto transport = make_transport({options, protocol, service, metrics});
  boost::asio::io_context context;
  tcp::socket client(context);
  client.connect({boost::asio::ip::address_v4::loopback(), transport->port()});
  const std::string document = "<transactions id='1'><query id='1'/></transactions>";
  boost::asio::write(client,
                     boost::asio::buffer(std::to_string(document.size()) + "\n" + document));
  service.entered.get_future().wait();
  constexpr std::int64_t two_beats_ns = 2'000'000'000;
  while (transport->silence_ns(monotonic_ns()) < two_beats_ns) std::this_thread::yield();
  CHECK(transport->threads() == 1);
  service.release.set_value();
  while (transport->silence_ns(monotonic_ns()) >= two_beats_ns) std::this_thread::yield();
  transport->stop();
}
