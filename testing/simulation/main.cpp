// Runs the exchange in a simulated world, one seed after the other (see world.hpp). Prints the
// command that replays a failing seed.

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "simulation/world.hpp"

using namespace exchange::simulation;

namespace {

constexpr std::uint64_t seeds_judged_from = 1'000;

struct Counted {
  const char* what;
  unsigned World::Counts::*count;
  unsigned least;  // for a thousand seeds: half of the usual number, or less
};
constexpr Counted counted[] = {
    {"servers", &World::Counts::servers, 1'000},
    {"crashes", &World::Counts::crashes, 80},
    {"power cuts", &World::Counts::power_cuts, 80},
    {"restarts", &World::Counts::restarts, 50},
    {"partitions", &World::Counts::partitions, 50},
    {"of them with a stale primary", &World::Counts::stale_primaries, 20},
    {"connections cut by clients", &World::Counts::cuts, 900},
    {"requests answered and compared", &World::Counts::answered, 25'000},
    {"unanswered", &World::Counts::unanswered, 2'000},
    {"orders replaced", &World::Counts::replaced, 2'000},
    {"steps of a timetable", &World::Counts::steps, 7'000},
    {"of them not committed", &World::Counts::lost_steps, 5}};

// Returns text such as "1 servers, 2 crashes, ...".
std::string print(const World::Counts& counts) {
  std::string text;
  for (const Counted& one : counted)
    text += (text.empty() ? "" : ", ") + std::to_string(counts.*one.count) + " " + one.what;
  return text;
}

// Checks the counts of many seeds: a world in which nothing goes wrong proves nothing.
bool enough_happened(const World::Counts& counts, std::uint64_t seeds) {
  if (seeds < seeds_judged_from) return true;  // a replay, or a short run
  bool enough = true;
  for (const Counted& one : counted) {
    const std::uint64_t wanted = seeds * one.least / 1'000;
    if (counts.*one.count >= wanted) continue;
    enough = false;
    std::cout << "FAILED: " << counts.*one.count << " " << one.what << " in " << seeds
              << " seeds, where at least " << wanted << " are to be expected\n";
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
      ->default_str("300; 1 with --seed");
  app.add_flag("--verbose", verbose, "show the server's log and a line for each seed");
  CLI11_PARSE(app, argc, argv);
  ::setenv("TZ", "UTC0", 1);  // for timetables
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
    if (verbose) std::cout << "seed " << seed << ": " << print(now) << "\n";
    if (broken.empty() && seed % 50 == 0) {
      World again(seed);
      again.run();
      if (again.fingerprint() != world.fingerprint()) broken = "two runs of this seed differ";
    }
    if (!broken.empty()) {
      ++failed;
      std::cout << "seed " << seed << " FAILED: " << broken << "\n  replay: " << argv[0]
                << " --seed " << seed << " --verbose" << std::endl;
    }
    for (const Counted& one : counted) all.*one.count += now.*one.count;
  }
  std::cout << count << " seeds, " << failed << " failed: " << print(all) << "\n";
  return failed == 0 && enough_happened(all, count) ? 0 : 1;
}
