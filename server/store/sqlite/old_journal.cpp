#include "store/sqlite/old_journal.hpp"

#include <spdlog/spdlog.h>

#include "journal/journal_file.hpp"
#include "store/sqlite/sqlite.hpp"
#include "store/sqlite/sqlite_schema.hpp"

namespace exchange {

std::string new_journal_of(const std::string& path) { return path + "-new"; }

bool copy_old_journal(const std::string& path, std::uint32_t block_bytes) {
  SqliteDatabase old(path, SqliteDatabase::Use::write);
  if (!has_schema(old, "journal", path)) return false;
  SqliteStatement store(old, "SELECT id FROM store"), fence(old, "SELECT epoch FROM fence"),
      first(old, "SELECT coalesce(min(batch), 1) FROM journal"),
      rows(old, "SELECT batch, epoch, payload FROM journal ORDER BY batch");
  fence.step();
  first.step();
  const bool any = rows.step();
  if (!store.step()) {
    if (!any) return false;
    throw StoreCorrupt(path + " has no store id (was " + path +
                       "-wal deleted?); put the journal back");
  }
  JournalFile::create(new_journal_of(path), std::string(store.text(0)),
                      BatchNumber(first.integer(0)) - 1, Epoch(fence.integer(0)), block_bytes,
                      [&](JournalFile& journal) {
                        for (bool more = any; more; more = rows.step())
                          journal.import({BatchNumber(rows.integer(0)), Epoch(rows.integer(1)),
                                          std::string(rows.text(2))});
                      });
  return true;
}

void replace_old_journal(const std::string& path, std::uint32_t block_bytes) {
  {
    JournalFile copy(new_journal_of(path), JournalFile::Use::read);
    JournalFile::create(path, copy.id(), copy.begins_after(), copy.epoch(), block_bytes,
                        [&](JournalFile& journal) {
                          copy.read(0, [&](const JournalRow& row) {
                            journal.import(row);
                            return true;
                          });
                        });
  }
  remove_file(new_journal_of(path));
  spdlog::info("{}: rewritten in the present form of journals", path);
}

}  // namespace exchange
