// Damage to the files of a SQLite store: after any single change of them the store is refused with
// a reason, or every row reads back as it was stored. Never other rows, never a crash.
// EXCHANGE_NIGHTLY=1 damages every byte.

#include "catch.hpp"

#include <fstream>
#include <iostream>
#include <random>

#include "durability/simulated_disk.hpp"
#include "model/random_commands.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

using Bytes = SimulatedDisk::Bytes;
using Files = std::map<std::string, Bytes>;

constexpr std::size_t page_bytes = 4'096, frame_bytes = 24 + page_bytes, log_header_bytes = 32;
constexpr BatchNumber records_in_page_max = page_bytes / 64;

// Everything that a server reads from a store, after the replayed batches are projected.
struct Everything {
  BatchNumber last_batch = 0;
  std::vector<std::string> journal;  // payloads from the tables' batch on
  Rows rows;
  std::vector<StoredOrder> orders;
  std::vector<ExecutionRow> newest_executions;
  // Ignores the journal, whose rows in the tables may be there or pruned.
  bool operator==(const Everything& other) const {
    return last_batch == other.last_batch && rows == other.rows && orders == other.orders &&
           newest_executions == other.newest_executions;
  }
};

Everything read_everything(const std::string& path) {
  SqliteStore store(path);
  store.open();
  Recovered recovered = recover(store);
  Everything all;
  all.last_batch = recovered.last_batch;
  for (const JournalRow& row :
       journal_after(store, recovered.last_batch - recovered.batches_replayed))
    all.journal.push_back(row.payload);
  project(store, recovered.exchange, recovered.last_batch);
  all.rows = store.tables().load().rows;
  for (OrderId order = 1; order <= recovered.exchange.totals().orders; ++order)
    if (const auto stored = store.tables().read_order(order)) all.orders.push_back(*stored);
  all.newest_executions = store.tables().newest_executions(1'000'000);
  return all;
}

enum class End { closed, killed };

// A store of many orders, open and closed, on a disk that can be restored to it.
class Specimen {
 public:
  Specimen(std::uint64_t seed, End end, BatchNumber batches = usual_batches)
      : batches_(batches), disk_(seed) {
    spdlog::set_level(spdlog::level::off);
    RandomCommands commands(seed, false);
    auto store = std::make_unique<SqliteStore>(path(), journal_block_bytes);
    store->open();
    Exchange exchange;
    std::size_t opened = 0, replaced = 0;
    JournalWriter writer;
    for (BatchNumber batch = 1; batch <= batches; ++batch) {
      const Timestamp now = commands.next_time();
      writer.begin(now);
      // keeps drawing if the symbols are halted for long
      for (int i = 0; i < 5 || writer.empty() || opened < batch / 2; ++i) {
        const Command command = commands.next(exchange.totals().orders);
        const Outcome outcome = exchange.apply(command, now);
        if (changed_state(outcome)) writer.add(command);
        opened += std::holds_alternative<Opened>(outcome);
        replaced += std::holds_alternative<Replaced>(outcome);
      }
      store->journal().append(batch, writer.finish(exchange.totals()));
      if (batch % 7 == 0 && batch < batches - 8) project(*store, exchange, batch);
      if (batch == batches / 2) prune(*store, batch / 2);
      if (batch % (batches / 4) != 0 || batch == batches) continue;
      project(*store, exchange, batch);
      store.reset();
      backups_.push_back(disk_.files());
      store = std::make_unique<SqliteStore>(path(), journal_block_bytes);
      store->open();
    }
    if (end == End::killed) disk_.stop(SimulatedDisk::Fault::process_end);
    store.reset();
    disk_.restart();
    files_ = disk_.files();
    lock_ = contents(lock_path());
    stored_ = read_everything(path());
    REQUIRE(stored_.orders.size() == opened);
    REQUIRE(replaced > 0);
  }
  ~Specimen() { spdlog::set_level(spdlog::level::info); }

  const Files& files() const { return files_; }
  // Copies of the files that were made earlier, while the store was closed.
  const std::vector<Files>& backups() const { return backups_; }
  const Everything& stored() const { return stored_; }
  std::string path() const { return folder_ / "x.db"; }
  std::string lock_path() const { return path() + ".lock"; }
  void put(const Files& files, bool with_mark) {
    disk_.set_files(files);
    std::ofstream(lock_path()) << (with_mark ? lock_ : "");
  }

  BatchNumber batches() const { return batches_; }
  static constexpr BatchNumber usual_batches = 160;
  static constexpr std::uint32_t journal_block_bytes = 8'192;  // for several blocks

 private:
  const BatchNumber batches_;
  TemporaryFolder folder_;
  SimulatedDisk disk_;
  Files files_;
  std::vector<Files> backups_;
  std::string lock_;
  Everything stored_;
};

struct DamageCounts {
  std::uint64_t refused = 0, exact = 0, cut_short = 0;
  std::map<std::string, std::uint64_t> reasons;
};

// Returns the message without names and numbers.
std::string reason(std::string text) {
  if (const auto at = text.find(": "); text.starts_with("/") && at != std::string::npos)
    text.erase(0, at + 2);
  std::string kept;
  for (const char c : text.substr(0, text.find(';')))
    if (c < '0' || c > '9') kept += c;
  return kept.substr(0, 90);
}

// Opens and reads the store; the damage must be refused or make no difference.
void attempt(Specimen& specimen, const Files& files, bool with_mark, const std::string& what,
             DamageCounts& counts) {
  specimen.put(files, with_mark);
  try {
    const Everything found = read_everything(specimen.path());
    if (found == specimen.stored()) {
      ++counts.exact;
      return;
    }
    // The store may also read as a crash before the last commits would have left it. A log that has
    // kept its length shows all commits but the last ones: at most the records in one page of the
    // journal; at most two in the log of the tables if the mark of a commit itself is gone, three
    // if the last frame was swapped with a nearby one.
    const bool shorter = std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return file.second.size() < specimen.files().at(file.first).size();
    });
    const bool gone = files.size() < specimen.files().size();
    const BatchNumber lost =
        specimen.stored().last_batch - std::min(found.last_batch, specimen.stored().last_batch);
    if (!with_mark && lost > 0 && (shorter || gone || lost <= records_in_page_max)) {
      ++counts.cut_short;
      return;
    }
    FAIL(what << ": other rows were read" << (lost > 0 ? ", and the newest batches are lost" : ""));
  } catch (const StoreCorrupt& error) {
    ++counts.refused;
    ++counts.reasons[reason(error.what())];
    if (std::string(error.what()).find(';') == std::string::npos)
      FAIL(what << ": names no remedy: " << error.what());
  } catch (const StoreUnavailable& error) {
    ++counts.refused;
    ++counts.reasons[reason(error.what())];
  } catch (const std::exception& error) {
    FAIL(what << ": " << error.what());
  }
}

void print(const char* what, const DamageCounts& counts) {
  std::cout << what << ": " << counts.refused << " refused, " << counts.exact
            << " read exactly as stored, " << counts.cut_short << " cut short\n";
  for (const auto& [reason, count] : counts.reasons)
    std::cout << "  " << count << " " << reason << "\n";
}

// Returns the n-th page of a database file or the n-th frame of a log.
std::pair<std::size_t, std::size_t> unit(const std::string& name, std::size_t number) {
  if (name.ends_with("-wal")) return {log_header_bytes + number * frame_bytes, frame_bytes};
  return {number * page_bytes, page_bytes};
}
std::size_t units(const std::string& name, const Bytes& bytes) {
  return name.ends_with("-wal")
             ? (bytes.size() - std::min(bytes.size(), log_header_bytes)) / frame_bytes
             : bytes.size() / page_bytes;
}

void damage_everywhere(Specimen& specimen, bool with_mark, DamageCounts& counts) {
  std::mt19937_64 random(test_seed());
  for (const auto& [name, bytes] : specimen.files()) {
    if (bytes.empty()) continue;
    const std::string short_name = name.substr(name.rfind('/') + 1);
    const auto damaged = [&](const std::string& what, const auto& change) {
      Files files = specimen.files();
      change(files[name]);
      attempt(specimen, files, with_mark, short_name + ": " + what, counts);
    };
    // Single bits: in every byte of the headers in full runs, otherwise in a sample.
    const std::size_t flips = nightly() ? bytes.size() : 100;
    for (std::size_t i = 0; i < flips; ++i) {
      const std::size_t at = nightly() ? i
                             : i < 40  ? random() % std::min<std::size_t>(bytes.size(), 128)
                                       : random() % bytes.size();
      const auto bit = random() % 8;
      damaged("bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " flipped",
              [&](Bytes& b) { b[at] = static_cast<unsigned char>(b[at] ^ 1u << bit); });
    }
    const std::size_t count = units(name, bytes);
    constexpr std::size_t sample = 16;
    for (std::size_t i = 0; i < (nightly() ? count : std::min(count, sample)); ++i) {
      const std::size_t number = nightly() || count <= sample ? i
                                 : i == 0                     ? 0
                                 : i == 1                     ? count - 1
                                                              : random() % count;
      const auto [begin, size] = unit(name, number);
      const auto at = [begin = begin](Bytes& b) { return b.begin() + std::ptrdiff_t(begin); };
      const auto n = std::ptrdiff_t(size);
      damaged("page " + std::to_string(number + 1) + " zeroed",
              [&](Bytes& b) { std::fill(at(b), at(b) + n, 0); });
      damaged("end of page " + std::to_string(number + 1) + " zeroed",
              [&](Bytes& b) { std::fill(at(b) + n - 512, at(b) + n, 0); });
      damaged("cut before page " + std::to_string(number + 1),
              [&, begin = begin](Bytes& b) { b.resize(begin); });
      damaged("cut within page " + std::to_string(number + 1),
              [&, begin = begin, size = size](Bytes& b) { b.resize(begin + random() % size); });
      const auto [other, other_size] = unit(name, random() % count);
      damaged(
          "page " + std::to_string(number + 1) + " overwritten by another",
          [&, from = other](Bytes& b) { std::copy_n(b.begin() + std::ptrdiff_t(from), n, at(b)); });
      damaged("page " + std::to_string(number + 1) + " swapped", [&, with = other](Bytes& b) {
        std::swap_ranges(at(b), at(b) + n, b.begin() + std::ptrdiff_t(with));
      });
    }
    damaged("emptied", [](Bytes& b) { b.clear(); });
    Files files = specimen.files();
    files.erase(name);
    attempt(specimen, files, with_mark, short_name + " removed", counts);
  }
}

DamageCounts damage_of(const char* name, End end, bool with_mark,
                       std::uint64_t seed = test_seed()) {
  Specimen specimen(seed, end);
  REQUIRE(specimen.files().size() == (end == End::closed ? 2 : 3));
  REQUIRE(specimen.stored().orders.size() > 50);
  DamageCounts counts;
  damage_everywhere(specimen, with_mark, counts);
  print(name, counts);
  CHECK(counts.refused > 200);
  return counts;
}

}  // namespace

TEST_CASE("a damaged file of a store that was closed is refused, or reads exactly as stored") {
  CHECK(damage_of("closed", End::closed, true).exact > 0);
}

TEST_CASE("a damaged file of a store that was killed is refused, or reads exactly as stored") {
  CHECK(damage_of("killed", End::killed, true).cut_short == 0);
}

// After a power cut the mark in the lock file may be older; here it is missing. The server then
// reads the end of a log as after a crash.
TEST_CASE(
    "without the mark of the newest batch, damage to a log may cost its end, never anything else") {
  // Few of the damaged places are in the last record, so other seeds are tried too.
  std::uint64_t seed = test_seed();
  while (damage_of("killed, no mark", End::killed, false, seed).cut_short == 0)
    REQUIRE(++seed < test_seed() + 20);
}

TEST_CASE("a backup under logs that were left behind is refused, or reads exactly as stored") {
  // large enough for pages that are not in the log
  Specimen specimen(test_seed(), End::killed, 4 * Specimen::usual_batches);
  REQUIRE(specimen.backups().size() == 3);
  DamageCounts counts;
  for (const bool with_mark : {true, false})
    for (const Files& backup : specimen.backups())
      for (const int which : {1, 2, 3}) {
        Files files = specimen.files();
        if (which & 1) files[specimen.path()] = backup.at(specimen.path());
        if (which & 2)
          files[specimen.path() + ".journal"] = backup.at(specimen.path() + ".journal");
        attempt(specimen, files, with_mark, "backup " + std::to_string(which), counts);
      }
  print("backup under logs", counts);
  CHECK(counts.refused > 0);
}

TEST_CASE("a page that goes bad while the server runs is refused when it is read") {
  TemporaryFolder folder;
  SimulatedDisk disk(1);
  const std::string path = folder / "x.db";
  const bool in_log = GENERATE(false, true);
  SqliteStore store(path);
  store.open();
  Exchange exchange;
  const AccountId account("1");
  exchange.apply(CreateAccount{account, Cash::whole(1'000)}, {});
  exchange.apply(PlaceShares{SymbolName("S"), account, Shares::whole(5)}, {});
  for (int i = 0; i < 50; ++i)
    exchange.apply(
        PlaceOrder{account, SymbolName("S"), Side::buy, Shares::whole(1), Price::whole(1)}, {});
  project(store, exchange, 1);
  if (!in_log) store.tables().secure();  // into the file
  Bytes& bytes = disk.bytes_of(path + (in_log ? "-wal" : ""));
  for (std::size_t at = in_log ? log_header_bytes + 100 : page_bytes; at < bytes.size(); at += 512)
    bytes[at] ^= 1;
  CHECK_THROWS_WITH(store.tables().read_order(7),
                    contains_text("fails") && contains_text("restore the store from a backup"));
}

TEST_CASE("a journal of other rows is refused by their number") {
  Specimen specimen(test_seed(), End::closed);
  std::mt19937_64 random(test_seed());
  using JournalRows = std::vector<JournalRow>;
  const auto error_after = [&](const std::function<void(JournalRows&)>& edit) -> std::string {
    specimen.put(specimen.files(), true);
    edit_journal(
        specimen.path() + ".journal",
        [&](JournalContent& content) {
          edit(content.rows);
          std::erase_if(content.rows, [](const JournalRow& row) { return row.payload.empty(); });
        },
        Specimen::journal_block_bytes);
    try {
      return read_everything(specimen.path()) == specimen.stored() ? "same" : "different";
    } catch (const StoreCorrupt& error) {
      return error.what();
    }
  };
  CHECK(error_after([](JournalRows&) {}) == "same");
  const BatchNumber last = specimen.batches(), rows_after_tables = specimen.stored().journal.size();
  REQUIRE(rows_after_tables > 5);
  for (int i = 0; i < (nightly() ? 5'000 : 60); ++i) {
    const BatchNumber batch = last - random() % rows_after_tables;
    const auto which = random();
    INFO("batch " << batch << ", edit " << i % 4 << ", " << which);
    const std::string error = error_after([&](JournalRows& rows) {
      const std::size_t at = std::size_t(batch - rows.front().batch);
      std::string& payload = rows[at].payload;
      if (i % 4 == 0) payload.replace(which % payload.size(), 1, "\x5A\x5B");
      if (i % 4 == 1) payload.resize(1 + which % (payload.size() - 1));
      if (i % 4 == 2) payload = rows[batch == last ? at - 1 : at + 1].payload;
      if (i % 4 == 3 && batch == last)
        payload.clear();  // not there
      else if (i % 4 == 3)
        rows.erase(rows.begin(), rows.begin() + std::ptrdiff_t(at) + 1);
    });
    CHECK_THAT(error, contains_text("batch"));
    CHECK_THAT(error, contains_text("; restore") || contains_text("; put"));
  }
}
