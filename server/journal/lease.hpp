#pragma once
// A server's lease on its store: for a short time after a commit no other server can have served,
// because a new one waits longer than that before it serves. Queries then need no commit of their
// own (Gray and Cheriton, "Leases: An Efficient Fault-Tolerant Mechanism for Distributed File Cache
// Consistency", SOSP 1989).
//
// A commit that checks the epoch begins before the commit of the next epoch ends. The lease counts
// from the start of the first commit, the wait from the end of the second one, so the lease has
// ended before the wait ends. Both count on monotonic clocks, because system clocks may jump. The
// monotonic clocks of two machines must run at the same rate within a third, and a machine must not
// stop its clock while it is paused. All times are monotonic nanoseconds. Threads: one renews the
// lease, any thread reads it.

#include <atomic>
#include <cstdint>

namespace exchange {

class Lease {
 public:
  static constexpr std::int64_t length_ns = 100'000'000;
  // How long a new server waits after it has committed its epoch.
  static constexpr std::int64_t wait_ns = 150'000'000;

  // Call it after a commit that checked the epoch has succeeded. `began_ns` is when it began.
  void renew(std::int64_t began_ns) {
    end_ns_.store(began_ns + length_ns, std::memory_order_release);
  }
  bool holds(std::int64_t now_ns) const { return now_ns < end_ns(); }
  std::int64_t end_ns() const { return end_ns_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> end_ns_{INT64_MIN};
};

}  // namespace exchange
