// 7. Does it help to read and write without waiting?

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "course/experiments/io_files.hpp"
#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

struct Suite {
  std::string key, label, asynchronous_there, synchronous_there;
  unsigned streams;          // readers, and as many writers
  std::size_t writer_bytes;  // of each
  // units of other work, about 10 us each: none, or the same number in every suite that has some
  unsigned work_units;
};

constexpr std::size_t read_bytes = 10 * kilobyte, write_bytes = 1'000 * kilobyte;  // of a piece
constexpr unsigned files_max = 20;
constexpr unsigned work_steps = 5'000;  // of a unit

std::size_t bytes_read(const Settings& settings) {  // by each reader
  return (settings.quick ? 40 : 400) * read_bytes;
}
std::vector<Suite> suites(const Settings& settings) {
  const bool quick = settings.quick;
  const std::size_t lone = (quick ? 2 : 10) * write_bytes, each = (quick ? 1 : 3) * write_bytes;
  const unsigned work = quick ? 1'000 : 10'000;
  return {{"a", "(a) long I/O: 1 reader, 1 writer, other work", "0.88 s", "2.29 s", 1, lone, work},
          {"c", "(c) 20 readers, 20 writers", "1.03 s", "2.14 s", files_max, each, 0},
          {"d", "(d) as (c), with other work", "6.59 s", "7.91 s", files_max, each, work}};
}

struct Way {
  std::string key, label;
  std::unique_ptr<IoQueue> (*make_queue)();  // nullptr: blocking calls
  bool threads = false;
};
const Way ways[] = {{"blocking", "blocking", nullptr},
                    {"threads", "blocking, thread each", nullptr, true},
                    {"aio", "POSIX aio", make_aio_queue},
                    {"uring", "io_uring", make_uring_queue}};

class OtherWork {
 public:
  explicit OtherWork(unsigned units) : units_(units) {}
  unsigned left() const { return units_ - done_; }
  void run_unit() {
    for (unsigned step = 0; step < work_steps; ++step) next_random(state_);
    ++done_;
  }
  std::uint64_t state() const { return state_; }

 private:
  unsigned units_, done_ = 0;
  std::uint64_t state_ = 1;
};

// Created before the first measurement, closed after the last.
struct Files {
  std::vector<Buffer> contents_read;  // the expected content for readers
  std::vector<std::unique_ptr<File>> read, written;
  std::uint64_t work_result = 0;  // of all units of a suite
};
std::unique_ptr<Files> files;

std::unique_ptr<Files> make_files(const Settings& settings) {
  auto made = std::make_unique<Files>();
  std::size_t bytes_written = 0;
  for (const Suite& suite : suites(settings))
    bytes_written = std::max(bytes_written, suite.writer_bytes);
  for (unsigned i = 0; i < files_max; ++i) {
    made->contents_read.emplace_back(bytes_read(settings)).fill(i);
    made->read.push_back(std::make_unique<File>(made->contents_read.back()));
    made->written.push_back(std::make_unique<File>(Buffer(bytes_written)));
  }
  OtherWork work(suites(settings).front().work_units);
  while (work.left() > 0) work.run_unit();
  made->work_result = work.state();
  return made;
}

struct Outcome {
  double seconds = 0;
  unsigned damaged = 0;  // files, read or written, with wrong content
  bool work_done = false;
};

// One thread does the other work and checks for completed operations between two units.
void drive(IoQueue& queue, std::vector<std::unique_ptr<Stream>>& streams, OtherWork& work) {
  std::size_t open = streams.size();
  std::vector<Operation*> done;
  for (const auto& stream : streams) stream->begin(queue);
  while (open > 0 || work.left() > 0) {
    if (open > 0) queue.completed(work.left() == 0, done);
    for (Operation* operation : done) {
      Stream& stream = *static_cast<Stream*>(operation->owner);
      stream.completed(queue);
      if (stream.done()) --open;
    }
    done.clear();
    if (work.left() > 0) work.run_unit();
  }
}

// One thread runs the streams and the work one after the other.
void drive_in_turn(std::vector<std::unique_ptr<Stream>>& streams, OtherWork& work) {
  for (const auto& stream : streams) stream->run();
  while (work.left() > 0) work.run_unit();
}

void drive_threads(std::vector<std::unique_ptr<Stream>>& streams, OtherWork& work) {
  const unsigned count = unsigned(streams.size());
  run_threads(count + (work.left() > 0 ? 1 : 0), [&](unsigned thread) {
    if (thread < count)
      streams[thread]->run();
    else
      while (work.left() > 0) work.run_unit();
  });
}

Outcome run(const Suite& suite, const Way& way) {
  // new in every run, so that the content found was written by it
  static std::uint64_t content = files_max;
  std::vector<Buffer> into, from;
  std::vector<std::unique_ptr<Stream>> streams;
  for (unsigned i = 0; i < suite.streams; ++i) {
    into.emplace_back(files->contents_read[i].size());
    from.emplace_back(suite.writer_bytes).fill(++content);
  }
  for (unsigned i = 0; i < suite.streams; ++i)
    streams.push_back(
        std::make_unique<Stream>(files->read[i]->direct(), false, into[i], read_bytes));
  for (unsigned i = 0; i < suite.streams; ++i)
    streams.push_back(
        std::make_unique<Stream>(files->written[i]->direct(), true, from[i], write_bytes));

  Outcome outcome;
  OtherWork work(suite.work_units);
  const Meter meter;
  if (way.make_queue)
    drive(*way.make_queue(), streams, work);
  else
    (way.threads ? drive_threads : drive_in_turn)(streams, work);
  outcome.seconds = meter.stop().seconds;
  outcome.work_done =
      work.state() == (suite.work_units > 0 ? files->work_result : OtherWork(0).state());
  for (unsigned i = 0; i < suite.streams; ++i) {
    outcome.damaged +=
        std::memcmp(into[i].data(), files->contents_read[i].data(), into[i].size()) != 0;
    outcome.damaged += !files->written[i]->holds(from[i]);
    files->written[i]->sync();  // so that the next run does not include its cost
  }
  return outcome;
}

// Returns why this cannot be measured here; empty if it can.
std::string refusal(const Way& way) {
  for (const std::size_t bytes : {read_bytes, write_bytes})
    if (const std::string why = direct_refusal(bytes); !why.empty())
      return "O_DIRECT, " + number(double(bytes)) + " bytes at a time: " + why;
  if (!way.make_queue) return "";
  try {
    way.make_queue();
  } catch (const std::system_error& error) {
    return way.label + ": " + error.what();
  }
  return "";
}

std::string measured_name(const Suite& suite, const Way& way) {
  return join_name("io", suite.key, way.key);
}

void prepare(const Settings& settings) {
  files = make_files(settings);
  for (const Way& way : ways) {
    if (!refusal(way).empty()) continue;
    for (const Suite& suite : suites(settings))
      measure(measured_name(suite, way), [suite, way](Counters& counters) {
        const Outcome outcome = run(suite, way);
        counters["damaged"] = outcome.damaged;
        counters["work_missing"] = outcome.work_done ? 0 : 1;
        return outcome.seconds;
      });
  }
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  out.notes.push_back("temporary files in " + std::filesystem::temp_directory_path().string() +
                      ", " + temporary_file_system());
  Table& times = out.add(
      Table{"direct", "O_DIRECT: time of everything", {"suite", "there: async", "there: sync"}});
  for (const Way& way : ways) {
    times.columns.push_back(way.label);
    const std::string why = refusal(way);
    if (!why.empty() && std::find(out.notes.begin(), out.notes.end(), why) == out.notes.end())
      out.notes.push_back(why);
  }
  for (const Suite& suite : suites(settings))
    times.add_row({suite.label, suite.asynchronous_there, suite.synchronous_there}, ways,
                  [&](const Way& way) {
                    const std::string name = measured_name(suite, way);
                    return measured.has(name) ? duration(measured.get(name)) : "refused";
                  });
  const Sample damaged = measured.all("io/", "damaged");
  const std::string runs = number(double(damaged.values.size())) + " runs";
  out.check_none("what was written is in the files, and what was read is what they hold",
                 damaged.sum(), "files damaged in " + runs);
  const double work_missing = measured.all("io/", "work_missing").sum();
  out.check("the other work is done and its result right", work_missing == 0,
            number(work_missing) + " of " + runs + " without it");
  files.reset();
}

const Add add(7,
              {"io", "7. Synchronous against asynchronous I/O: is it worth anything not to wait?",
               prepare, report});

}  // namespace
}  // namespace exchange::experiments
