#pragma once
// The servers of one exchange, of which one is active and the others are its standbys: a standby
// accepts no connection. All users of one Servers move on together once one of them has found that
// a server is gone. Any thread.

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::client {

// "HOST:PORT,HOST:PORT" as its parts.
std::vector<std::string> split_addresses(const std::string& list);
// Throws std::invalid_argument unless it is such a list.
void check_addresses(const std::string& list);

class Servers {
 public:
  // All addresses of all names: one may mean both 127.0.0.1 and ::1. Leaves out names that have
  // none; throws Unreachable if none has.
  explicit Servers(const std::string& list);
  // These addresses, of the servers that `text` names.
  Servers(std::string text, std::vector<Address> addresses)
      : text_(std::move(text)), addresses_(std::move(addresses)) {}

  const std::string& text() const { return text_; }
  std::size_t count() const { return addresses_.size(); }
  // The one to try now, or the one that was reached last.
  const Address& current() const { return addresses_[current_]; }
  // It was of no use: current() becomes the next one, unless another user has moved on already.
  void leave(const Address& server);

 private:
  const std::string text_;
  std::vector<Address> addresses_;
  std::atomic<std::size_t> current_{0};
};

// Connects to the current one, or to the first after it that accepts. Throws Unreachable with what
// each of them said, Interrupted.
Descriptor connect_to(Servers& servers, double timeout_s, const StopFlag& stop);
// One document on a connection of its own to the active server. It is sent once at most: throws as
// ask() of one address.
std::string ask(Servers& servers, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::client
