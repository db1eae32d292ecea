#pragma once
// AdmissionControl decides which connections a port has: at most connections_max, at most
// connections_per_address of one address, and no more than file descriptors allow. If all places
// are taken, it evicts for a new connection the longest idle one of the address with most
// connections; an address never loses a connection to an address that has more. A closing
// connection has no place among connections_max, but still counts for its address; there are at
// most closing_max of them. AdmissionControl only decides; ConnectionTable ends connections. Owner:
// ConnectionTable. Thread: one at a time (under its lock).

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "net/connection_record.hpp"
#include "net/limits.hpp"

namespace exchange {

// Keeps file descriptors open, so that a port that has run out of them can still accept a
// connection, to serve it in place of another one or to refuse it with a reply.
class DescriptorReserve {
 public:
  DescriptorReserve() { refill(); }
  ~DescriptorReserve() { release(); }
  DescriptorReserve(const DescriptorReserve&) = delete;

  bool empty() const { return descriptors_.empty(); }
  // Returns false if the process has no free descriptors.
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
  // Decides whether to admit one more connection of this address.
  Decision decide(const PeerAddress& address, std::uint64_t now_ms);
  void add(ConnectionRecord& connection);
  void set_closing(ConnectionRecord& connection);
  void remove(ConnectionRecord& connection);

  // Accepting failed for lack of descriptors. From now on the number of open connections is the
  // limit, and the reserve is released for the next connection. If there was no reserve, accepting
  // would fail forever; then returns the connection to evict.
  ConnectionRecord* handle_fd_exhaustion(std::uint64_t now_ms);
  // Refills the reserve, and raises the limit again if that succeeds. Call it from time to time.
  void recover_descriptors();
  // Whether descriptors allow fewer connections than connections_max.
  bool lacks_descriptors() const { return possible_max_ < limits_.connections_max; }
  std::size_t per_address_max() const { return quota_.per_address_max(); }

 private:
  ConnectionRecord* choose_evicted(std::size_t newcomer_count, std::uint64_t now_ms);

  const NetLimits& limits_;
  AddressQuota quota_;
  DescriptorReserve reserve_;
  std::vector<ConnectionRecord*> open_;  // in any order; those that are not closing
  std::unordered_map<PeerAddress, std::size_t> open_of_;  // open ones per address, never zero
  // the connections that descriptors allow, as far as is known
  std::size_t possible_max_ = std::numeric_limits<std::size_t>::max();
  // Until this time nothing can be evicted for a new connection of an address that has at least
  // `none_for_` connections with it.
  std::uint64_t none_until_ms_ = 0;
  std::size_t none_for_ = 0;
};

}  // namespace exchange
