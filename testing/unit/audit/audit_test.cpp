// exchange-audit finds planted damage, each with its row, and finds nothing in a sound store.

#include "catch.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "journal/journal_record.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/pqxx_shim.hpp"
#include "store/sqlite/wal_frames.hpp"
#include "unit/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;

// Made once, and copied for each test.
struct SoundStore {
  SoundStore() : path(folder.path() + "/x.db") {
    SqliteStore store(path);
    store.open();
    past = std::make_unique<Past>(store);
  }
  TemporaryFolder folder;
  const std::string path;
  std::unique_ptr<const Past> past;
};

const SoundStore& sound_store() {
  static const SoundStore store;
  return store;
}

struct SqliteFixture : AuditedStore {
  SqliteFixture() {
    for (const char* part : {"", ".journal"}) fs::copy_file(sound_store().path + part, path + part);
  }
  const Past* const past = sound_store().past.get();
};

std::string shares_text(Side side, Shares shares) {
  return (side == Side::buy ? "" : "-") + to_string(shares);
}
std::string line_of(const PastOrder& order, const std::string& id) {
  return id + " account=" + std::string(order.placed.account.view()) +
         " symbol=" + std::string(order.placed.symbol.view()) +
         " amount=" + shares_text(order.placed.side, order.placed.shares) +
         " limit=" + to_string(order.placed.limit) + "\n";
}

// Returns a record with another time or other commands, and the same totals.
std::string reworded(const std::string& payload, const std::function<void(JournalRecord&)>& edit) {
  JournalRecord record = decode_journal_record(payload);
  edit(record);
  JournalWriter writer;
  writer.begin(record.time);
  for (const Command& command : record.commands) writer.add(command);
  Totals totals;
  totals.orders = record.orders;
  totals.executions = record.executions;
  totals.digest = record.digest;
  return std::string(writer.finish(totals));
}

// An order that executed in full, one that was canceled in part, an open buy.
const std::string filled = "(SELECT min(id) FROM orders WHERE open_e8 = 0 AND canceled_e8 = 0)";
const std::string canceled = "(SELECT min(id) FROM orders WHERE canceled_e8 > 0)";
const std::string open_buy =
    "(SELECT min(o.id) FROM orders o WHERE o.is_buy AND o.open_e8 > 0 AND EXISTS (SELECT 1 FROM "
    "orders s WHERE NOT s.is_buy AND s.open_e8 > 0 AND s.symbol = o.symbol))";

}  // namespace

TEST_CASE_METHOD(
    SqliteFixture,
    "a sound store is clean, every row is compared with a replay, and no file is written to") {
  const std::string tables_before = contents(path), journal_before = contents(journal);
  const Audit result = audit::audit({.store = url});
  std::map<std::string, std::uint64_t> counts(result.findings.counts().begin(),
                                              result.findings.counts().end());
  CHECK(text_of(result).ends_with("clean: no violation\n"));
  CHECK(result.findings.not_checked().empty());
  CHECK(counts["projected batch"] == Past::projected);
  CHECK(counts["journal records"] == Past::batches);
  CHECK(counts["last batch"] == Past::batches);
  CHECK(counts["executions"] > 100);
  CHECK(counts["open orders"] > 5);
  CHECK(counts["orders"] > counts["open orders"] + 50);
  CHECK(counts["rows compared with the replay"] ==
        counts["orders"] + counts["executions"] + counts["accounts"] + counts["account keys"] +
            counts["symbols"] + counts["positions"] + counts["order references"] +
            counts["replacements"] + counts["account events"] + 1);
  CHECK(counts["replacements"] > 5);
  CHECK(counts["account events"] > 100);
  CHECK(contents(path) == tables_before);
  CHECK(contents(journal) == journal_before);
}

TEST_CASE_METHOD(SqliteFixture, "what is wrong with the tables alone is found, with its row") {
  check_each_found(
      "executions 5", "id",
      {
          {"buy_order = 999999", "buy_order 999999 does not exist"},
          {"sell_order = 999999", "sell_order 999999 does not exist"},
          {"buy_order = sell_order, sell_order = buy_order", "its buy_order sells"},
          {"buy_order = sell_order", "both sides are one order"},
          {"symbol = (symbol = 0)", "not on the symbol of its order"},
          {"price_e8 = price_e8 * 1000", "its price is beyond the limit of its order"},
          {"price_e8 = price_e8 - 1", "its price is not that of the order that was resting"},
          {"time_us = time_us + 1", "not at the time of the order that took it"},
          {"shares_e8 = 0", "shares or price not above zero"},
      });
  check_each_found("orders 5", "id",
                   {
                       {"account = 77", "its account does not exist"},
                       {"symbol = 77", "its symbol does not exist"},
                       {"is_buy = 2", "is_buy is neither 0 nor 1"},
                       {"limit_e8 = 'much'", "limit_e8 is not an integer"},
                   });
  check_each_found("accounts 1", "number",
                   {
                       {"balance_e16 = 'much'", "balance_e16 is not an amount of cash"},
                       {"balance_e16 = '-5'", "balance below zero"},
                       {"id = 'x'", "id is not an account id"},
                   });
  check_each_found({
      {"DELETE FROM executions WHERE id = 5", "[tables] executions 5: is missing"},
      {"DELETE FROM executions WHERE id = (SELECT max(id) FROM executions)", "is missing: "},
      {"INSERT INTO executions (id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us) "
       "SELECT id + 1, symbol, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions "
       "ORDER BY id DESC LIMIT 1",
       "should not be there: only "},
      {"UPDATE orders SET shares_e8 = shares_e8 + 1 WHERE id = " + filled, " + executed "},
      {"UPDATE orders SET open_e8 = 1, shares_e8 = shares_e8 + 1 WHERE id = " + canceled,
       ": is open and canceled"},
      {"UPDATE orders SET canceled_at_us = 0 WHERE id = " + canceled,
       ": canceled_e8 and canceled_at_us do not go together"},
      {"UPDATE orders SET canceled_at_us = 1 WHERE id = " + canceled,
       ": canceled before it was opened"},
      {"UPDATE orders SET opened_at_us = opened_at_us + 86400000000 WHERE id = 5",
       "[tables] orders 6: opened before the previous order"},
      {"DELETE FROM orders WHERE id = 5", "[tables] orders 5: is missing"},
      {"DELETE FROM orders WHERE id BETWEEN 5 AND 7",
       "[tables] orders 5: is missing, and the rows up to 7"},
      {"UPDATE projection SET orders = orders + 1", " ids were given"},
      {"UPDATE projection SET last_time_us = 5", "has a time after that of the newest command"},
      {"UPDATE accounts SET balance_e16 = CAST(1 AS TEXT) WHERE number = 1",
       "[tables] projection: cash is not conserved"},
      {"DELETE FROM accounts WHERE number = 1", "[tables] accounts 2: number out of sequence"},
      {"UPDATE projection SET cash_created_e16 = '1'",
       "[tables] projection: cash is not conserved"},
      {"UPDATE positions SET shares_e8 = shares_e8 + 1 WHERE account = 1 AND symbol = 0",
       "[tables] symbols 0: shares are not conserved"},
      {"UPDATE positions SET shares_e8 = -1 WHERE account = 1 AND symbol = 0",
       "[tables] positions account 1 symbol 0: shares below zero"},
      {"INSERT INTO positions VALUES (77, 0, 0)",
       "[tables] positions account 77 symbol 0: its account or symbol does not exist"},
      {"UPDATE symbols SET shares_total_e8 = 1 WHERE number = 1",
       "[tables] symbols 1: shares are not conserved"},
      {"UPDATE orders SET limit_e8 = limit_e8 * 100000 WHERE id = " + open_buy,
       ": the book is crossed: orders "},
      {"INSERT INTO account_keys SELECT 4242, key_hash FROM account_keys WHERE account = 1",
       "[tables] account_keys 4242: its account does not exist"},
      {"UPDATE account_keys SET key_hash = 'secret' WHERE account = 1",
       "[tables] account_keys 1: key_hash is not a key hash"},
      {"UPDATE order_references SET ref = 'a b'", ": ref is not an order reference"},
      {"INSERT INTO order_references VALUES (4242, 1, 'a')",
       "[tables] order_references 1: its account does not exist"},
      {"UPDATE order_references SET account = CASE account WHEN 0 THEN 1 ELSE 0 END",
       ": its account has no such order"},
      {"DELETE FROM projection", "[tables] projection: the row is missing"},
      {"UPDATE store SET id = 'another'", "[files] store: "},
      {"UPDATE projection SET epoch = 99",
       "[journal] projection: its epoch 99 is above that of the journal's fence, 1"},
  });
}

TEST_CASE_METHOD(SqliteFixture, "a journal of large records is read in pieces of some megabytes") {
  edit_journal(journal, [](JournalContent& content) {
    for (BatchNumber i = 1; i <= 30; ++i)
      content.rows.push_back({Past::batches + i, 1, std::string(1'000'000, '\0')});
  });
  const auto source = open_source(url);
  std::size_t large = 0, most = 0;
  BatchNumber last = 0;
  for (std::vector<JournalRow> rows; !(rows = source->journal(last)).empty();
       last = rows.back().batch) {
    std::size_t bytes = 0;
    for (const JournalRow& row : rows) {
      bytes += row.payload.size();
      large += row.payload.size() == 1'000'000;
    }
    most = std::max(most, bytes);
  }
  CHECK(large == 30);
  CHECK(most < 8'000'000);
}

TEST_CASE_METHOD(SqliteFixture, "a damaged file is distinguished from one that cannot be read") {
  SqliteDatabase database(path, SqliteDatabase::Use::read);
  SqliteStatement root(database,
                       "SELECT rootpage FROM sqlite_master WHERE name = 'executions_of_buy'");
  REQUIRE(root.step());
  const std::int64_t page = root.integer(0);
  root = {};
  database = {};
  overwrite(path, std::size_t(page - 1) * sqlite_page_bytes, std::string(100, '\x55'));
  finds("[files] " + path + ": ");
  finds("not checked: tables, journal and replay: the files are damaged");
}

TEST_CASE_METHOD(SqliteFixture, "a byte that changed where no row is, is found by its page") {
  const std::string bytes = contents(path);
  for (std::size_t number = 2; number * sqlite_page_bytes <= bytes.size(); ++number) {
    const std::size_t page = (number - 1) * sqlite_page_bytes;
    // Between the cell pointers of a leaf page of the table and its rows.
    const auto word = [&](std::size_t at) {
      return std::size_t(std::uint8_t(bytes[page + at])) << 8 | std::uint8_t(bytes[page + at + 1]);
    };
    if (bytes[page] != 13 || word(5) < 8 + 2 * word(3) + 4) continue;
    flip_bit(path, page + word(5) - 1);
    finds("[files] " + path + ": ");
    finds(": page " + std::to_string(number) + " (byte ");
    finds("fails its checksum");
    return;
  }
  FAIL("no page has room");
}

TEST_CASE_METHOD(
    SqliteFixture,
    "a lost end of the journal that was acknowledged is found, and the mark is only read") {
  finds_nothing();
  CHECK_FALSE(fs::exists(path + ".lock"));
  fs::copy_file(sound_store().path + ".lock", path + ".lock");
  const auto written = fs::last_write_time(path + ".lock");
  finds_nothing();
  keep(1, 190);
  finds("[journal] journal batch 200: was acknowledged, but the journal ends with batch 190");
  tables("UPDATE store SET id = '0123456789abcdef0123456789abcdef'");
  // the mark is of another store
  edit_journal(journal,
               [](JournalContent& content) { content.id = "0123456789abcdef0123456789abcdef"; });
  finds_nothing();
  CHECK(fs::last_write_time(path + ".lock") == written);
}

TEST_CASE_METHOD(SqliteFixture, "damage within a log is found, and the log is only read") {
  const std::string copy = folder.path() + "/y.db", log = copy + "-wal";
  {
    SqliteStore store(path);
    store.open();
    const Rows rows{.totals = store.tables().load().rows.totals};
    for (BatchNumber i = 1; i <= 5; ++i) store.tables().project(rows, Past::projected + i);
    for (const char* part : {"", "-wal", ".journal"}) fs::copy_file(path + part, copy + part);
  }
  overwrite(log, wal_header_bytes + sqlite_page_bytes + 2 * wal_frame_header_bytes + 1'000, "\x7F");
  const std::string before = contents(log);
  CHECK_THAT(text_of(audit::audit({.store = "sqlite:" + copy})),
             contains_text("[files] " + log + ": frame 2 is damaged, and later commits follow"));
  CHECK(contents(log) == before);
}

TEST_CASE_METHOD(SqliteFixture, "a damaged record of the journal is found, in old blocks too") {
  const std::uint32_t block_bytes = GENERATE(1u << 20, 8'192u);
  edit_journal(
      journal, [](JournalContent&) {}, block_bytes);
  REQUIRE((fs::file_size(journal) < 20 * 8'192) == (block_bytes == 8'192));
  finds_nothing();
  damage_journal(0.2);
  const std::string damaged = contents(journal);
  const std::string found = text();
  CHECK_THAT(found, contains_text("[files] " + journal + ": ") &&
                        contains_text(": the record at byte ") && contains_text(" is damaged"));
  CHECK_THAT(found,
             contains_text("not checked: tables, journal and replay: the files are damaged"));
  CHECK(contents(journal) == damaged);
}

TEST_CASE_METHOD(SqliteFixture, "a damaged header of the journal is found") {
  SECTION("of the file") {
    overwrite(journal, 20, "?");
    finds("[files] " + journal + ": ");
    finds(": its header is damaged");
  }
  SECTION("of a block") {
    overwrite(journal, 4'100, "?");
    finds(": the header of block 0 is damaged");
  }
}

TEST_CASE_METHOD(SqliteFixture,
                 "a store of another version, or an empty journal, is refused with the reason") {
  const auto error = [&]() -> std::string {
    try {
      return text();
    } catch (const CannotRead& refused) {
      return refused.what();
    }
  };
  tables("PRAGMA user_version = 203");
  CHECK(error() == path + " was written by version 2.3 or newer: start that version");
  tables("PRAGMA user_version = 101");
  fs::resize_file(journal, 0);
  CHECK(error() == journal + " is empty or unfinished");
  SqliteDatabase(journal, SqliteDatabase::Use::write).run("CREATE TABLE journal (batch, payload)");
  CHECK_THAT(error(), contains_text(journal + " was written by a version before 1.0: "));
}

TEST_CASE_METHOD(SqliteFixture, "a server may start during an audit, which then ends") {
  const auto source = open_source(url);
  Findings findings(1);
  CHECK(source->check_files(findings));
  CHECK(source->journal(0).size() == Past::batches);
  SqliteStore(path).open();
  CHECK_THROWS_WITH(source->journal(0), contains_text("a server has opened the store while it was"
                                                      " audited; audit it again"));
}

TEST_CASE_METHOD(SqliteFixture,
                 "tables that contradict the journal are found, closed orders included") {
  check_each_found({
      // The sum is conserved: one account's gain is another's loss.
      {"UPDATE positions SET shares_e8 = shares_e8 + (CASE account WHEN 0 THEN 1 ELSE -1 END) "
       "WHERE symbol = 0 AND account IN (0, 1)",
       "[replay] positions account 0 symbol 0: shares_e8 is "},
      {"UPDATE orders SET account = 1 - account WHERE id = (SELECT min(id) FROM orders WHERE "
       "open_e8 = 0 AND account IN (0, 1) AND id NOT IN (SELECT order_id FROM order_references))",
       ": account is "},
      {"UPDATE symbols SET name = 'OTHER' WHERE number = 0",
       "[replay] symbols 0: name is OTHER, should be "},
      {"UPDATE account_keys SET key_hash = (SELECT key_hash FROM account_keys WHERE account = 1) "
       "WHERE account = 3",
       "[replay] account_keys 3: key_hash is scrypt:14:"},
      {"DELETE FROM account_keys WHERE account = 3",
       "[replay] account_keys 3: is missing: the journal has it"},
      {"INSERT INTO account_keys SELECT 2, key_hash FROM account_keys WHERE account = 1",
       "[replay] account_keys 2: should not be there"},
      {"UPDATE order_references SET ref = 'another' WHERE order_id = (SELECT max(order_id) FROM "
       "order_references)",
       ": ref is another, should be "},
      {"DELETE FROM order_references", ": is missing: the journal has it"},
      {"UPDATE accounts SET id = '424242' WHERE number = 2",
       "[replay] accounts 2: id is 424242, should be "},
      {"UPDATE projection SET digest = digest + 1", "[replay] projection: digest is "},
      {"INSERT INTO accounts VALUES ((SELECT count(*) FROM accounts), '31415', '0', 0)",
       "should not be there: the journal does not have it"},
  });
}

TEST_CASE_METHOD(SqliteFixture, "what is wrong with the journal is found, with its batch") {
  const auto append = [&](const Command& command) {
    return [command](const std::string& bytes) {
      return reworded(bytes, [&](JournalRecord& record) { record.commands.push_back(command); });
    };
  };
  SECTION("a flipped bit") {
    payload(7, [](std::string bytes) {
      bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
      return bytes;
    });
    finds("[journal] journal batch 7: journal record fails its checksum");
    finds("not checked: a replay of the journal: batch 7 cannot be read");
  }
  SECTION("the first batches gone, beyond the tables") {
    keep(Past::projected + 3, Past::batches);
    finds("[journal] journal batch 181: is missing: the tables are at batch 180");
  }
  SECTION("an end before the tables") {
    keep(1, Past::projected - 1);
    finds("[journal] journal batch 179: is the last, but the tables are at batch 180");
  }
  SECTION("no batch at all") {
    keep(1, 0);
    finds("[journal] journal batch 180: is missing, as are all others");
  }
  SECTION("other commands under the same promises") {
    payload(7, append(CreateAccount{AccountId("777"), Cash::whole(1)}));
    finds("[replay] journal batch 7: leads to ");
  }
  SECTION("a command that the exchange refuses") {
    payload(Past::batches, append(CancelOrder{RandomCommands::account(0), 999'999}));
    finds("[replay] journal batch 200: a command that was accepted is rejected in the replay");
  }
  SECTION("time that goes back") {
    payload(7, [](const std::string& bytes) {
      return reworded(bytes, [](JournalRecord& record) { record.time = {1}; });
    });
    finds("[journal] journal batch 7: its time is before that of the previous batch");
  }
  SECTION("nothing") { finds_nothing(); }
}

TEST_CASE_METHOD(
    SqliteFixture,
    "of a pruned journal the rest is replayed on the tables, and the audit reports so") {
  keep(101, Past::batches);
  finds(
      "not checked: the tables, row by row, against a replay: the journal was pruned, it begins "
      "with batch 101");
  finds("batches replayed: 20\n");
  finds_nothing();
  tables("UPDATE projection SET digest = digest + 1");
  finds("[replay] journal batch 181: leads to ");
  keep(101, 180);
  finds("[replay] projection: has ");
  tables("UPDATE projection SET digest = digest - 1");
  finds_nothing();
}

TEST_CASE_METHOD(
    SqliteFixture,
    "acknowledged orders are found, those beyond the tables too, and what is wrong with them") {
  const std::string file = folder.path() + "/acknowledged";
  const auto audit_with = [&](const std::string& lines, bool complete = false) {
    std::ofstream(file) << lines;
    return text({.acknowledged_file = file, .complete = complete});
  };
  std::string all;
  for (const PastOrder& order : past->orders) all += line_of(order, std::to_string(order.id));
  const PastOrder& first = past->orders.front();
  const std::string without_first = all.substr(all.find('\n') + 1);
  // An order that differs from all others.
  const auto alone =
      std::find_if(past->orders.begin(), past->orders.end(), [&](const PastOrder& order) {
        return std::count_if(past->orders.begin(), past->orders.end(), [&](const PastOrder& other) {
                 return line_of(other, "") == line_of(order, "");
               }) == 1;
      });
  REQUIRE(alone != past->orders.end());
  std::string without_alone = all;
  const std::string its_line = line_of(*alone, std::to_string(alone->id));
  without_alone.erase(without_alone.find("\n" + its_line) + 1, its_line.size());

  const struct {
    std::string lines, found;
    bool complete = false;
  } files[] = {
      {all, "acknowledged orders found: " + std::to_string(past->orders.size()), true},
      {"# a comment\n\n" + all, "clean: no violation", true},
      {line_of(first, "-") + without_first, "of them in the store: 1\n", true},
      {line_of(first, "-") + without_first, "clean: no violation", true},
      {"9999\n", "[acknowledged] orders 9999: was acknowledged and is lost"},
      {"5\n5\n", "[acknowledged] orders 5: was acknowledged to clients as the id of two orders"},
      {without_alone,
       "[acknowledged] orders " + std::to_string(alone->id) + ": is of account " +
           std::string(alone->placed.account.view()) + ", which never sent it",
       true},
      {"1 account=424242\n", "[acknowledged] orders 1: is not of account 424242"},
      {"1 symbol=NONE\n", "[acknowledged] orders 1: is not on symbol NONE"},
      {"1 amount=" +
           shares_text(first.placed.side == Side::buy ? Side::sell : Side::buy,
                       first.placed.shares) +
           "\n",
       "[acknowledged] orders 1: is on the other side"},
      {"1 amount=123456\n", "has other shares than were acknowledged"},
      {"1 limit=123456\n", "has another limit than was acknowledged"},
      {"1 executed=123456\n", "has executed less than was acknowledged"},
      {"1 canceled=123456\n", "has other canceled shares than were acknowledged"},
  };
  for (const auto& [lines, found, complete] : files)
    CHECK_THAT(audit_with(lines, complete), contains_text(found));
  CHECK_THROWS_WITH(audit_with("1\nx\n"), contains_text("acknowledged:2: 'x' is not an order id"));
  CHECK_THROWS_WITH(audit_with("- account=1\n"),
                    contains_text("needs account, symbol, amount and limit"));
}

TEST_CASE_METHOD(SqliteFixture, "a duplicated order is found, though all else agrees") {
  OrderId id = 0;
  {  // by a server that applied one of the client's orders a second time
    SqliteStore store(path);
    store.open();
    Exchange exchange;
    store.journal().read(0, [&](const JournalRow& row) {
      const JournalRecord record = decode_journal_record(row.payload);
      for (const Command& command : record.commands) exchange.apply(command, record.time);
    });
    const PlaceOrder order{AccountId("31415"), past->orders.front().placed.symbol, Side::buy,
                           Shares::whole(1), Price::whole(1)};
    Writer writer(store, std::move(exchange), Past::batches);
    const std::vector<Outcome> outcomes =
        writer.commit({CreateAccount{order.account, Cash::whole(1'000'000)}, order, order});
    id = std::get<Opened>(outcomes[1]).order;
    REQUIRE(outcomes[2] == Outcome(Opened{id + 1}));
  }
  const std::string file = folder.path() + "/acknowledged";
  const std::string order =
      " account=31415 symbol=" + std::string(past->orders.front().placed.symbol.view()) +
      " amount=1 limit=1\n";
  std::ofstream(file) << id << order;
  finds("[acknowledged] orders " + std::to_string(id + 1) +
            ": is in the store 2 times, but was sent 1 times",
        {.acknowledged_file = file, .complete = true});
  std::ofstream(file) << id << order << "-" << order;
  finds("clean: no violation", {.acknowledged_file = file, .complete = true});
}

TEST_CASE_METHOD(
    SqliteFixture,
    "beside a running server the tables of a SQLite store are audited, and the journal is left alone") {
  SqliteStore running(path);
  running.open();
  CHECK_THAT(text(), contains_text("not checked: the journal and its replay: a running server has"
                                   " locked " +
                                   journal) &&
                         contains_text("clean: no violation"));
  running.journal().append(Past::batches + 1, "not hindered");
}

TEST_CASE("a store that cannot be read is not a violation") {
  TemporaryFolder folder;
  CHECK_THROWS_AS(audit::audit({.store = "sqlite:" + folder.path() + "/nothing.db"}), CannotRead);
  CHECK_THROWS_AS(audit::audit({.store = "postgresql://nobody@127.0.0.1:1/nothing"}), CannotRead);
  CHECK_THROWS_AS(audit::audit({.store = "memory:"}), std::invalid_argument);
  std::ofstream(folder.path() + "/text.db") << std::string(10'000, 'x');
  std::ofstream(folder.path() + "/text.db.journal") << "x";
  CHECK_THROWS_AS(audit::audit({.store = "sqlite:" + folder.path() + "/text.db"}), CannotRead);
}

TEST_CASE(
    "a PostgreSQL store is audited at one moment while a server writes, and what is planted is found") {
  const std::string url = shared_cluster().create_database();
  const auto finds = [&](const std::string& what) {
    CHECK_THAT(text_of(audit::audit({.store = url})), contains_text(what));
  };
  const auto finds_nothing = [&] { finds("clean: no violation"); };
  const auto run = [&](const std::string& sql) {
    pqxx::connection admin(url);
    pqxx::nontransaction(admin).exec(sql);
  };
  {
    PostgresStore store(url);
    store.open();
    std::atomic<bool> done = false;
    std::thread writer([&] {
      const Past past(store);
      done = true;
    });
    do finds_nothing();
    while (!done);
    writer.join();
  }
  finds("projected batch: 180\n");
  finds("batches replayed: 200\n");
  const struct {
    std::string table, damage, found;
  } planted[] = {
      {"executions", "buy_order = buy_order + 900000 WHERE id = 5", " does not exist"},
      {"orders", "shares_e8 = shares_e8 + 1 WHERE id = 5", "[tables] orders 5: shares_e8 "},
      {"accounts", "balance_e16 = balance_e16 + 1 WHERE number = 1", "cash is not conserved"},
      {"accounts", "balance_e16 = 'NaN' WHERE number = 1",
       "[tables] accounts 1: balance_e16 is not an amount of cash"},
      {"accounts",
       "balance_e16 = balance_e16 + (CASE number WHEN 0 THEN 1 ELSE -1 END) WHERE number < 2",
       ": its account has another balance, and no later event"},
      {"account_events", "price_e8 = price_e8 + 1 WHERE account = 0 AND number = 2",
       "[replay] account_events account 0 number 2: price_e8 is "},
      {"account_events", "number = number + 9999 WHERE account = 0 AND number = 6",
       "[tables] account_events account 0 number 7: number out of sequence"},
      {"journal", "payload = set_byte(payload, 5, 255 - get_byte(payload, 5)) WHERE batch = 7",
       "[journal] journal batch 7: journal record fails its checksum"},
      {"journal", "epoch = 5 WHERE batch = 7",
       "[journal] journal batch 7: its epoch 5 was never taken: the fence is at 1"},
      {"journal", "epoch = 5 WHERE batch = 7",
       "[journal] journal batch 8: its epoch 1 is below that of the previous batch, 5"},
      {"order_replacements",
       "keeps_place = NOT keeps_place WHERE number = (SELECT max(number) FROM order_replacements)",
       ": keeps_place is "},
      {"journal", "batch = 1000007 WHERE batch = 7",
       "[journal] journal batch 7: is missing: the next is 8"},
  };
  for (const auto& [table, damage, found] : planted) {
    INFO(damage);
    run("CREATE TABLE kept AS SELECT * FROM " + table);
    run("UPDATE " + table + " SET " + damage);
    finds(found);
    run("TRUNCATE " + table + "; INSERT INTO " + table + " SELECT * FROM kept; DROP TABLE kept");
    finds_nothing();
  }
}

TEST_CASE_METHOD(SqliteFixture, "the result as JSON, with no more violations than asked for") {
  tables("UPDATE orders SET shares_e8 = shares_e8 + 1");
  const Audit result = audit::audit({.store = url, .violations_kept = 2});
  CHECK(result.findings.kept().size() == 2);
  CHECK(result.findings.violations() > 100);
  CHECK_THAT(text_of(result),
             contains_text("and " + std::to_string(result.findings.violations() - 2) + " more\n"));
  CHECK_THAT(to_json(result),
             contains_text("\"clean\": false") && contains_text("\"row\": \"orders 1\""));
}
