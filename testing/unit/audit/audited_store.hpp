#pragma once
// A SQLite store with a random history, a journal and tables that lag a little behind it, which a
// test damages; and the findings of an audit.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "audit/audit.hpp"
#include "audit/source.hpp"
#include "catch.hpp"
#include "core/committer.hpp"
#include "model/random_commands.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"
#include "support/postgres_cluster.hpp"

namespace exchange::testing {

// The core of a server, without its threads.
struct Writer {
  explicit Writer(Store& store_, Exchange exchange = Exchange(), BatchNumber last = 0)
      : store(store_),
        committer{std::move(exchange), last, store.journal(), clock, limits, metrics} {
    clock.time_us =
        std::max(clock.time_us.load(), committer.exchange().totals().last_time.microseconds);
  }
  std::vector<Outcome> commit(const std::vector<Command>& commands) {
    clock.time_us += 1'000'000;
    Submission submission;
    submission.commands = commands;
    Submission* const one = &submission;
    committer.commit({&one, 1});
    return std::move(submission.outcomes);
  }
  void project() {
    committer.exchange().release_closed(committer.exchange().take_changes(rows));
    store.tables().project(rows, committer.last_batch());
  }

  Store& store;
  ManualClock clock;
  const CoreLimits limits;
  Metrics metrics;
  Committer committer;
  Rows rows;
};

struct PastOrder {
  OrderId id;
  PlaceOrder placed;
};

// Without commands of the operator no symbol is halted or in an auction, and every planted fault
// has a row.
inline bool is_of_operator(const Command& command) {
  return command.index() >= boost::mp11::mp_find<Command, SetInstrument>::value;
}

struct Past {
  static constexpr BatchNumber batches = 200, projected = 180;
  std::vector<PastOrder> orders;  // all that were opened

  // Fills an open, empty store.
  explicit Past(Store& store, std::uint64_t seed = 5) {
    Writer writer(store);
    Committer& committer = writer.committer;
    RandomCommands random(seed, false);
    store.tables().load();
    while (committer.last_batch() < batches) {
      std::vector<Command> commands;
      // All accounts are created first, so that later commands are mostly orders.
      if (committer.last_batch() == 0)
        for (int i = 0; i < RandomCommands::accounts - 1; ++i) {
          KeyHash key;  // every other account has one
          if (i % 2 == 1) key = {.log2_n = 14, .r = 8, .p = 1, .salt = {std::uint8_t(i)}};
          commands.push_back(CreateAccount{RandomCommands::account(std::uint64_t(i)),
                                           Cash::whole(1'000'000), key});
          for (int j = 0; j < RandomCommands::symbols - 1; ++j)
            commands.push_back(PlaceShares{RandomCommands::symbol(std::uint64_t(j)),
                                           RandomCommands::account(std::uint64_t(i)),
                                           Shares::whole(1'000)});
        }
      else
        while (commands.size() < 10) {
          Command command = random.next(committer.exchange().totals().orders);
          if (!is_of_operator(command)) commands.push_back(std::move(command));
        }
      const BatchNumber before = committer.last_batch();
      const std::vector<Outcome> outcomes = writer.commit(commands);
      for (std::size_t i = 0; i < commands.size(); ++i)
        if (const auto* opened = std::get_if<Opened>(&outcomes[i]))
          orders.push_back({opened->order, std::get<PlaceOrder>(commands[i])});
      if (committer.last_batch() > before && committer.last_batch() % 60 == 0) writer.project();
    }
  }
};

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
