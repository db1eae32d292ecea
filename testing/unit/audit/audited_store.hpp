#pragma once
// A SQLite store that a test damages, and the findings of an audit.

#include <fstream>

#include "audit/audit.hpp"
#include "audit/source.hpp"
#include "catch.hpp"
#include "store/sqlite/sqlite.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"
#include "unit/audit/built_store.hpp"

namespace exchange::testing {

// Overwrites the bytes of a file from `at` on.
inline void overwrite(const std::string& path, std::size_t at, const std::string& bytes) {
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(std::streamoff(at))
      .write(bytes.data(), std::streamsize(bytes.size()));
}
inline void flip_bit(const std::string& path, std::size_t at) {
  overwrite(path, at, {char(contents(path).at(at) ^ 1)});
}

struct AuditedStore {
  void tables(const std::string& sql) const {
    SqliteDatabase(path, SqliteDatabase::Use::write).run(sql.c_str());
  }
  void keep(BatchNumber first, BatchNumber last) const { keep_batches(journal, first, last); }
  void payload(BatchNumber batch, const std::function<std::string(std::string)>& edit) const {
    edit_journal(journal, [&](JournalContent& content) {
      JournalRow& row = content.rows.at(batch - content.rows.front().batch);
      row.payload = edit(row.payload);
    });
  }
  // Changes a byte of the journal, `share` of the way to the end of its records.
  void damage_journal(double share) const {
    const std::string bytes = contents(journal);
    flip_bit(journal, std::size_t(double(bytes.find_last_not_of('\0')) * share));
  }
  std::string text(audit::AuditOptions options = {}) const {
    options.store = url;
    return text_of(audit::audit(options));
  }
  void finds(const std::string& what, audit::AuditOptions options = {}) const {
    CHECK_THAT(text(std::move(options)), contains_text(what));
  }
  void finds_nothing() const { finds("clean: no violation"); }

  struct Planted {
    std::string sql, found;
  };
  // Makes each change to the tables alone, on a sound store.
  void check_each_found(const std::vector<Planted>& planted) const {
    const std::string sound = folder / "sound.db";
    std::filesystem::copy_file(path, sound, std::filesystem::copy_options::overwrite_existing);
    for (const auto& [sql, found] : planted) {
      tables(sql);
      INFO(sql);
      finds(found);
      std::filesystem::copy_file(sound, path, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::remove(path + "-wal");
      std::filesystem::remove(path + "-shm");
    }
  }
  // For `row`, such as "orders 5": the SQL between SET and WHERE, and the expected finding.
  void check_each_found(const std::string& row, const std::string& key,
                        std::vector<Planted> changes) const {
    const std::string table = row.substr(0, row.find(' ')), number = row.substr(row.find(' ') + 1);
    for (auto& [sql, found] : changes) {
      sql = "UPDATE " + table + " SET " + sql + " WHERE " + key + " = " + number;
      found = "[tables] " + row + ": " + found;
    }
    check_each_found(changes);
  }

  TemporaryFolder folder;
  const std::string path = folder / "x.db", journal = path + ".journal", url = "sqlite:" + path;
};

}  // namespace exchange::testing
