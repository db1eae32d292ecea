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

// How many of the acknowledged records are not in the file exactly once, and how many others are.
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
  const Run run = run_threads(threads, [&](unsigned thread) {
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
  counters["rate"] = double(all_s.size()) / run.seconds;
  counters["group"] = journal.mean_group(long(all_s.size()));
  set_quantiles(counters, std::move(all_s));
  counters["wrong"] = double(misplaced(file, acknowledged));
  return run.seconds;
}

std::string commit_name(const std::string& journal, unsigned threads) {
  return name_of("file_access/commit", journal, threads);
}

}  // namespace

void prepare_commits(const Settings& settings) {
  for (const unsigned threads : thread_counts) {
    measure(commit_name("own", threads), [=](Counters& counters) {
      return run_writers<EachForItself>(settings, threads, counters);
    });
    measure(commit_name("one", threads), [=](Counters& counters) {
      return run_writers<OneCommitter>(settings, threads, counters);
    });
  }
}

void report_commits(const Measurements& measured, const std::string& where, Report& out) {
  Table& table =
      out.add(Table{"commits",
                    "Threads that wait until their record is on the disk, " + where,
                    {"threads", "each syncs: records/s", "median wait", "99 %",
                     "one committer: records/s", "median wait", "99 %", "records in a commit"}});
  Plot& plot = out.add(Plot{"commits", table.title, "threads", "records/s"});
  const auto of = [&](const char* journal, unsigned threads) {
    return Named(measured, commit_name(journal, threads));
  };
  for (const unsigned threads : thread_counts) {
    table.rows.push_back({std::to_string(threads)});
    for (const char* journal : {"own", "one"})
      for (const std::string& cell :
           {count(of(journal, threads)("rate")), of(journal, threads).median_time("p50"),
            of(journal, threads).median_time("p99")})
        table.rows.back().push_back(cell);
    table.rows.back().push_back(number(of("one", threads).median("group")));
  }
  for (const auto& [journal, label] :
       {std::pair{"own", "each syncs for itself"}, {"one", "one committer"}})
    plot.add(label, thread_counts,
             [&, journal = journal](unsigned threads) { return of(journal, threads)("rate"); });
  out.check_none("each record acknowledged as on the disk is in the file, once",
                 measured.all("file_access/commit/", "wrong").worst(), "wrong");
}

}  // namespace exchange::experiments
