#include "simulation/simulated_store.hpp"

namespace exchange::simulation {
namespace {

constexpr Nanoseconds millisecond = 1'000'000;
constexpr Nanoseconds answer_max = 10'000 * millisecond;

}  // namespace

void Disk::commit(const JournalRow& row) {
  if (!journal.emplace(row.batch, row).second)
    throw Violation("batch " + std::to_string(row.batch) + " is committed twice");
  archive.emplace(row.batch, row);
}

void Disk::resolve_under_way(Scheduler& scheduler) {
  if (!under_way) return;
  if (under_way->epoch == epoch && !journal.contains(under_way->batch) && scheduler.chance(2))
    commit(*under_way);
  under_way.reset();
}

void Disk::power_cut(Scheduler& scheduler) {
  if (tables_sync_late) projections.resize(1 + scheduler.below(projections.size()));
}

void SimulatedStore::take_time() {
  scheduler_.sleep(Nanoseconds(scheduler_.below(3)) * millisecond);
  if (scheduler_.chance(disk_.faults.hangs))
    scheduler_.sleep(Nanoseconds(1 + scheduler_.below(5'000)) * millisecond);
  for (Nanoseconds waited = 0; disk_.cut_off == process_; waited += 100 * millisecond) {
    if (disk_.stale_primary && waited >= answer_max) throw StoreUnavailable("no answer in time");
    scheduler_.sleep(100 * millisecond);
  }
}

void SimulatedStore::fail(std::uint64_t one_in, const char* what) {
  if (scheduler_.chance(one_in)) throw StoreUnavailable(what);
}

void SimulatedStore::check_epoch() const {
  if (disk_.epoch != epoch_) throw StoreFenced("another server has taken the store over");
}

void SimulatedStore::open() {
  take_time();
  fail(disk_.faults.load_fails, "open failed");
  if (disk_.lock_holder != 0 && disk_.lock_holder != disk_.cut_off)
    throw StoreFenced("another server is alive");
  disk_.resolve_under_way(scheduler_);
  disk_.lock_holder = process_;
  epoch_ = ++disk_.epoch;
  const Nanoseconds taken = scheduler_.now();
  take_time();
  if (scheduler_.now() < taken + Lease::wait_ns)
    scheduler_.sleep(taken + Lease::wait_ns - scheduler_.now());
}

TablesImage SimulatedStore::load() {
  take_time();
  fail(disk_.faults.load_fails, "load failed");
  const Disk::Projection& last = disk_.projections.back();
  return {last.tables.image(), last.batch};
}

void SimulatedStore::read(BatchNumber after, const Visit& visit) {
  const std::map<BatchNumber, JournalRow> rows(disk_.journal.upper_bound(after),
                                               disk_.journal.end());
  for (const auto& [batch, row] : rows) {
    if (scheduler_.chance(10)) take_time();
    fail(disk_.faults.load_fails, "reading the journal failed");
    visit(row);
  }
}

void SimulatedStore::append(BatchNumber batch, std::string_view payload) {
  if (!connected_) throw StoreUnavailable("not connected");
  connected_ = false;  // stays so if anything below fails
  const Nanoseconds began = scheduler_.now();
  const JournalRow row{batch, epoch_, std::string(payload)};
  try {
    take_time();
  } catch (const Killed&) {  // the row was in flight to the database
    if (scheduler_.chance(2)) disk_.under_way = row;
    throw;
  }
  fail(disk_.faults.append_lost, "append lost");
  if (scheduler_.chance(disk_.faults.append_late)) {
    disk_.under_way = row;
    throw StoreUnavailable("append lost, or not");
  }
  check_epoch();
  if (!disk_.journal.contains(batch) && scheduler_.chance(disk_.faults.append_unreplicated)) {
    disk_.under_way = row;
    throw StoreUnavailable("appended, but maybe not replicated");
  }
  if (disk_.journal.contains(batch))
    throw StoreUnavailable("batch " + std::to_string(batch) + " is in the journal already");
  disk_.commit(row);
  if (prune_through_ > 0)
    disk_.journal.erase(disk_.journal.begin(), disk_.journal.upper_bound(prune_through_));
  take_time();
  fail(disk_.faults.append_committed, "reply to append lost");
  lease_.renew(began);
  connected_ = true;
}

bool SimulatedStore::resolve_in_doubt(BatchNumber batch) {
  take_time();
  fail(disk_.faults.resolve_fails, "resolving failed");
  check_epoch();
  disk_.resolve_under_way(scheduler_);
  connected_ = true;
  const bool there = disk_.journal.contains(batch);
  take_time();
  fail(disk_.faults.resolve_fails, "reply to resolving lost");
  return there;
}

void SimulatedStore::confirm_epoch() {
  if (!connected_) throw StoreUnavailable("not connected");
  const Nanoseconds began = scheduler_.now();
  if (lease_.holds(began)) return;
  connected_ = false;
  take_time();
  fail(disk_.faults.resolve_fails, "asking for the epoch failed");
  check_epoch();
  take_time();
  connected_ = true;
  lease_.renew(began);
}

void SimulatedStore::project(const Rows& rows, BatchNumber batch) {
  take_time();
  fail(disk_.faults.project_lost, "projection lost");
  check_epoch();
  if (!disk_.archive.contains(batch) && batch != 0)
    throw Violation("the tables get batch " + std::to_string(batch) + ", which is not committed");
  Disk::Projection next = disk_.projections.back();
  if (batch < next.batch)
    throw Violation("the tables go back from batch " + std::to_string(next.batch) + " to " +
                    std::to_string(batch));
  next.tables.write(rows);
  next.batch = batch;
  disk_.projections.push_back(std::move(next));
  if (!disk_.tables_sync_late)
    disk_.projections.erase(disk_.projections.begin(), disk_.projections.end() - 1);
  take_time();
  fail(disk_.faults.project_committed, "reply to projection lost");
}

// Works as SQLite does: a checkpoint first; the next append removes the rows.
void SimulatedStore::prune(BatchNumber through) {
  take_time();
  fail(disk_.faults.prune_fails, "prune failed");
  if (through > disk_.projections.front().batch)
    throw Violation("rows are pruned that are not safe in the tables");
  prune_through_ = through;
}

BatchNumber SimulatedStore::secure() {
  take_time();
  fail(disk_.faults.prune_fails, "checkpoint failed");
  disk_.projections.erase(disk_.projections.begin(), disk_.projections.end() - 1);
  return disk_.projections.back().batch;
}

std::optional<StoredOrder> SimulatedStore::read_order(OrderId order, const ExecutionRange& range) {
  const bool stale = disk_.cut_off == process_ && disk_.stale_primary;
  if (!stale) take_time();
  fail(disk_.faults.read_fails, "read failed");
  const ModelTables& tables = stale ? disk_.stale_primary->tables : disk_.projections.back().tables;
  const std::optional<OrderRow> row = tables.order(order);
  std::optional<StoredOrder> stored;
  if (row) {
    const std::vector<Execution> all = tables.executions_of(order);
    const auto at = [&](std::uint64_t number) { return all.begin() + std::ptrdiff_t(number); };
    stored = {*row, {at(range.begin(all.size())), at(range.end(all.size()))}, all.size()};
  }
  if (!stale) take_time();
  return stored;
}

std::vector<EventRow> SimulatedStore::read_events(AccountNumber account, EventNumber first,
                                                  EventNumber last) {
  take_time();
  fail(disk_.faults.read_fails, "read failed");
  return disk_.projections.back().tables.events(account, first, last);
}

}  // namespace exchange::simulation
