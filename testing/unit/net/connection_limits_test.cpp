// Which connections are admitted, evicted for others, late, or ended because all hold too much
// memory. Without sockets, at times that the test chooses.

#include "net/admission_control.hpp"

#include <deque>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "net/deadlines.hpp"
#include "net/memory_budget.hpp"

using namespace exchange;
using namespace std::chrono_literals;

namespace {

using Refusal = AdmissionControl::Refusal;
constexpr PeerAddress one{0, 1}, two{0, 2}, three{0, 3};

struct LimitedPort {
  explicit LimitedPort(const NetLimits& limits_) : limits(limits_), admission(limits) {}
  ~LimitedPort() {
    for (const auto& connection : connections)
      if (connection) admission.remove(*connection);
  }
  // Returns null if refused. Ends the evicted connection, as the table does.
  ConnectionRecord* enter(const PeerAddress& address) {
    AdmissionControl::Decision decision = admission.decide(address, now_ms);
    refusal = decision.refusal;
    evicted = decision.evicted;
    if (refusal != Refusal::none) return nullptr;
    if (evicted != nullptr) admission.set_closing(*evicted);
    connections.push_back(std::make_unique<ConnectionRecord>(
        connections.size(), -1, std::move(decision.place), memory, memory));
    admission.add(*connections.back());
    connections.back()->activity.answered(now_ms);
    return connections.back().get();
  }
  void leave(ConnectionRecord* connection) {
    for (auto& other : connections) {
      if (other.get() != connection) continue;
      admission.remove(*connection);
      other.reset();
    }
  }

  const NetLimits limits;
  MemoryBudget memory{MemoryBudget::Limits{}};
  AdmissionControl admission;
  std::deque<std::unique_ptr<ConnectionRecord>> connections;
  std::uint64_t now_ms = 0;
  Refusal refusal = Refusal::none;
  ConnectionRecord* evicted = nullptr;
};

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

TEST_CASE("an address at its limit is refused for that, though there is room") {
  LimitedPort port({.connections_max = 4, .connections_per_address = 1});
  REQUIRE(port.enter(one));
  CHECK(port.enter(one) == nullptr);
  CHECK(port.refusal == Refusal::address);
  CHECK(port.enter(two));
  CHECK(port.evicted == nullptr);
}

TEST_CASE(
    "the connection idle longest of the address with most is evicted, but none that executes") {
  LimitedPort port({.connections_max = 4});
  ConnectionRecord* const executes = port.enter(one);
  executes->activity.begin_executing();
  ConnectionRecord* const silent = port.enter(one);
  port.now_ms = 1;
  ConnectionRecord* const recent = port.enter(one);
  ConnectionRecord* const other = port.enter(two);
  port.now_ms = 5;
  REQUIRE(port.enter(two));
  CHECK(port.evicted == silent);
  CHECK_FALSE(recent->closing);
  CHECK_FALSE(other->closing);
  CHECK(port.enter(two) == nullptr);  // as many as address 1 has; none is idle for long
  CHECK(port.refusal == Refusal::total);
}

TEST_CASE("among equals a connection is evicted only if it has been idle for evictable_idle_ms") {
  LimitedPort port({.connections_max = 1, .evictable_idle_ms = 100});
  ConnectionRecord* const first = port.enter(one);
  port.now_ms = 99;
  CHECK(port.enter(two) == nullptr);
  port.now_ms = 100;
  CHECK(port.enter(two));
  CHECK(port.evicted == first);
}

TEST_CASE(
    "a new connection of an address with many takes no place of those with fewer, however long they have been idle") {
  LimitedPort port({.connections_max = 5, .evictable_idle_ms = 0});
  ConnectionRecord* const good = port.enter(three);
  port.now_ms = 1'000'000;
  for (const PeerAddress& address : {one, one, two, two}) REQUIRE(port.enter(address));
  REQUIRE(port.enter(one));
  CHECK_FALSE(port.evicted == good);
  REQUIRE(port.enter(two));
  CHECK_FALSE(port.evicted == good);
}

TEST_CASE(
    "a connection that was ended and has left counts no more, neither as open nor as closing") {
  LimitedPort port({.connections_max = 4});
  ConnectionRecord* const first = port.enter(two);
  ConnectionRecord* const second = port.enter(two);
  for (const PeerAddress& address : {two, one}) REQUIRE(port.enter(address));
  REQUIRE(port.enter(three));
  CHECK(port.evicted == first);
  port.leave(first);
  REQUIRE(port.enter({0, 4}));
  CHECK(port.evicted == second);  // one of the two that the address still had
}

TEST_CASE("a storm that is refused leaves the room to addresses with fewer connections") {
  LimitedPort port({.connections_max = 4});
  for (const PeerAddress& address : {two, two, two, one}) REQUIRE(port.enter(address));
  CHECK(port.enter(two) == nullptr);
  CHECK(port.enter(three));  // in the same moment
}

TEST_CASE("closing connections have no place, but there are at most closing_max of them") {
  LimitedPort port({.connections_max = 3, .connections_per_address = 9, .closing_max = 2});
  std::vector<ConnectionRecord*> all;
  for (int i = 0; i < 3; ++i) all.push_back(port.enter(one));
  REQUIRE(port.enter(two));
  CHECK(port.evicted == all[0]);
  REQUIRE(port.enter(three));
  CHECK(port.evicted == all[1]);
  CHECK(port.enter({0, 4}) == nullptr);
  CHECK(port.refusal == Refusal::total);
  port.leave(all[0]);
  port.leave(all[1]);
  port.leave(all[2]);
  CHECK(port.enter({0, 4}));
  CHECK(port.evicted == nullptr);
}

TEST_CASE("without descriptors there is room for no more than is open, until they come back") {
  LimitedPort port({.connections_max = 100});
  for (int i = 0; i < 3; ++i) REQUIRE(port.enter(one));
  CHECK(port.admission.handle_fd_exhaustion(0) == nullptr);  // the reserve is used first
  CHECK(port.admission.lacks_descriptors());
  CHECK(port.enter(one) == nullptr);
  CHECK(port.refusal == Refusal::total);
  CHECK(port.admission.handle_fd_exhaustion(1) == port.connections.front().get());
  for (int i = 0; i < 100; ++i) port.admission.recover_descriptors();
  CHECK_FALSE(port.admission.lacks_descriptors());
  CHECK(port.enter(one));
}

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

TEST_CASE("all together have a bounded number of bytes, one address half of it, and give it back") {
  constexpr std::size_t small = 65'536, unit = small + 1;
  MemoryBudget budget({.bytes_max = 8 * unit,
                       .uncontested_bytes_max = 0,
                       .bytes_per_address_max = 4 * unit,
                       .small_bytes_max = small});
  {
    MemoryBudget::Share first(budget, one), second(budget, one), third(budget, one),
        others(budget, two);
    CHECK(first.reserve(2 * unit));
    CHECK(second.reserve(2 * unit));
    CHECK_FALSE(third.reserve(unit));
    CHECK(third.reserve(small));  // too little to count
    CHECK(others.reserve(4 * unit));
    CHECK_FALSE(MemoryBudget::Share(budget, three).reserve(unit));
    CHECK(second.reserve(unit));  // replaces the two
    CHECK(MemoryBudget::Share(budget, three).reserve(unit));
    CHECK(budget.bytes() == 7 * unit);
  }
  CHECK(budget.bytes() == 0);
  CHECK(budget.addresses() == 0);
  CHECK(MemoryBudget::Share(budget, one).reserve(1'000 * unit));  // a single client always fits
}

TEST_CASE("half of the budget is for all; of the rest an address gets its part only") {
  MemoryBudget budget(
      {.bytes_max = 800, .uncontested_bytes_max = 400, .bytes_per_address_max = 100});
  MemoryBudget::Share large(budget, one), more(budget, one), other(budget, two);
  CHECK(large.reserve(400));
  CHECK_FALSE(more.reserve(1));
  CHECK(more.bytes() == 0);
  CHECK_FALSE(other.reserve(101));
  CHECK(other.reserve(100));
  large.release();
  CHECK(more.reserve(300));
}

TEST_CASE("bytes that are here already are counted beyond the limit, and seven eighths may stay") {
  MemoryBudget budget({800, 800, 800});
  MemoryBudget::Share share(budget, one), other(budget, two);
  share.hold(500);
  other.hold(300);
  CHECK(budget.excess() == 0);
  other.hold(301);  // replaces the 300
  CHECK(budget.bytes() == 801);
  CHECK(budget.excess() == 101);
  share.release();
  CHECK(budget.bytes() == 301);
}

TEST_CASE("shedding takes the most bytes for the longest time, address by address") {
  const auto now = std::chrono::steady_clock::now();
  const auto choose = [&](const std::vector<HeldBytes>& held, std::size_t bytes) {
    return choose_to_shed(held, bytes, now);
  };
  using Chosen = std::vector<std::size_t>;
  CHECK(choose({{one, 500, now - 1s}, {two, 600, now}}, 1) == Chosen{0});       // older
  CHECK(choose({{one, 500, now - 1s}, {two, 600, now - 1s}}, 1) == Chosen{1});  // larger
  // An address with many small connections is heavier than one with a single large connection.
  CHECK(choose({{one, 300, now - 1s}, {two, 200, now - 1s}, {two, 150, now - 1s}}, 1) == Chosen{1});
  CHECK(choose({{one, 300, now - 1s}, {two, 200, now - 1s}, {two, 150, now - 1s}}, 201) ==
        Chosen{1, 0});
  CHECK(choose({{one, 1, now}}, 100) == Chosen{0});
  CHECK(choose({}, 100).empty());
}
