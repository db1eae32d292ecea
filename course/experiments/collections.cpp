// 2. Which guard is best for a map that many threads write? First the task: 50 tasks x 1000 writes.
// Then mixes of reads and writes: where does the ranking of the guards change?

#include "course/experiments/collections.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <type_traits>

namespace exchange::experiments {
namespace {

constexpr unsigned tasks = 50;
constexpr long keys = 1'000;  // each task writes this many, all its own

int racy_runs(const Settings& settings) { return settings.quick ? 10 : 100; }

std::string asked_name(const std::string& map) { return join_name("collections/asked", map); }

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

constexpr long keys_there = 8'192;  // in the map of the mixes from the beginning
constexpr unsigned thread_counts[] = {1, 2, 4, 8, 16, 32, 64};
constexpr unsigned shown_threads = 8;  // in the table of all guards
constexpr unsigned clock_every = 32;   // operations between two readings of the clock

struct Mix {
  unsigned reads;  // percent
  const char* name;
};
constexpr Mix mixes[] = {{99, "99:1"}, {90, "90:10"}, {50, "50:50"}};

// how threads use keys; one_cpu: overlapping keys, but all threads are pinned to one CPU
enum class Use { overlapping, disjoint, one_cpu };
constexpr Use uses[] = {Use::overlapping, Use::disjoint};
const char* word_for(Use use) {
  return use == Use::overlapping ? "overlapping" : use == Use::disjoint ? "disjoint" : "one-cpu";
}

std::string mix_name(const std::string& map, unsigned reads, Use use, unsigned threads) {
  return join_name("collections", map, reads, word_for(use), threads);
}

// Draws random numbers, at less cost than the measured operations.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  std::uint64_t operator()() { return next_random(state_) * 0x2545F4914F6CDD1Du >> 16; }

 private:
  std::uint64_t state_;
};

// The work of one thread, and later of all together.
struct alignas(64) Done {
  long operations = 0, writes = 0, read_sum = 0;
  double write_s_max = 0;
};

struct DoneByAll : Done {
  Run run;
};

// The same deadline for all threads, counted from the first thread that begins.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool over() {
    const double now = now_s();
    double end = 0;
    if (end_s_.load(std::memory_order_relaxed) == 0)
      end_s_.compare_exchange_strong(end, now + seconds_);
    return now >= end_s_.load(std::memory_order_relaxed);
  }

 private:
  double seconds_;
  std::atomic<double> end_s_{0};
};

// Each thread repeats operate(thread, random number, its Done) until the time is over.
template <class Operate>
DoneByAll run_operations(const Settings& settings, unsigned threads, double run_s,
                         Operate operate) {
  std::vector<Done> done(threads);
  Deadline deadline(settings.quick ? run_s / 12 : run_s);
  DoneByAll all;
  all.run = run_threads(threads, [&](unsigned thread) {
    Draw draw(settings.seed + thread);
    Done own;
    for (; own.operations % clock_every != 0 || !deadline.over(); ++own.operations)
      operate(thread, draw(), own);
    keep(own.read_sum);
    done[thread] = own;
  });
  for (const Done& one : done) {
    all.operations += one.operations;
    all.writes += one.writes;
    all.write_s_max = std::max(all.write_s_max, one.write_s_max);
  }
  return all;
}

template <class Map>
double mixed(const Settings& settings, unsigned reads, Use use, unsigned threads,
             Counters& counters) {
  Map map(threads);
  const bool disjoint = use == Use::disjoint;
  const unsigned first_cpu = usable_cpus().front();
  // Disjoint: key % threads is the thread that owns the key.
  for (long key = 0; key < keys_there; ++key) map.add(unsigned(key) % threads, key);
  const long slice = disjoint ? keys_there / threads : keys_there;
  const DoneByAll all =
      run_operations(settings, threads, 0.05, [&](unsigned thread, std::uint64_t drawn, Done& own) {
        if (own.operations == 0 && use == Use::one_cpu) pin_thread({first_cpu});
        const long at = long(drawn % std::uint64_t(slice)),
                   key = disjoint ? at * threads + thread : at;
        if ((drawn >> 20) % 100 < reads) {
          own.read_sum += map.get(thread, key);
        } else {
          map.add(thread, key);
          ++own.writes;
        }
      });
  counters["rate"] = double(all.operations) / all.run.seconds;
  counters["cpu"] = all.run.used.cpu_s() / double(all.operations);
  counters["lost"] = double(keys_there + all.writes - map.sums().values);
  return all.run.seconds;
}

// Not every map supports every use: with ThreadMaps a thread would not see the writes of others.
template <class Map>
constexpr bool possible(Use use) {
  return use == Use::disjoint || !std::is_same_v<Map, ThreadMaps>;
}

// Longer reads: this many keys under one lock.
constexpr int lengths[] = {1, 10, 100, 1'000};
constexpr unsigned length_threads[] = {2, 8};
std::string length_name(const std::string& lock, int length, unsigned threads) {
  return join_name("collections/length", lock, length, threads);
}

template <class Mutex, class ReadLock>
double long_reads(const Settings& settings, int length, unsigned threads, Counters& counters) {
  Mutex mutex;
  PlainMap map;
  for (long key = 0; key < keys_there; ++key) map[key] = 1;
  const DoneByAll all =
      run_operations(settings, threads, 0.1, [&](unsigned, std::uint64_t drawn, Done& own) {
        if ((drawn >> 20) % 100 < 99) {
          const ReadLock lock(mutex);
          for (int i = 0; i < length; ++i)
            own.read_sum += value_in(map, long((drawn + std::uint64_t(i) * 17) % keys_there));
          return;
        }
        const double begin_s = now_s();
        {
          const std::lock_guard lock(mutex);
          ++map[long(drawn % keys_there)];
        }
        own.write_s_max = std::max(own.write_s_max, now_s() - begin_s);
        ++own.writes;
      });
  counters["rate"] = double(all.operations) / all.run.seconds;
  counters["write_max"] = all.write_s_max;
  counters["lost"] = double(keys_there + all.writes - sums_of(map).values);
  return all.run.seconds;
}

std::string short_name(const std::string& map) {
  return map == "shared"                       ? "shared_mutex"
         : map == "sharded"                    ? "shards"
         : map == "hash" || map == "unordered" ? "tbb " + map
                                               : map;
}

std::string leaders(std::vector<std::pair<double, std::string>>& rates) {
  std::sort(rates.rbegin(), rates.rend());
  std::string names;
  for (const auto& [rate, name] : rates)
    if (rate > 0.9 * rates.front().first) names += (names.empty() ? "" : ", ") + name;
  return names;
}

void report_mixes(const Measurements& measured, Report& out) {
  const std::string shown = std::to_string(shown_threads) + " threads";
  Table& all =
      out.add(Table{"mixes", "Million operations per second, " + shown, {"reads:writes", "keys"}});
  Table& cpu = out.add(Table{
      "cpu", "CPU time of one operation (user and system), " + shown, {"reads:writes", "keys"}});
  for (Table* table : {&all, &cpu})
    for_each_map(
        [&]<class Map>(const char*, const char* label, Map*) { table->columns.push_back(label); });
  Table& first = out.add(Table{"fastest",
                               "The fastest of the maps that all threads share, by threads; "
                               "others within 10 % of it behind it",
                               {"reads:writes", "keys"}});
  first.add_columns(thread_counts, [](unsigned threads) { return std::to_string(threads); });
  double lost = 0;
  for (const Use use : uses)
    for (const Mix& mix : mixes) {
      const std::string keys_name = word_for(use);
      std::vector<std::string> all_row{mix.name, keys_name}, cpu_row = all_row;
      std::map<unsigned, std::vector<std::pair<double, std::string>>> rates;  // by threads
      Plot plot{"rate-" + std::to_string(mix.reads) + "-" + keys_name,
                std::string("Reads to writes ") + mix.name + ", " + keys_name + " keys",
                "threads",
                "million operations/s",
                true,
                false};
      for_each_map([&]<class Map>(const char* map, const char* label, Map*) {
        if (!possible<Map>(use)) {
          all_row.push_back("-");
          cpu_row.push_back("-");
          return;
        }
        const auto rate = [&](unsigned threads) {
          return measured.get(mix_name(map, mix.reads, use, threads), "rate") * 1e-6;
        };
        plot.add(label, thread_counts, rate);
        all_row.push_back(count(rate(shown_threads)));
        cpu_row.push_back(
            duration(measured.get(mix_name(map, mix.reads, use, shown_threads), "cpu")));
        if (!std::is_same_v<Map, ThreadMaps>)
          for (const unsigned threads : thread_counts)
            rates[threads].emplace_back(rate(threads).median(), short_name(map));
        const std::string runs = join_name("collections", map, mix.reads, keys_name, "");
        lost = std::max(lost, measured.all(runs, "lost").worst());
      });
      all.rows.push_back(std::move(all_row));
      cpu.rows.push_back(std::move(cpu_row));
      first.add_row({mix.name, keys_name}, thread_counts,
                    [&](unsigned threads) { return leaders(rates[threads]); });
      if (mix.reads != 90) out.add(std::move(plot));  // this mix lies between the other two
    }
  out.check_none("mixes of reads and writes lose no write under any guard", lost, "lost");
}

// The cost of contention: the same threads, but never two at the same time.
void report_one_cpu(const Measurements& measured, Report& out) {
  Table& table = out.add(Table{"one-cpu",
                               "Million operations per second, overlapping keys, " +
                                   std::to_string(shown_threads) + " threads on one CPU and on all",
                               {"reads:writes", "CPUs"}});
  double lost = 0;
  for (const Mix& mix : mixes)
    for (const Use use : {Use::one_cpu, Use::overlapping}) {
      table.rows.push_back(
          {mix.name, use == Use::one_cpu ? "1" : std::to_string(usable_cpus().size())});
      for_each_map([&]<class Map>(const char* map, const char* label, Map*) {
        if (!possible<Map>(use)) return;
        if (table.rows.size() == 1) table.columns.push_back(label);
        const std::string name = mix_name(map, mix.reads, use, shown_threads);
        table.rows.back().push_back(count(measured.get(name, "rate") * 1e-6));
        lost = std::max(lost, measured.get(name, "lost").worst());
      });
    }
  out.check_none("mixes on one CPU lose no write under any guard", lost, "lost");
}

void report_lengths(const Measurements& measured, Report& out) {
  Table& table = out.add(Table{"lengths",
                               "99:1, by keys read under one lock: thousand operations per "
                               "second, and the longest wait of a writer in any run",
                               {"keys in a read", "threads", "std::mutex", "std::shared_mutex",
                                "gain", "longest write, mutex", "longest write, shared_mutex"}});
  Plot& plot =
      out.add(Plot{"lengths", "99:1, by the length of a read: shared_mutex against mutex",
                   "keys read under one lock", "operations/s, shared_mutex : mutex", true, false});
  for (const unsigned threads : length_threads) {
    Series series{std::to_string(threads) + " threads"};
    for (const int length : lengths) {
      const Named mutex(measured, length_name("mutex", length, threads)),
          shared(measured, length_name("shared", length, threads));
      const Sample &exclusive = mutex("rate"), &rate = shared("rate");
      const double gain = rate.median() / exclusive.median();
      table.rows.push_back({number(length), std::to_string(threads), count(exclusive * 1e-3),
                            count(rate * 1e-3), number(gain), duration(mutex("write_max").high()),
                            duration(shared("write_max").high())});
      series.points.push_back(
          {double(length), gain, rate.low() / exclusive.high(), rate.high() / exclusive.low()});
    }
    plot.series.push_back(std::move(series));
  }
  out.check_none("longer reads lose no write under mutex and shared_mutex",
                 measured.all("collections/length/", "lost").worst(), "lost");
}

void prepare(const Settings& settings) {
  for_each_map([]<class Map>(const char* map, const char*, Map*) {
    measure(asked_name(map), write_all<Map>);
  });
  for_each_map([&]<class Map>(const char* map, const char*, Map*) {
    const auto add = [&](unsigned reads, Use use, unsigned threads) {
      if (possible<Map>(use))
        measure(mix_name(map, reads, use, threads), [=](Counters& counters) {
          return mixed<Map>(settings, reads, use, threads, counters);
        });
    };
    for (const Mix& mix : mixes) {
      for (const Use use : uses)
        for (const unsigned threads : thread_counts) add(mix.reads, use, threads);
      add(mix.reads, Use::one_cpu, shown_threads);
    }
  });
  for (const int length : lengths)
    for (const unsigned threads : length_threads) {
      measure(length_name("mutex", length, threads), [=](Counters& counters) {
        return long_reads<std::mutex, std::lock_guard<std::mutex>>(settings, length, threads,
                                                                   counters);
      });
      measure(length_name("shared", length, threads), [=](Counters& counters) {
        return long_reads<std::shared_mutex, std::shared_lock<std::shared_mutex>>(
            settings, length, threads, counters);
      });
    }
}

// Describes how one run of the unguarded map ended.
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
  std::map<std::string, std::string> words;  // ending -> the output of one run with that ending
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
    const Named found(measured, asked_name(name));
    table.rows.push_back(
        {what, there, found.time(), found.median_time("user"), found.median_time("system")});
    out.check_none(what + ": every write of 50 x 1,000 is there", found("missing").worst(),
                   "missing");
  });
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  report_unguarded(settings, out);
  report_guarded(measured, out);
  report_mixes(measured, out);
  report_one_cpu(measured, out);
  report_lengths(measured, out);
}

const Add add(2, {"collections", "2. Collections: which guard for a map that many threads use?",
                  prepare, report});

}  // namespace
}  // namespace exchange::experiments
