#include "base/bursts.hpp"

#include <sys/resource.h>
#include <time.h>

#include <future>
#include <thread>

#include "catch.hpp"

using namespace exchange;
using namespace std::chrono_literals;

namespace {

// Works on this thread until it has rested, or for this number of steps.
bool rests_within(std::size_t steps) {
  for (; steps > 0; --steps)
    if (Bursts::rest_if_due()) return true;
  return false;
}

// Uses this much CPU time.
void burn(std::chrono::nanoseconds cpu) {
  const auto used = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  for (const auto began = used(); used() - began < cpu;) {
  }
}

// Returns how often this thread has slept or waited.
long times_given_way() {
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
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
  }
  CHECK_FALSE(rests_within(few));
}

TEST_CASE("other threads do not rest while one works in bursts") {
  std::promise<void> works, is_over;
  std::thread worker([&] {
    Bursts bursts(1ns);
    const Bursts::Work work(bursts, spread);
    works.set_value();
    is_over.get_future().wait();
  });
  works.get_future().wait();
  CHECK_FALSE(rests_within(few));
  is_over.set_value();
  worker.join();
}

TEST_CASE("a burst lasts as long as was asked for") {
  Bursts bursts(1h);
  const Bursts::Work work(bursts, 100h);
  CHECK_FALSE(rests_within(few));
}

TEST_CASE("work in a hurry takes no rests but gives way, the next rests") {
  Bursts bursts(1ns);
  {
    const Bursts::Work work(bursts, spread);
    std::thread([&] { bursts.hurry(); }).join();
    const long before = times_given_way();
    CHECK_FALSE(rests_within(few));
    CHECK(times_given_way() > before);
  }
  const Bursts::Work work(bursts, spread);
  CHECK(rests_within(few));
}

TEST_CASE("work that was too long for its spread takes no rests") {
  Bursts bursts(1ns);
  {
    const Bursts::Work work(bursts, 0ns);
    burn(3ms);
  }
  const Bursts::Work work(bursts, 2ms);
  CHECK_FALSE(rests_within(1));
}

TEST_CASE("the CPU time of work is known while it goes on, and afterwards") {
  Bursts bursts(1ns);
  {
    const Bursts::Work work(bursts, 0ns);
    CHECK(bursts.used() == 0ns);
    burn(3ms);
    Bursts::rest_if_due();
    CHECK(bursts.used() >= 3ms);
    CHECK(bursts.used() < 1s);
  }
  CHECK(bursts.used() == 0ns);
  CHECK(bursts.last_work() >= 3ms);
}
