// The journal from which check-history judges must be whole and readable.

#include "history/journal_file.hpp"

#include "catch.hpp"

#include "store/sqlite/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/journal_rows.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Journal {
  Journal() {
    SqliteStore store(folder / "x.db");
    store.open();
    JournalWriter writer;
    for (BatchNumber batch = 1; batch <= 3; ++batch) {
      writer.begin({std::int64_t(batch)});
      writer.add(CreateAccount{AccountId(std::to_string(batch)), Cash()});
      store.journal().append(batch, writer.finish({}));
    }
  }
  std::string problem() const {
    try {
      return std::to_string(history::read_journal("sqlite:" + folder / "x.db").size()) + " batches";
    } catch (const history::Unusable& unusable) {
      return unusable.what();
    }
  }

  TemporaryFolder folder;
  const std::string path = folder / "x.db.journal";
};

}  // namespace

TEST_CASE_METHOD(Journal, "a whole journal is read") { CHECK(problem() == "3 batches"); }

TEST_CASE_METHOD(Journal, "a journal that was pruned is no basis for a judgement") {
  keep_batches(path, 2, 3);
  CHECK(problem() ==
        "the journal has no batch 1 but has 2: was the server started with --keep-journal?");
}

TEST_CASE_METHOD(Journal, "a journal that is damaged, locked or missing is no basis either") {
  SECTION("a record") {
    edit_journal(path, [](JournalContent& content) { content.rows[1].payload[3] ^= 1; });
    CHECK_THAT(problem(), contains_text("batch 2: journal record fails its checksum"));
  }
  SECTION("the file") {
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(4'096 + 90).put('?');
    CHECK_THAT(problem(),
               contains_text("cannot read the journal: " + path + ": the record at byte "));
  }
  SECTION("locked") {
    const JournalFile server(path, JournalFile::Use::write);
    CHECK(problem() == "a running server has locked " + path);
  }
  SECTION("missing") {
    std::filesystem::remove(path);
    CHECK(problem() == "cannot read the journal: " + path + " is missing or cannot be read");
  }
}
