#include "system/crash/cut_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

namespace exchange::testing {
namespace {

// The name of the server's prepared statement in the message that runs it.
constexpr std::string_view append_statement("\0append\0", 8);

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= std::size_t(sent);
  }
  return true;
}

}  // namespace

CutProxy::CutProxy(std::string socket_path) : socket_path_(std::move(socket_path)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the proxy cannot listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { accept(); });
}

CutProxy::~CutProxy() {
  stopping_ = true;
  mend();
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (Pair& pair : pairs_) {
    ::shutdown(pair.server, SHUT_RDWR);
    ::shutdown(pair.database, SHUT_RDWR);
    pair.forth.join();
    pair.back.join();
    ::close(pair.server);
    ::close(pair.database);
  }
  ::close(listener_);
}

void CutProxy::cut(When when, How how) {
  plan_ = Plan{when, how};
  was_cut_ = false;
  armed_ = true;
}

void CutProxy::mend() {
  const std::lock_guard lock(mutex_);
  armed_ = broken_ = false;
  mended_.notify_all();
}

void CutProxy::wait_for_mending() {
  std::unique_lock lock(mutex_);
  mended_.wait(lock, [this] { return !broken_; });
}

void CutProxy::accept() {
  while (true) {
    const int server = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (stopping_ || server < 0) {
      if (server >= 0) ::close(server);
      return;
    }
    if (broken_) {
      if (plan_.load().how == How::silent) wait_for_mending();
      reset(server);
      ::close(server);
      continue;
    }
    const int database = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path_.c_str(), sizeof address.sun_path - 1);
    if (::connect(database, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(database);
      ::close(server);
      continue;
    }
    Pair& pair = pairs_.emplace_back();
    pair.server = server;
    pair.database = database;
    pair.forth = std::thread([this, &pair] { forward(pair); });
    pair.back = std::thread([this, &pair] { backward(pair); });
  }
}

void CutProxy::forward(Pair& pair) {
  char bytes[65536];
  for (ssize_t size; (size = ::recv(pair.server, bytes, sizeof bytes, 0)) > 0;) {
    if (armed_ &&
        std::string_view(bytes, std::size_t(size)).find(append_statement) !=
            std::string_view::npos &&
        armed_.exchange(false)) {
      const Plan plan = plan_;
      pair.how = plan.how;
      broken_ = plan.how != How::reset;
      if (plan.when == When::before_commit) {
        cut_here(pair);
        return;
      }
      pair.swallow = true;  // backward() cuts when the answer has come
    }
    if (!send_all(pair.database, bytes, std::size_t(size))) break;
  }
  ::shutdown(pair.database, SHUT_RDWR);
  ::shutdown(pair.server, SHUT_RDWR);
}

void CutProxy::backward(Pair& pair) {
  char bytes[65536];
  for (ssize_t size; (size = ::recv(pair.database, bytes, sizeof bytes, 0)) > 0;) {
    if (pair.swallow) {
      cut_here(pair);
      return;
    }
    if (!send_all(pair.server, bytes, std::size_t(size))) break;
  }
  if (pair.closed) return;  // the server must not notice it yet
  ::shutdown(pair.database, SHUT_RDWR);
  ::shutdown(pair.server, SHUT_RDWR);
}

void CutProxy::cut_here(Pair& pair) {
  pair.closed = true;
  was_cut_ = true;
  if (pair.how == How::half_open) ::shutdown(pair.database, SHUT_RDWR);
  if (pair.how != How::reset) wait_for_mending();
  reset(pair.server);
  ::shutdown(pair.server, SHUT_RDWR);
  ::shutdown(pair.database, SHUT_RDWR);
}

// If data is unread, a shutdown then sends a reset; a reader gets an error either way.
void CutProxy::reset(int socket) {
  const linger at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace exchange::testing
