#pragma once
// A folder with SQLite stores of known history, as servers left them: closed or killed.

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

// Appends batches to a journal: first an account, then symbols. Projects up to `projected`.
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

// Runs the work in a child process, which ends without cleanup, as after kill -9.
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
  // Starts a server here; returns its last batch, or its message.
  std::string start(const std::string& name = "x") const {
    return testing::start(SqliteStore(db(name)));
  }
  void run_shell(const std::string& sql, const std::string& file) const {
    REQUIRE(std::system(("sqlite3 '" + file + "' \"" + sql + "\" > /dev/null").c_str()) == 0);
  }
  TemporaryFolder folder;
};

}  // namespace exchange::testing
