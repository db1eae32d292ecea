// A backup of a store: sound, complete, and private, even if a server writes at the same time.

#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "audit/backup.hpp"
#include "store/sqlite/wal_frames.hpp"
#include "support/stores.hpp"
#include "support/wait_for.hpp"
#include "unit/audit/audited_store.hpp"

using namespace exchange;
using namespace exchange::audit;
using namespace exchange::testing;

namespace {

namespace fs = std::filesystem;

// A server without threads of its own, whose small blocks are reused continually.
class BusyServer {
 public:
  explicit BusyServer(const std::string& path) : store_(path, block_bytes) {
    store_.open();
    store_.tables().load();
    thread_ = std::thread([this] { run(); });
  }
  ~BusyServer() {
    stopping_ = true;
    thread_.join();
  }
  BatchNumber acknowledged() const { return acknowledged_; }

 private:
  static constexpr std::uint32_t block_bytes = 2'048;
  void run() {
    Writer writer(store_);
    RandomCommands random(test_seed(), false);
    while (!stopping_) {
      std::vector<Command> commands;
      for (int i = 0; i < 5; ++i)
        commands.push_back(random.next(writer.committer.exchange().totals().orders));
      writer.commit(commands);
      acknowledged_ = writer.committer.last_batch();
      if (acknowledged_ == 0 || acknowledged_ % 10 != 0) continue;
      writer.project();
      prune(store_, acknowledged_ - 1);
    }
  }

  SqliteStore store_;
  std::atomic<BatchNumber> acknowledged_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

unsigned mode_of(const std::string& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 0777;
}

std::string problem_of(const std::string& store, const std::string& folder) {
  try {
    back_up(store, folder);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE_METHOD(AuditedStore, "a backup beside a busy server has what was acknowledged before") {
  const BusyServer server(path);
  constexpr BatchNumber batches_a_round = 50;
  for (int round = 1; round <= 6; ++round) {
    const BatchNumber before = server.acknowledged() + batches_a_round;
    REQUIRE(wait_for([&] { return server.acknowledged() >= before; }));
    const std::string copy = back_up(url, folder / std::to_string(round));
    CHECK(copy == "sqlite:" + (folder / std::to_string(round)) + "/x.db");
    CHECK_THAT(text_of(audit::audit({.store = copy})), contains_text("clean: no violation"));
    SqliteStore restored(copy.substr(7));
    restored.open();
    CHECK(recover(restored).last_batch >= before);
  }
}

TEST_CASE_METHOD(AuditedStore, "a backup of a stopped store is the same, and only for its owner") {
  {
    SqliteStore store(path);
    store.open();
    const Past past(store);
  }
  const std::string target = folder / "copy", copy = back_up(url, target + "/");
  CHECK(copy == "sqlite:" + target + "/x.db");
  CHECK(mode_of(target) == 0700);
  for (const char* end : {"", ".journal", ".lock"}) CHECK(mode_of(target + "/x.db" + end) == 0600);
  CHECK_FALSE(fs::exists(target + ".partial"));
  // Every count is the same: like the store's journal, the backup's begins with the first batch.
  const auto findings_of = [](const std::string& store) {
    return audit::audit({.store = store}).findings;
  };
  CHECK(findings_of(copy).counts() == findings_of(url).counts());
  CHECK(findings_of(copy).violations() == 0);
  CHECK(start(SqliteStore(copy.substr(7))) == "batch " + std::to_string(Past::batches));
}

TEST_CASE_METHOD(
    AuditedStore,
    "a backup of a pruned store whose tables are at the end of its journal can be started") {
  {
    SqliteStore store(path, 512);
    store.open();
    store.tables().load();
    Writer writer(store);
    for (int i = 1; i <= 30; ++i) {
      writer.commit({CreateAccount{AccountId(std::to_string(i)), Cash::whole(1), {}}});
      writer.project();
      prune(store, writer.committer.last_batch() - 1);
    }
  }
  CHECK(JournalFile(journal, JournalFile::Use::read).begins_after() > 0);
  CHECK(start(SqliteStore(back_up(url, folder / "copy").substr(7))) == "batch 30");
}

TEST_CASE_METHOD(AuditedStore,
                 "a backup that would lack something is refused, and leaves nothing") {
  {
    SqliteStore store(path);
    store.open();
    const Past past(store);
  }
  const std::string target = folder / "copy";
  fs::create_directory(folder / "full");
  fs::create_directory(folder / "full/other");
  CHECK_THAT(problem_of(url, folder / "full"),
             contains_text("is not an empty folder; name a new one"));
  CHECK_THAT(problem_of("postgresql://localhost/x", target), contains_text("pg_dump"));
  CHECK_THAT(problem_of("sqlite:" + folder / "none.db", target), contains_text("is missing"));
  CHECK_THAT(problem_of(url, folder / "no/copy"), contains_text("No such file or directory"));
  fs::create_directory(target + ".partial");
  CHECK_THAT(problem_of(url, target),
             contains_text("another backup is running, or one was interrupted"));
  fs::remove(target + ".partial");
  SECTION("a record at the end of the journal, or amid it") {
    const std::string bytes = contents(journal);
    const std::size_t end = bytes.find_last_not_of('\0', JournalFile::usual_block_bytes);
    flip_bit(journal, end / GENERATE(1U, 2U));
    CHECK_THAT(problem_of(url, target), contains_text("but batch 200 was acknowledged"));
  }
  SECTION("a page of the tables") {
    overwrite(path, sqlite_page_bytes + 100, "\x01");
    CHECK_THAT(problem_of(url, target), contains_text("page 2 (byte 16384) fails its checksum"));
  }
  CHECK_FALSE(fs::exists(target));
  CHECK_FALSE(fs::exists(target + ".partial"));
}
