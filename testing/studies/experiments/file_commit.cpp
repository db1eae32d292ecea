// 3, last part. Many threads, each of which waits until its record is on the disk before it writes
// the next: each with an fdatasync of its own, or one committer that takes all records that wait
// and syncs once for them.

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include "studies/experiments/file_access.hpp"

namespace exchange::experiments {
namespace {

constexpr unsigned thread_counts[] = {1, 4, 16, 64};
// thread 3 writes the records 3,000,000,000 and so on
constexpr long numbers_of_a_thread = 1'000'000'000;

// Each thread writes and syncs for itself; the file is written at its end, so that records never
// overlap.
class EachForItself {
 public:
  explicit EachForItself(TemporaryFile& file) : file_(file) {}
  void commit(const Record& record) {
    {
      const std::lock_guard lock(mutex_);  // of the file's position
      file_.write(record.data(), record.size());
    }
    file_.sync();
  }
  void stop() {}
  double mean_group(long) const { return 1; }

 private:
  TemporaryFile& file_;
  std::mutex mutex_;
};

// While one commit is under way, the next group fills by itself.
class OneCommitter {
 public:
  explicit OneCommitter(TemporaryFile& file) : file_(file), thread_([this] { run(); }) {}
  ~OneCommitter() { stop(); }
  void commit(const Record& record) {
    std::unique_lock lock(mutex_);
    waiting_.insert(waiting_.end(), record.begin(), record.end());
    const long group = filling_;
    something_.notify_one();
    committed_.wait(lock, [&] { return filling_ > group && done_ >= group; });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    something_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  double mean_group(long written) const { return double(written) / double(std::max(done_, 1L)); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::vector<char> group;
    for (;;) {
      something_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      group.clear();
      group.swap(waiting_);
      const long number = filling_++;
      lock.unlock();
      file_.write(group.data(), group.size());
      file_.sync();
      lock.lock();
      done_ = number;
      committed_.notify_all();
    }
  }

  TemporaryFile& file_;
  std::mutex mutex_;
  std::condition_variable something_, committed_;
  std::vector<char> waiting_;
  long filling_ = 1, done_ = 0;  // numbers of groups
  bool stopping_ = false;
  std::thread thread_;  // last: uses all of the above
};

// Of what the threads were told is on the disk: how many records are not in the file exactly once,
// and how many strangers are.
long misplaced(const TemporaryFile& file, const std::vector<long>& acknowledged) {
  const std::string content = file.content();
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at + record_bytes <= content.size(); at += record_bytes)
    found.push_back(std::string_view(content).substr(at, record_bytes));
  std::sort(found.begin(), found.end());
  std::vector<Record> expected;
  for (std::size_t thread = 0; thread < acknowledged.size(); ++thread)
    for (long i = 0; i < acknowledged[thread]; ++i)
      expected.push_back(record_of(long(thread) * numbers_of_a_thread + i));
  long wrong = content.size() == expected.size() * record_bytes ? 0 : 1;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    wrong += found[i] != std::string_view(expected[i].data(), record_bytes);
  return wrong;
}

template <class Journal>
double run_writers(const Settings& settings, unsigned threads, Counters& counters) {
  TemporaryFile file;
  Journal journal(file);
  std::vector<long> acknowledged(threads);
  std::vector<std::vector<double>> waited_s(threads);
  const double run_s = settings.quick ? 0.03 : 0.3;
  const double seconds = run_threads(threads, [&](unsigned thread) {
    const double end_s = now_s() + run_s;
    for (double begin_s = now_s(); begin_s < end_s;) {
      journal.commit(record_of(long(thread) * numbers_of_a_thread + acknowledged[thread]));
      ++acknowledged[thread];
      const double committed_s = now_s();
      waited_s[thread].push_back(committed_s - begin_s);
      begin_s = committed_s;
    }
  });
  journal.stop();
  std::vector<double> all_s;
  for (const auto& of_thread : waited_s)
    all_s.insert(all_s.end(), of_thread.begin(), of_thread.end());
  std::sort(all_s.begin(), all_s.end());
  counters["rate"] = double(all_s.size()) / seconds;
  counters["p50"] = all_s[all_s.size() / 2];
  counters["p99"] = all_s[all_s.size() * 99 / 100];
  counters["group"] = journal.mean_group(long(all_s.size()));
  counters["wrong"] = double(misplaced(file, acknowledged));
  return seconds;
}

std::string name_of(const std::string& journal, unsigned threads) {
  return "file_access/commit/" + journal + "/" + std::to_string(threads);
}

}  // namespace

void prepare_commits(const Settings& settings) {
  for (const unsigned threads : thread_counts) {
    measure(name_of("own", threads), [=](Counters& counters) {
      return run_writers<EachForItself>(settings, threads, counters);
    });
    measure(name_of("one", threads), [=](Counters& counters) {
      return run_writers<OneCommitter>(settings, threads, counters);
    });
  }
}

void report_commits(const Measurements& measured, const std::string& where, Report& out) {
  Table table{"commits",
              "Threads that wait until their record is on the disk, " + where,
              {"threads", "each syncs: records/s", "median wait", "99 %",
               "one committer: records/s", "median wait", "99 %", "records in a commit"},
              {}};
  Plot plot{"commits",
            "Threads that wait until their record is on the disk, " + where,
            "threads",
            "records/s",
            true,
            true,
            {{"each syncs for itself", {}}, {"one committer", {}}}};
  double wrong = 0;
  for (const unsigned threads : thread_counts) {
    const auto of = [&](const char* journal, const char* counter) {
      return measured.of(name_of(journal, threads), counter);
    };
    table.rows.push_back({std::to_string(threads), count(of("own", "rate")),
                          duration(of("own", "p50").median()), duration(of("own", "p99").median()),
                          count(of("one", "rate")), duration(of("one", "p50").median()),
                          duration(of("one", "p99").median()),
                          number(of("one", "group").median())});
    plot.series[0].points.push_back(point(threads, of("own", "rate")));
    plot.series[1].points.push_back(point(threads, of("one", "rate")));
    for (const char* journal : {"own", "one"}) wrong = std::max(wrong, of(journal, "wrong").high());
  }
  out.tables.push_back(std::move(table));
  out.plots.push_back(std::move(plot));
  out.check("each record that a thread was told is on the disk is in the file, once", wrong == 0,
            number(wrong) + " wrong");
}

}  // namespace exchange::experiments
