// 2. Which guard for a map that many threads write? Here as asked: 50 tasks x 1000 writes;
// collections_readers.cpp has the mixes.

#include "studies/experiments/collections.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <type_traits>

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;
constexpr long keys = 1'000;  // that each task writes, its own

int racy_runs(const Settings& settings) { return settings.quick ? 10 : 100; }

std::string asked_name(const std::string& map) { return name_of("collections/asked", map); }

template <class Map>
double write_all(Counters& counters) {
  Map map(tasks);
  Run run = run_threads(tasks, [&](unsigned task) {
    for (long key = task * keys; key < (task + 1) * keys; ++key) map.add(task, key);
  });
  if constexpr (std::is_same_v<Map, ThreadMaps>) {
    const Meter merging;
    map.merge();
    run += merging.stop();
  }
  counters["user"] = run.used.user_s;
  counters["system"] = run.used.system_s;
  const Sums sums = map.sums();
  counters["missing"] = double(tasks * keys - sums.keys) + double(tasks * keys - sums.values);
  return run.seconds;
}

void prepare(const Settings& settings) {
  for_each_map([]<class Map>(const char* map, const char*, Map*) {
    measure(asked_name(map), write_all<Map>);
  });
  prepare_readers(settings);
}

// How one run of the unguarded map ended.
std::string ending_of(const ChildResult& child) {
  if (child.timed_out || child.status == 128 + SIGXCPU || child.status == 128 + SIGKILL)
    return "never ended, and was killed";
  if (child.status == 128 + SIGABRT) return "died: the allocator found its memory broken (SIGABRT)";
  if (child.status > 128) return std::string("died: ") + strsignal(child.status - 128);
  if (child.output.starts_with("corrupt"))
    return "ended, the map is corrupt: keys lost or unreachable";
  if (child.output.starts_with("intact")) return "ended, and by luck nothing was lost";
  return "ended with status " + std::to_string(child.status);
}

void report_unguarded(const Settings& settings, Report& out) {
  std::map<std::string, int> endings;
  std::map<std::string, std::string> words;  // the output of one run that ended so
  const int runs = racy_runs(settings);
  for (int run = 0; run < runs; ++run) {
    const ChildResult child = run_child(
        {settings.binaries + "/racy_map", std::to_string(tasks), std::to_string(keys)}, 60);
    const std::string ending = ending_of(child);
    ++endings[ending];
    if (words[ending].empty()) words[ending] = child.output.substr(0, child.output.find('\n'));
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [ending, count] : endings) sorted.emplace_back(-count, ending);
  std::sort(sorted.begin(), sorted.end());
  Table& table = out.add(Table{"unguarded",
                               "One std::unordered_map, no guard, " + std::to_string(runs) +
                                   " runs of 50 tasks x 1,000 writes",
                               {"how the run ended", "runs", "its last words, once"}});
  for (const auto& [count, ending] : sorted)
    table.rows.push_back(
        {ending, std::to_string(-count), words[ending].empty() ? "-" : words[ending]});
  check_race({settings.binaries + "/racy_map_tsan", "2", "1000"}, "to the unguarded map", out, 3);
}

void report_guarded(const Measurements& measured, Report& out) {
  Table& table = out.add(Table{"guards",
                               "50 tasks write 1,000 keys each, all keys different",
                               {"guard", "there", "here", "user", "system"}});
  for_each_map([&]<class Map>(const char* map, const char* label, Map*) {
    const std::string name = map;
    const std::string there = name == "mutex"    ? "5.3 ms; 7-17 ms"
                              : name == "shared" ? "7.7 ms; 8-18 ms"
                              : name == "hash"   ? "5.6 ms; 3.0 ms (sync.Map)"
                                                 : "-";
    const std::string what = std::string(label) + (name == "own" ? ", merged at the end" : "");
    const Named of(measured, asked_name(name));
    table.rows.push_back(
        {what, there, of.time(), of.median_time("user"), of.median_time("system")});
    out.check_none(what + ": every write of 50 x 1,000 is there", of("missing").worst(), "missing");
  });
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  report_unguarded(settings, out);
  report_guarded(measured, out);
  report_readers(settings, measured, out);
}

const Add add(
    2, {.name = "collections",
        .title = "2. Collections: which guard for a map that many threads use?",
        .asked = "50 tasks write 1000 keys each to one map: unguarded, mutex, reader-writer lock, "
                 "concurrent map. And where does "
                 "the ranking turn when most only read?",
        .prepare = prepare,
        .report = report});

}  // namespace
}  // namespace exchange::experiments
