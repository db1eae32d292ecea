#pragma once
// TCP for clients: non-blocking sockets, and blocking steps that a stop flag ends.

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

// The server cannot be reached, or went away before the measurement.
struct Unreachable : std::runtime_error {
  using runtime_error::runtime_error;
};
// It was reached, and what it did with the request is not known.
struct NoReply : Unreachable {
  using Unreachable::Unreachable;
};
// … because the connection ended.
struct ConnectionEnded : NoReply {
  using NoReply::NoReply;
};
// A signal asked this program to stop.
struct Interrupted : std::exception {};

// Set by a signal handler.
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
  std::string text;  // HOST:PORT
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

// The host of "HOST:PORT", an IPv6 address without its brackets.
std::string host_of(const std::string& host_and_port);
// Of "HOST:PORT", to be tried one after another: a name may mean both 127.0.0.1 and ::1. Throws
// Unreachable if the name has no address.
std::vector<Address> resolve_all(const std::string& host_and_port);
// The first of them, where it is a number and so the only one.
Address resolve(const std::string& host_and_port);

struct Connecting {
  Descriptor socket;  // without one, `error` says why
  int error = 0;      // errno; EINPROGRESS: wait until it is writable
};
Connecting start_connect(const Address& address);
// errno of a connection that was in progress; 0: connected.
int connect_result(int socket);
// Makes close() send a reset: no port is left waiting, and a server's unread bytes are dropped.
void reset_on_close(int socket);

// Waits for `events` of poll(2) on `descriptor`. False after `timeout_s`; throws Interrupted once
// `stop` is set.
bool wait_for(int descriptor, short events, double timeout_s, const StopFlag& stop);

// Waits until it is connected. Throws Unreachable, Interrupted.
Descriptor connect_to(const Address& address, double timeout_s, const StopFlag& stop);

}  // namespace exchange::client
