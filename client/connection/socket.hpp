#pragma once
// TCP for clients: non-blocking sockets, blocking steps that a stop flag ends, and the servers of
// one exchange.

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exchange::client {

// The server cannot be reached, or became unavailable before the measurement.
struct Unreachable : std::runtime_error {
  using runtime_error::runtime_error;
};
// The server was reached, but it is not known what it did with the request.
struct NoReply : Unreachable {
  using Unreachable::Unreachable;
};
// No reply came because the connection ended.
struct ConnectionEnded : NoReply {
  using NoReply::NoReply;
};
// A signal asked this program to stop.
struct Interrupted : std::exception {};

// A signal handler sets it.
using StopFlag = std::atomic<bool>;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close();
  int release() { return std::exchange(number_, -1); }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Address {
  std::string text;  // HOST:PORT or unix:PATH
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

inline constexpr std::string_view unix_scheme = "unix:";
// Returns the host of "HOST:PORT"; an IPv6 address has no brackets in the result. That of
// "unix:PATH" is localhost.
std::string host_of(const std::string& host_and_port);
// Returns all addresses of "HOST:PORT" or "unix:PATH". The caller tries one after another: a name
// may mean both 127.0.0.1 and ::1. Throws Unreachable if the name has no address.
std::vector<Address> resolve_all(const std::string& host_and_port);
// Returns the first of them. For a numeric host that is the only one.
Address resolve(const std::string& host_and_port);

struct Connecting {
  Descriptor socket;  // if there is none, `error` contains the reason
  int error = 0;      // errno; EINPROGRESS: wait until it is writable
};
Connecting start_connect(const Address& address);
// Returns the errno of a connection that was in progress; 0: connected.
int connect_result(int socket);
// Makes close() send a reset: no port stays in TIME_WAIT, and unread bytes of the server are
// dropped.
void reset_on_close(int socket);

// Waits for the poll(2) `events` on `descriptor`. Returns false after `timeout_s`; throws
// Interrupted once `stop` is set.
bool wait_for(int descriptor, short events, double timeout_s, const StopFlag& stop);

// Connects and waits until the connection is established. Throws Unreachable, Interrupted.
Descriptor connect_to(const Address& address, double timeout_s, const StopFlag& stop);

// The servers of one exchange: one is active, the others are its standbys. A standby does not
// accept connections. When one user of a Servers finds a server unavailable, all users move to the
// next one. Any thread.
class Servers {
 public:
  // Resolves all names to all their addresses: one name may mean both 127.0.0.1 and ::1. Leaves out
  // names without an address; throws Unreachable if no name has one.
  explicit Servers(const std::string& list);
  // Uses these addresses, which belong to the servers in `text`.
  Servers(std::string text, std::vector<Address> addresses)
      : text_(std::move(text)), addresses_(std::move(addresses)) {}

  const std::string& text() const { return text_; }
  std::size_t count() const { return addresses_.size(); }
  // The server to try next, or the one that was reached last.
  const Address& current() const { return addresses_[current_]; }
  // `server` failed: current() becomes the next one, unless another user has already moved on.
  void leave(const Address& server);

 private:
  const std::string text_;
  std::vector<Address> addresses_;
  std::atomic<std::size_t> current_{0};
};

// Connects to the current server, or to the first after it that accepts. Throws Unreachable with
// the error of each server, or Interrupted.
Descriptor connect_to(Servers& servers, double timeout_s, const StopFlag& stop);

}  // namespace exchange::client
