#pragma once
// Tables are a projection of the journal, a fraction of a second behind it: what users of SQL see,
// what a server loads at its start, and where it reads closed orders. An interface because they can
// be in SQLite, in PostgreSQL or in memory; testing/contract runs the same tests on each.
//
// Invariants:
// 1. They are the state after one batch of the journal, their batch; never a part of one.
// 2. That batch is committed in the journal, and never goes back.
// 3. A server whose epoch is not the newest changes nothing.
//
// Owner: Store. Threads: load(), newest_executions(), read_trades() before any other thread, or a
// standby's; project(), secure() the projector's; read_order(), read_events(), read_fills() the
// reader's. These may call at the same time.

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

class Tables {
 public:
  virtual ~Tables() = default;

  // Reads the tables at one moment. Time and memory follow the open orders, not the history.
  // Throws StoreCorrupt, StoreUnavailable.
  virtual TablesImage load() = 0;
  // Returns the newest executions, at most `count`, oldest first. Throws as load().
  virtual std::vector<ExecutionRow> newest_executions(std::size_t count) = 0;
  // Calls `visit` for each execution behind `after`, in order. Throws as load(), and what `visit`
  // throws.
  virtual void read_trades(ExecutionId after,
                           const std::function<void(const Leaderboard::Trade&)>& visit) = 0;

  // Brings the tables from their batch to `batch` in one transaction: `rows` hold the last value of
  // every row changed since. Idempotent: after StoreUnavailable, whose transaction may be committed
  // or not, the caller repeats it with the same arguments. Throws StoreFenced; StoreCorrupt: a row
  // of the tables contradicts the journal.
  virtual void project(const Rows& rows, BatchNumber batch) = 0;
  // Makes what is projected as safe as it gets, and returns the newest batch for which that
  // succeeded: the journal need not keep it for the tables. Throws StoreUnavailable.
  virtual BatchNumber secure() = 0;
  // The newest batch that the tables include. Throws StoreUnavailable.
  virtual BatchNumber projected_batch() = 0;

  // Reads an order, open or closed, with these of its executions; nothing if there is no such
  // order. Throws StoreUnavailable, StoreCorrupt.
  virtual std::optional<StoredOrder> read_order(OrderId order, const ExecutionRange& range) = 0;
  std::optional<StoredOrder> read_order(OrderId order) { return read_order(order, {}); }
  // Reads the events of an account with the numbers from `first` to `last`, as far as there are
  // any, with the references of their orders. Throws StoreUnavailable, StoreCorrupt.
  virtual std::vector<EventRow> read_events(AccountNumber account, EventNumber first,
                                            EventNumber last) = 0;
  // Reads the fills of an account in the range. Throws StoreUnavailable, StoreCorrupt.
  virtual Fills read_fills(const FillRange& range) = 0;
};

}  // namespace exchange
