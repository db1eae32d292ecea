// 2, second half. Mixes of reads and writes: where does the ranking of the guards turn?

#include <algorithm>
#include <type_traits>

#include "studies/experiments/collections.hpp"

namespace exchange::experiments {
namespace {

constexpr long keys = 8'192;  // all there from the beginning
constexpr unsigned thread_counts[] = {1, 2, 4, 8, 16, 32, 64};
constexpr unsigned shown_threads = 8;  // in the table of all guards
constexpr unsigned clock_every = 32;   // operations between two looks at the clock

struct Mix {
  unsigned reads;  // percent
  const char* name;
};
constexpr Mix mixes[] = {{99, "99:1"}, {90, "90:10"}, {50, "50:50"}};

// of keys by threads; overlapping keys, but all threads pinned to one CPU
enum class Use { overlapping, disjoint, one_cpu };
constexpr Use uses[] = {Use::overlapping, Use::disjoint};
const char* word_for(Use use) {
  return use == Use::overlapping ? "overlapping" : use == Use::disjoint ? "disjoint" : "one-cpu";
}

std::string name_of(const std::string& map, unsigned reads, Use use, unsigned threads) {
  return "collections/" + map + "/" + std::to_string(reads) + "/" + word_for(use) + "/" +
         std::to_string(threads);
}

// Numbers drawn at random, cheaper than what is measured.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  std::uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Du >> 16;
  }

 private:
  std::uint64_t state_;
};

// What one thread did, and then all together.
struct alignas(64) Done {
  long operations = 0, writes = 0, read_sum = 0;
  double write_s_max = 0;
};

Done total(const std::vector<Done>& done) {
  Done all;
  for (const Done& one : done) {
    all.operations += one.operations;
    all.writes += one.writes;
    all.write_s_max = std::max(all.write_s_max, one.write_s_max);
  }
  return all;
}

// The same end for all threads, counted from the first that begins.
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
  Map map(threads);
  const bool disjoint = use == Use::disjoint;
  const unsigned first_cpu = usable_cpus().front();
  // Disjoint: key % threads is the thread that it belongs to.
  for (long key = 0; key < keys; ++key) map.add(unsigned(key) % threads, key);
  std::vector<Done> done(threads);
  Deadline deadline(settings.quick ? 0.004 : 0.05);
  const CpuTime before = cpu_time();
  const double seconds = run_threads(threads, [&](unsigned thread) {
    if (use == Use::one_cpu) pin_thread({first_cpu});
    Draw draw(settings.seed + thread);
    Done own;
    const long slice = disjoint ? keys / threads : keys;
    for (; own.operations % clock_every != 0 || !deadline.over(); ++own.operations) {
      const std::uint64_t drawn = draw();
      const long at = long(drawn % std::uint64_t(slice)),
                 key = disjoint ? at * threads + thread : at;
      if ((drawn >> 20) % 100 < reads) {
        own.read_sum += map.get(thread, key);
      } else {
        map.add(thread, key);
        ++own.writes;
      }
    }
    benchmark::DoNotOptimize(own.read_sum);
    done[thread] = own;
  });
  const CpuTime after = cpu_time();
  const Done all = total(done);
  counters["rate"] = double(all.operations) / seconds;
  counters["cpu"] =
      (after.user_s - before.user_s + after.system_s - before.system_s) / double(all.operations);
  counters["lost"] = double(keys + all.writes - map.sums().values);
  return seconds;
}

// Not every map can be used so: maps of their own would not show the writes of other threads.
template <class Map>
constexpr bool possible(Use use) {
  return use == Use::disjoint || !std::is_same_v<Map, ThreadMaps>;
}

// Reads that take longer: so many keys under one lock.
constexpr int lengths[] = {1, 10, 100, 1'000};
constexpr unsigned length_threads[] = {2, 8};
std::string length_name(const std::string& lock, int length, unsigned threads) {
  return "collections/length/" + lock + "/" + std::to_string(length) + "/" +
         std::to_string(threads);
}

template <class Mutex, class ReadLock>
double long_reads(const Settings& settings, int length, unsigned threads, Counters& counters) {
  Mutex mutex;
  PlainMap map;
  for (long key = 0; key < keys; ++key) map[key] = 1;
  std::vector<Done> done(threads);
  Deadline deadline(settings.quick ? 0.01 : 0.1);
  const double seconds = run_threads(threads, [&](unsigned thread) {
    Draw draw(settings.seed + thread);
    Done own;
    for (; own.operations % clock_every != 0 || !deadline.over(); ++own.operations) {
      const std::uint64_t drawn = draw();
      if ((drawn >> 20) % 100 < 99) {
        const ReadLock lock(mutex);
        for (int i = 0; i < length; ++i)
          own.read_sum += value_in(map, long((drawn + std::uint64_t(i) * 17) % keys));
      } else {
        const double begin_s = now_s();
        {
          const std::lock_guard lock(mutex);
          ++map[long(drawn % keys)];
        }
        own.write_s_max = std::max(own.write_s_max, now_s() - begin_s);
        ++own.writes;
      }
    }
    benchmark::DoNotOptimize(own.read_sum);
    done[thread] = own;
  });
  const Done all = total(done);
  counters["rate"] = double(all.operations) / seconds;
  counters["write_max"] = all.write_s_max;
  counters["lost"] = double(keys + all.writes - sums_of(map).values);
  return seconds;
}

Sample scaled(Sample sample, double factor) {
  for (double& value : sample.values) value *= factor;
  return sample;
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
  Table all{"mixes",
            "Million operations per second, " + std::to_string(shown_threads) + " threads",
            {"reads:writes", "keys"},
            {}};
  Table cpu{
      "cpu",
      "CPU time of one operation (user and system), " + std::to_string(shown_threads) + " threads",
      all.columns,
      {}};
  for_each_map([&]<class Map>(const char*, const char* label, Map*) {
    all.columns.push_back(label);
    cpu.columns.push_back(label);
  });
  Table first{
      "fastest",
      "The fastest of the maps that all threads share, by threads; others within 10 % of it behind it",
      {"reads:writes", "keys"},
      {}};
  for (const unsigned threads : thread_counts) first.columns.push_back(std::to_string(threads));
  double lost = 0;
  for (const Use use : uses)
    for (const Mix& mix : mixes) {
      const std::string keys_name = word_for(use);
      std::vector<std::string> all_row{mix.name, keys_name}, cpu_row = all_row, first_row = all_row;
      std::vector<std::vector<std::pair<double, std::string>>> rates(std::size(thread_counts));
      Plot plot{"rate-" + std::to_string(mix.reads) + "-" + keys_name,
                std::string("Reads to writes ") + mix.name + ", " + keys_name + " keys",
                "threads",
                "million operations/s",
                true,
                false,
                {}};
      for_each_map([&]<class Map>(const char* map, const char* label, Map*) {
        if (!possible<Map>(use)) {
          all_row.push_back("-");
          cpu_row.push_back("-");
          return;
        }
        Series series{label, {}};
        for (std::size_t i = 0; i < std::size(thread_counts); ++i) {
          const std::string name = name_of(map, mix.reads, use, thread_counts[i]);
          const Sample rate = scaled(measured.of(name, "rate"), 1e-6);
          series.points.push_back(point(thread_counts[i], rate));
          if (thread_counts[i] == shown_threads) {
            all_row.push_back(count(rate));
            cpu_row.push_back(duration(measured.of(name, "cpu")));
          }
          if (!std::is_same_v<Map, ThreadMaps>)
            rates[i].emplace_back(rate.median(), short_name(map));
          lost =
              std::max({lost, measured.of(name, "lost").high(), -measured.of(name, "lost").low()});
        }
        plot.series.push_back(std::move(series));
      });
      for (auto& of_threads : rates) first_row.push_back(leaders(of_threads));
      all.rows.push_back(std::move(all_row));
      cpu.rows.push_back(std::move(cpu_row));
      first.rows.push_back(std::move(first_row));
      if (mix.reads != 90) out.plots.push_back(std::move(plot));  // it lies between the other two
    }
  out.tables.push_back(std::move(all));
  out.tables.push_back(std::move(cpu));
  out.tables.push_back(std::move(first));
  out.check("mixes of reads and writes lose no write under any guard", lost == 0,
            number(lost) + " lost");
}

// What contention costs: the same threads, but never two at the same time.
void report_one_cpu(const Measurements& measured, Report& out) {
  Table table{"one-cpu",
              "Million operations per second, overlapping keys, " + std::to_string(shown_threads) +
                  " threads on one CPU and on all",
              {"reads:writes", "CPUs"},
              {}};
  double lost = 0;
  for (const Mix& mix : mixes)
    for (const Use use : {Use::one_cpu, Use::overlapping}) {
      table.rows.push_back(
          {mix.name, use == Use::one_cpu ? "1" : std::to_string(usable_cpus().size())});
      for_each_map([&]<class Map>(const char* map, const char* label, Map*) {
        if (!possible<Map>(use)) return;
        if (table.rows.size() == 1) table.columns.push_back(label);
        const std::string name = name_of(map, mix.reads, use, shown_threads);
        table.rows.back().push_back(count(scaled(measured.of(name, "rate"), 1e-6)));
        lost = std::max({lost, measured.of(name, "lost").high(), -measured.of(name, "lost").low()});
      });
    }
  out.tables.push_back(std::move(table));
  out.check("mixes on one CPU lose no write under any guard", lost == 0, number(lost) + " lost");
}

void report_lengths(const Measurements& measured, Report& out) {
  Table table{
      "lengths",
      "99:1, so many keys read under one lock: thousand operations per second, and the longest wait of a writer in any run",
      {"keys in a read", "threads", "std::mutex", "std::shared_mutex", "gain",
       "longest write, mutex", "longest write, shared_mutex"},
      {}};
  Plot plot{"lengths",
            "99:1, by the length of a read: shared_mutex against mutex",
            "keys read under one lock",
            "operations/s, shared_mutex : mutex",
            true,
            false,
            {}};
  double lost = 0;
  for (const unsigned threads : length_threads) {
    Series series{std::to_string(threads) + " threads", {}};
    for (const int length : lengths) {
      const auto rate = [&](const char* lock) {
        return measured.of(length_name(lock, length, threads), "rate");
      };
      const auto thousands = [&](const char* lock) { return count(scaled(rate(lock), 1e-3)); };
      const auto longest = [&](const char* lock) {
        return duration(measured.of(length_name(lock, length, threads), "write_max").high());
      };
      const double gain = rate("shared").median() / rate("mutex").median();
      table.rows.push_back({number(length), std::to_string(threads), thousands("mutex"),
                            thousands("shared"), number(gain), longest("mutex"),
                            longest("shared")});
      series.points.push_back({double(length), gain, rate("shared").low() / rate("mutex").high(),
                               rate("shared").high() / rate("mutex").low()});
      for (const char* lock : {"mutex", "shared"})
        lost = std::max({lost, measured.of(length_name(lock, length, threads), "lost").high(),
                         -measured.of(length_name(lock, length, threads), "lost").low()});
    }
    plot.series.push_back(std::move(series));
  }
  out.tables.push_back(std::move(table));
  out.plots.push_back(std::move(plot));
  out.check("longer reads lose no write under mutex and shared_mutex", lost == 0,
            number(lost) + " lost");
}

}  // namespace

void prepare_readers(const Settings& settings) {
  for_each_map([&]<class Map>(const char* map, const char*, Map*) {
    for (const Mix& mix : mixes)
      for (const Use use : uses)
        for (const unsigned threads : thread_counts)
          if (possible<Map>(use))
            measure(name_of(map, mix.reads, use, threads),
                    [=, reads = mix.reads](Counters& counters) {
                      return mixed<Map>(settings, reads, use, threads, counters);
                    });
  });
  for_each_map([&]<class Map>(const char* map, const char*, Map*) {
    for (const Mix& mix : mixes)
      if (possible<Map>(Use::one_cpu))
        measure(name_of(map, mix.reads, Use::one_cpu, shown_threads),
                [=, reads = mix.reads](Counters& counters) {
                  return mixed<Map>(settings, reads, Use::one_cpu, shown_threads, counters);
                });
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

void report_readers(const Settings&, const Measurements& measured, Report& out) {
  report_mixes(measured, out);
  report_one_cpu(measured, out);
  report_lengths(measured, out);
}

}  // namespace exchange::experiments
