#pragma once
// A folder with SQLite stores of known history, as servers left them: closed, killed, or from
// before page checksums.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "catch.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"
#include "support/stores.hpp"

namespace exchange::testing {

inline const AccountId alice("1");

// Appends batches to a journal: an account, then symbols. Projects up to `projected`.
inline void fill(SqliteStore& store, BatchNumber first, BatchNumber last, BatchNumber projected,
                 std::int64_t cash = 9) {
  Exchange exchange = recover(store).exchange;
  for (BatchNumber batch = first; batch <= last; ++batch) {
    const Command command =
        batch == 1 ? Command(CreateAccount{
                         alice, Cash::whole(cash), {.log2_n = 14, .r = 8, .p = 1, .salt = {1}}})
                   : Command(CreateSymbol{SymbolName("S" + std::to_string(batch))});
    commit(store, exchange, batch, {command});
    if (batch == projected) project(store, exchange, batch);
  }
}

// Runs in a child process, which ends without cleaning up, as by kill -9.
inline void run_and_kill(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

struct Place {
  std::string db(const std::string& name = "x") const { return folder / (name + ".db"); }
  void make(const std::string& name, bool killed) const {
    {
      SqliteStore store(db(name));
      store.open();
      fill(store, 1, 4, 3, name[0]);  // every store has a different history
      if (!killed) fill(store, 5, 9, 7);
    }
    if (killed) fill_and_be_killed(name, 5, 9, 7);
  }
  void fill_and_be_killed(const std::string& name, BatchNumber first, BatchNumber last,
                          BatchNumber projected) const {
    run_and_kill([&] {
      auto* const store = new SqliteStore(db(name));  // never closed: the logs stay
      store->open();
      fill(*store, first, last, projected);
    });
  }
  // The last batch of a server that starts here, or its message.
  std::string start(const std::string& name = "x") const {
    return testing::start(SqliteStore(db(name)));
  }
  // Both files as servers from before page checksums wrote them: rewritten without reserved bytes.
  void make_old(const std::string& name = "x") const {
    make_old_journal(name, false);
    REQUIRE(std::system(
                ("sqlite3 '" + db(name) + "' .dump | sqlite3 '" + db("old") + "'").c_str()) == 0);
    run_shell("PRAGMA user_version = 1; PRAGMA journal_mode = WAL", db("old"));
    std::filesystem::rename(db("old"), db(name));
    REQUIRE(contents(db(name))[20] == 0);
  }
  // The journal as a SQLite database, as servers of version 0.4 and before had it.
  void make_old_journal(const std::string& name, bool with_checksums) const {
    std::string sql =
        "CREATE TABLE journal (batch INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, payload BLOB NOT "
        "NULL); CREATE TABLE fence (one INTEGER PRIMARY KEY, epoch INTEGER NOT NULL);"
        "CREATE TABLE store (one INTEGER PRIMARY KEY, id TEXT NOT NULL);";
    const JournalContent content = read_journal_file(db(name) + ".journal");
    sql += "INSERT INTO store VALUES (1, '" + content.id + "'); INSERT INTO fence VALUES (1, " +
           std::to_string(content.epoch) + ");";
    for (const JournalRow& row : content.rows) {
      std::string hex;
      for (const unsigned char byte : row.payload) {
        hex += "0123456789abcdef"[byte >> 4];
        hex += "0123456789abcdef"[byte & 15];
      }
      sql += "INSERT INTO journal VALUES (" + std::to_string(row.batch) + ", " +
             std::to_string(row.epoch) + ", x'" + hex + "');";
    }
    std::filesystem::remove(db(name) + ".journal");
    if (with_checksums) {
      sql += "PRAGMA user_version = 2; PRAGMA application_id = 1163412296";
      SqliteDatabase(db(name) + ".journal", SqliteDatabase::Use::write).run(sql.c_str());
    } else {
      run_shell(sql + "PRAGMA user_version = 1; PRAGMA journal_mode = WAL", db(name) + ".journal");
    }
    REQUIRE(contents(db(name) + ".journal").starts_with("SQLite format 3"));
  }
  void run_shell(const std::string& sql, const std::string& file) const {
    REQUIRE(std::system(("sqlite3 '" + file + "' \"" + sql + "\" > /dev/null").c_str()) == 0);
  }
  TemporaryFolder folder;
};

}  // namespace exchange::testing
