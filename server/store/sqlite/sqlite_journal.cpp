#include "store/sqlite/sqlite_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/fail_point.hpp"
#include "journal/acknowledged_mark.hpp"

namespace exchange {
namespace {

std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 32; ++i) id += "0123456789abcdef"[random() % 16];
  return id;
}

}  // namespace

SqliteJournal::~SqliteJournal() {
  if (lock_file_ >= 0) ::close(lock_file_);
}

void SqliteJournal::require_open() const {
  if (journal_ == nullptr) throw StoreUnavailable(file() + " is not open");
}

// Locks PATH.lock. The kernel releases the lock when the process ends, also after kill -9.
void SqliteJournal::lock() {
  if (lock_file_ >= 0) return;
  const std::string lock_path = path_ + ".lock";
  lock_file_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_file_ < 0)
    throw StoreUnavailable("cannot create " + lock_path + ": " + std::strerror(errno) +
                           "; does the folder exist, and may this user write in it?");
  ::fchmod(lock_file_, 0600);  // a process that can read the file can hold the lock
  if (::flock(lock_file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_file_);
    lock_file_ = -1;
    throw StoreFenced(path_ + " is in use by another server, which has locked " + lock_path +
                      "; stop that server, or give this one another --store");
  }
}

void SqliteJournal::open() {
  journal_.reset();
  if (!JournalFile::is_complete(file()))
    JournalFile::create(file(), random_id(), 0, 0, block_bytes_);
  journal_ = std::make_unique<JournalFile>(file(), JournalFile::Use::write);
}

void SqliteJournal::check_mark() const {
  const std::optional<AcknowledgedMark> mark = read_mark(lock_file_);
  if (!mark || mark->store != journal_->id() || journal_->newest_batch() >= mark->batch) return;
  throw StoreCorrupt(file() + " ends with batch " + std::to_string(journal_->newest_batch()) +
                     ", but batch " + std::to_string(mark->batch) +
                     " was acknowledged: the end of the journal is lost; put it back, or, to go"
                     " back to a backup on purpose and lose what came after it, remove " +
                     path_ + ".lock");
}

Epoch SqliteJournal::take_epoch() {
  journal_->take_epoch();
  return journal_->epoch();
}

void SqliteJournal::read(BatchNumber after, const Visit& visit) {
  journal_->read(after, [&](const JournalRow& row) { return visit(row), true; });
}

void SqliteJournal::append(BatchNumber batch, std::string_view payload) {
  require_open();
  fail_point<StoreUnavailable>("append.before");
  if (batch <= journal_->newest_batch())
    throw StoreUnavailable("batch " + std::to_string(batch) + " is in the journal already");
  journal_->append(batch, payload);
  fail_point<StoreUnavailable>("append.after_commit");
  write_mark(lock_file_, journal_->id(), batch);
}

// The journal is locked, so this server knows its content, unless its file was replaced.
bool SqliteJournal::resolve_in_doubt(BatchNumber batch) {
  fail_point<StoreUnavailable>("resolve.before");
  require_open();
  if (!journal_->is_current())
    throw StoreFenced(path_ + ": another server has taken the store over");
  fail_point<StoreUnavailable>("resolve.after");
  return journal_->newest_batch() >= batch;
}

void SqliteJournal::confirm_epoch() { require_open(); }

// Prepares a block, so that a commit need not make one. If the disk is full, a commit tries again
// once it needs the block, and reports the error.
void SqliteJournal::prepare() {
  try {
    journal_->prepare();
  } catch (const StoreUnavailable&) {
  }
}

}  // namespace exchange
