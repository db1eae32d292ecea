// Simulates the exchange as ledgers and shards (docs/scale-out.md). Runs the checks under faults,
// one seed after the other, or with --throughput prints the table of rates.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "studies/scale-out/world.hpp"

using namespace exchange::scale_out;

namespace {

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

// Returns whether a seed finds this fault in the design.
bool is_found(Plant plant, std::uint64_t first, std::uint64_t count) {
  unsigned found = 0;
  std::string example;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(draw(seed, plant));
    const std::string broken = violation_of(world);
    if (broken.empty()) continue;
    if (found++ == 0) example = "seed " + std::to_string(seed) + ": " + broken;
  }
  std::cout << exchange::to_string(plant) << ": found by " << found << " of " << count << " seeds; "
            << example << std::endl;
  return found > 0;
}

// Returns whether the design holds in all seeds.
bool holds(std::uint64_t first, std::uint64_t count) {
  unsigned failed = 0;
  std::uint64_t executed = 0, refused = 0, credits = 0, crashes = 0, barriers = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(draw(seed, Plant::none));
    if (const std::string broken = violation_of(world); !broken.empty()) {
      ++failed;
      std::cout << "seed " << seed << " FAILED: " << broken << "\n  replay: scale_out_study --seed "
                << seed << std::endl;
    }
    executed += world.audit().counts.executed;
    refused += world.audit().counts.refused;
    credits += world.audit().counts.credits;
    crashes += world.figures().crashes;
    barriers += world.figures().barriers;
  }
  std::cout << count << " seeds, " << failed << " failed: " << executed << " commands executed, "
            << refused << " buys refused, " << barriers << " barriers, " << credits << " credits, "
            << crashes << " crashes\n";
  return failed == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, count = 300;
  std::string plant = "none";
  bool throughput = false;
  double wait_us = 200;
  CLI::App app("Simulates the exchange as cash ledgers and symbol shards.");
  app.add_option("--seed", first, "the first seed");
  app.add_option("--seeds", count, "how many seeds, from the first on")
      ->default_str("300; 1 with --seed");
  std::vector<std::string> names{"all"};
  for (std::size_t n = 0; n < exchange::enumerators<Plant>; ++n)
    names.emplace_back(exchange::to_string(Plant(n)));
  app.add_option("--plant", plant, "a fault in the design, or `all`: each must be found")
      ->check(CLI::IsMember(names));
  app.add_flag("--throughput", throughput, "print the table of rates, in simulated time");
  app.add_option("--commit-wait-us", wait_us, "what a commit of the table waits for")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (app.count("--seed") > 0 && app.count("--seeds") == 0) count = 1;
  if (throughput) {
    print_throughput(wait_us);
    return 0;
  }
  if (plant == "none") return holds(first, count) ? 0 : 1;
  bool all_found = true;
  for (std::size_t n = 1; n < exchange::enumerators<Plant>; ++n)
    if (plant == "all" || plant == exchange::to_string(Plant(n)))
      all_found &= is_found(Plant(n), first, count);
  return all_found ? 0 : 1;
}
