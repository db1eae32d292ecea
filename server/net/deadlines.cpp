#include "net/deadlines.hpp"

#include <algorithm>

namespace exchange {

void Deadlines::expect(ConnectionRecord& connection, Time now,
                       std::chrono::milliseconds time) const {
  if (connection.closing) return;
  const std::chrono::milliseconds stall(limits_.stall_ms);
  connection.stall_deadline = std::min(connection.stall_deadline, now + stall);
  connection.deadline = std::min(connection.stall_deadline, now + time);
}

void Deadlines::clear(ConnectionRecord& connection) const {
  if (!connection.closing) connection.deadline = connection.stall_deadline = Time::max();
}

void Deadlines::begin_closing(ConnectionRecord& connection, Time now) const {
  connection.deadline = now + std::chrono::milliseconds(limits_.linger_ms);
}

Deadlines::Late Deadlines::check(const ConnectionRecord& connection, Time now) const {
  if (connection.activity.is_executing()) return Late::no;
  if (connection.deadline != Time::max()) {
    if (connection.deadline > now) return Late::no;
    return connection.closing ? Late::closing : Late::stalled;
  }
  const bool idle = limits_.idle_ms != 0 && connection.activity.idle_ms(now_ms()) >= limits_.idle_ms;
  return idle ? Late::idle : Late::no;
}

void Deadlines::tick(Time now) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
  now_ms_.store(std::uint64_t(since.count()), std::memory_order_relaxed);
}

}  // namespace exchange
