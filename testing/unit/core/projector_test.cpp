#include "core/projector.hpp"

#include <chrono>
#include <semaphore>

#include "catch.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"

using namespace exchange;
using namespace exchange::testing;
using std::chrono::milliseconds;

TEST_CASE("the time left of a hand-over follows from its rows and from the last one that hurried") {
  FaultyStore store;
  store.open();
  ManualClock clock;
  CoreLimits limits;
  limits.projection_interval_ms = 0;
  Metrics metrics;
  Health health;
  std::binary_semaphore idle(0);
  const OnFatal fail = [](const std::string& why) { FAIL(why); };
  Projector projector(
      store, store, clock, limits, metrics, health, {}, [&] { idle.release(); }, fail);
  const auto advance = [&](milliseconds time) { clock.time_us += time.count() * 1'000; };
  const auto offer = [&](BatchNumber batch) {
    Rows rows;
    rows.executions.resize(20'000);
    projector.offer(rows, batch, 0);
  };
  CHECK(projector.time_left() == milliseconds(0));

  store.hold_projections.begin();
  offer(1);
  CHECK(projector.time_left() == milliseconds(20));  // a microsecond for each row at first
  advance(milliseconds(5));
  CHECK(projector.time_left() == milliseconds(15));
  advance(milliseconds(75));
  CHECK(projector.time_left() == milliseconds(10));  // late
  projector.hurry();
  store.hold_projections.end();
  idle.acquire();
  CHECK(projector.time_left() == milliseconds(0));

  store.hold_projections.begin();
  offer(2);
  CHECK(projector.time_left() == milliseconds(80));
  store.hold_projections.end();
  idle.acquire();
}
