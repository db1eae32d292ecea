#pragma once
// KeptDays finds the days of a store that were closed (Store::close_day()), and opens their
// journals to be read. It needs neither the lock nor the connections of the store, so a running
// server notices nothing. An interface because there are two, SQLite and PostgreSQL. Names that are
// no is_day_name() find nothing. Errors are those of store_errors.hpp: StoreFenced if a server has
// opened the day. Thread: one.

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
  // In the order of the alphabet.
  virtual std::vector<std::string> names() = 0;
  // The journal of the day, to be destroyed before this. Null: there is no such day.
  virtual std::unique_ptr<JournalReader> open(const std::string& day) = 0;
};

// Of the store that the URL names; null for one in memory. Connects to nothing yet.
std::unique_ptr<KeptDays> make_kept_days(const std::string& url, const StoreLimits& limits = {});
std::unique_ptr<KeptDays> make_sqlite_days(const std::string& path);
std::unique_ptr<KeptDays> make_postgres_days(const std::string& url, const StoreLimits& limits);

}  // namespace exchange
