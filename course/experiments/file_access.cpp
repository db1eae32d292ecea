// 3. What does a small write cost, and what does it cost to be sure that it is on the disk?

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

constexpr std::size_t record_bytes = 20;  // approximately the size of an order in the journal

// Returns records 0 to count-1, in sequence in memory; valid until a call for more. Main thread.
std::string_view all_records(long count) {
  static std::string made;
  for (long number = long(made.size() / record_bytes); number < count; ++number) {
    char text[record_bytes + 1];
    std::snprintf(text, sizeof text, "%019ld\n", number);
    made.append(text, record_bytes);
  }
  return std::string_view(made).substr(0, std::size_t(count) * record_bytes);
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
  void write(std::string_view bytes) {
    // a regular file takes all bytes or fails
    need(::write(descriptor_, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "write");
  }
  void sync() { need(::fdatasync(descriptor_) == 0, "fdatasync"); }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "experiments.XXXXXX").string();
  int descriptor_ = -1;
};

constexpr long groups[] = {1, 10, 100, 1'000};  // records per commit
constexpr long asked = 100'000;                 // records, in the write-ups
// no fdatasync; with it, the file grows; with it, over existing content
enum class Commit { none, growing, over };
constexpr Commit commits[] = {Commit::none, Commit::growing, Commit::over};
std::string group_name(long group, Commit commit) {
  return join_name("file_access/group", group, int(commit));
}

double write_groups(const Settings& settings, long group, Commit commit, Counters& counters) {
  const long commits_made = settings.quick ? 50 : 500, count = commits_made * group;
  const std::string_view records = all_records(count);
  TemporaryFile file;
  if (commit == Commit::over) {
    file.write(std::string(records.size(), '0'));
    file.sync();
    ::lseek(file.descriptor(), 0, SEEK_SET);
  }
  std::vector<double> took_s;
  const double begin_s = now_s();
  const std::size_t group_bytes = std::size_t(group) * record_bytes;
  for (std::size_t at = 0; at < records.size(); at += group_bytes) {
    const double commit_s = now_s();
    file.write(records.substr(at, group_bytes));
    if (commit != Commit::none) file.sync();
    took_s.push_back(now_s() - commit_s);
  }
  const double seconds = now_s() - begin_s;
  std::sort(took_s.begin(), took_s.end());
  counters["p50"] = took_s[took_s.size() / 2];
  counters["p99"] = took_s[took_s.size() * 99 / 100];
  counters["worst"] = took_s.back();
  counters["rate"] = double(count) / seconds;
  counters["wrong"] = file.content() == records ? 0 : 1;
  return seconds;
}

void prepare(const Settings& settings) {
  for (const long group : groups)
    for (const Commit commit : commits)
      measure(group_name(group, commit),
              [=](Counters& counters) { return write_groups(settings, group, commit, counters); });
}

void report(const Settings&, const Measurements& measured, Report& out) {
  const std::string type = temporary_file_system();
  Table& table = out.add(Table{
      "groups",
      "Group commit: N records in one write, fdatasync after each, the file growing, on " + type,
      {"records in a commit", "commit, median", "99 %", "longest", "records/s",
       "100,000 would take", "file written over: commit, median", "without fdatasync: records/s"}});
  for (const long group : groups) {
    const Named growing(measured, group_name(group, Commit::growing)),
        over(measured, group_name(group, Commit::over)),
        none(measured, group_name(group, Commit::none));
    table.rows.push_back({number(double(group)), growing.time("p50"), growing.median_time("p99"),
                          duration(growing("worst").high()), count(growing("rate")),
                          duration(double(asked) / growing.median("rate")), over.time("p50"),
                          number(none.median("rate"))});
  }
  out.check_none("group commit: all records are read back as written",
                 measured.all("file_access/group/", "wrong").sum(), "files differ");
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
