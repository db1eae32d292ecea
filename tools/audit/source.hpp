#pragma once
// Source is a store seen from outside, read-only, without a lock or an epoch of a server: the
// tables as they were at one moment, and the journal. Two forms: SQLite and PostgreSQL; both read
// the same SQL, one row after the other. Thread: one.

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"
#include "tools/audit/findings.hpp"

namespace exchange::audit {

// The store cannot be read at all: not there, not ours, no permission, in use in a way that keeps
// us out.
struct CannotRead : std::runtime_error {
  using runtime_error::runtime_error;
};
// One value is not what its column may hold.
struct BadValue : std::runtime_error {
  using runtime_error::runtime_error;
};

class RowStream {
 public:
  virtual ~RowStream() = default;
  // The next row; false at the end. Throws CannotRead.
  virtual bool next() = 0;
  // Of the row; valid until next(). Throw BadValue.
  virtual std::int64_t integer(int column) const = 0;
  virtual std::string_view text(int column) const = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Without secrets.
  virtual std::string describe() const = 0;
  // Streams of one source see the same moment and may be read side by side. Throws CannotRead.
  virtual std::unique_ptr<RowStream> tables(const std::string& select) = 0;

  virtual bool has_table(const std::string& name) = 0;

  // Why the journal cannot be read; empty where it can.
  virtual std::string journal_hidden() const = 0;
  // The next rows after `after`, in order, some megabytes or tens of them; none: there are no more.
  // Throws CannotRead, also where a server has opened the store meanwhile.
  virtual std::vector<JournalRow> journal(BatchNumber after) = 0;
  // Of the server that opened the store last; 0 where the journal is hidden.
  virtual Epoch epoch() const = 0;
  // Of the server that may change the tables, where the store keeps one apart.
  virtual std::optional<Epoch> tables_epoch() const = 0;

  // The newest batch that a server told clients of, where the store keeps a mark of it.
  virtual std::optional<BatchNumber> acknowledged() const = 0;

  // What the database itself can say of its files; false where they are so damaged that nothing can
  // be read.
  virtual bool check_files(Findings& findings) = 0;
};

// "sqlite:PATH" or "postgresql://...". Throws CannotRead; std::invalid_argument for what is
// neither.
std::unique_ptr<Source> open_source(const std::string& url);
std::unique_ptr<Source> open_sqlite_source(const std::string& path);
std::unique_ptr<Source> open_postgres_source(const std::string& url);

}  // namespace exchange::audit
