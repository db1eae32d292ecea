// Rows in flight from the projector to the view.
#include "market_data/market_feed.hpp"

#include <atomic>
#include <thread>

#include "catch.hpp"

using namespace exchange;

namespace {

Rows rows_of(std::size_t count) {
  Rows rows;
  rows.positions.resize(count);
  return rows;
}

}  // namespace

TEST_CASE(
    "rows arrive in order, and the reader is woken for them, also for those that came before it") {
  MarketFeed feed(100);
  feed.push(rows_of(1), 1);
  int woken = 0;
  feed.follow([&] { ++woken; });
  CHECK(woken == 1);
  feed.push(rows_of(2), 2);
  CHECK(woken == 2);
  const auto taken = feed.take();
  REQUIRE(taken.size() == 2);
  CHECK((taken[0].batch == 1 && taken[0].rows.size() == 1 && taken[1].batch == 2 &&
         taken[1].rows.size() == 2));
  CHECK(feed.take().empty());
}

TEST_CASE("a full feed holds the projector until it is read or ended") {
  MarketFeed feed(10);
  feed.push(rows_of(10), 1);
  std::atomic<int> pushed{0};
  std::thread projector([&] {
    feed.push(rows_of(10), 2);
    ++pushed;
    feed.push(rows_of(1), 3);
    ++pushed;
  });
  CHECK(pushed == 0);
  CHECK(feed.take().size() == 1);
  while (pushed < 1) std::this_thread::yield();
  CHECK(pushed == 1);
  feed.end();
  projector.join();
  CHECK(pushed == 2);
  CHECK(feed.take().size() == 1);  // rows after the end were dropped
}
