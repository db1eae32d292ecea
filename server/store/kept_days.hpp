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

#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"
#include "store/limits.hpp"

namespace exchange {

// The journal of a closed day. It must be destroyed before its KeptDays.
class DayJournal {
 public:
  virtual ~DayJournal() = default;
  // The next rows with batch numbers above `after`, in order: `rows_max` at most, and some
  // megabytes. Empty at the end.
  virtual std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) = 0;
  // The newest batch that the day is known to have had; 0: none. A journal that ends before has
  // lost some.
  virtual BatchNumber newest() = 0;
};

class KeptDays {
 public:
  virtual ~KeptDays() = default;
  // In the order of the alphabet.
  virtual std::vector<std::string> names() = 0;
  // Null: there is no such day.
  virtual std::unique_ptr<DayJournal> open(const std::string& day) = 0;
};

// Of the store that the URL names; null for one in memory. Connects to nothing yet.
std::unique_ptr<KeptDays> make_kept_days(const std::string& url, const StoreLimits& limits = {});
std::unique_ptr<KeptDays> make_sqlite_days(const std::string& path);
std::unique_ptr<KeptDays> make_postgres_days(const std::string& url, const StoreLimits& limits);

}  // namespace exchange
