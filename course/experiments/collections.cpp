// 2. Which guard is best for a map that many threads use? Mixes of reads and writes: where does the
// ranking of the guards change?

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_unordered_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

// Maps from number to number that many threads write, each with another guard. All have the same
// three operations:
//   add(key)   adds one to the value of the key; the value starts at 0
//   get(key)   returns the value
//   sum()      after all threads are done: the sum of all values

using PlainMap = std::unordered_map<long, long>;
long value_in(const PlainMap& map, long key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}
template <class Map>
long sum_of(const Map& map) {
  long sum = 0;
  for (const auto& [key, value] : map) sum += value;
  return sum;
}

// One lock for the whole map; readers may lock it in another way.
template <class Mutex, class ReadLock>
class LockedMap {
 public:
  void add(long key) {
    const std::lock_guard lock(mutex_);
    ++map_[key];
  }
  long get(long key) {
    const ReadLock lock(mutex_);
    return value_in(map_, key);
  }
  long sum() { return sum_of(map_); }

 private:
  Mutex mutex_;
  PlainMap map_;
};
using MutexMap = LockedMap<std::mutex, std::lock_guard<std::mutex>>;
using SharedMutexMap = LockedMap<std::shared_mutex, std::shared_lock<std::shared_mutex>>;

class ShardedMap {
 public:
  void add(long key) { shard(key).add(key); }
  long get(long key) { return shard(key).get(key); }
  long sum() {
    long all = 0;
    for (Shard& shard : shards_) all += shard.map.sum();
    return all;
  }

 private:
  struct alignas(64) Shard {  // so that the locks of two shards do not share a cache line
    MutexMap map;
  };
  MutexMap& shard(long key) { return shards_[std::uint64_t(key) * 0x9E3779B97F4A7C15u >> 60].map; }
  std::array<Shard, 16> shards_;
};

class TbbHashMap {
 public:
  void add(long key) {
    Map::accessor accessor;
    map_.insert(accessor, key);
    ++accessor->second;
  }
  long get(long key) {
    Map::const_accessor accessor;
    return map_.find(accessor, key) ? accessor->second : 0;
  }
  long sum() { return sum_of(map_); }

 private:
  using Map = tbb::concurrent_hash_map<long, long>;
  Map map_;
};

// Never locks, but cannot erase while others use it, and its values themselves must be safe to
// share.
class TbbUnorderedMap {
 public:
  void add(long key) { map_[key].fetch_add(1, std::memory_order_relaxed); }
  long get(long key) {
    const auto found = map_.find(key);
    return found == map_.end() ? 0 : found->second.load(std::memory_order_relaxed);
  }
  long sum() { return sum_of(map_); }

 private:
  tbb::concurrent_unordered_map<long, std::atomic<long>> map_;
};

// Calls visit(name, label, a null pointer to the map) for each kind of map.
template <class Visit>
void for_each_map(Visit visit) {
  visit("mutex", "std::mutex", static_cast<MutexMap*>(nullptr));
  visit("shared", "std::shared_mutex", static_cast<SharedMutexMap*>(nullptr));
  visit("sharded", "16 shards, a mutex each", static_cast<ShardedMap*>(nullptr));
  visit("hash", "tbb::concurrent_hash_map", static_cast<TbbHashMap*>(nullptr));
  visit("unordered", "tbb::concurrent_unordered_map", static_cast<TbbUnorderedMap*>(nullptr));
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

enum class Use { overlapping, disjoint };  // of keys by threads
constexpr Use uses[] = {Use::overlapping, Use::disjoint};
const char* word_for(Use use) { return use == Use::overlapping ? "overlapping" : "disjoint"; }

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

struct alignas(64) Done {  // by one thread
  long operations = 0, writes = 0, read_sum = 0;
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

template <class Map>
double mixed(const Settings& settings, unsigned reads, Use use, unsigned threads,
             Counters& counters) {
  Map map;
  const bool disjoint = use == Use::disjoint;
  for (long key = 0; key < keys_there; ++key) map.add(key);
  // Disjoint: key % threads is the thread that owns the key.
  const long slice = disjoint ? keys_there / threads : keys_there;
  std::vector<Done> done(threads);
  Deadline deadline(settings.quick ? 0.004 : 0.05);
  const Run run = run_threads(threads, [&](unsigned thread) {
    Draw draw(settings.seed + thread);
    Done own;
    for (; own.operations % clock_every != 0 || !deadline.over(); ++own.operations) {
      const std::uint64_t drawn = draw();
      const long at = long(drawn % std::uint64_t(slice)),
                 key = disjoint ? at * threads + thread : at;
      if ((drawn >> 20) % 100 < reads) {
        own.read_sum += map.get(key);
      } else {
        map.add(key);
        ++own.writes;
      }
    }
    keep(own.read_sum);
    done[thread] = own;
  });
  long operations = 0, writes = 0;
  for (const Done& one : done) {
    operations += one.operations;
    writes += one.writes;
  }
  counters["rate"] = double(operations) / run.seconds;
  counters["cpu"] = run.cpu_s / double(operations);
  counters["lost"] = double(keys_there + writes - map.sum());
  return run.seconds;
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

void report(const Settings&, const Measurements& measured, Report& out) {
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
  for (const Use use : uses)
    for (const Mix& mix : mixes) {
      std::vector<std::string> all_row{mix.name, word_for(use)}, cpu_row = all_row;
      std::map<unsigned, std::vector<std::pair<double, std::string>>> rates;  // by threads
      for_each_map([&]<class Map>(const char* map, const char*, Map*) {
        const auto found = [&](unsigned threads) {
          return Named(measured, mix_name(map, mix.reads, use, threads));
        };
        all_row.push_back(count(found(shown_threads)("rate") * 1e-6));
        cpu_row.push_back(found(shown_threads).time("cpu"));
        for (const unsigned threads : thread_counts)
          rates[threads].emplace_back(found(threads).median("rate"), short_name(map));
      });
      all.rows.push_back(std::move(all_row));
      cpu.rows.push_back(std::move(cpu_row));
      first.add_row({mix.name, word_for(use)}, thread_counts,
                    [&](unsigned threads) { return leaders(rates[threads]); });
    }
  out.check_none("mixes of reads and writes lose no write under any guard",
                 measured.all("collections/", "lost").worst(), "lost");
}

void prepare(const Settings& settings) {
  for_each_map([&]<class Map>(const char* map, const char*, Map*) {
    for (const Mix& mix : mixes)
      for (const Use use : uses)
        for (const unsigned threads : thread_counts)
          measure(mix_name(map, mix.reads, use, threads),
                  [settings, reads = mix.reads, use, threads](Counters& counters) {
                    return mixed<Map>(settings, reads, use, threads, counters);
                  });
  });
}

const Add add(2, {"collections", "2. Collections: which guard for a map that many threads use?",
                  prepare, report});

}  // namespace
}  // namespace exchange::experiments
