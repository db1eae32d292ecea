#pragma once
// Deadlines decides which connections are late: with a TLS handshake, with the rest of a request,
// with taking a reply, with closing after the server has ended them; or silent for the idle time. A
// connection is never late while the client waits for the server. Deadlines keeps the coarse clock
// that measures idle times. It only decides: the sweeper of ConnectionTable calls it and ends the
// connections.
// Owner: ConnectionTable. Thread: one at a time (under its lock); now_ms() on any.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "net/connection_record.hpp"
#include "net/limits.hpp"

namespace exchange {

class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  enum class Late : std::uint8_t { no, idle, stalled, closing };

  explicit Deadlines(const NetLimits& limits, Time start = Clock::now())
      : limits_(limits), start_(start) {}

  // The client must send or take bytes. It has this time from now on, but at most stall_ms from the
  // first call on, because a single byte must not extend the time.
  void expect(ConnectionRecord& connection, Time now, std::chrono::milliseconds time) const;
  // The server expects nothing of the client.
  void clear(ConnectionRecord& connection) const;
  // The client has linger_ms to close.
  void begin_closing(ConnectionRecord& connection, Time now) const;
  Late check(const ConnectionRecord& connection, Time now) const;

  // Milliseconds since the start, as of the last tick().
  std::uint64_t now_ms() const { return now_ms_.load(std::memory_order_relaxed); }
  void tick(Time now);

 private:
  const NetLimits& limits_;
  const Time start_;
  std::atomic<std::uint64_t> now_ms_{0};
};

}  // namespace exchange
