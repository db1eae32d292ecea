#pragma once
// Store keeps an exchange durable: the journal of committed batches, which is the truth, and the
// tables, which are a projection of it a fraction of a second behind (DESIGN.md, "Journal and
// tables"). An interface because there are three: SqliteStore, PostgresStore, MemoryStore;
// testing/contract runs the same tests on each of them.
//
// Owner: main, which opens it before the core and destroys it after the core. Threads:
//   before any other thread   open, load, newest_executions, read_journal (recovery)
//   core thread               append, resolve_in_doubt, confirm_epoch
//   projector thread          project, prune
//   reader thread             read_order, read_events, read_fills
// The three threads may call at the same time; each method has one thread at a time.
//
// Life of a batch: append() makes it durable. If append() throws StoreUnavailable, the outcome is
// unknown ("in doubt"): the row may be committed or not. The core calls resolve_in_doubt() until it
// returns, and appends the same bytes again if the row is absent. No reply of a batch is sent
// before its append is known to be durable. Some batches later project() writes the rows that it
// changed to the tables; later still prune() lets the journal row be deleted.
//
// Fencing: each open() increments the store's epoch. A server that was replaced cannot commit:
// every write checks in its own transaction that the epoch is still the one that this server took,
// or needs a lock that a living server does not give up (SQLite's journal).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/commands.hpp"
#include "engine/leaderboard.hpp"
#include "engine/rows.hpp"
#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"
#include "store/fills.hpp"
#include "store/limits.hpp"

namespace exchange {

// The part of the tables that a server needs to start.
struct TablesImage {
  Rows rows;  // all accounts, symbols and positions; the open orders and their executions
  BatchNumber projected_batch = 0;  // newest batch that the rows include; 0: none
};

struct StoredOrder {
  OrderRow row;
  std::vector<Execution> executions;   // those of the range that was asked for, oldest first
  std::uint64_t executions_total = 0;  // of the order; not known if none were asked for
  bool operator==(const StoredOrder&) const = default;
};

// Of the executions of an order, oldest first and counted from 0: those below `before`, and of them
// the last `count`. An order has no fewer later, and each keeps its number.
struct ExecutionRange {
  std::uint64_t count = INT64_MAX, before = INT64_MAX;

  bool is_all() const { return count == INT64_MAX && before == INT64_MAX; }
  std::uint64_t end(std::uint64_t total) const { return std::min(before, total); }
  std::uint64_t begin(std::uint64_t total) const {
    return end(total) - std::min(count, end(total));
  }
};

// Of the events of an account: those with the numbers from `first` to `last`.
struct EventRange {
  AccountNumber account;
  EventNumber first, last;
};

// What a standby server can tell of the active one: ended: it said so (end_lease()).
enum class ActiveServer { there, gone, ended };

// A day is what close_day() has made of a store. Its name is 1 to 32 lower-case letters, digits,
// and hyphens between these.
bool is_day_name(std::string_view name);
struct DayCheck {
  std::optional<std::string> closed;  // the URL of the day of this name, if there is one
  std::string problem;                // why there cannot be one now; empty: there can
};

// For metrics.
struct StoreStatus {
  Epoch epoch = 0;                    // 0: not opened yet
  std::uint64_t failovers = 0;        // of the database, that this server followed
  unsigned synchronous_standbys = 0;  // of the database, for which commits wait
};

class Store {
 public:
  virtual ~Store() = default;

  // The URL without password, for the log and the ready line: "sqlite:exchange.db".
  virtual std::string describe() const = 0;

  // Creates missing tables and views and takes a new epoch: from now on no append of an earlier
  // server commits. May be called again after StoreUnavailable. Throws StoreFenced if another
  // server is alive on this store, StoreCorrupt if its files or schema cannot be used,
  // StoreUnavailable if it cannot be reached.
  virtual void open() = 0;
  // Reads the tables at one moment. Time and memory follow the open orders, not the history.
  // Throws StoreCorrupt, StoreUnavailable.
  virtual TablesImage load() = 0;
  // Returns the newest executions of the tables, at most `count`, oldest first. Throws as load().
  virtual std::vector<ExecutionRow> newest_executions(std::size_t count) = 0;
  // Calls `visit` for each execution of the tables behind `after`, in order. Throws as load(), and
  // what `visit` throws.
  virtual void read_trades(ExecutionId after,
                           const std::function<void(const Leaderboard::Trade&)>& visit) = 0;
  // Calls `visit` for each journal row with a batch number above `after`, in order. Throws as
  // load(), and what `visit` throws.
  virtual void read_journal(BatchNumber after,
                            const std::function<void(const JournalRow&)>& visit) = 0;

  // Commits one journal row; returns once it is durable. `batch` is the last one + 1, `payload` a
  // journal record. Throws StoreUnavailable: the row is in doubt, call resolve_in_doubt();
  // StoreFenced: it is not committed and never will be; StoreCorrupt: the disk failed to sync.
  virtual void append(BatchNumber batch, std::string_view payload) = 0;
  // After a failed append: connects again and returns whether this server's row `batch` is durable.
  // If false, the row is not there and cannot appear any more: append() may be called again with
  // the same bytes. Throws StoreUnavailable: still in doubt, call again later; StoreFenced;
  // StoreCorrupt: the store has lost batches that it had committed.
  virtual bool resolve_in_doubt(BatchNumber batch) = 0;
  // Returns if no other server can have served since this one's last commit, so that the state in
  // memory is the newest there is; called before replies to queries, which append nothing. Throws
  // StoreUnavailable: resolve_in_doubt() connects again; StoreFenced.
  virtual void confirm_epoch() = 0;

  // Brings the tables from their batch to `batch` in one transaction: `rows` hold the last value of
  // every row changed since. Idempotent: after StoreUnavailable, whose transaction may be committed
  // or not, the caller repeats it with the same arguments. Throws StoreFenced; StoreCorrupt: a row
  // of the tables contradicts the journal.
  virtual void project(const Rows& rows, BatchNumber batch) = 0;
  // Permits the store to delete journal rows up to and including `through`, now or later. The
  // tables must include that batch. Throws StoreUnavailable.
  virtual void prune(BatchNumber through) = 0;

  // Reads an order, open or closed, with these of its executions from the tables; nothing if they
  // have no such order. Throws StoreUnavailable, StoreCorrupt.
  virtual std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) = 0;
  std::optional<StoredOrder> read_order(OrderId order) { return read_order(order, {}); }
  // Reads the events of an account with the numbers from `first` to `last`, as far as the tables
  // have them, with the references of their orders. Throws StoreUnavailable, StoreCorrupt.
  virtual std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                            EventNumber last) = 0;
  // Reads the fills of an account in the range, as far as the tables have its executions. Throws
  // StoreUnavailable, StoreCorrupt.
  virtual Fills read_fills(const FillRange& range) = 0;

  // This server answers nothing more, so the next one need not wait for the end of its lease. If it
  // fails, the next one waits. After the end of the three threads.
  virtual void end_lease() {}
  // Whether close_day() could close this store, which is open, as the day `name`. It may wait for
  // the store. Throws StoreUnavailable. Any thread.
  virtual DayCheck check_day(const std::string& /*name*/) {
    return {{}, "a store in memory is not closed as a day: it keeps nothing"};
  }
  // In place of end_lease(): closes the store as the day `name`, which keeps all that it has, under
  // a URL of its own; a new store object finds an empty one in its place. A crash leaves the one or
  // the other. This object must not be used any more. Throws StoreUnavailable: it is not closed,
  // or, if the connection was lost, check_day() of a new store object knows; StoreFenced.
  virtual void close_day(const std::string& name) {
    throw StoreUnavailable(check_day(name).problem);
  }
  // Until then, on the monotonic clock, no other server can have served (lease.hpp); always, if
  // there cannot be one. Any thread.
  virtual std::int64_t lease_end_ns() const { return INT64_MAX; }
  // Any thread.
  virtual StoreStatus status() const { return {}; }

  // Whether a standby server may follow this store while another server is active. If not, the
  // methods below must not be called. A standby's one thread calls them, and load(),
  // newest_executions(), read_trades() and read_journal(), before the three threads above exist.
  // They throw StoreUnavailable and StoreCorrupt as open() does.
  virtual bool allows_standby() const { return false; }
  // Connects without an epoch, to read only; creates missing tables.
  virtual void attach() {}
  virtual ActiveServer active_server() { return ActiveServer::there; }
  // As open(), if no other server is active. Returns whether it was opened.
  virtual bool try_open() { return false; }
  // The newest batch that the tables include.
  virtual BatchNumber projected_batch() { return 0; }
  // From now on the active server keeps the journal rows from `batch` on, as long as this store
  // stays connected and is not hopelessly behind; until try_open() succeeds.
  virtual void keep_journal_from(BatchNumber) {}
};

// Creates the store that a URL names: "sqlite:PATH", "postgresql://..." (a libpq URI; also
// "postgres://..."; several hosts: "postgresql://USER@HOST1,HOST2/DATABASE") or "memory:". Connects
// to nothing; open() does. Throws std::invalid_argument.
std::unique_ptr<Store> make_store(const std::string& url, const StoreLimits& limits = {});

}  // namespace exchange
