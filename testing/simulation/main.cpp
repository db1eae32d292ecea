// The exchange in a simulated world, seed by seed: see world.hpp. Prints the command that replays a
// failing seed.

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "simulation/world.hpp"

using namespace exchange::simulation;

namespace {

constexpr std::uint64_t seeds_judged_from = 1'000;

// Of many seeds: a world in which nothing goes wrong proves nothing. The floors are half of what is
// usual, or less.
bool enough_happened(const World::Counts& counts, std::uint64_t seeds) {
  if (seeds < seeds_judged_from) return true;  // a replay, or a short run
  const struct {
    const char* what;
    unsigned count;
    unsigned of_thousand_seeds;
  } floors[] = {{"servers", counts.servers, 1'000},
                {"crashes", counts.crashes, 80},
                {"power cuts", counts.power_cuts, 80},
                {"restarts", counts.restarts, 50},
                {"partitions", counts.partitions, 50},
                {"connections cut by clients", counts.cuts, 900},
                {"requests answered and compared", counts.answered, 25'000},
                {"requests unanswered", counts.unanswered, 2'000}};
  bool enough = true;
  for (const auto& floor : floors) {
    const std::uint64_t wanted = seeds * floor.of_thousand_seeds / 1'000;
    if (floor.count >= wanted) continue;
    enough = false;
    std::printf("FAILED: %u %s in %llu seeds, where at least %llu are to be expected\n",
                floor.count, floor.what, static_cast<unsigned long long>(seeds),
                static_cast<unsigned long long>(wanted));
  }
  return enough;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, count = 300;
  bool verbose = false;
  CLI::App app("Simulates the exchange under faults, each run a function of its seed.");
  app.add_option("--seed", first, "the first seed");
  app.add_option("--seeds", count, "how many seeds, from the first on")
      ->default_str("300; 1 where --seed is given");
  app.add_flag("--verbose", verbose, "show the server's log and a line for each seed");
  CLI11_PARSE(app, argc, argv);
  if (app.count("--seed") > 0 && app.count("--seeds") == 0) count = 1;
  spdlog::set_level(verbose ? spdlog::level::info : spdlog::level::off);

  World::Counts all;
  unsigned failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(seed);
    std::string broken;
    try {
      world.run();
    } catch (const std::exception& error) {
      broken = error.what();
    }
    const World::Counts& now = world.counts;
    if (verbose)
      std::printf("seed %llu: %u servers, %u crashes, %u answered, %u unanswered\n",
                  static_cast<unsigned long long>(seed), now.servers, now.crashes, now.answered,
                  now.unanswered);
    if (broken.empty() && seed % 50 == 0) {
      World again(seed);
      again.run();
      if (again.fingerprint() != world.fingerprint()) broken = "two runs of this seed differ";
    }
    if (!broken.empty()) {
      ++failed;
      std::printf("seed %llu FAILED: %s\n  replay: %s --seed %llu --verbose\n",
                  static_cast<unsigned long long>(seed), broken.c_str(), argv[0],
                  static_cast<unsigned long long>(seed));
    }
    all += now;
  }
  std::printf(
      "%llu seeds, %u failed: %u servers, %u crashes, %u power cuts, %u restarts, %u partitions, %u connections cut by clients,"
      " %u requests answered and compared, %u unanswered\n",
      static_cast<unsigned long long>(count), failed, all.servers, all.crashes, all.power_cuts,
      all.restarts, all.partitions, all.cuts, all.answered, all.unanswered);
  return failed == 0 && enough_happened(all, count) ? 0 : 1;
}
