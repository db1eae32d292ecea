// A store that is closed as a day, and the empty one in its place.

#include <filesystem>

#include "contract/places.hpp"
#include "store/kept_days.hpp"
#include "support/journal_rows.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;

std::size_t journal_rows(Store& store) { return journal_after(store, 0).size(); }

}  // namespace

TEST_CASE("a store that is closed as a day leaves an empty one") {
  const std::unique_ptr<SqlPlace> place = any_sql_place();
  Store& store = place->reopen();
  store.journal().append(1, "payload");
  store.tables().project(one_account(), 1);
  CHECK_FALSE(store.check_day("monday").closed);
  CHECK(store.check_day("monday").problem == "");
  store.close_day("monday");

  Store& next = place->reopen();
  CHECK(next.tables().load().rows.accounts.empty());
  CHECK(journal_rows(next) == 0);
  CHECK_FALSE(next.check_day("tuesday").closed);
  const std::optional<std::string> closed = next.check_day("monday").closed;
  REQUIRE(closed);
  next.journal().append(1, "of the next day");
  CHECK_THROWS_AS(next.close_day("monday"), std::runtime_error);
  CHECK(journal_rows(place->reopen()) == 1);
  if (!closed->starts_with("sqlite:")) return;  // system_tests read those of PostgreSQL
  SqliteStore day(sqlite_path(*closed));
  day.open();
  CHECK(day.tables().load().rows.accounts.size() == 1);
  CHECK(journal_rows(day) == 1);
}

TEST_CASE("the journal of a closed day is read in portions, while the next day is written") {
  SqlitePlace sqlite;
  PostgresPlace postgres;
  const bool is_sqlite = GENERATE(true, false);
  SqlPlace& place = is_sqlite ? static_cast<SqlPlace&>(sqlite) : postgres;
  const std::unique_ptr<KeptDays> days =
      make_kept_days(is_sqlite ? "sqlite:" + sqlite.path() : postgres.url());
  const auto batches = [](const std::vector<JournalRow>& rows) {
    std::string text;
    for (const JournalRow& row : rows) text += std::to_string(row.batch) + row.payload + " ";
    return text;
  };
  Store& store = place.reopen();
  CHECK(days->names().empty());
  for (const BatchNumber batch : {1, 2, 3}) store.journal().append(batch, "abc");
  store.close_day("x-2026-11-26");
  Store& next = place.reopen();
  next.journal().append(1, "of the next day");
  CHECK(days->names() == std::vector<std::string>{"x-2026-11-26"});
  const std::unique_ptr<JournalReader> day = days->open("x-2026-11-26");
  REQUIRE(day);
  CHECK(batches(day->read(0, 2)) == "1abc 2abc ");
  CHECK(batches(day->read(2, 2)) == "3abc ");
  CHECK(day->read(3, 2).empty());
  CHECK(day->newest() == 3);
  for (const char* name : {"monday", "..", "x_2026_11_26", ""}) CHECK(days->open(name) == nullptr);
  place.close();
}

TEST_CASE(
    "the end of a closed journal that was lost is noticed, and damage names the batch alone") {
  SqlitePlace place;
  Store& store = place.reopen();
  for (const BatchNumber batch : {1, 2, 3}) store.journal().append(batch, "payload");
  store.close_day("monday");
  place.close();
  const std::string journal = place.path() + ".days/monday/x.db.journal";
  const std::unique_ptr<JournalReader> day =
      make_kept_days("sqlite:" + place.path())->open("monday");
  keep_batches(journal, 1, 2);
  CHECK(day->newest() == 3);
  CHECK(day->read(0, 9).size() == 2);
  std::fstream(journal, std::ios::in | std::ios::out | std::ios::binary).seekp(60) << "damage";
  CHECK_THROWS_WITH(day->read(2, 9), "journal batch 3 cannot be read");
  fs::remove(journal);
  CHECK_THROWS_WITH(day->read(0, 9), "the journal of this day cannot be read now");
}

TEST_CASE("a server that was replaced on a closed day does not append to the next one") {
  const std::string url = shared_cluster().create_database();
  PostgresStore fenced(url);
  fenced.open();
  end_connections(url);
  {
    PostgresStore successor(url);
    successor.open();
    successor.journal().append(1, "payload");
    successor.close_day("monday");
  }
  PostgresStore next(url);
  next.open();
  CHECK_THROWS_AS(fenced.journal().append(1, "of the fenced server"), StoreUnavailable);
  CHECK_THROWS_AS(fenced.journal().resolve_in_doubt(1), StoreFenced);
  CHECK_THROWS_AS(fenced.close_day("tuesday"), StoreFenced);
  CHECK(journal_rows(next) == 0);
}

TEST_CASE("a day that cannot be closed says why, and one that fails changes nothing") {
  SECTION("SQLite: a path that is a symbolic link") {
    const TemporaryFolder folder;
    SqliteStore(folder / "x.db").open();
    for (const char* file : {"", ".journal"})
      fs::create_symlink(folder / ("x.db" + std::string(file)),
                         folder / ("link.db" + std::string(file)));
    SqliteStore store(folder / "link.db");
    CHECK_THAT(store.check_day("monday").problem, contains_text("link.db is a symbolic link"));
  }
  SECTION("PostgreSQL: a schema of another kind, and a reader that holds the tables") {
    PostgresPlace place;
    Store& store = place.reopen();
    place.run("CREATE SCHEMA day_monday");
    CHECK_THAT(store.check_day("monday").problem, contains_text("a schema day_monday exists"));
    pqxx::connection reader(place.url());
    pqxx::work reading(reader);
    reading.exec("SELECT * FROM orders");
    CHECK_THROWS_AS(store.close_day("tuesday"), std::runtime_error);
    reading.abort();
    CHECK_FALSE(place.reopen().check_day("tuesday").closed);
    CHECK(place.query("SELECT count(*) FROM fence") == Lines{"1"});
  }
  CHECK(MemoryStore().check_day("monday").problem != "");
}

// SQLite removes the log of tables that no other program has open: this one must not remove the log
// of the next day in place of its own.
TEST_CASE("who reads a SQLite store while it is closed reads on, and leaves the next day alone") {
  SqlitePlace place;
  Store& store = place.reopen();
  store.journal().append(1, "payload");
  store.tables().project(one_account(), 1);
  auto reader = std::make_unique<SqliteDatabase>(place.path(), SqliteDatabase::Use::read);
  const auto accounts = [&] {
    SqliteStatement count(*reader, "SELECT count(*) FROM accounts");
    return count.step() ? count.integer(0) : -1;
  };
  CHECK(accounts() == 1);
  store.close_day("monday");
  Store& next = place.reopen();
  next.journal().append(1, "of the next day");
  next.tables().project(Rows{}, 1);
  CHECK(accounts() == 1);
  reader.reset();
  CHECK(fs::exists(place.path() + "-wal"));
  CHECK(place.query("SELECT count(*) FROM accounts") == Lines{"0"});
  const fs::path day = place.path() + ".days/monday/x.db";
  SqliteStore closed(day.string());
  closed.open();
  CHECK(closed.tables().load().rows.accounts.size() == 1);
}

TEST_CASE("names of days are plain") {
  for (const char* name : {"2026-11-26", "a", "monday", "x1", "abcdefghijklmnopqrstuvwxyz012345"})
    CHECK(is_day_name(name));
  for (const char* name : {"", "-a", "a-", "Monday", "a.b", "a/b", "..", "a b", "a_b", "\xc3\xa4",
                           "abcdefghijklmnopqrstuvwxyz0123456"})
    CHECK_FALSE(is_day_name(name));
}
