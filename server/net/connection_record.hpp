#pragma once
// ConnectionRecord is what the limits know of one open connection. Each part of ConnectionTable
// changes its own fields only. Owner: ConnectionTable; under its lock, but for `activity`.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/address_quota.hpp"
#include "net/memory_budget.hpp"

namespace exchange {

// When a connection was last answered, in milliseconds of Deadlines::now_ms(). Written by the
// thread that serves the connection, read by any, without a lock: this is all that a common request
// costs.
class Activity {
 public:
  void begin_executing() { at_ms_.store(executing, std::memory_order_relaxed); }
  void answered(std::uint64_t now_ms) { at_ms_.store(now_ms, std::memory_order_relaxed); }
  // The client waits for the server: it is neither idle nor late.
  bool is_executing() const { return answered_ms() == executing; }
  std::uint64_t answered_ms() const { return at_ms_.load(std::memory_order_relaxed); }
  std::uint64_t idle_ms(std::uint64_t now_ms) const {
    const std::uint64_t since = answered_ms();  // while executing later than any time
    return since > now_ms ? 0 : now_ms - since;
  }

 private:
  static constexpr std::uint64_t executing = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> at_ms_{executing};
};

struct ConnectionRecord {
  using Time = std::chrono::steady_clock::time_point;

  ConnectionRecord(std::uint64_t serial_, int descriptor_, AddressQuota::Share place_,
                   MemoryBudget& request_budget, MemoryBudget& buffer_budget)
      : serial(serial_),
        descriptor(descriptor_),
        place(std::move(place_)),
        request_memory(request_budget, place.address()),
        buffer_memory(buffer_budget, place.address()) {}

  const std::uint64_t serial;  // in the order of arrival; never used again, as descriptors are
  const int descriptor;
  Activity activity;
  bool sending = false;  // the server writes to it: what is not taken is cut off at its end

  // AdmissionControl
  AddressQuota::Share place;
  std::size_t* open_of_address = nullptr;  // how many its address has that are not closing
  std::size_t position = 0;                // among all such
  bool closing = false;  // ended by the server and not closed yet: its place is free again

  // Deadlines
  Time deadline = Time::max();
  bool closing_renewed = false;       // its time to close has begun anew, which it may once
  Time stall_deadline = Time::max();  // the latest that `deadline` may become

  // MemoryBudget: a large request batch, and what is not received or taken completely
  MemoryBudget::Share request_memory;
  MemoryBudget::Share buffer_memory;
  Time buffered_since{};
};

}  // namespace exchange
