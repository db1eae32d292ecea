// experiments [--quick] [--list] [--json FILE] [NAME...]: runs all experiments or those named,
// prints their tables and checks. Exit status: 0, or 1 if a check does not hold, or 2 for an
// error on the command line.

#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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

#include "studies/experiments/lab.hpp"

using namespace exchange::experiments;
using Json = nlohmann::ordered_json;

namespace {

// Collects what Google Benchmark measured; on a terminal, shows each measurement as it ends.
class Collector : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(Measurements& measurements) : measurements_(measurements) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const std::string& name = run.run_name.function_name;
      measurements_.add(name, "seconds", run.real_accumulated_time / double(run.iterations));
      for (const auto& [counter, value] : run.counters)
        measurements_.add(name, counter, value.value);
      if (terminal_) std::fprintf(stderr, "\r\033[K%s", name.c_str());
    }
  }
  void Finalize() override {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  Measurements& measurements_;
};

Measurements run(const Experiment& experiment, const Settings& settings) {
  benchmark::ClearRegisteredBenchmarks();
  experiment.prepare(settings);
  Measurements measurements;
  Collector collector(measurements);
  benchmark::RunSpecifiedBenchmarks(&collector);
  return measurements;
}

std::size_t width(const std::string& text) {  // in characters
  return std::size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(width(column));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths.at(i) = std::max(widths[i], width(row[i]));
  const auto print_row = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      std::cout << (i == 0 ? "  " + row[i] + padding : "  " + padding + row[i]);
    }
    std::cout << "\n";
  };
  std::cout << "\n  " << table.title << "\n";
  print_row(table.columns);
  for (const auto& row : table.rows) print_row(row);
}

// A described struct as an object, a point as its figures, a list as a list.
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
  const ChildResult git = run_child({"/usr/bin/env", "git", "-C", PROJECT_ROOT, "describe",
                                     "--always", "--dirty", "--abbrev=12", "--exclude=*"},
                                    10);
  return git.status == 0 ? git.output.substr(0, git.output.find('\n')) : "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Concurrency experiments: each asks a question, measures, and prints what came out.",
               "experiments");
  Settings settings;
  settings.seed = std::random_device()();
  settings.binaries = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::vector<std::string> names;
  std::string json_path;
  bool list = false;
  unsigned repetitions = 0;
  app.add_option("name", names, "experiments to run; all where none is named");
  app.add_flag("--list", list, "only list them");
  app.add_flag("--quick", settings.quick,
               "small sizes: all in two minutes, for the checks rather than the figures");
  app.add_option("--repetitions", repetitions, "of each measurement (5; with --quick 2)")
      ->check(CLI::Range(1, 1'000));
  app.add_option("--seed", settings.seed, "of what is drawn at random");
  app.add_option("--json", json_path, "also write everything to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.repetitions = repetitions > 0 ? repetitions : settings.quick ? 2 : 5;

  std::vector<const Experiment*> chosen;
  for (const Experiment& experiment : experiments())
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end())
      chosen.push_back(&experiment);
  for (const std::string& name : names)
    if (std::none_of(chosen.begin(), chosen.end(),
                     [&](const Experiment* experiment) { return experiment->name == name; })) {
      std::fprintf(stderr, "experiments: there is no '%s'; --list names them\n", name.c_str());
      return 2;
    }
  if (list) {
    for (const Experiment* experiment : chosen)
      std::cout << experiment->name << "  " << experiment->title << "\n";
    return 0;
  }

  const std::string repeated = "--benchmark_repetitions=" + std::to_string(settings.repetitions);
  std::vector<std::string> arguments{"experiments", repeated,
                                     "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count_of_arguments = int(pointers.size());
  benchmark::Initialize(&count_of_arguments, pointers.data());

  utsname system{};
  uname(&system);
  std::cout << cpu_model() << ", " << usable_cpus().size() << " CPUs, Linux " << system.release
            << "; seed " << settings.seed << ", " << settings.repetitions << " repetitions"
            << (settings.quick ? ", quick" : "") << "\nmedians (least-greatest)\n";
  const std::time_t started = std::time(nullptr);
  std::ostringstream date;
  date << std::put_time(std::gmtime(&started), "%Y-%m-%d %H:%M UTC");
  Json json{{"format", "exchange-experiments/1"},
            {"started", date.str()},
            {"commit", commit()},
            {"machine",
             {{"cpu", cpu_model()}, {"cpus", usable_cpus().size()}, {"kernel", system.release}}},
            {"seed", settings.seed},
            {"repetitions", settings.repetitions},
            {"quick", settings.quick},
            {"known", Json::array()},
            {"experiments", Json::array()}};
  for (const Experiment& experiment : experiments())
    json["known"].push_back({{"name", experiment.name}, {"title", experiment.title}});
  bool all_hold = true;
  for (const Experiment* experiment : chosen) {
    std::cout << "\n" << experiment->title << "\n  " << experiment->asked << std::endl;
    Report report;
    experiment->report(settings, run(*experiment, settings), report);
    for (const Table& table : report.tables) print(table);
    std::cout << "\n";
    for (const Excerpt& excerpt : report.excerpts)
      std::cout << "  " << excerpt.title << "\n" << excerpt.text << "\n";
    for (const std::string& note : report.notes) std::cout << "  note: " << note << "\n";
    for (const Check& check : report.checks) {
      std::cout << (check.holds ? "  holds: " : "  DOES NOT HOLD: ") << check.what << " ("
                << check.seen << ")\n";
      all_hold &= check.holds;
    }
    Json known{{"name", experiment->name}, {"title", experiment->title}};
    known.update(json_of(report));
    json["experiments"].push_back(std::move(known));
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
