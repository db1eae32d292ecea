#pragma once
// KeptDays finds the closed days of a store (Store::close_day()), and opens their journals for
// reading. It needs neither the lock nor the connections of the store, so it does not affect a
// running server. It is an interface because there are two kinds, SQLite and PostgreSQL. A name
// that is not valid (is_day_name()) finds nothing. Errors are those of store_errors.hpp:
// StoreFenced if a server has opened the day. Thread: one.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal_reader.hpp"
#include "store/limits.hpp"

namespace exchange {

class KeptDays {
 public:
  virtual ~KeptDays() = default;
  // Returns the names in alphabetical order.
  virtual std::vector<std::string> names() = 0;
  // Opens the journal of the day. The caller must destroy it before this object. Returns null if
  // the day does not exist.
  virtual std::unique_ptr<JournalReader> open(const std::string& day) = 0;
};

// Returns the days of the store that the URL names; null for a store in memory. Does not connect
// yet.
std::unique_ptr<KeptDays> make_kept_days(const std::string& url, const StoreLimits& limits = {});
std::unique_ptr<KeptDays> make_sqlite_days(const std::string& path);
std::unique_ptr<KeptDays> make_postgres_days(const std::string& url, const StoreLimits& limits);

}  // namespace exchange
