// When a connection is late. Without sockets, at times that the test chooses.

#include "net/deadlines.hpp"

#include "catch.hpp"

using namespace exchange;
using namespace std::chrono_literals;

namespace {

using Late = Deadlines::Late;

struct Times {
  explicit Times(const NetLimits& limits_) : limits(limits_) { connection.activity.answered(0); }
  Late check(std::chrono::milliseconds after) {
    deadlines.tick(start + after);
    return deadlines.check(connection, start + after);
  }
  const NetLimits limits;
  const Deadlines::Time start = Deadlines::Clock::now();
  Deadlines deadlines{limits, start};
  AddressQuota quota{1, 1};
  MemoryBudget memory{MemoryBudget::Limits{}};
  ConnectionRecord connection{0, -1, quota.take({}), memory, memory};
};

}  // namespace

TEST_CASE(
    "a connection is late at its deadline, and further bytes give no more time than stall_ms") {
  Times times({.idle_ms = 0, .stall_ms = 100});
  times.deadlines.expect(times.connection, times.start, 100ms);
  times.deadlines.expect(times.connection, times.start + 90ms, 100ms);
  CHECK(times.check(99ms) == Late::no);
  CHECK(times.check(100ms) == Late::stalled);
  times.deadlines.clear(times.connection);
  CHECK(times.check(1h) == Late::no);
}

TEST_CASE("a shorter time runs from its last call, and may be given back") {
  Times times({.idle_ms = 0, .stall_ms = 100});
  times.deadlines.expect(times.connection, times.start, 20ms);
  CHECK(times.check(20ms) == Late::stalled);
  times.deadlines.expect(times.connection, times.start + 15ms, 20ms);
  CHECK(times.check(34ms) == Late::no);
  CHECK(times.check(35ms) == Late::stalled);
  times.deadlines.expect(times.connection, times.start + 30ms, 100ms);
  CHECK(times.check(99ms) == Late::no);
  CHECK(times.check(100ms) == Late::stalled);
}

TEST_CASE("a connection is idle from its last answer on, if there is an idle time") {
  Times times({.idle_ms = 500}), without({.idle_ms = 0});
  times.connection.activity.answered(100);
  CHECK(times.check(599ms) == Late::no);
  CHECK(times.check(600ms) == Late::idle);
  CHECK(without.check(1h) == Late::no);
}

TEST_CASE("a connection that is closing has linger_ms, whatever it was late with before") {
  Times times({.idle_ms = 10, .linger_ms = 50});
  times.deadlines.expect(times.connection, times.start, 1ms);
  times.connection.closing = true;
  times.deadlines.begin_closing(times.connection, times.start + 5ms);
  times.deadlines.clear(times.connection);
  times.deadlines.expect(times.connection, times.start, 1ms);
  CHECK(times.check(54ms) == Late::no);
  CHECK(times.check(55ms) == Late::closing);
}

TEST_CASE("a connection that waits for the server is never late, not even when it is closing") {
  Times times({.idle_ms = 10, .linger_ms = 50});
  times.connection.activity.begin_executing();
  CHECK(times.check(1h) == Late::no);
  times.connection.closing = true;
  times.deadlines.begin_closing(times.connection, times.start);
  CHECK(times.check(1h) == Late::no);
  times.connection.activity.answered(times.deadlines.now_ms());
  CHECK(times.check(1h) == Late::closing);
}
