#pragma once
// Ways to let many threads use the engine: behind one lock, behind a lock for each symbol, behind a
// lock with shared commits, and behind one engine thread with batches, as in server/core. Owner:
// the exchange experiment. Any thread may call run().

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.hpp"
#include "course/experiments/locks.hpp"
#include "engine/exchange.hpp"
#include "engine/look_ahead.hpp"
#include "journal/journal_record.hpp"

namespace exchange::experiments {

constexpr unsigned symbols = 16, accounts = 64;
inline AccountId account_id(unsigned account) { return AccountId(std::to_string(account + 1)); }
inline SymbolName symbol_name(unsigned symbol) {
  return SymbolName("SYM" + std::to_string(symbol));
}

// One command of a client, and its outcome.
struct Task {
  Command command;
  unsigned symbol;  // its symbol, so that a design with shards can find the right one
  Outcome outcome;
};

class Design {
 public:
  virtual ~Design() = default;
  // Executes the task and fills in its outcome; returns when it is committed. If `over` was set
  // while the caller spun for its turn, executes nothing and returns false.
  virtual bool run(Task& task, const std::atomic<bool>& over) = 0;
  // Ends all threads. run() must not be called any more.
  virtual void finish() {}

  // After finish(): the totals of all journals and engines.
  struct Audit {
    std::uint64_t orders = 0;     // ids assigned by the engines
    std::uint64_t journaled = 0;  // commands in the journals
    // empty if every engine's invariants hold and every journal replays to its engine's state
    std::string violation;
  };
  virtual void add_to(Audit& audit) const = 0;
};

// Records in sequence, each after its length, in a file that is unlinked and so disappears with the
// process. Each is synced.
class Journal {
 public:
  explicit Journal(const std::string& folder) {
    std::string path = folder + "/exchange-experiment-XXXXXX";
    file_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0) throw std::runtime_error("cannot make a journal in " + folder);
    ::unlink(path.c_str());
  }
  ~Journal() { ::close(file_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void append(std::string_view payload) {
    auto size = std::uint32_t(payload.size());
    const iovec parts[] = {{&size, sizeof size},
                           {const_cast<char*>(payload.data()), payload.size()}};
    if (::writev(file_, parts, 2) != ssize_t(sizeof size + payload.size()))
      throw std::runtime_error("the journal cannot be written");
    if (::fdatasync(file_) != 0) throw std::runtime_error("the journal cannot be synced");
  }

  template <class Visit>
  void for_each(Visit visit) const {
    std::uint32_t size = 0;
    std::string payload;
    for (off_t at = 0; ::pread(file_, &size, sizeof size, at) == ssize_t(sizeof size);
         at += off_t(sizeof size + payload.size())) {
      payload.resize(size);
      if (::pread(file_, payload.data(), size, at + off_t(sizeof size)) != ssize_t(size))
        throw std::runtime_error("a record is cut short");
      visit(payload);
    }
  }

 private:
  int file_ = -1;
};

inline void set_up(Exchange& exchange, unsigned first_symbol, unsigned last_symbol) {
  for (unsigned account = 0; account < accounts; ++account)
    exchange.apply(CreateAccount{account_id(account), Cash::whole(1'000'000'000'000)}, {});
  for (unsigned symbol = first_symbol; symbol < last_symbol; ++symbol)
    for (unsigned account = 0; account < accounts; ++account)
      exchange.apply(
          PlaceShares{symbol_name(symbol), account_id(account), Shares::whole(100'000'000)}, {});
  // Executes some trades and cancels before the measurement, so that the engine has its memory.
  for (unsigned i = 0; i < 4 * accounts; ++i) {
    const unsigned symbol = first_symbol + i % (last_symbol - first_symbol);
    for (const Side side : {Side::buy, Side::sell})
      exchange.apply(PlaceOrder{account_id(i % accounts), symbol_name(symbol), side,
                                Shares::whole(side == Side::buy ? 2 : 1), Price::whole(100)},
                     {});
    exchange.apply(CancelOrder{account_id(i % accounts), exchange.totals().orders - 1}, {});
  }
}

// An engine with its journal. One thread at a time.
class Part {
 public:
  Part(const std::string& folder, unsigned first_symbol, unsigned last_symbol)
      : journal_(folder), first_symbol_(first_symbol), last_symbol_(last_symbol) {
    set_up(exchange_, first_symbol, last_symbol);
    exchange_.release_closed(exchange_.take_changes(rows_));
    orders_before_ = exchange_.totals().orders;
  }

  // Returns the time of a batch, which never decreases.
  Timestamp now() const {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::max(
        Timestamp{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()},
        exchange_.totals().last_time);
  }

  // Looks ahead as Committer does, and sometimes discards changed rows and closed orders as Core
  // does.
  void apply(std::span<Task* const> tasks, Timestamp now, JournalWriter& writer) {
    commands_.clear();
    for (const Task* task : tasks) commands_.push_back(&task->command);
    LookAhead ahead(exchange_, commands_);
    for (Task* task : tasks) {
      task->outcome = exchange_.apply(task->command, now, ahead.next());
      if (changed_state(task->outcome)) writer.add(task->command);
    }
    unreleased_ += tasks.size();
    if (unreleased_ < commands_between_releases) return;
    unreleased_ = 0;
    exchange_.release_closed(exchange_.take_changes(rows_));
  }
  void append(JournalWriter& writer) {
    if (!writer.empty()) journal_.append(writer.finish(exchange_.totals()));
  }
  // Applies and commits a whole batch.
  void commit(std::span<Task* const> tasks) {
    const Timestamp time = now();
    writer_.begin(time);
    apply(tasks, time, writer_);
    append(writer_);
  }
  const Totals& totals() const { return exchange_.totals(); }
  Journal& journal() { return journal_; }

  void add_to(Design::Audit& audit) const {
    audit.orders += exchange_.totals().orders - orders_before_;
    if (const std::string violation = exchange_.check_invariants(); !violation.empty())
      audit.violation = violation;
    Exchange replayed;
    set_up(replayed, first_symbol_, last_symbol_);
    journal_.for_each([&](std::string_view payload) {
      const JournalRecord record = decode_journal_record(payload);
      audit.journaled += record.commands.size();
      for (const Command& command : record.commands)
        if (!changed_state(replayed.apply(command, record.time)))
          audit.violation = "a command that was accepted is refused in replay";
      if (replayed.totals().digest != record.digest)
        audit.violation = "a replayed batch leads to another state";
    });
    if (replayed.totals() != exchange_.totals())
      audit.violation = "the journal replays to another state";
  }

 private:
  static constexpr std::size_t commands_between_releases = 1'000;
  Exchange exchange_;
  Rows rows_;
  OrderId orders_before_ = 0;
  std::size_t unreleased_ = 0;
  std::vector<const Command*> commands_;
  JournalWriter writer_;
  Journal journal_;
  const unsigned first_symbol_, last_symbol_;
};

// Lock, apply, commit, unlock. With several shards each has its own lock, and tasks go to the shard
// of their symbol. This gives up three properties: an account has a separate balance in each shard,
// order ids are unique only within a shard, and the journals have no common order for a replay.
template <class Lock, unsigned shards = 1>
class Locked final : public Design {
 public:
  explicit Locked(const std::string& folder) {
    const unsigned each = symbols / shards;
    for (unsigned shard = 0; shard < shards; ++shard)
      shards_.push_back(std::make_unique<Shard>(folder, shard * each, (shard + 1) * each));
  }

  bool run(Task& task, const std::atomic<bool>& over) override {
    Shard& shard = *shards_[task.symbol * shards / symbols];
    if (!shard.lock.lock(over)) return false;
    Task* const tasks[] = {&task};
    shard.part.commit(tasks);
    shard.lock.unlock();
    return true;
  }
  void add_to(Audit& audit) const override {
    for (const auto& shard : shards_) shard->part.add_to(audit);
  }

 private:
  struct alignas(64) Shard {
    Shard(const std::string& folder, unsigned first_symbol, unsigned last_symbol)
        : part(folder, first_symbol, last_symbol) {}
    Lock lock;
    Part part;
  };

  std::vector<std::unique_ptr<Shard>> shards_;
};

// Holds a mutex while a command is applied; then one of the waiting threads commits for all.
class GroupCommit final : public Design {
 public:
  explicit GroupCommit(const std::string& folder) : part_(folder, 0, symbols) {}

  bool run(Task& task, const std::atomic<bool>&) override {
    Task* const tasks[] = {&task};
    std::unique_lock lock(mutex_);
    if (!filling_) {
      filling_ = true;
      time_ = part_.now();
      writers_[next_ % 2].begin(time_);
    }
    part_.apply(tasks, time_, writers_[next_ % 2]);
    const std::uint64_t mine = next_;
    waiting_[mine % 2].wait(lock, [&] { return durable_ >= mine || !committing_; });
    if (durable_ >= mine) return true;
    // The first thread of a batch that finds no commit in progress makes it for all; the next batch
    // fills meanwhile.
    committing_ = true;
    filling_ = false;
    ++next_;
    JournalWriter& writer = writers_[mine % 2];
    const std::string_view payload =
        writer.empty() ? std::string_view() : writer.finish(part_.totals());
    lock.unlock();
    if (!payload.empty()) part_.journal().append(payload);
    lock.lock();
    durable_ = mine;
    committing_ = false;
    lock.unlock();
    waiting_[mine % 2].notify_all();
    waiting_[(mine + 1) % 2].notify_one();
    return true;
  }
  void add_to(Audit& audit) const override { part_.add_to(audit); }

 private:
  std::mutex mutex_;
  Part part_;
  JournalWriter writers_[2];  // of the batch that fills and of the batch that is committed
  std::condition_variable waiting_[2];
  Timestamp time_;
  bool filling_ = false, committing_ = false;
  std::uint64_t next_ = 1, durable_ = 0;  // numbers of batches
};

// server/core on a small scale: callers queue; the thread takes all waiting submissions, commits
// them as one batch and completes them.
class CoreThread final : public Design {
 public:
  explicit CoreThread(const std::string& folder)
      : part_(folder, 0, symbols), thread_([this] { serve(); }) {}
  ~CoreThread() override { finish(); }

  bool run(Task& task, const std::atomic<bool>&) override {
    Submission submission{&task};
    const bool was_empty = inbox_.with([&](Inbox& inbox) {
      inbox.submissions.push_back(&submission);
      return inbox.submissions.size() == 1;
    });
    if (was_empty) inbox_.notify();
    submission.done.acquire();
    return true;
  }
  void finish() override {
    if (!thread_.joinable()) return;
    inbox_.with([](Inbox& inbox) { inbox.stopping = true; });
    inbox_.notify();
    thread_.join();
  }
  void add_to(Audit& audit) const override { part_.add_to(audit); }

 private:
  struct Submission {
    Task* task;
    std::binary_semaphore done{0};
  };
  struct Inbox {
    std::vector<Submission*> submissions;
    bool stopping = false;
  };

  void serve() {
    std::vector<Submission*> submissions;
    std::vector<Task*> tasks;
    for (bool stopping = false; !stopping;) {
      submissions.clear();
      tasks.clear();
      inbox_.when([](const Inbox& inbox) { return !inbox.submissions.empty() || inbox.stopping; },
                  [&](Inbox& inbox) {
                    submissions.swap(inbox.submissions);
                    stopping = inbox.stopping && submissions.empty();
                  });
      for (const Submission* submission : submissions) tasks.push_back(submission->task);
      part_.commit(tasks);
      for (Submission* submission : submissions) submission->done.release();
    }
  }

  Part part_;
  Guarded<Inbox> inbox_;
  std::thread thread_;
};

}  // namespace exchange::experiments
