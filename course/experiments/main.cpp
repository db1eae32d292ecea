// experiments [--quick] [--json FILE] [NAME...]: runs all experiments or those named, prints their
// checks, and writes their tables and plots to the file. Exit status: 0; 1 if a check does not
// hold; 2 for an error on the command line.

#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <ranges>
#include <sstream>

#include "course/experiments/lab.hpp"

using namespace exchange::experiments;
using Json = nlohmann::ordered_json;

namespace {

// Converts a described struct to an object, a point to its figures, a list to a list.
template <class Value>
Json json_of(const Value& value) {
  Json json;
  if constexpr (std::is_same_v<Value, Point>)
    json = {value.x, value.median, value.low, value.high};
  else if constexpr (boost::describe::has_describe_members<Value>::value)
    exchange::for_each_member<Value>(
        [&](auto member) { json[member.name] = json_of(value.*member.pointer); });
  else if constexpr (std::ranges::range<Value> && !std::is_same_v<Value, std::string>) {
    json = Json::array();
    for (const auto& one : value) json.push_back(json_of(one));
  } else
    json = value;
  return json;
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string commit() {
  const ChildResult git = run_child(
      {"git", "-C", PROJECT_ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"},
      10);
  return git.status == 0 ? git.output.substr(0, git.output.find('\n')) : "unknown";
}

Json head(const Settings& settings) {
  utsname system{};
  uname(&system);
  const std::time_t started = std::time(nullptr);
  std::ostringstream date;
  date << std::put_time(std::gmtime(&started), "%Y-%m-%d %H:%M UTC");
  Json known = Json::array();
  for (const Experiment& experiment : experiments())
    known.push_back({{"name", experiment.name}, {"title", experiment.title}});
  return {{"format", "exchange-experiments/1"},
          {"started", date.str()},
          {"commit", commit()},
          {"machine",
           {{"cpu", cpu_model()}, {"cpus", usable_cpus().size()}, {"kernel", system.release}}},
          {"seed", settings.seed},
          {"repetitions", settings.repetitions},
          {"quick", settings.quick},
          {"known", std::move(known)},
          {"experiments", Json::array()}};
}

// Runs the measurements, and prints the checks.
Report run(const Experiment& experiment, const Settings& settings) {
  std::cout << "\n" << experiment.title << std::endl;
  experiment.prepare(settings);
  Report report;
  experiment.report(settings, run_measurements(settings), report);
  for (const std::string& note : report.notes) std::cout << "  note: " << note << "\n";
  for (const Check& check : report.checks)
    std::cout << (check.holds ? "  holds: " : "  DOES NOT HOLD: ") << check.what << " ("
              << check.seen << ")\n";
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Concurrency experiments: each asks a question, measures, and checks.",
               "experiments");
  Settings settings;
  settings.seed = std::random_device()();
  settings.binaries = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::vector<std::string> names, known;
  std::string json_path;
  for (const Experiment& experiment : experiments()) known.push_back(experiment.name);
  app.add_option("name", names, "experiments to run; all where none is named")
      ->check(CLI::IsMember(known));
  app.add_flag("--quick", settings.quick,
               "small sizes: all in two minutes, for the checks rather than the figures");
  const CLI::Option* const repetitions = app.add_option("--repetitions", settings.repetitions,
                                                        "of each measurement (5; with --quick 2)")
                                             ->check(CLI::Range(1, 1'000));
  app.add_option("--seed", settings.seed, "of what is drawn at random");
  app.add_option("--json", json_path, "file for tables and plots");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (settings.quick && repetitions->empty()) settings.repetitions = 2;

  Json json = head(settings);
  bool all_hold = true;
  for (const Experiment& experiment : experiments()) {
    if (!names.empty() && std::ranges::find(names, experiment.name) == names.end()) continue;
    const Report report = run(experiment, settings);
    for (const Check& check : report.checks) all_hold &= check.holds;
    Json entry{{"name", experiment.name}, {"title", experiment.title}};
    entry.update(json_of(report));
    json["experiments"].push_back(std::move(entry));
  }
  if (!json_path.empty()) {
    std::ofstream file(json_path);
    file << json.dump(1) << "\n";
    file.flush();
    if (!file) {
      std::fprintf(stderr, "experiments: cannot write %s\n", json_path.c_str());
      return 2;
    }
  }
  return all_hold ? 0 : 1;
}
