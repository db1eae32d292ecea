#pragma once
// MemoryBudget limits the bytes that one port keeps for its clients: requests under way, parts of
// requests, replies that are not taken yet. Each client has a Share of it. The server reserves
// bytes that it can still refuse, and holds bytes that have already arrived. If all clients
// together hold too much, choose_to_shed() names the clients to end. A single share always fits,
// regardless of its size.
// Owner: the port; the budget outlives its shares. Thread: one at a time.

#include <chrono>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/address_limits.hpp"

namespace exchange {

class MemoryBudget {
 public:
  struct Limits {
    std::size_t bytes_max;  // of all shares
    // While all shares have at most this, an address may have any part of it ...
    std::size_t uncontested_bytes_max;
    std::size_t bytes_per_address_max;  // ... and beyond, an address may have at most this.
    std::size_t small_bytes_max = 0;    // reservations of at most this do not count
  };

  // The bytes of the budget that one client uses; the destructor returns them.
  class Share {
   public:
    Share(MemoryBudget& budget, const PeerAddress& address) : budget_(budget), address_(address) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { release(); }

    // Replaces the bytes of this share. If the budget does not admit them, returns false, and the
    // share is then empty.
    bool reserve(std::size_t bytes);
    // Replaces the bytes of this share without a check; the budget may then be exceeded.
    void hold(std::size_t bytes);
    void release() { budget_.change(address_, bytes_, 0); }
    std::size_t bytes() const { return bytes_; }

   private:
    MemoryBudget& budget_;
    const PeerAddress address_;
    std::size_t bytes_ = 0;
  };

  explicit MemoryBudget(const Limits& limits) : limits_(limits) {}
  MemoryBudget(const MemoryBudget&) = delete;

  std::size_t bytes() const { return bytes_; }
  // The number of addresses that use the budget.
  std::size_t addresses() const { return by_address_.size(); }
  // The bytes to free if the limit is exceeded: down to seven eighths of it, so that not every
  // additional byte requires a search for a client to end.
  std::size_t excess() const {
    return bytes_ <= limits_.bytes_max ? 0 : bytes_ - (limits_.bytes_max - limits_.bytes_max / 8);
  }

 private:
  bool admits(const PeerAddress& address, std::size_t bytes) const;
  // Replaces `current`, the bytes of one share.
  void change(const PeerAddress& address, std::size_t& current, std::size_t bytes);

  const Limits limits_;
  std::unordered_map<PeerAddress, std::size_t> by_address_;
  std::size_t bytes_ = 0;
};

// The bytes held for one client, and the time since when.
struct HeldBytes {
  PeerAddress address;
  std::size_t bytes;
  std::chrono::steady_clock::time_point since;
};
// Returns the clients to end until `bytes` are free, as indexes of `held`. The weight of bytes
// grows with the time that they have been held: a well-behaved client has many only for
// milliseconds. Chooses from the address with the largest weight, and there the heaviest client.
std::vector<std::size_t> choose_to_shed(std::span<const HeldBytes> held, std::size_t bytes,
                                        std::chrono::steady_clock::time_point now);

}  // namespace exchange
