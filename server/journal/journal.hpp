#pragma once
// Journal is the truth of an exchange: one row for each committed batch, in order. It is an
// interface because a journal can be on different media (SQLite's journal file, PostgreSQL,
// memory). The Tables hold what follows from it. testing/contract runs the same tests on each.
//
// Life of a batch: append() makes it durable. If append() throws StoreUnavailable, the outcome is
// unknown ("in doubt"): the row may be committed or not. The core calls resolve_in_doubt() until it
// returns, and appends the same bytes again if the row is absent. No reply of a batch is sent
// before its append is known to be durable. Once the tables have it, prune() lets its row be
// deleted.
//
// Invariants:
// 1. Batch numbers have no gap; a row never changes.
// 2. Fencing: a server takes a new epoch when it opens the store. Once it has, no append of an
//    earlier server commits.
// 3. A row whose append() or resolve_in_doubt() reported it durable is returned by every read()
//    until it is pruned.
//
// Owner: Store. Threads: main calls read() before other threads start, or a standby calls it; the
// core thread calls append(), resolve_in_doubt() and confirm_epoch(); the projector calls prepare()
// and prune(). Core and projector may call at the same time.

#include <cstdint>
#include <functional>
#include <string_view>

#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"

namespace exchange {

class Journal {
 public:
  virtual ~Journal() = default;

  // Calls `visit` for each row with a batch number above `after`, in order. Throws StoreCorrupt,
  // StoreUnavailable, and what `visit` throws.
  using Visit = std::function<void(const JournalRow&)>;
  virtual void read(BatchNumber after, const Visit& visit) = 0;

  // Commits one row; returns once it is durable. `batch` is the last one + 1, `payload` a journal
  // record. Throws StoreUnavailable: the row is in doubt, call resolve_in_doubt(); StoreFenced: the
  // row is not committed and never will be; StoreCorrupt: the disk failed to sync.
  virtual void append(BatchNumber batch, std::string_view payload) = 0;
  // After a failed append: connects again and returns whether this server's row `batch` is durable.
  // If false, the row is not there and cannot appear any more: append() may be called again with
  // the same bytes. Throws StoreUnavailable: still in doubt, call again later; StoreFenced;
  // StoreCorrupt: the store has lost batches that it had committed.
  virtual bool resolve_in_doubt(BatchNumber batch) = 0;
  // Returns if no other server can have served since this one's last commit, so that the state in
  // memory is the newest. The core calls it before replies to queries, which append nothing. Throws
  // StoreUnavailable: resolve_in_doubt() connects again; StoreFenced.
  virtual void confirm_epoch() = 0;
  // Returns a time on the monotonic clock until which no other server can have served (lease.hpp);
  // INT64_MAX if there cannot be another server. Any thread.
  virtual std::int64_t lease_end_ns() const { return INT64_MAX; }

  // Does in advance what a later append would do, such as writing a block. Does not throw.
  virtual void prepare() {}
  // Permits the journal to delete rows up to and including `through`, now or later. Throws
  // StoreUnavailable.
  virtual void prune(BatchNumber through) = 0;
  // Called by a standby. From now on the active server keeps the rows from `batch` on, as long as
  // this store stays connected and within the limit that the store sets. Ends when
  // Store::try_open() succeeds.
  virtual void keep_from(BatchNumber) {}
};

}  // namespace exchange
