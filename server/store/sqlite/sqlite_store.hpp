#pragma once
// SqliteStore keeps the exchange in files beside each other (docs/recovery.md):
//   PATH           the tables (db/sqlite.sql)
//   PATH.journal   the journal (journal_file.hpp)
//   PATH.lock      locked while a server lives; contains the acknowledged mark
//                  (acknowledged_mark.hpp)
//   -wal, -shm     SQLite's write-ahead log of the tables and its index
//   PATH.days      closed days (sqlite_days.hpp)
// Tables and journal have the same random id, so that files of different stores are refused. Every
// commit is synced before it returns.
//
// It owns the journal and the tables, and pairs them when it opens. Owner and threads: those of
// Store.

#include "store/sqlite/sqlite_journal.hpp"
#include "store/sqlite/sqlite_tables.hpp"
#include "store/store.hpp"

namespace exchange {

class SqliteStore : public Store {
 public:
  // `journal_block_bytes` applies to a new journal.
  explicit SqliteStore(std::string path,
                       std::uint32_t journal_block_bytes = JournalFile::usual_block_bytes)
      : path_(std::move(path)), journal_(path_, journal_block_bytes), tables_(path_) {}

  std::string describe() const override { return "sqlite:" + path_; }
  Journal& journal() override { return journal_; }
  Tables& tables() override { return tables_; }
  void open() override;
  DayCheck check_day(const std::string& name) override;
  void close_day(const std::string& name) override;

 private:
  // Steps of open(), in this order.
  void check_presence() const;
  void pair_files();
  void check_reach();
  void warn_if_public() const;

  const std::string path_;
  SqliteJournal journal_;
  SqliteTables tables_;
};

}  // namespace exchange
