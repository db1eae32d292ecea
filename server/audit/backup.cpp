#include "audit/backup.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "audit/source.hpp"
#include "journal/acknowledged_mark.hpp"
#include "journal/journal_file.hpp"
#include "journal/raw_file.hpp"
#include "store/sqlite/page_checksums.hpp"
#include "store/sqlite/page_damage.hpp"
#include "store/sqlite/sqlite.hpp"
#include "store/sqlite/sqlite_days.hpp"
#include "store/sqlite/store_vfs.hpp"
#include "store/store_url.hpp"

namespace exchange::audit {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : file_(::open(path.c_str(), flags, 0600)) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  operator int() const { return file_; }

 private:
  const int file_;
};

// The copy holds key hashes and all orders, so only its owner may read its files.
class PrivateFiles {
 public:
  ~PrivateFiles() { ::umask(before_); }

 private:
  const mode_t before_ = ::umask(077);
};

[[noreturn]] void throw_errno(const std::string& what) {
  throw CannotRead(what + ": " + std::strerror(errno));
}

std::optional<AcknowledgedMark> mark_of(const std::string& path) {
  const Descriptor file(path + ".lock", O_RDONLY | O_CLOEXEC);
  return file < 0 ? std::nullopt : read_mark(file);
}

// Copies the pages as of one moment: that of the transaction that `tables` has begun.
void copy_tables(SqliteDatabase& tables, const std::string& to) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(to.c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                   store_vfs());
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> copy(handle, sqlite3_close);
  const auto check = [&](int result) {
    if (result != SQLITE_OK && result != SQLITE_DONE)
      throw CannotRead(to + ": " + sqlite3_errmsg(handle));
  };
  check(code);
  int reserved = checksum_bytes;
  check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved));
  // Write the first page first, so that all other pages get checksums.
  check(sqlite3_exec(handle, "PRAGMA journal_mode = OFF; PRAGMA user_version = 1", nullptr, nullptr,
                     nullptr));
  sqlite3_backup* const backup = sqlite3_backup_init(handle, "main", tables.handle(), "main");
  if (backup == nullptr) check(SQLITE_ERROR);
  const int copied = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (copied == SQLITE_IOERR_DATA && !last_page_damage().empty())
    throw CannotRead(last_page_damage());
  check(copied);
}

// Copies every batch from the tables' newest one on, whose record has the totals that they must
// have; all batches if the journal goes back to the first one. Returns the newest batch. While the
// transaction of the tables is open, the server uses no block of these batches again.
BatchNumber copy_journal(const std::string& from, const std::string& to, BatchNumber tables) {
  JournalFile journal(from, JournalFile::Use::read_beside);
  const BatchNumber after = journal.begins_after() == 0 ? 0 : std::max<BatchNumber>(tables, 1) - 1;
  if (journal.begins_after() > after)
    throw StoreCorrupt(from + " begins after batch " + std::to_string(journal.begins_after()) +
                       ", but the tables end with batch " + std::to_string(tables));
  JournalFile::create(to, journal.id(), after, journal.epoch(), JournalFile::usual_block_bytes,
                      [&](JournalFile& copy) {
                        journal.read(after,
                                     [&](const JournalRow& row) { return copy.import(row), true; });
                      });
  return journal.newest_batch();
}

// Tries again if the server reuses a block that was just found; that seldom happens twice during a
// try.
BatchNumber copy_journal_beside(const std::string& from, const std::string& to,
                                BatchNumber tables) {
  constexpr int tries = 10;
  for (int i = 1;; ++i) try {
      return copy_journal(from, to, tables);
    } catch (const StoreCorrupt&) {
      if (i == tries) throw;
    }
}

void copy_store(const std::string& path, const std::string& to) {
  // Read the mark first: every batch that is acknowledged now must be in the copy.
  const std::optional<AcknowledgedMark> mark = mark_of(path);
  SqliteDatabase tables(path, SqliteDatabase::Use::read);
  tables.run("BEGIN");
  SqliteStatement state(tables, "SELECT batch, id FROM projection, store");
  if (!state.step()) throw CannotRead(path + " is not a store of the exchange");
  const BatchNumber projected = BatchNumber(state.integer(0));
  const std::string id(state.text(1));
  state.reset();
  const BatchNumber newest = copy_journal_beside(path + ".journal", to + ".journal", projected);
  if (mark && mark->store == id && newest < mark->batch)
    throw CannotRead(path + ".journal ends with batch " + std::to_string(newest) + ", but batch " +
                     std::to_string(mark->batch) + " was acknowledged: its end is damaged");
  copy_tables(tables, to);
  const Descriptor lock(to + ".lock", O_WRONLY | O_CREAT | O_CLOEXEC);
  if (lock < 0) throw_errno("cannot create " + to + ".lock");
  write_mark(lock, id, newest);
  if (::fsync(lock) != 0) throw_errno("cannot sync " + to + ".lock");
}

}  // namespace

std::string back_up(const std::string& store, const std::string& folder) {
  if (store_kind(store) != StoreKind::sqlite)
    throw std::invalid_argument(
        "--backup copies stores sqlite:PATH; pg_dump copies a PostgreSQL database "
        "(docs/recovery.md)");
  const std::string path = sqlite_path(store);
  for (const std::string& file : {path, path + ".journal"})
    if (::access(file.c_str(), R_OK) != 0) throw CannotRead(file + " is missing or cannot be read");
  const fs::path target = fs::absolute(folder + "/.").lexically_normal().parent_path(),
                 partial = target.string() + ".partial";
  const PrivateFiles is_private;
  try {
    if (fs::exists(target) && (!fs::is_directory(target) || !fs::is_empty(target)))
      throw CannotRead(target.string() + " is not an empty folder; name a new one");
    if (!fs::create_directory(partial))
      throw CannotRead(partial.string() +
                       " exists: another backup is running, or one was interrupted; "
                       "remove it");
    try {
      copy_store(path, partial / fs::path(path).filename());
      sync_folder(partial);
      fs::rename(partial, target);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(partial, ignored);
      throw;
    }
    sync_folder(target.parent_path());
  } catch (const fs::filesystem_error& error) {
    throw CannotRead(error.what());
  } catch (const StoreCorrupt& error) {
    throw CannotRead(error.what());
  } catch (const StoreUnavailable& error) {
    throw CannotRead(error.what());
  }
  return "sqlite:" + (target / fs::path(path).filename()).string();
}

}  // namespace exchange::audit
