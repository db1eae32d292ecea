#pragma once
// Store keeps the journal, which is the truth, and the tables, which are its projection (DESIGN.md,
// "Journal and tables"). Three forms: SQLite, PostgreSQL, memory; testing/contract holds for all.
// Threads: open, load, read_journal and newest_executions before any other thread; then append,
// settle and confirm_epoch on the core thread, project and prune on the projector thread,
// read_order on the reader thread, concurrently.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

using BatchNumber = std::uint64_t;  // from 1, without gaps
using Epoch = std::uint64_t;        // counts the servers that have opened the store

// The store is away or failing. May be over later; what was under way is in doubt until
// resolve_in_doubt().
struct StoreUnavailable : std::runtime_error {
  using runtime_error::runtime_error;
};
// Another server has taken the store over. Never over: stop.
struct StoreFenced : std::runtime_error {
  using runtime_error::runtime_error;
};
// What is stored cannot be what we wrote, or cannot be used. Never over: stop, and say so.
struct StoreCorrupt : std::runtime_error {
  using runtime_error::runtime_error;
};

struct JournalRow {
  BatchNumber batch;
  Epoch epoch;
  std::string payload;
};

struct TablesImage {
  Rows rows;  // all accounts, symbols and positions; the open orders and their executions
  BatchNumber projected_batch = 0;
};

struct StoredOrder {
  OrderRow row;
  std::vector<Execution> executions;  // oldest first
};

class Store {
 public:
  virtual ~Store() = default;

  // For the log and the ready line: "sqlite:exchange.db". No secrets.
  virtual std::string describe() const = 0;

  // Creates what is missing and takes a new epoch: from now on no append of an earlier server
  // commits. Throws StoreFenced where another server is alive on this store.
  virtual void open() = 0;
  virtual TablesImage load() = 0;
  // The last `count` of the tables at most, oldest first.
  virtual std::vector<ExecutionRow> newest_executions(std::size_t count) = 0;
  // Rows after `after`, in order.
  virtual void read_journal(BatchNumber after,
                            const std::function<void(const JournalRow&)>& visit) = 0;

  // Returns once the row is durable. Throws StoreUnavailable: in doubt; StoreFenced.
  virtual void append(BatchNumber batch, std::string_view payload) = 0;
  // After a failed append: reconnects, and returns whether that batch of ours is durable. When
  // false, append may be called again with the same bytes. Throws StoreUnavailable: call again
  // later; StoreFenced.
  virtual bool resolve_in_doubt(BatchNumber batch) = 0;
  // Returns where no other server has taken the store over so far: what we know is the newest
  // state. Throws StoreUnavailable: resolve_in_doubt() connects again; StoreFenced.
  virtual void confirm_epoch() = 0;

  // Brings the tables from their batch to `batch` in one transaction: `rows` hold the last value of
  // every row changed since. Doing it twice does no harm. Throws StoreUnavailable, StoreFenced.
  virtual void project(const Rows& rows, BatchNumber batch) = 0;
  // Lets go of journal rows through `through`, which must be projected; now or later. Throws
  // StoreUnavailable.
  virtual void prune(BatchNumber through) = 0;

  // An order of the tables. Throws StoreUnavailable.
  virtual std::optional<StoredOrder> read_order(OrderId order) = 0;
};

// "sqlite:PATH", "postgresql://..." (libpq's URI) or "memory:". Throws std::invalid_argument.
std::unique_ptr<Store> make_store(const std::string& url);

}  // namespace exchange
