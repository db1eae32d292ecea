#include "base/bursts.hpp"

#include <thread>

#include "catch.hpp"

using namespace exchange;
using namespace std::chrono_literals;

namespace {

// Works on this thread until it has rested, or for so many steps.
bool rests_within(std::size_t steps) {
  for (; steps > 0; --steps)
    if (Bursts::rest_if_due()) return true;
  return false;
}

constexpr std::size_t few = 1'000;
constexpr auto spread = 1h;  // much longer than any work here

}  // namespace

TEST_CASE("a thread that works in bursts rests, and only while it does so") {
  Bursts bursts(1ns);
  CHECK_FALSE(rests_within(few));
  {
    const Bursts::Work work(bursts, spread);
    CHECK(rests_within(few));
    CHECK(rests_within(few));  // the next burst
    bool other_rests = true;
    std::thread([&] { other_rests = rests_within(few); }).join();
    CHECK_FALSE(other_rests);
  }
  CHECK_FALSE(rests_within(few));
}

TEST_CASE("a burst lasts as long as was asked for") {
  Bursts bursts(1h);
  const Bursts::Work work(bursts, 100h);
  CHECK_FALSE(rests_within(few));
}

TEST_CASE("work in a hurry takes no rests, the next does") {
  Bursts bursts(1ns);
  {
    const Bursts::Work work(bursts, spread);
    std::thread([&] { bursts.hurry(); }).join();
    CHECK_FALSE(rests_within(few));
  }
  const Bursts::Work work(bursts, spread);
  CHECK(rests_within(few));
}

TEST_CASE("work that was too long for its spread takes no rests") {
  Bursts bursts(1ns);
  { const Bursts::Work work(bursts, 0ns); }
  const Bursts::Work work(bursts, 1ns);  // the work above took more
  CHECK_FALSE(rests_within(few));
}
