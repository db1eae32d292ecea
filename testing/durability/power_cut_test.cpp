// What remains of a SQLite store after a power cut, a kill or a disk failure, with seeded random
// cuts at every operation of its files. EXCHANGE_NIGHTLY=1 runs thousands of seeds; EXCHANGE_SEEDS
// sets their number.

#include "catch.hpp"

#include <cstdlib>
#include <iostream>

#include "durability/server_on_disk.hpp"

using namespace exchange;
using namespace exchange::testing;
using Fault = SimulatedDisk::Fault;

namespace {

std::uint64_t seeds(std::uint64_t in_ci, std::uint64_t at_night) {
  if (const char* seeds = std::getenv("EXCHANGE_SEEDS")) return std::strtoull(seeds, nullptr, 10);
  return nightly() ? at_night : in_ci;
}

struct CutCounts {
  std::uint64_t starts = 0, cuts = 0, batches = 0, kept_in_flight = 0, sync_stops = 0,
                refused_starts = 0, faults = 0;
  void add(const ServerOnDisk& server) {
    batches += server.acknowledged();
    kept_in_flight += server.kept_in_flight();
    sync_stops += server.stops_for_failed_sync();
    refused_starts += server.refused_starts();
  }
  void print(const std::string& what, std::uint64_t runs) const {
    std::cout << what << ": " << runs << " seeds, " << starts << " starts, " << cuts << " cuts, "
              << faults << " failed operations, " << batches << " batches acknowledged, "
              << kept_in_flight << " kept that were in flight, " << sync_stops
              << " stops for a failed sync, " << refused_starts << " refused starts\n";
  }
};

// Runs many seeds: each is a server that is restarted several times, each time with the faults of
// `plan(disk, random)`.
template <class Plan>
CutCounts many(std::uint64_t runs, int lives, Plan plan) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  CutCounts counts;
  for (std::uint64_t seed = test_seed(); seed != test_seed() + runs; ++seed) {
    INFO("again: EXCHANGE_SEEDS=1 build/bin/durability_tests --seed " << seed << " '" << name
                                                                      << "'");
    std::mt19937_64 random(seed);
    ServerOnDisk server(seed);
    for (int life = 0; life < lives; ++life) {
      plan(server.disk, random);
      server.run(int(random() % 60));
      counts.faults += server.disk.faults_met();
      counts.cuts += server.disk.stopped();
      server.restart();
      ++counts.starts;
    }
    server.run(1);
    counts.add(server);
  }
  counts.print(name, runs);
  return counts;
}

}  // namespace

TEST_CASE("a power cut or a kill at any operation loses nothing acknowledged and invents nothing") {
  const auto counts = many(seeds(150, 10'000), 5, [](SimulatedDisk& disk, auto& random) {
    // Cuts come early in a third of the runs: the first operations create and recover the files.
    const std::uint64_t within = random() % 3 == 0 ? 60 : 600;
    disk.plan(disk.operations() + 1 + random() % within,
              random() % 4 == 0 ? Fault::process_end : Fault::power_cut);
  });
  if (counts.starts < 500) return;  // a single seed is replayed
  CHECK(counts.cuts > counts.starts / 3);
  CHECK(counts.kept_in_flight > 0);
  CHECK(counts.batches > counts.cuts);
}

TEST_CASE("nothing is acknowledged on a disk that is full or fails to write or to sync") {
  const auto counts = many(seeds(100, 5'000), 4, [](SimulatedDisk& disk, auto& random) {
    const Fault faults[] = {Fault::write_error, Fault::full, Fault::sync_error};
    disk.plan(disk.operations() + 1 + random() % 300, faults[random() % 3], 1 + random() % 4);
  });
  if (counts.starts < 300) return;  // a single seed is replayed
  CHECK(counts.faults > counts.starts / 3);
  CHECK(counts.sync_stops > 0);
  CHECK(counts.batches > counts.faults);
}

TEST_CASE("every operation of a first start and of its first batches may be the last") {
  std::uint64_t operations = 0;
  CutCounts counts;
  for (std::uint64_t at = 1; operations == 0 || at <= operations; ++at) {
    INFO("operation " << at);
    ServerOnDisk server(7);
    server.disk.plan(at, Fault::power_cut);
    server.run(6);
    if (!server.disk.stopped()) operations = at;
    counts.cuts += server.disk.stopped();
    server.restart();
    server.run(1);
    counts.add(server);
    ++counts.starts;
  }
  counts.print("every operation of a first start", 1);
  CHECK(counts.cuts > 50);
}
