// How much memory clients may occupy, and which client is ended if it is too much.

#include "net/memory_budget.hpp"

#include "catch.hpp"

using namespace exchange;
using namespace std::chrono_literals;

namespace {

constexpr PeerAddress one{0, 1}, two{0, 2}, three{0, 3};

}  // namespace

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
