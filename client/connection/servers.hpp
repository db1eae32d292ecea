#pragma once
// The servers of one exchange: one is active, the others are its standbys. A standby does not
// accept connections. When one user of a Servers finds a server unavailable, all users move to the
// next one. Any thread.

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::client {

// Splits "HOST:PORT,HOST:PORT" into its parts.
std::vector<std::string> split_addresses(const std::string& list);
// Throws std::invalid_argument unless `list` is such a list.
void check_addresses(const std::string& list);

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
// Sends one document on a new connection to the active server, at most once. Throws what ask() for
// one address throws.
std::string ask(Servers& servers, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::client
