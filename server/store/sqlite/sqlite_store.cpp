#include "store/sqlite/sqlite_store.hpp"

#include <sys/stat.h>

#include "base/fail_point.hpp"
#include "base/log.hpp"
#include "store/sqlite/sqlite_days.hpp"
#include "store/sqlite/sqlite_log.hpp"

namespace exchange {

void SqliteStore::open() {
  try {
    journal_.lock();
    complete_day(path_);
    check_presence();
    tables_.check_log();
    journal_.open();
    tables_.open();
    pair_files();
    check_reach();
    journal_.check_mark();
    tables_.open_reader();
    tables_.take_epoch(journal_.take_epoch());
    warn_if_public();
    fail_point("recovery.epoch_taken");
  } catch (const StoreUnavailable& error) {
    throw StoreCorrupt(error.what());  // not retryable: a local file does not appear by itself
  }
}

// Refuses a store with a missing file. Must run before SQLite opens the files, because SQLite would
// create the missing file again and delete the remaining log.
void SqliteStore::check_presence() const {
  const bool tables = file_has_content(path_), journal = JournalFile::is_complete(journal_.file());
  if (tables && !journal)
    throw StoreCorrupt(
        journal_.file() + " is missing or empty, but its tables " + path_ +
        " are not; put the journal back: orders that were acknowledged may be in it alone. Never "
        "start with a deleted journal");
  if (!journal && file_has_content(log_of(path_)))
    throw StoreCorrupt(
        log_of(path_) +
        " is there, but the database that it belongs to is not; put both files of the store back, "
        "or remove the log for a new store");
}

// Checks that both files have the same store id, because a journal must not be replayed into the
// tables of another store. Gives new tables the id. The journal gets the id first, so that after a
// crash in between the tables are known to be new, not lost.
void SqliteStore::pair_files() {
  const JournalFile& journal = journal_.opened();
  const std::string of_tables = tables_.id();
  if (of_tables == journal.id()) return;
  if (!of_tables.empty())
    throw StoreCorrupt(path_ + " and " + journal_.file() +
                       " belong to different stores; put back the two files of one");
  const bool never_opened = journal.epoch() == 0;
  if (!never_opened && journal.begins_after() > 0)
    throw StoreCorrupt(
        path_ + " is missing or new, and its journal " + journal_.file() +
        " does not go back to the first batch; put the tables back, or a backup of them that the "
        "journal reaches back to (docs/recovery.md)");
  if (!never_opened)
    log_warning("{} is missing or new: rebuilding it from {}, which goes back to the first batch",
                path_, journal_.file());
  tables_.set_id(journal.id());
}

void SqliteStore::check_reach() {
  const BatchNumber begins_after = journal_.opened().begins_after(),
                    projected = tables_.projected_batch();
  if (projected >= begins_after) return;
  throw StoreCorrupt(
      path_ + " has the batches up to " + std::to_string(projected) +
      ", but the journal begins after batch " + std::to_string(begins_after) +
      ": batches are missing; put newer tables back, or restore the store from a backup");
}

void SqliteStore::warn_if_public() const {
  for (const std::string& path : {path_, journal_.file()}) {
    struct stat file {};
    if (::stat(path.c_str(), &file) == 0 && (file.st_mode & S_IROTH) != 0)
      log_warning("every user of this machine can read {}, and the key hashes in it; chmod o= {}",
                  path, path);
  }
}

DayCheck SqliteStore::check_day(const std::string& name) {
  return exchange::check_day(path_, name);
}

// Keeps the lock, so that no other server can open the store in between.
void SqliteStore::close_day(const std::string& name) {
  tables_.close();
  journal_.close();
  begin_day(path_, name);
  complete_day(path_);
}

}  // namespace exchange
