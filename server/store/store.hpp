#pragma once
// Store keeps an exchange durable: its journal of committed batches, which is the truth, and its
// tables, which follow (DESIGN.md, "Journal and tables"). It opens both, for one server at a time.
// It is an interface because there are several kinds (store_url.hpp).
//
// Fencing: each open() increments the store's epoch. A server that was replaced cannot commit:
// every write checks in its own transaction that the epoch is still the one that this server took,
// or needs a lock that a living server does not release (SQLite's journal).
//
// Owner: main, which opens it before the core and destroys it after the core. Threads: as noted in
// Journal and Tables; other methods before their threads start or after they end, except where
// noted.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "journal/journal.hpp"
#include "store/limits.hpp"
#include "store/tables.hpp"

namespace exchange {

// A standby server's knowledge of the active one. ended: it announced its end (end_lease()).
enum class ActiveServer { there, gone, ended };

// A day is a store that close_day() has closed. Its name has 1 to 32 lower-case letters, digits,
// and hyphens between them.
bool is_day_name(std::string_view name);
struct DayCheck {
  std::optional<std::string> closed;  // the URL of the day of this name, if it exists
  std::string problem;                // why the store cannot be closed now; empty: it can
};

// The state of a store, for metrics.
struct StoreStatus {
  Epoch epoch = 0;                    // 0: not opened yet
  std::uint64_t failovers = 0;        // failovers of the database that this server followed
  unsigned synchronous_standbys = 0;  // standbys of the database that commits wait for
};

class Store {
 public:
  virtual ~Store() = default;

  // Returns the URL without password, for the log and the ready line: "sqlite:exchange.db".
  virtual std::string describe() const = 0;
  // Use them only while the store is open, or attached.
  virtual Journal& journal() = 0;
  virtual Tables& tables() = 0;
  const Journal& journal() const { return const_cast<Store*>(this)->journal(); }

  // Creates missing tables and views and takes a new epoch: after that no append of an earlier
  // server commits. May be called again after StoreUnavailable. Throws StoreFenced if another
  // server is alive on this store, StoreCorrupt if its files or schema cannot be used,
  // StoreUnavailable if it cannot be reached.
  virtual void open() = 0;

  // Call it once this server will answer nothing more, so that the next one need not wait for the
  // end of its lease. If the call fails, the next one waits.
  virtual void end_lease() {}
  // Finds out whether close_day() could close this store, which is open, as the day `name`. It may
  // wait for the store. Throws StoreUnavailable. Any thread.
  virtual DayCheck check_day(const std::string& /*name*/) {
    return {{}, "a store in memory is not closed as a day: it keeps nothing"};
  }
  // Call it in place of end_lease(). Closes the store as the day `name`, which keeps all its data
  // under its own URL; a new store object finds an empty store in its place. A crash leaves either
  // state, never a mixture. This object must not be used any more. Throws StoreUnavailable: the
  // store is not closed, or, if the connection was lost, check_day() of a new store object knows;
  // StoreFenced.
  virtual void close_day(const std::string& name) {
    throw StoreUnavailable(check_day(name).problem);
  }
  // Any thread.
  virtual StoreStatus status() const { return {}; }

  // Returns true if a standby server may follow this store while another server is active. If not,
  // the methods below must not be called. The one thread of a standby calls them, and reads journal
  // and tables. They throw StoreUnavailable and StoreCorrupt as open() does.
  virtual bool allows_standby() const { return false; }
  // Connects read-only, without an epoch; creates missing tables.
  virtual void attach() {}
  virtual ActiveServer active_server() { return ActiveServer::there; }
  // Does the same as open() if no other server is active. Returns true if it opened the store.
  virtual bool try_open() { return false; }
};

// Creates the store that a URL names (store_url.hpp). Does not connect; open() does. Throws
// std::invalid_argument.
std::unique_ptr<Store> make_store(const std::string& url, const StoreLimits& limits = {});

}  // namespace exchange
