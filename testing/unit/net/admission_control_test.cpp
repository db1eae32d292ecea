// Which connections are admitted, and which are evicted for them. Without sockets.

#include "net/admission_control.hpp"

#include <deque>
#include <memory>
#include <vector>

#include "catch.hpp"

using namespace exchange;

namespace {

using Refusal = AdmissionControl::Refusal;
constexpr PeerAddress one{0, 1}, two{0, 2}, three{0, 3};

struct Port {
  explicit Port(const NetLimits& limits_) : limits(limits_), admission(limits) {}
  ~Port() {
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

}  // namespace

TEST_CASE("an address at its limit is refused for that, though there is room") {
  Port port({.connections_max = 4, .connections_per_address = 1});
  REQUIRE(port.enter(one));
  CHECK(port.enter(one) == nullptr);
  CHECK(port.refusal == Refusal::address);
  CHECK(port.enter(two));
  CHECK(port.evicted == nullptr);
}

TEST_CASE(
    "the connection idle longest of the address with most is evicted, but none that executes") {
  Port port({.connections_max = 4});
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
  Port port({.connections_max = 1, .evictable_idle_ms = 100});
  ConnectionRecord* const first = port.enter(one);
  port.now_ms = 99;
  CHECK(port.enter(two) == nullptr);
  port.now_ms = 100;
  CHECK(port.enter(two));
  CHECK(port.evicted == first);
}

TEST_CASE(
    "a new connection of an address with many takes no place of those with fewer, however long they have been idle") {
  Port port({.connections_max = 5, .evictable_idle_ms = 0});
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
  Port port({.connections_max = 4});
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
  Port port({.connections_max = 4});
  for (const PeerAddress& address : {two, two, two, one}) REQUIRE(port.enter(address));
  CHECK(port.enter(two) == nullptr);
  CHECK(port.enter(three));  // in the same moment
}

TEST_CASE("closing connections have no place, but there are at most closing_max of them") {
  Port port({.connections_max = 3, .connections_per_address = 9, .closing_max = 2});
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
  Port port({.connections_max = 100});
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
