#pragma once
// AdmissionControl decides which connections a port has: at most connections_max, of one address
// connections_per_address, and no more than file descriptors allow. If all places are taken, the
// connection idle longest of the address with most connections is evicted for a new one; an address
// never loses a connection to one that has more. A connection that is closing has no place among
// connections_max, but still counts for its address; there are at most closing_max of them. Decides
// only: ConnectionTable ends connections. Owner: ConnectionTable. Thread: one at a time (under its
// lock).

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "net/connection_record.hpp"
#include "net/limits.hpp"

namespace exchange {

// File descriptors kept open, so that a port that has run out of them can still accept a
// connection, to serve it in place of another or to refuse it in words.
class DescriptorReserve {
 public:
  DescriptorReserve() { refill(); }
  ~DescriptorReserve() { release(); }
  DescriptorReserve(const DescriptorReserve&) = delete;

  bool empty() const { return descriptors_.empty(); }
  // False where the process has no descriptors to spare.
  bool refill() {
    descriptors_.reserve(descriptors);
    while (descriptors_.size() < descriptors) {
      const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (descriptor < 0) return false;
      descriptors_.push_back(descriptor);
    }
    return true;
  }
  void release() {
    for (const int descriptor : descriptors_) ::close(descriptor);
    descriptors_.clear();
  }

 private:
  static constexpr std::size_t descriptors = 8;
  std::vector<int> descriptors_;
};

class AdmissionControl {
 public:
  using Refusal = AddressQuota::Refusal;

  explicit AdmissionControl(const NetLimits& limits);

  struct Decision {
    AddressQuota::Share place;            // empty: refused
    Refusal refusal = Refusal::none;      // by which limit
    ConnectionRecord* evicted = nullptr;  // to be ended for the new one; it counts until then
  };
  // Whether one more connection of this address is admitted.
  Decision decide(const PeerAddress& address, std::uint64_t now_ms);
  void add(ConnectionRecord& connection);
  void set_closing(ConnectionRecord& connection);
  void remove(ConnectionRecord& connection);

  // Accepting failed for lack of descriptors. From now on what is open counts as all that can be,
  // and the reserve is released for the next connection. Returns the connection to be evicted if
  // there was no reserve: accepting would fail for ever.
  ConnectionRecord* handle_fd_exhaustion(std::uint64_t now_ms);
  // From time to time: takes back the reserve, and with it the places that descriptors allow.
  void recover_descriptors();
  // Fewer connections than connections_max are possible.
  bool lacks_descriptors() const { return possible_max_ < limits_.connections_max; }
  std::size_t per_address_max() const { return quota_.per_address_max(); }

 private:
  ConnectionRecord* choose_evicted(std::size_t newcomer_count, std::uint64_t now_ms);

  const NetLimits& limits_;
  AddressQuota quota_;
  DescriptorReserve reserve_;
  std::vector<ConnectionRecord*> open_;  // in any order; those that are not closing
  std::unordered_map<PeerAddress, std::size_t> open_of_;  // how many of an address; none is zero
  // what descriptors allow, as far as is known
  std::size_t possible_max_ = std::numeric_limits<std::size_t>::max();
  // There was none to evict for a new connection of an address with `none_for_` connections.
  std::uint64_t none_until_ms_ = 0;
  std::size_t none_for_ = 0;
};

}  // namespace exchange
