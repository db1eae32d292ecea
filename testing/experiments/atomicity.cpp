// 1. Who loses an update, and what does keeping it cost?

#include <atomic>
#include <new>

#include "experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;

struct Sizes {
  long increments;    // of each task, as asked
  long long_run;      // of each task, so that the tasks overlap and times can be told
};
Sizes sizes(const Settings& settings) { return {1'000, settings.quick ? 20'000 : 200'000}; }

struct alignas(64) Shard {
  long count = 0;
};

double atomic_increments(std::memory_order order, long increments, long& left) {
  std::atomic<long> counter{0};
  const double seconds = run_threads(tasks, [&](unsigned) {
    for (long i = 0; i < increments; ++i) counter.fetch_add(1, order);
  });
  left = counter;
  return seconds;
}

double sharded_increments(long increments, long& left) {
  std::vector<Shard> shards(tasks);
  const double seconds = run_threads(tasks, [&](unsigned task) {
    for (long i = 0; i < increments; ++i) {
      ++shards[task].count;
      benchmark::ClobberMemory();
    }
  });
  left = 0;
  for (const Shard& shard : shards) left += shard.count;
  return seconds;
}

void prepare(const Settings& settings) {
  for (const long increments : {sizes(settings).increments, sizes(settings).long_run}) {
    const std::string size = "/" + std::to_string(increments);
    const auto counted = [=](auto run) {
      return [=](Counters& counters) {
        long left = 0;
        const double seconds = run(left);
        counters["lost"] = double(tasks * increments - left);
        return seconds;
      };
    };
    measure("atomicity/atomic" + size, counted([=](long& left) { return atomic_increments(std::memory_order_seq_cst, increments, left); }));
    measure("atomicity/relaxed" + size, counted([=](long& left) { return atomic_increments(std::memory_order_relaxed, increments, left); }));
    measure("atomicity/shards" + size, counted([=](long& left) { return sharded_increments(increments, left); }));
    measure("atomicity/plain" + size, [=](Counters& counters) {
      const double begin_s = now_s();
      const ChildResult child =
          run_child({settings.binaries + "/racy_counter", std::to_string(tasks), std::to_string(increments)}, 60);
      counters["lost"] = child.status == 0 ? double(tasks * increments) - std::stod(child.output) : -1;
      return now_s() - begin_s;
    });
  }
}

// The two lines of a report of ThreadSanitizer that name the accesses.
std::vector<std::string> accesses(const std::string& report) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string line = report.substr(at, end - at);
    at = end + 1;
    const bool access = line.find(" of size 8 at ") != std::string::npos;
    if (access && found.size() < 2) {
      const std::size_t where_end = std::min(report.find('\n', at), report.size());
      const std::string where = report.substr(at, where_end - at);
      const std::size_t file = where.rfind('/');
      found.push_back(line.substr(2, line.find(" at ") - 2) + " in increment_plainly (" + (file == std::string::npos ? where : where.substr(file + 1)));
    }
  }
  return found;
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes s = sizes(settings);
  for (const long increments : {s.increments, s.long_run}) {
    const std::string size = "/" + std::to_string(increments);
    Table table{"counts" + std::to_string(increments), "50 tasks x " + number(double(increments)) + " increments of one counter",
                {"counter", "lost updates", "time"}, {}};
    for (const auto& [name, label] : {std::pair{"atomic", "std::atomic"}, {"relaxed", "std::atomic, relaxed"}, {"shards", "one for each task, added up"}, {"plain", "plain long (in a child process)"}}) {
      const Sample& lost = measured.of(std::string("atomicity/") + name + size, "lost");
      table.rows.push_back({label, count(lost), std::string(name) == "plain" ? "-" : duration(measured.of(std::string("atomicity/") + name + size))});
      if (std::string(name) != "plain") out.check(std::string(label) + " loses nothing, " + std::to_string(increments) + " increments a task", lost.high() == 0 && lost.low() == 0, number(lost.high()) + " lost");
    }
    out.tables.push_back(std::move(table));
  }
  const ChildResult child = run_child({settings.binaries + "/racy_counter_tsan", "2", "1000"}, 60);
  const std::vector<std::string> found = accesses(child.output);
  out.check("ThreadSanitizer names both accesses of the race", found.size() == 2, found.size() == 2 ? found[0] + "; " + found[1] : child.output.substr(0, 300));
}

const Add add(1, {.name = "atomicity",
                  .title = "1. Atomicity: who loses an update, and what does keeping it cost?",
                  .asked = "50 tasks increment one counter 1000 times each: atomic against plain. How many updates are lost, and who tells?",
                  .measured = "All tasks begin together at a barrier. 1000 increments take less time than starting a thread, so that tasks hardly overlap: a second "
                              "row has more. The plain counter lives in a child process, and once more under ThreadSanitizer.",
                  .prepare = prepare,
                  .report = report});

}  // namespace
}  // namespace exchange::experiments
