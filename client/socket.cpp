#include "client/socket.hpp"

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

Address resolve(const std::string& host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), host_and_port.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) throw Unreachable("no address for " + host_and_port + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  Address address{.text = host_and_port, .bytes = found->ai_addrlen};
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  return address;
}

Connecting start_connect(const Address& address) {
  Connecting connecting{.socket = Descriptor(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  if (!connecting.socket) {
    connecting.error = errno;
    return connecting;
  }
  const int on = 1;
  ::setsockopt(connecting.socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(connecting.socket.number(), reinterpret_cast<const sockaddr*>(&address.storage), address.bytes) != 0) {
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
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  while (true) {
    if (stop) throw Interrupted();
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    if (::poll(&waiting, 1, look_up_ms) > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

std::string round_trip(const Address& address, std::string_view request, double timeout_s, const StopFlag& stop,
                       const std::function<bool(std::string_view)>& is_complete) {
  const auto fail = [&](const char* what, const std::string& why) { throw Unreachable(what + address.text + ": " + why); };
  Connecting connecting = start_connect(address);
  const int socket = connecting.socket.number();
  if (connecting.error == EINPROGRESS) {
    if (!wait_for(socket, POLLOUT, timeout_s, stop)) fail("cannot connect to ", "timeout");
    connecting.error = connect_result(socket);
  }
  if (connecting.error != 0) fail("cannot connect to ", std::strerror(connecting.error));
  if (request.empty()) return {};

  std::string reply;
  char bytes[4096];
  while (true) {
    if (!wait_for(socket, request.empty() ? POLLIN : POLLIN | POLLOUT, timeout_s, stop)) fail("no reply from ", "timeout");
    if (!request.empty()) {
      const ssize_t sent = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
      if (sent > 0) request.remove_prefix(std::size_t(sent));
    }
    const ssize_t received = ::recv(socket, bytes, sizeof bytes, 0);
    if (received == 0) fail("no reply from ", "it closed the connection");
    if (received < 0 && errno != EAGAIN && errno != EINTR) fail("no reply from ", std::strerror(errno));
    if (received > 0) reply.append(bytes, std::size_t(received));
    if (is_complete(reply)) {
      reset_on_close(socket);  // an audit asks tens of thousands of times: ports must last
      return reply;
    }
  }
}

}  // namespace exchange::loadgen
