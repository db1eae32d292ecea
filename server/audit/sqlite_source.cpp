// Reads the two files of a SQLite store. It reads the tables in one read transaction, which is
// possible while a server runs. It can read the journal only while no server runs, because a server
// locks it. It reads in portions and locks the journal anew for each, so that a server that starts
// meanwhile waits only for moments. The audit then notices the new epoch and stops. It compares
// checksums of pages, of the log and of journal records as a server does.

#include <sqlite3.h>
#include <unistd.h>

#include "audit/source.hpp"
#include "journal/journal_reader.hpp"
#include "journal/raw_file.hpp"
#include "store/sqlite/page_damage.hpp"
#include "store/sqlite/sqlite_log.hpp"
#include "store/sqlite/store_vfs.hpp"

namespace exchange::audit {
namespace {

constexpr int busy_ms = 1'000;
// read while the journal is locked
constexpr std::size_t journal_rows_at_once = 20'000;
constexpr int problems_max = 10;  // for SQLite's integrity_check

class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    const int code = sqlite3_open_v2(path.c_str(), &handle_,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, store_vfs());
    if (code != SQLITE_OK) {
      const std::string problem = what_is_wrong(code);
      sqlite3_close_v2(handle_);
      throw CannotRead(problem);
    }
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, busy_ms);
  }
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle() const { return handle_; }
  std::string what_is_wrong(int code) const {
    return path_ + ": " + (handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  }

 private:
  const std::string path_;
  sqlite3* handle_ = nullptr;
};

struct Busy : CannotRead {
  using CannotRead::CannotRead;
};
struct Damaged : CannotRead {
  using CannotRead::CannotRead;
};

class Statement final : public RowStream {
 public:
  Statement(const Database& database, const std::string& select) : database_(database) {
    check(sqlite3_prepare_v2(database.handle(), select.c_str(), int(select.size()), &handle_,
                             nullptr));
  }
  ~Statement() override { sqlite3_finalize(handle_); }

  bool next() override {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) check(code);
    return false;
  }
  std::int64_t integer(int column) const override {
    if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER)
      throw BadValue(name(column) + " is not an integer");
    return sqlite3_column_int64(handle_, column);
  }
  std::string_view text(int column) const override {
    if (sqlite3_column_type(handle_, column) != SQLITE_TEXT)
      throw BadValue(name(column) + " is not a text");
    return bytes(column);
  }
  // Returns the bytes of a blob or of any other type.
  std::string_view bytes(int column) const {
    const void* begin = sqlite3_column_blob(handle_, column);
    return {static_cast<const char*>(begin), std::size_t(sqlite3_column_bytes(handle_, column))};
  }

 private:
  std::string name(int column) const { return sqlite3_column_name(handle_, column); }
  void check(int code) const {
    if (code == SQLITE_OK) return;
    if ((code & 0xFF) == SQLITE_BUSY) throw Busy(database_.what_is_wrong(code));
    if (code == SQLITE_IOERR_DATA) throw Damaged(last_page_damage());
    if ((code & 0xFF) == SQLITE_CORRUPT) throw Damaged(database_.what_is_wrong(code));
    throw CannotRead(database_.what_is_wrong(code));
  }

  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

std::string one_text(const Database& database, const std::string& select) {
  Statement statement(database, select);
  return statement.next() ? std::string(statement.bytes(0)) : std::string();
}

// Runs `work`, which reads the journal of a stopped server or the log of its tables.
template <class Work>
auto while_closed(Work work) try {
  return work();
} catch (const Busy&) {
  throw CannotRead("a server has opened the store while it was audited; audit it again");
}

class SqliteSource final : public Source {
  // Returns what `read` gets from the journal. Throws Busy, Damaged, CannotRead.
  template <class Read>
  auto from_journal(Read read) const try {
    if (!journal_->is_complete()) throw CannotRead(journal_->file() + " is empty or unfinished");
    return read();
  } catch (const StoreFenced& error) {
    throw Busy(error.what());
  } catch (const StoreOtherVersion& error) {
    throw CannotRead(error.what());
  } catch (const StoreCorrupt& error) {
    throw Damaged(error.what());
  } catch (const StoreUnavailable& error) {
    throw CannotRead(error.what());
  }

 public:
  SqliteSource(std::string url, std::string path, std::unique_ptr<LocalJournalReader> journal)
      : url_(std::move(url)), path_(std::move(path)), journal_(std::move(journal)) {
    for (const std::string& file : {path_, journal_->file()})
      if (::access(file.c_str(), R_OK) != 0)
        throw CannotRead(file + " is missing or cannot be read");
    try {
      tables_ = std::make_unique<Database>(path_);
      Statement(*tables_, "BEGIN").next();
      id_ = one_text(*tables_, "SELECT id FROM store");  // this first read fixes the snapshot
      check_format(*tables_, path_);
    } catch (const Damaged& error) {
      if (!begins_as_database(path_)) throw;
      damaged_ = {path_, error.what()};
      return;
    }
    try {
      const LocalJournalReader::Header header = from_journal([&] { return journal_->header(); });
      epoch_ = header.epoch;
      id_of_journal_ = header.store;
      journal_->require_epoch(epoch_);
      acknowledged_ = journal_->acknowledged(id_of_journal_);
    } catch (const Damaged& error) {
      damaged_ = {journal_->file(), error.what()};
    } catch (const Busy&) {
      hidden_ = "a running server has locked " + journal_->file();
    }
  }

  std::string describe() const override { return url_; }
  std::unique_ptr<RowStream> tables(const std::string& select) override {
    return std::make_unique<Statement>(*tables_, select);
  }
  std::string journal_hidden() const override { return hidden_; }
  Epoch epoch() const override { return epoch_; }
  std::optional<Epoch> tables_epoch() const override {
    Statement statement(*tables_, "SELECT epoch FROM projection");
    if (!statement.next()) return {};
    return Epoch(statement.integer(0));
  }

  std::vector<JournalRow> journal(BatchNumber after) override {
    return while_closed(
        [&] { return from_journal([&] { return journal_->read(after, journal_rows_at_once); }); });
  }

  std::optional<BatchNumber> acknowledged() const override { return acknowledged_; }

  bool check_files(Findings& findings) override {
    if (!damaged_.first.empty()) {
      findings.violation("files", damaged_.first, damaged_.second);
      return false;
    }
    if (hidden_.empty() && !check_log(findings)) return false;
    const bool tables_sound = check_structure(findings, *tables_, path_);
    if (!hidden_.empty()) return tables_sound;
    if (id_ != id_of_journal_)
      findings.violation("files", "store",
                         path_ + " and " + journal_->file() + " belong to different stores");
    return check_records(findings) && tables_sound;
  }

 private:
  // Checks the log of a stopped store only: a running server writes to its log.
  bool check_log(Findings& findings) try {
    const std::string damage = find_log_damage(path_);
    if (damage.empty()) return true;
    while_closed([&] {
      if (from_journal([&] { return journal_->header(); }).epoch != epoch_) throw Busy("");
    });
    findings.violation("files", log_of(path_), damage);
    return false;
  } catch (const StoreUnavailable& error) {
    throw CannotRead(error.what());
  }
  // Reads every record, with its checksum.
  bool check_records(Findings& findings) try {
    for (std::vector<JournalRow> rows = journal(0); !rows.empty();)
      rows = journal(rows.back().batch);
    return true;
  } catch (const Damaged& error) {
    findings.violation("files", journal_->file(), error.what());
    return false;
  }
  static void check_format(const Database& database, const std::string& path) {
    Statement format(database, "PRAGMA user_version");
    format.next();
    require_this_format(path, format.integer(0));
  }
  static bool check_structure(Findings& findings, const Database& database,
                              const std::string& path) try {
    bool sound = true;
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the check below changes it
    const std::string damage_before = last_page_damage();
    Statement problems(database, "PRAGMA integrity_check(" + std::to_string(problems_max) + ")");
    while (problems.next())
      if (problems.bytes(0) != "ok") {
        findings.violation("files", path, std::string(problems.bytes(0)));
        sound = false;
      }
    // SQLite reports only an error code for the page
    if (!sound && last_page_damage() != damage_before)
      findings.violation("files", path, last_page_damage());
    return sound;
  } catch (const Damaged& error) {
    findings.violation("files", path, error.what());
    return false;
  }

  const std::string url_, path_;
  const std::unique_ptr<LocalJournalReader> journal_;
  std::unique_ptr<Database> tables_;
  std::string hidden_, id_, id_of_journal_;
  std::pair<std::string, std::string> damaged_;  // file, damage; empty: none
  std::optional<BatchNumber> acknowledged_;
  Epoch epoch_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_sqlite_source(const std::string& url, const std::string& tables,
                                           std::unique_ptr<LocalJournalReader> journal) {
  return std::make_unique<SqliteSource>(url, tables, std::move(journal));
}

}  // namespace exchange::audit
