#pragma once
// SqliteJournal is the journal of a SQLite store: its file (journal_file.hpp) and PATH.lock, which
// is locked while a server lives and contains the acknowledged mark (acknowledged_mark.hpp). The
// file is locked too, so only this server appends. Owner: SqliteStore. Threads: those of Journal.

#include <memory>
#include <string>

#include "journal/journal.hpp"
#include "journal/journal_file.hpp"

namespace exchange {

class SqliteJournal final : public Journal {
 public:
  // `path` is that of the store. `block_bytes` applies to a new journal.
  SqliteJournal(const std::string& path, std::uint32_t block_bytes)
      : path_(path), block_bytes_(block_bytes) {}
  ~SqliteJournal() override;

  std::string file() const { return path_ + ".journal"; }
  // Throws StoreFenced if another server has the lock.
  void lock();
  // Opens the file. Makes it if it does not exist.
  void open();
  // Throws StoreCorrupt if the file ends before the acknowledged mark.
  void check_mark() const;
  Epoch take_epoch();
  // Requires an open file: not after close().
  const JournalFile& opened() const { return *journal_; }
  // Closes the file, but keeps the lock.
  void close() { journal_.reset(); }

  void read(BatchNumber after, const Visit& visit) override;
  void append(BatchNumber batch, std::string_view payload) override;
  bool resolve_in_doubt(BatchNumber batch) override;
  void confirm_epoch() override;
  void prepare() override;
  void prune(BatchNumber through) override { journal_->prune(through); }

 private:
  void require_open() const;

  const std::string path_;
  const std::uint32_t block_bytes_;
  int lock_file_ = -1;
  std::unique_ptr<JournalFile> journal_;  // core thread; the projector's calls are its own
};

}  // namespace exchange
