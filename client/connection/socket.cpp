#include "client/connection/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "client/connection/command_line.hpp"

namespace exchange::client {

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

namespace {

Address local_address(const std::string& text) {
  sockaddr_un local{.sun_family = AF_UNIX};
  const std::string_view path = std::string_view(text).substr(unix_scheme.size());
  if (path.size() >= sizeof local.sun_path) throw Unreachable(text + ": the path is too long");
  std::memcpy(local.sun_path, path.data(), path.size());
  Address address{.text = text, .bytes = sizeof local};
  std::memcpy(&address.storage, &local, sizeof local);
  return address;
}

}  // namespace

std::string host_of(const std::string& host_and_port) {
  if (host_and_port.starts_with(unix_scheme)) return "localhost";
  const std::string host = host_and_port.substr(0, host_and_port.rfind(':'));
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

std::vector<Address> resolve_all(const std::string& host_and_port) {
  if (host_and_port.starts_with(unix_scheme)) return {local_address(host_and_port)};
  const std::string port = host_and_port.substr(host_and_port.rfind(':') + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host_of(host_and_port).c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    throw Unreachable("no address for " + host_and_port + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    addresses.push_back({.text = host_and_port, .bytes = one->ai_addrlen});
    std::memcpy(&addresses.back().storage, one->ai_addr, one->ai_addrlen);
  }
  return addresses;
}

Address resolve(const std::string& host_and_port) { return resolve_all(host_and_port).front(); }

Connecting start_connect(const Address& address) {
  Connecting connecting;
  // A UNIX-domain socket that does not block would fail while the server's queue is full.
  const bool is_local = address.storage.ss_family == AF_UNIX;
  connecting.socket = Descriptor(::socket(
      address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | (is_local ? 0 : SOCK_NONBLOCK), 0));
  if (!connecting.socket) {
    connecting.error = errno;
    return connecting;
  }
  const int on = 1;
  ::setsockopt(connecting.socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(connecting.socket.number(), reinterpret_cast<const sockaddr*>(&address.storage),
                address.bytes) != 0) {
    connecting.error = errno;
    if (errno != EINPROGRESS) connecting.socket.close();
  }
  if (is_local && connecting.socket) ::fcntl(connecting.socket.number(), F_SETFL, O_NONBLOCK);
  return connecting;
}

int connect_result(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

void reset_on_close(int socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool wait_for(int descriptor, short events, double timeout_s, const StopFlag& stop) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::milliseconds;
  constexpr milliseconds stop_check(100);  // a signal may come just before poll()
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  while (true) {
    if (stop) throw Interrupted();
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (::poll(&waiting, 1, int(std::clamp(left, milliseconds(0), stop_check).count())) > 0)
      return true;
    if (Clock::now() >= deadline) return false;
  }
}

Descriptor connect_to(const Address& address, double timeout_s, const StopFlag& stop) {
  const auto fail = [&](const std::string& why) {
    throw Unreachable("cannot connect to " + address.text + ": " + why);
  };
  Connecting connecting = start_connect(address);
  if (connecting.error == EINPROGRESS) {
    const int socket = connecting.socket.number();
    if (!wait_for(socket, POLLOUT, timeout_s, stop)) fail("timeout");
    connecting.error = connect_result(socket);
  }
  if (connecting.error != 0) fail(std::strerror(connecting.error));
  return std::move(connecting.socket);
}

Servers::Servers(const std::string& list) : text_(list) {
  std::string why;
  for (const std::string& address : split_addresses(list)) try {
      for (Address& one : resolve_all(address)) addresses_.push_back(std::move(one));
    } catch (const Unreachable& error) {
      why += (why.empty() ? "" : "; ") + std::string(error.what());
    }
  if (addresses_.empty()) throw Unreachable(why);
}

void Servers::leave(const Address& server) {
  auto at = std::size_t(&server - addresses_.data());
  current_.compare_exchange_strong(at, (at + 1) % addresses_.size());
}

Descriptor connect_to(Servers& servers, double timeout_s, const StopFlag& stop) {
  std::string why;
  for (std::size_t tries = 0; tries < servers.count(); ++tries) {
    const Address& server = servers.current();
    try {
      return connect_to(server, timeout_s, stop);
    } catch (const Unreachable& error) {
      if (why.find(error.what()) == std::string::npos)  // addresses of one name often fail alike
        why += (why.empty() ? "" : "; ") + std::string(error.what());
      servers.leave(server);
    }
  }
  throw Unreachable(why);
}

}  // namespace exchange::client
