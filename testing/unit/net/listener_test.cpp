// Ports on which a server listens, and which it keeps while it does not listen.

#include "net/listener.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <system_error>

#include "catch.hpp"

using namespace exchange;

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

}  // namespace

TEST_CASE("a reserved port is listened on again and again, and no other program gets it") {
  boost::asio::io_context context;
  const NetOptions options;
  std::uint16_t port = 0;
  std::optional<tcp::acceptor> reserved(reserve(context, listening(options, 0), port));
  REQUIRE(port != 0);
  for (const bool one_of_many : {false, true}) {
    const tcp::acceptor first = listen(context, listening(options, port, one_of_many));
    CHECK(first.local_endpoint().port() == port);
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
