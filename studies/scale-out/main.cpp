// Simulates the exchange as ledgers and shards (docs/scale-out.md): the checks under faults, seed
// by seed, or with --throughput the table of rates.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "studies/scale-out/world.hpp"

using namespace exchange::scale_out;

namespace {

struct Totals {
  std::uint64_t executed = 0, refused = 0, credits = 0, crashes = 0, barriers = 0;
};

// The violation, or nothing.
std::string run(std::uint64_t seed, Plant plant, Totals& totals) {
  World world(draw(seed, plant));
  std::string broken;
  try {
    world.run();
  } catch (const std::exception& error) {
    broken = error.what();
  }
  const auto& counts = world.audit().counts;
  totals.executed += counts.executed;
  totals.refused += counts.refused;
  totals.credits += counts.credits;
  totals.crashes += world.figures().crashes;
  totals.barriers += world.figures().barriers;
  return broken;
}

double median_ms(std::vector<Nanoseconds> times) {
  if (times.empty()) return 0;
  std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
  return double(times[times.size() / 2]) / 1e6;
}

std::string rate(double per_second) {
  std::string text = std::to_string(std::llround(per_second / 1'000));
  if (text.size() > 3) text.insert(text.size() - 3, ",");
  return text + ",000";
}

void print_row(unsigned ledgers, unsigned shards, unsigned refused, double wait_us) {
  Config config = load(ledgers, shards, refused);
  config.costs.wait_min = config.costs.wait_max = Nanoseconds(wait_us * 1'000);
  World world(config);
  world.run();
  const World::Figures figures = world.figures();
  const std::string name = ledgers == 0 ? "one core thread | 1"
                           : ledgers == 1
                               ? "1 ledger | " + std::to_string(shards)
                               : std::to_string(ledgers) + " ledgers | " + std::to_string(shards);
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
  const auto time = [](const std::vector<Nanoseconds>& times) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", median_ms(times));
    return times.empty() ? std::string("–") : std::string(text);
  };
  std::cout << "| " << name << " | " << refused << " % | " << rate(figures.per_second) << " | "
            << time(figures.times.others) << " | " << time(figures.times.buys) << " | "
            << time(figures.times.refused) << " | "
            << (ledgers == 0 ? "–" : percent(figures.ledger_cpu)) << " | "
            << percent(figures.shard_cpu) << " | "
            << (figures.barriers == 0
                    ? "–"
                    : std::to_string(world.audit().counts.refused / figures.barriers))
            << " |" << std::endl;
}

void print_throughput(double wait_us) {
  std::cout << "| nodes | shards | buys refused | requests/s | sell or cancel, ms | buy, ms | "
               "refused buy, ms | CPU of a ledger | CPU of a shard | "
               "refusals of a barrier |\n"
               "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const unsigned refused : {0, 10, 50}) {
    print_row(0, 1, refused, wait_us);
    for (const unsigned shards : {1, 2, 4, 8, 16}) print_row(1, shards, refused, wait_us);
  }
  for (const unsigned ledgers : {2, 4})
    for (const unsigned shards : {8, 16}) print_row(ledgers, shards, 10, wait_us);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, count = 300;
  std::string plant_name;
  bool throughput = false;
  double wait_us = 200;
  CLI::App app("Simulates the exchange as cash ledgers and symbol shards.");
  app.add_option("--seed", first, "the first seed");
  app.add_option("--seeds", count, "how many seeds, from the first on")
      ->default_str("300; 1 with --seed");
  app.add_option("--plant", plant_name, "a fault in the design, or `all`: each must be found");
  app.add_flag("--throughput", throughput, "print the table of rates, in simulated time");
  app.add_option("--commit-wait-us", wait_us, "what a commit of the table waits for")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (app.count("--seed") > 0 && app.count("--seeds") == 0) count = 1;
  if (throughput) {
    print_throughput(wait_us);
    return 0;
  }
  if (!plant_name.empty()) {
    bool is_known = false, all_found = true;
    for (const auto& [name, plant] : plants) {
      if (plant_name != name && plant_name != "all") continue;
      is_known = true;
      unsigned found = 0;
      std::string example;
      for (std::uint64_t seed = first; seed < first + count; ++seed) {
        Totals totals;
        const std::string broken = run(seed, plant, totals);
        if (broken.empty()) continue;
        if (found++ == 0) example = "seed " + std::to_string(seed) + ": " + broken;
      }
      all_found &= found > 0;
      std::cout << name << ": found by " << found << " of " << count << " seeds; " << example
                << std::endl;
    }
    if (!is_known) std::cout << "no fault is named " << plant_name << "\n";
    return is_known && all_found ? 0 : 1;
  }
  Totals totals;
  unsigned failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string broken = run(seed, Plant::none, totals);
    if (broken.empty()) continue;
    ++failed;
    std::cout << "seed " << seed << " FAILED: " << broken << "\n  replay: " << argv[0] << " --seed "
              << seed << std::endl;
  }
  std::cout << count << " seeds, " << failed << " failed: " << totals.executed
            << " commands executed, " << totals.refused << " buys refused, " << totals.barriers
            << " barriers, " << totals.credits << " credits, " << totals.crashes << " crashes\n";
  return failed == 0 ? 0 : 1;
}
