// Clean seeds, and faults in the design that the checks must find (docs/scale-out.md).

#include "catch.hpp"
#include "studies/scale-out/world.hpp"

using namespace exchange::scale_out;

namespace {

std::string run(std::uint64_t seed, Plant plant) {
  World world(draw(seed, plant));
  return violation_of(world);
}

constexpr std::uint64_t seeds = 500, seeds_planted = 2'000;  // rare faults need many seeds

}  // namespace

TEST_CASE("ledgers and shards keep their promises under crashes, delays and second deliveries") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("build/bin/scale_out_study --seed " << seed);
    REQUIRE(run(seed, Plant::none) == "");
  }
}

TEST_CASE("the scale-out checks find each planted fault") {
  for (std::size_t n = 1; n < exchange::enumerators<Plant>; ++n) {
    const auto plant = Plant(n);
    INFO(exchange::to_string(plant));
    unsigned found = 0;
    for (std::uint64_t seed = 1; seed <= seeds_planted && found == 0; ++seed)
      found += run(seed, plant).empty() ? 0 : 1;
    CHECK(found > 0);
  }
}

TEST_CASE("two runs of one seed of the scale-out study agree") {
  World one(draw(7, Plant::none)), other(draw(7, Plant::none));
  one.run();
  other.run();
  CHECK(one.fingerprint() == other.fingerprint());
  CHECK(one.figures().crashes > 0);
}

TEST_CASE("more shards bring more requests until the ledger is full") {
  const auto rate = [](unsigned ledgers, unsigned shards) {
    Config config = load(ledgers, shards, 10);
    config.requests = 6;
    World world(config);
    world.run();
    return world.figures();
  };
  const auto core = rate(0, 1), two = rate(1, 2), sixteen = rate(1, 16);
  CHECK(two.per_second > 1.2 * core.per_second);
  CHECK(sixteen.ledger_cpu > sixteen.shard_cpu);
}
