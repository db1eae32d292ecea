#pragma once
// Ways to let many threads use the engine: behind one lock, behind a lock for each symbol, behind a
// lock with commits in common, and behind a thread of its own with batches, as server/core does it.
// Owner: the exchange experiment. run() may be called by any thread.

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "engine/exchange.hpp"

namespace exchange::experiments {

constexpr unsigned symbols = 16, accounts = 64;
AccountId account_id(unsigned account);
SymbolName symbol_name(unsigned symbol);

// One command of a client, and what came of it.
struct Task {
  Command command;
  unsigned symbol;  // which it is about, so that a design with shards can find the place
  Outcome outcome;
};

// What makes a commit.
enum class Commit {
  none,  // nothing: there is no journal
  // the record is written, then the thread sleeps 100 us as if for a device (and the timer's slack
  // of some 50 us)
  sleep,
  fdatasync,  // the record is written to a file and synced
};

struct DesignSettings {
  Commit commit;
  std::string folder;  // for journals; they have no name there
};

class Design {
 public:
  virtual ~Design() = default;
  // Executes the tasks in order and fills in their outcomes; returns when they are committed.
  // False, and nothing is executed, if `over` was set while the caller spun for its turn.
  virtual bool run(std::span<Task* const> tasks, const std::atomic<bool>& over) = 0;
  // No more run(). Ends what runs.
  virtual void finish() {}

  // After finish(): the totals of all journals and engines.
  struct Audit {
    std::uint64_t orders = 0;     // ids given by the engines
    std::uint64_t journaled = 0;  // commands in the journals
    std::uint64_t commits = 0;
    // empty if every engine's invariants hold and every journal replays to its engine's state
    std::string violation;
  };
  virtual Audit audit() const = 0;
};

std::unique_ptr<Design> behind_mutex(const DesignSettings& settings);
std::unique_ptr<Design> behind_spinlock(const DesignSettings& settings);
// An engine, a mutex and a journal for each symbol. What is lost: an account has as many balances
// as there are symbols, order ids are unique within a symbol only, and there is no order among the
// journals to replay them in.
std::unique_ptr<Design> behind_mutex_per_symbol(const DesignSettings& settings);
// A mutex while a command is applied; then one of those that wait commits for all.
std::unique_ptr<Design> behind_mutex_with_group_commit(const DesignSettings& settings);
std::unique_ptr<Design> behind_core_thread(const DesignSettings& settings);

}  // namespace exchange::experiments
