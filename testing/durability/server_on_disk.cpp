#include "durability/server_on_disk.hpp"

#include <spdlog/spdlog.h>

#include <fstream>

#include "catch.hpp"

namespace exchange::testing {
// The real store. Records the batch in flight, and stops waiting for a disk that stays unavailable.
struct ServerOnDisk::Recorder final : Journal {
  // The block size is drawn so that records lie in one block or in many.
  Recorder(ServerOnDisk& owner, const std::string& path)
      : store(path, 256u << owner.random_() % 8), server(owner) {}
  void read(BatchNumber after, const Visit& visit) override { store.journal().read(after, visit); }
  void confirm_epoch() override { store.journal().confirm_epoch(); }
  void prune(BatchNumber through) override { store.journal().prune(through); }
  void append(BatchNumber batch, std::string_view payload) override {
    CHECK(batch == server.payloads_.size() + 1);
    server.in_flight_ = payload;
    if (server.disk.stopped()) throw Stopped();
    store.journal().append(batch, payload);
  }
  bool resolve_in_doubt(BatchNumber batch) override {
    if (server.disk.stopped()) throw Stopped();
    return store.journal().resolve_in_doubt(batch);
  }
  SqliteStore store;
  ServerOnDisk& server;
};

ServerOnDisk::ServerOnDisk(std::uint64_t seed)
    : disk(seed), random_(seed + 1), commands_(seed + 2, false), rests_(seed % 2 == 0) {
  spdlog::set_level(
      spdlog::level::off);  // thousands of stores become unavailable and available again
  // The kernel may write the lock file to the disk at any operation, or never.
  disk.on_operation = [this] {
    if (random_() % 16 == 0) lock_on_disk_ = lock_file();
  };
}

ServerOnDisk::~ServerOnDisk() {
  committer_.reset();
  store_.reset();
  spdlog::set_level(spdlog::level::info);
}

void ServerOnDisk::run(int batches) {
  try {
    start();
    for (int batch = 0; batch < batches; ++batch) step();
    if (random_() % 2 == 0) project();
  } catch (const Stopped&) {
  } catch (const StoreUnavailable&) {
    if (!disk.stopped()) throw;
  } catch (const StoreCorrupt& error) {
    const bool sync_failed = std::string(error.what()).find("failed to sync") != std::string::npos;
    if (!disk.stopped()) {
      if (disk.faults_met() == 0 || !(sync_failed || starting_)) throw;
      ++(sync_failed ? stops_for_failed_sync_ : refused_starts_);
      // as the server does: immediately, without closing anything
      disk.stop(SimulatedDisk::Fault::process_end);
    }
  }
  committer_.reset();
  store_.reset();
  // A failed disk is often followed by a restart of the machine.
  if (disk.faults_met() > 0 && random_() % 2 == 0) disk.stop(SimulatedDisk::Fault::power_cut);
}

void ServerOnDisk::restart() {
  if (disk.stopped_by() == SimulatedDisk::Fault::power_cut && random_() % 2 == 0)
    std::ofstream(path() + ".lock") << lock_on_disk_;
  disk.restart();
}

void ServerOnDisk::start() {
  starting_ = true;
  store_ = std::make_unique<Recorder>(*this, path());
  store_->store.open();
  Recovered recovered = recover(store_->store);
  starting_ = false;
  const BatchNumber found = recovered.last_batch;
  INFO("acknowledged " << payloads_.size() << (in_flight_ ? ", one under way" : "") << ", found "
                       << found);
  if (in_flight_ && found == payloads_.size() + 1) {
    payloads_.push_back(*in_flight_);
    ++kept_in_flight_;
  }
  in_flight_.reset();
  REQUIRE(found == payloads_.size());
  projected_ = found - recovered.batches_replayed;
  const BatchNumber projected = projected_;
  committer_ = std::make_unique<Committer>(std::move(recovered.exchange), found, *store_, clock_,
                                           limits_, metrics_);
  compare(projected);
}

void ServerOnDisk::compare(BatchNumber projected_before) {
  // Compares the journal: the newest rows, byte for byte, at least from the tables' batch on.
  BatchNumber next = 0;
  store_->read(0, [&](const JournalRow& row) {
    if (next == 0) REQUIRE(row.batch <= projected_before + 1);
    REQUIRE((next == 0 || row.batch == next));
    REQUIRE(row.batch <= payloads_.size());
    if (row.payload != payloads_[row.batch - 1]) FAIL("batch " << row.batch << " has other bytes");
    next = row.batch + 1;
  });
  REQUIRE((payloads_.empty() ? next == 0 : next == payloads_.size() + 1));

  // Builds an exchange that never stopped, and its tables.
  Exchange promised;
  ModelTables model;
  Rows rows;
  for (const std::string& payload : payloads_) {
    const JournalRecord record = decode_journal_record(payload);
    for (const Command& command : record.commands) promised.apply(command, record.time);
  }
  promised.take_changes(rows);
  model.write(rows);
  REQUIRE(committer_->exchange().totals() == promised.totals());
  REQUIRE(committer_->exchange().check_invariants() == "");

  // Compares the tables once the replay is projected: open orders and closed ones.
  project();
  const TablesImage image = store_->store.tables().load();
  REQUIRE(image.projected_batch == payloads_.size());
  REQUIRE(image.rows == model.image());
  for (OrderId order = 1; order <= promised.totals().orders; ++order) {
    const std::optional<StoredOrder> stored = store_->store.tables().read_order(order);
    REQUIRE(stored.has_value() == !model.replacement(order));
    if (!stored) continue;
    const Status now{order, stored->row.open, stored->row.canceled, stored->row.canceled_at,
                     stored->executions};
    const NotInMemory closed{stored->row.account, order};
    if (!(Outcome(now) == model.answer(QueryOrder{RandomCommands::account(0), order}, closed)))
      FAIL("order " << order << " differs");
  }
}

void ServerOnDisk::step() {
  Submission submission;
  const auto count = 1 + commands_.below(6);
  std::vector<Command> commands;
  for (std::uint64_t i = 0; i < count; ++i)
    commands.push_back(commands_.next(committer_->exchange().totals().orders + i / 2));
  submission.commands = commands;
  clock_.time_us = commands_.next_time().microseconds;
  Submission* const one = &submission;
  committer_->commit({&one, 1});
  // From here on the batch is acknowledged.
  if (in_flight_) payloads_.push_back(*in_flight_);
  in_flight_.reset();
  if (random_() % 4 == 0) project();
  if (random_() % 12 == 0) {
    const BatchNumber kept = 1 + random_() % 5;
    try {
      if (projected_ > kept)
        store_->prune(std::min(projected_ - kept, store_->store.tables().secure()));
    } catch (const StoreUnavailable&) {  // deleted by the next prune
      if (disk.stopped()) throw;
    }
  }
}

void ServerOnDisk::project() {
  Rows rows;
  const ClosedMark closed = committer_->exchange().take_changes(rows);
  for (;;) {
    const Bursts::Work work(bursts_, std::chrono::hours(rests_ ? 1 : 0));
    try {
      store_->store.tables().project(rows, committer_->last_batch());
      break;
    } catch (const StoreUnavailable&) {  // repeating a projection does no harm
      if (disk.stopped()) throw;
    }
  }
  projected_ = committer_->last_batch();
  committer_->exchange().release_closed(closed);
}

}  // namespace exchange::testing
