#pragma once
// MemoryBudget limits the bytes that one port keeps for its clients: requests under way, parts of
// requests, replies that are not taken yet. Each client has a Share of it. Bytes that the server
// can still refuse are reserved first; bytes that are here already are held, and where all hold too
// much, choose_to_shed() names the clients to end. One share alone always fits, whatever its size.
// Owner: the port; the budget outlives its shares. Thread: one at a time.

#include <chrono>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/peer_address.hpp"

namespace exchange {

class MemoryBudget {
 public:
  struct Limits {
    std::size_t bytes_max;  // of all shares
    // While all have no more than this, an address may have any part of it ...
    std::size_t uncontested_bytes_max;
    std::size_t bytes_per_address_max;  // ... and beyond, no more than this.
    std::size_t small_bytes_max = 0;    // a share of at most this is not counted
  };

  // What one client uses of the budget; its destructor gives it back.
  class Share {
   public:
    Share(MemoryBudget& budget, const PeerAddress& address) : budget_(budget), address_(address) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { release(); }

    // Replaces the bytes of this share. False, and the share is empty, if the budget does not admit
    // them.
    bool reserve(std::size_t bytes);
    // The same without asking; the budget may then be exceeded.
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
  // Addresses that use any of it.
  std::size_t addresses() const { return by_address_.size(); }
  // Bytes to free, where there are too many: down to seven eighths of the limit, so that not every
  // further byte has to find a client to end.
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

// Bytes held for one client, and since when.
struct HeldBytes {
  PeerAddress address;
  std::size_t bytes;
  std::chrono::steady_clock::time_point since;
};
// The clients to end until `bytes` are free, as indexes of `held`. Bytes weigh by the time that
// they have been held: a good client has many for milliseconds only. Takes from the address with
// most weight, and of it the heaviest.
std::vector<std::size_t> choose_to_shed(std::span<const HeldBytes> held, std::size_t bytes,
                                        std::chrono::steady_clock::time_point now);

}  // namespace exchange
