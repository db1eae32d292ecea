#pragma once
// Tables are a projection of the journal, a fraction of a second behind it. SQL users read them, a
// server loads them at its start, and it reads closed orders from them. They are an interface
// because they can be in SQLite, in PostgreSQL or in memory; testing/contract runs the same tests
// on each.
//
// Invariants:
// 1. They are the state after one whole batch of the journal, called their batch.
// 2. That batch is committed in the journal, and its number never decreases.
// 3. A server whose epoch is not the newest cannot change anything.
//
// Owner: Store. Threads: main calls load(), newest_executions(), read_trades() before other threads
// start, or a standby calls them; the projector calls project(), secure(); the reader calls
// read_order(), read_events(), read_fills(). Projector and reader may call at the same time.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/commands.hpp"
#include "engine/leaderboard.hpp"
#include "engine/rows.hpp"
#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"
#include "store/fills.hpp"

namespace exchange {

// The part of the tables that a server needs to start.
struct TablesImage {
  Rows rows;  // all accounts, symbols and positions; the open orders and their executions
  BatchNumber projected_batch = 0;  // newest batch that the rows include; 0: none
};

struct StoredOrder {
  OrderRow row;
  std::vector<Execution> executions;   // those of the requested range, oldest first
  std::uint64_t executions_total = 0;  // of the order; unknown if none were requested
  bool operator==(const StoredOrder&) const = default;
};

// A range of the executions of an order, which are counted from 0, oldest first: the last `count`
// of those below `before`. The number of executions never decreases, and each keeps its number.
struct ExecutionRange {
  std::uint64_t count = INT64_MAX, before = INT64_MAX;

  bool is_all() const { return count == INT64_MAX && before == INT64_MAX; }
  std::uint64_t end(std::uint64_t total) const { return std::min(before, total); }
  std::uint64_t begin(std::uint64_t total) const {
    return end(total) - std::min(count, end(total));
  }
};

// A range of the events of an account: those with the numbers from `first` to `last`.
struct EventRange {
  AccountNumber account;
  EventNumber first, last;
};

class Tables {
 public:
  virtual ~Tables() = default;

  // Reads the tables at one moment. Time and memory depend on the open orders, not on the history.
  // Throws StoreCorrupt, StoreUnavailable.
  virtual TablesImage load() = 0;
  // Returns the newest executions, at most `count`, oldest first. Throws as load().
  virtual std::vector<ExecutionRow> newest_executions(std::size_t count) = 0;
  // Calls `visit` for each execution after `after`, in order. Throws as load(), and what `visit`
  // throws.
  virtual void read_trades(ExecutionId after,
                           const std::function<void(const Leaderboard::Trade&)>& visit) = 0;

  // Changes the tables from their batch to `batch` in one transaction. `rows` hold the last value
  // of every row changed since. Idempotent: after StoreUnavailable the transaction may be committed
  // or not, and the caller repeats it with the same arguments. Throws StoreFenced; StoreCorrupt: a
  // row of the tables contradicts the journal.
  virtual void project(const Rows& rows, BatchNumber batch) = 0;
  // Returns true if another process does most of the work of project(). Any thread.
  virtual bool writes_elsewhere() const { return false; }
  // Makes the projected rows durable, as far as possible now. Returns the newest batch that is: the
  // tables do not need the journal up to it any more. Throws StoreUnavailable.
  virtual BatchNumber secure() = 0;
  // Returns the newest batch that the tables include. Throws StoreUnavailable.
  virtual BatchNumber projected_batch() = 0;

  // Reads an order, open or closed, with its executions in `range`. Returns nothing if the order
  // does not exist. Throws StoreUnavailable, StoreCorrupt.
  virtual std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) = 0;
  std::optional<StoredOrder> read_order(OrderId order) { return read_order(order, {}); }
  // Reads the existing events of an account with the numbers from `first` to `last`, with the
  // references of their orders. Throws StoreUnavailable, StoreCorrupt.
  virtual std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                            EventNumber last) = 0;
  // Reads the fills of an account in the range. Throws StoreUnavailable, StoreCorrupt.
  virtual Fills read_fills(const FillRange& range) = 0;
};

}  // namespace exchange
