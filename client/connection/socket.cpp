#include "client/connection/socket.hpp"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace exchange::loadgen {

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

std::vector<Address> resolve_all(const std::string& host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(host.c_str(), host_and_port.substr(colon + 1).c_str(), &hints, &found);
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
  Connecting connecting{.socket =
                            Descriptor(::socket(address.storage.ss_family,
                                                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
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
  constexpr int look_up_ms = 100;  // at `stop`: a signal may come just before poll()
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  while (true) {
    if (stop) throw Interrupted();
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    if (::poll(&waiting, 1, look_up_ms) > 0) return true;
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

std::string serve_requests(int socket, const std::string& peer, std::string_view request,
                           double timeout_s, const StopFlag& stop,
                           const std::function<bool(std::string_view)>& is_complete) {
  const auto ended = [&](const std::string& why) {
    throw ConnectionEnded("no reply from " + peer + ": " + why);
  };
  std::string reply;
  char bytes[4096];
  while (true) {
    if (!wait_for(socket, request.empty() ? POLLIN : POLLIN | POLLOUT, timeout_s, stop))
      throw NoReply("no reply from " + peer + ": timeout");
    if (!request.empty()) {
      const ssize_t sent = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
      if (sent > 0) request.remove_prefix(std::size_t(sent));
    }
    const ssize_t received = ::recv(socket, bytes, sizeof bytes, 0);
    if (received == 0) ended("it closed the connection");
    if (received < 0 && errno != EAGAIN && errno != EINTR) ended(std::strerror(errno));
    if (received > 0) reply.append(bytes, std::size_t(received));
    if (is_complete(reply)) return reply;
  }
}

std::string round_trip(const Address& address, std::string_view request, double timeout_s,
                       const StopFlag& stop,
                       const std::function<bool(std::string_view)>& is_complete) {
  const Descriptor socket = connect_to(address, timeout_s, stop);
  if (request.empty()) return {};
  std::string reply =
      serve_requests(socket.number(), address.text, request, timeout_s, stop, is_complete);
  reset_on_close(socket.number());  // an audit asks tens of thousands of times: ports must last
  return reply;
}

}  // namespace exchange::loadgen
