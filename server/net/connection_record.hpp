#pragma once
// ConnectionRecord is the state of one open connection that the limits use. Each part of
// ConnectionTable changes its own fields only. Owner: ConnectionTable; under its lock, except
// `activity`.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/address_limits.hpp"
#include "net/memory_budget.hpp"

namespace exchange {

// The time when the server last answered on a connection, in milliseconds of Deadlines::now_ms().
// The thread that serves the connection writes it; any thread reads it, without a lock. This is the
// whole cost of the limits for a common request.
class Activity {
 public:
  void begin_executing() { at_ms_.store(executing, std::memory_order_relaxed); }
  void answered(std::uint64_t now_ms) { at_ms_.store(now_ms, std::memory_order_relaxed); }
  // Whether the client waits for the server: it is then neither idle nor late.
  bool is_executing() const { return answered_ms() == executing; }
  std::uint64_t answered_ms() const { return at_ms_.load(std::memory_order_relaxed); }
  std::uint64_t idle_ms(std::uint64_t now_ms) const {
    const std::uint64_t since = answered_ms();  // later than any time while executing
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

  const std::uint64_t serial;  // in the order of arrival; not reused, unlike descriptors
  const int descriptor;
  Activity activity;
  bool sending = false;  // the server writes to it: the end of the connection discards the rest

  // AdmissionControl
  AddressQuota::Share place;
  std::size_t* open_of_address = nullptr;  // the count of its address, without closing ones
  std::size_t position = 0;                // its index among all that are not closing
  bool closing = false;  // ended by the server and not closed yet: its place is free again

  // Deadlines
  Time deadline = Time::max();
  bool closing_renewed = false;       // its time to close has been renewed, which happens once
  Time stall_deadline = Time::max();  // the latest that `deadline` may become

  // MemoryBudget: a large request batch; a partly received request or a partly taken reply
  MemoryBudget::Share request_memory;
  MemoryBudget::Share buffer_memory;
  Time buffered_since{};
};

}  // namespace exchange
