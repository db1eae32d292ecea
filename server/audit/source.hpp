#pragma once
// Source reads a store from outside, without the server's lock or epoch: the tables at one moment,
// and the journal. It is an interface because there are two kinds, SQLite and PostgreSQL; both
// execute the same SQL and return one row after the other. Only reads. Owner: audit(). Thread: one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "audit/findings.hpp"
#include "journal/journal_reader.hpp"
#include "store/store.hpp"

namespace exchange::audit {

inline constexpr std::size_t orders_at_once = 1'000;  // in one query

// The store cannot be read at all: it does not exist, is not a store, is locked, or the user has no
// permission.
struct CannotRead : std::runtime_error {
  using runtime_error::runtime_error;
};
// A value is invalid for its column. The caller reports it as a violation.
struct BadValue : std::runtime_error {
  using runtime_error::runtime_error;
};

// The rows of one query. It must be destroyed before its Source.
class RowStream {
 public:
  virtual ~RowStream() = default;
  // Moves to the next row; returns false at the end. Throws CannotRead.
  virtual bool next() = 0;
  // Return columns of the row, counted from 0. The text is valid until next(). Throw BadValue for
  // another type.
  virtual std::int64_t integer(int column) const = 0;
  virtual std::string_view text(int column) const = 0;
};

// Throws CannotRead for a store of a later format, and for one of an earlier format, because its
// tables lack columns until a server of this version opens them.
void require_this_format(const std::string& what, std::int64_t format);

class Source {
 public:
  virtual ~Source() = default;
  // Returns the URL without password.
  virtual std::string describe() const = 0;
  // Runs a query on the tables. All streams of a source see the same moment and may be read in
  // turns. Throws CannotRead.
  virtual std::unique_ptr<RowStream> tables(const std::string& select) = 0;

  // Returns the reason why the journal cannot be read; empty if it can.
  virtual std::string journal_hidden() const = 0;
  // Returns the next rows with batch numbers above `after`, in order, in portions of some
  // megabytes; empty at the end. Throws CannotRead, also if a server has opened the store since the
  // audit began.
  virtual std::vector<JournalRow> journal(BatchNumber after) = 0;
  // Returns the epoch of the server that opened the store last; 0 if the journal cannot be read.
  virtual Epoch epoch() const = 0;
  // Returns the epoch of the server that may change the tables; nothing if the store has only one
  // epoch.
  virtual std::optional<Epoch> tables_epoch() const = 0;

  // Returns the newest acknowledged batch, if the store has a mark of it (acknowledged_mark.hpp).
  virtual std::optional<BatchNumber> acknowledged() const = 0;

  // Runs the database's own checks of its files. Returns false if damage keeps the tables or the
  // journal from being read.
  virtual bool check_files(Findings& findings) = 0;
};

// Throws CannotRead; std::invalid_argument if the URL does not name a kept store (store_url.hpp).
std::unique_ptr<Source> open_source(const std::string& url);
// `tables` is the file of the database.
std::unique_ptr<Source> open_sqlite_source(const std::string& url, const std::string& tables,
                                           std::unique_ptr<LocalJournalReader> journal);
std::unique_ptr<Source> open_postgres_source(const std::string& url);

}  // namespace exchange::audit
