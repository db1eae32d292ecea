// 3. What does a small write cost, and what does it cost to be sure that it is on the disk?

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr long records = 100'000;
constexpr std::size_t record_bytes = 20;  // approximately the size of an order in the journal
using Record = std::array<char, record_bytes>;

Record record_of(long number) {
  char text[record_bytes + 1];
  std::snprintf(text, sizeof text, "%019ld\n", number);
  Record record;
  std::memcpy(record.data(), text, record_bytes);
  return record;
}

// Returns records 0 to count-1, in sequence in memory; valid until a call for more. Main thread.
std::span<const Record> all_records(long count) {
  static std::vector<Record> made;
  while (long(made.size()) < count) made.push_back(record_of(long(made.size())));
  return std::span<const Record>(made).first(std::size_t(count));
}

// A file in its own folder below TMPDIR; removed with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    need(::mkdtemp(folder_.data()) != nullptr, folder_);
    descriptor_ = ::open(path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    need(descriptor_ >= 0, path());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return folder_ + "/records"; }
  int descriptor() const { return descriptor_; }
  // Writes all bytes at the end of the file, also while others write.
  void write(const void* bytes, std::size_t size) {
    // a regular file takes all bytes or fails
    need(::write(descriptor_, bytes, size) == ssize_t(size), "write");
  }
  void sync() { need(::fdatasync(descriptor_) == 0, "fdatasync"); }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Counts the records from 0 to count-1 that are not in the file as they were written, in
  // sequence.
  long wrong(long count) const {
    const std::string found = content();
    long wrong = found.size() == std::size_t(count) * record_bytes ? 0 : 1;
    for (long i = 0; i < count; ++i)
      wrong += found.size() < std::size_t(i + 1) * record_bytes ||
               std::memcmp(found.data() + i * record_bytes, all_records(count)[i].data(),
                           record_bytes) != 0;
    return wrong;
  }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "experiments.XXXXXX").string();
  int descriptor_ = -1;
};

void write_each(TemporaryFile& file) {
  for (const Record& record : all_records(records)) file.write(record.data(), record.size());
}

void write_with_stdio(TemporaryFile& file) {
  std::FILE* stream = std::fopen(file.path().c_str(), "wb");
  need(stream != nullptr, "fopen");
  for (const Record& record : all_records(records))
    need(std::fwrite(record.data(), record.size(), 1, stream) == 1, "fwrite");
  need(std::fclose(stream) == 0, "fclose");
}

void write_with_stream(TemporaryFile& file, bool flush) {
  std::ofstream stream(file.path(), std::ios::binary);
  for (const Record& record : all_records(records)) {
    stream.write(record.data(), record.size());
    if (flush) stream.flush();
  }
  stream.close();
  if (!stream) throw std::runtime_error("ofstream failed");
}

void write_vectors(TemporaryFile& file, long batch) {
  std::vector<iovec> pieces(batch);
  for (long first = 0; first < records; first += batch) {
    for (long i = 0; i < batch; ++i)
      pieces[i] = {const_cast<char*>(all_records(records)[first + i].data()), record_bytes};
    need(::writev(file.descriptor(), pieces.data(), int(batch)) == batch * long(record_bytes),
         "writev");
  }
}

struct Way {
  std::string name, label, there;
  std::function<void(TemporaryFile&)> write;
};
const Way ways[] = {{"each", "write(2), one for each record", "166 ms", write_each},
                    {"flushed", "std::ofstream, flushed after each record (std::endl)", "-",
                     [](TemporaryFile& file) { write_with_stream(file, true); }},
                    {"stdio", "stdio (fwrite)", "3-6 ms", write_with_stdio},
                    {"stream", "std::ofstream", "3-6 ms",
                     [](TemporaryFile& file) { write_with_stream(file, false); }},
                    {"vector10", "writev, 10 records a call", "-",
                     [](TemporaryFile& file) { write_vectors(file, 10); }},
                    {"vector100", "writev, 100 records a call", "-",
                     [](TemporaryFile& file) { write_vectors(file, 100); }},
                    {"vector1000", "writev, 1,000 records a call", "-",
                     [](TemporaryFile& file) { write_vectors(file, 1'000); }}};
std::string way_name(const Way& way, bool sync) {
  return "file_access/" + way.name + (sync ? "/sync" : "/plain");
}

constexpr long groups[] = {1, 10, 100, 1'000};  // records per commit
// no fdatasync; with it, the file grows; with it, over existing content
enum class Commit { none, growing, over };
constexpr Commit commits[] = {Commit::none, Commit::growing, Commit::over};
std::string commit_label(Commit commit) {
  return commit == Commit::none      ? "write(2) alone"
         : commit == Commit::growing ? "fdatasync each, file grows"
                                     : "fdatasync each, file written over";
}
std::string group_name(long group, Commit commit) {
  return join_name("file_access/group", group, int(commit));
}

double write_groups(const Settings& settings, long group, Commit commit, Counters& counters) {
  const long commits_made = settings.quick ? 50 : 500, count = commits_made * group;
  const char* bytes = all_records(count).front().data();
  TemporaryFile file;
  if (commit == Commit::over) {
    const std::string zeros(std::size_t(count) * record_bytes, '0');
    file.write(zeros.data(), zeros.size());
    file.sync();
    ::lseek(file.descriptor(), 0, SEEK_SET);
  }
  std::vector<double> took_s;
  const double begin_s = now_s();
  for (long done = 0; done < count; done += group) {
    const double commit_s = now_s();
    file.write(bytes + std::size_t(done) * record_bytes, std::size_t(group) * record_bytes);
    if (commit != Commit::none) file.sync();
    took_s.push_back(now_s() - commit_s);
  }
  const double seconds = now_s() - begin_s;
  set_quantiles(counters, std::move(took_s));
  counters["rate"] = double(count) / seconds;
  counters["wrong"] = double(file.wrong(count));
  return seconds;
}

// Many threads, each of which waits until its record is on the disk before it writes the next.
// Either each thread calls fdatasync itself, or one committer takes all waiting records and syncs
// once for them.
constexpr unsigned thread_counts[] = {1, 4, 16, 64};
// thread 3 writes the records 3,000,000,000 and so on
constexpr long numbers_of_a_thread = 1'000'000'000;

// Each thread writes and syncs by itself; it writes at the end of the file, so that records never
// overlap.
class EachForItself {
 public:
  explicit EachForItself(TemporaryFile& file) : file_(file) {}
  void commit(const Record& record) {
    {
      const std::lock_guard lock(mutex_);  // guards the file's position
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

// While one commit is in progress, the next group fills.
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
  std::thread thread_;  // last: it uses all members above
};

// Counts the acknowledged records that are not in the file exactly once, and all other records in
// it.
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
  return join_name("file_access/commit", journal, threads);
}

void prepare(const Settings& settings) {
  all_records(records);  // made before the clocks start
  for (const Way& way : ways)
    for (const bool sync : {false, true})
      measure(way_name(way, sync), [&way, sync](Counters& counters) {
        TemporaryFile file;
        const Meter meter;
        way.write(file);
        if (sync) file.sync();
        const Run run = meter.stop();
        counters["user"] = run.used.user_s;
        counters["system"] = run.used.system_s;
        counters["wrong"] = double(file.wrong(records));
        return run.seconds;
      });
  for (const long group : groups)
    for (const Commit commit : commits)
      measure(group_name(group, commit),
              [=](Counters& counters) { return write_groups(settings, group, commit, counters); });
  for (const unsigned threads : thread_counts) {
    measure(commit_name("own", threads), [=](Counters& counters) {
      return run_writers<EachForItself>(settings, threads, counters);
    });
    measure(commit_name("one", threads), [=](Counters& counters) {
      return run_writers<OneCommitter>(settings, threads, counters);
    });
  }
}

void report_ways(const Measurements& measured, const std::string& where, Report& out) {
  Table& table = out.add(Table{"ways",
                               "100,000 writes of 20 bytes, " + where,
                               {"written with", "there", "here", "user", "system", "times faster",
                                "with fdatasync at the end"}});
  const double slowest_s = measured.get(way_name(ways[0], false)).median();
  for (const Way& way : ways) {
    const Named plain(measured, way_name(way, false)), synced(measured, way_name(way, true));
    table.rows.push_back({way.label, way.there, plain.time(), plain.median_time("user"),
                          plain.median_time("system"),
                          number(slowest_s / plain.median("seconds"), 2), synced.time()});
    out.check_none(way.label + ": all 100,000 records are read back as written",
                   measured.all(join_name("file_access", way.name, ""), "wrong").worst(), "wrong");
  }
}

void report_groups(const Measurements& measured, const std::string& where, Report& out) {
  Table& table = out.add(Table{
      "groups",
      "Group commit: N records in one write, fdatasync after each, the file growing, " + where,
      {"records in a commit", "commit, median", "99 %", "longest", "records/s",
       "100,000 would take", "file written over: commit, median", "without fdatasync: records/s"}});
  Plot& plot = out.add(Plot{"groups", "Group commit: records per second, " + where,
                            "records in a commit", "records/s"});
  for (const Commit commit : commits)
    plot.add(commit_label(commit), groups,
             [&](long group) { return measured.get(group_name(group, commit), "rate"); });
  for (const long group : groups) {
    const Named growing(measured, group_name(group, Commit::growing)),
        over(measured, group_name(group, Commit::over)),
        none(measured, group_name(group, Commit::none));
    table.rows.push_back({number(double(group)), growing.time("p50"), growing.median_time("p99"),
                          duration(growing("worst").high()), count(growing("rate")),
                          duration(double(records) / growing.median("rate")), over.time("p50"),
                          number(none.median("rate"))});
  }
  out.check_none("group commit: all records are read back as written",
                 measured.all("file_access/group/", "wrong").worst(), "wrong");
}

void report_commits(const Measurements& measured, const std::string& where, Report& out) {
  Table& table =
      out.add(Table{"commits",
                    "Threads that wait until their record is on the disk, " + where,
                    {"threads", "each syncs: records/s", "median wait", "99 %",
                     "one committer: records/s", "median wait", "99 %", "records in a commit"}});
  Plot& plot = out.add(Plot{"commits", table.title, "threads", "records/s"});
  const auto sample = [&](const char* journal, unsigned threads) {
    return Named(measured, commit_name(journal, threads));
  };
  for (const unsigned threads : thread_counts) {
    table.rows.push_back({std::to_string(threads)});
    for (const char* journal : {"own", "one"})
      for (const std::string& cell :
           {count(sample(journal, threads)("rate")), sample(journal, threads).median_time("p50"),
            sample(journal, threads).median_time("p99")})
        table.rows.back().push_back(cell);
    table.rows.back().push_back(number(sample("one", threads).median("group")));
  }
  for (const auto& [journal, label] :
       {std::pair{"own", "each syncs for itself"}, {"one", "one committer"}})
    plot.add(label, thread_counts,
             [&, journal = journal](unsigned threads) { return sample(journal, threads)("rate"); });
  out.check_none("each record acknowledged as on the disk is in the file, once",
                 measured.all("file_access/commit/", "wrong").worst(), "wrong");
}

void report(const Settings&, const Measurements& measured, Report& out) {
  const std::string type = temporary_file_system();
  report_ways(measured, "on " + type, out);
  report_groups(measured, "on " + type, out);
  report_commits(measured, "on " + type, out);
  if (type == "tmpfs" || type == "ramfs")
    out.notes.push_back(
        "the temporary folder is on " + type +
        ", where fdatasync has nothing to do: set TMPDIR to a folder on a disk to see what a "
        "commit costs");
}

const Add add(
    3, {"file_access",
        "3. File access: what does a small write cost, and what does it cost to know that it is on "
        "the disk?",
        prepare, report});

}  // namespace
}  // namespace exchange::experiments
