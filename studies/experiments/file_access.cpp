// 3. What does a small write cost, and what does it cost to know that it is on the disk?
// file_commit.cpp has many writers at once.

#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "studies/experiments/file_access.hpp"

namespace exchange::experiments {
namespace {

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

constexpr long groups[] = {1, 10, 100, 1'000};  // records in a commit
// no fdatasync; with it, the file growing; with it, over what is there
enum class Commit { none, growing, over };
constexpr Commit commits[] = {Commit::none, Commit::growing, Commit::over};
std::string commit_label(Commit commit) {
  return commit == Commit::none      ? "write(2) alone"
         : commit == Commit::growing ? "fdatasync each, file grows"
                                     : "fdatasync each, file written over";
}
std::string group_name(long group, Commit commit) {
  return name_of("file_access/group", group, int(commit));
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

void prepare(const Settings& settings) {
  all_records(records);  // made before any clock runs
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
  prepare_commits(settings);
}

void report_ways(const Measurements& measured, const std::string& where, Report& out) {
  Table& table = out.add(Table{"ways",
                               "100,000 writes of 20 bytes, " + where,
                               {"written with", "there", "here", "user", "system", "times faster",
                                "with fdatasync at the end"}});
  const double slowest_s = measured.of(way_name(ways[0], false)).median();
  for (const Way& way : ways) {
    const Named plain(measured, way_name(way, false)), synced(measured, way_name(way, true));
    table.rows.push_back({way.label, way.there, plain.time(), plain.median_time("user"),
                          plain.median_time("system"),
                          number(slowest_s / plain.median("seconds"), 2), synced.time()});
    out.check_none(way.label + ": all 100,000 records are read back as written",
                   measured.all(name_of("file_access", way.name, ""), "wrong").worst(), "wrong");
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
             [&](long group) { return measured.of(group_name(group, commit), "rate"); });
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
    3,
    {.name = "file_access",
     .title =
         "3. File access: what does a small write cost, and what does it cost to know that it is "
         "on the disk?",
     .asked =
         "100,000 small writes, unbuffered against buffered; and what if each, or each group of "
         "them, must be on the "
         "disk before anything goes on?",
     .prepare = prepare,
     .report = report});

}  // namespace
}  // namespace exchange::experiments
