#include "simulation/world.hpp"

#include <algorithm>

namespace exchange::simulation {
namespace {

constexpr Nanoseconds second = 1'000'000'000;

}  // namespace

Plan Plan::draw(Scheduler& scheduler, Disk& disk) {
  // One chance in a drawn number, or, in two of three cases, never.
  const auto rate = [&](std::uint64_t most) {
    return scheduler.chance(3) ? unsigned(2 + scheduler.below(most)) : 0u;
  };
  Plan plan;
  plan.clients = unsigned(1 + scheduler.below(5));
  plan.requests = unsigned(5 + scheduler.below(scheduler.chance(10) ? 200 : 30));
  plan.troubles = scheduler.chance(4) ? 0 : unsigned(scheduler.below(25));
  plan.steps_between_max = scheduler.chance(2) ? 100 : 1'500;
  plan.crashes_one_in = rate(6);
  plan.power_cuts_one_in = rate(6);
  plan.restarts_one_in = rate(6);
  plan.partitions_one_in = rate(6);
  plan.clock_jumps_one_in = rate(4);
  plan.cuts_one_in = rate(10);
  plan.extreme_numbers = scheduler.chance(5);
  plan.mostly_queries = scheduler.chance(6);
  plan.core.batch_commands_max = 1 + scheduler.below(scheduler.chance(2) ? 3 : 40);
  plan.core.unprojected_rows_max = scheduler.chance(2) ? 3 + scheduler.below(20) : 400'000;
  plan.core.orders_at_once = 1 + scheduler.below(scheduler.chance(2) ? 3 : 512);
  plan.core.projection_interval_ms = std::uint32_t(scheduler.below(3) * 100);
  plan.core.journal_batches_kept = scheduler.below(20);
  plan.core.journal_prune_step = 1 + scheduler.below(10);
  plan.core.keep_journal = scheduler.chance(4);
  disk.tables_sync_late = scheduler.chance(2);
  StoreFaults& faults = disk.faults;
  for (std::uint64_t* fault :
       {&faults.append_lost, &faults.append_committed, &faults.append_late,
        &faults.append_unreplicated, &faults.resolve_fails, &faults.project_lost,
        &faults.project_committed, &faults.read_fails, &faults.prune_fails})
    *fault = rate(20);
  faults.load_fails = rate(20) * 10;
  faults.hangs = rate(50);
  return plan;
}

World::World(std::uint64_t seed)
    : scheduler(seed), plan(Plan::draw(scheduler, disk)), commands_(seed, plan.extreme_numbers) {
  plan.timetable = seed % 4 == 0;
  if (plan.timetable) plan.clock_jumps_one_in = 0;  // a clock that goes back may repeat a step
}

void World::run() {
  clients_left_ = plan.clients;
  scheduler.spawn("supervisor", 0, false, [this] { supervise(); });
  for (unsigned client = 0; client < plan.clients; ++client)
    scheduler.spawn("client", 0, false, [this, client] { run_client(client); });
  if (plan.timetable) scheduler.spawn("hours", 0, false, [this] { pass_hours(); });
  scheduler.run();
  judge(*this);
}

// Acts as the operator or the orchestrator, which keeps a server up, and causes the world's faults.
void World::supervise() {
  start_server();
  for (unsigned i = 0; i < plan.troubles && clients_left_ > 0; ++i) {
    scheduler.sleep_steps(1 + scheduler.below(plan.steps_between_max));
    trouble();
    if (alive_.empty() || (alive_.size() == 1 && alive_[0] == zombie_)) start_server();
  }
  // From here on there are no faults: every task must come to an end.
  disk.faults = {};
  disk.cut_off = zombie_ = 0;
  for (const Nanoseconds deadline = scheduler.now() + 3'600 * second; clients_left_ > 0;
       scheduler.sleep(second)) {
    if (alive_.empty()) start_server();
    if (scheduler.now() > deadline)
      throw Violation("clients still wait, long after the last trouble");
  }
  // A replaced server notices it at its next request, but no client will send one now.
  if (alive_.size() != 1 || disk.lock_holder != alive_[0]) {
    while (!alive_.empty()) crash(alive_.back(), false);
    start_server();
  }
  if (plan.timetable) pass_quiet_day();
  stop_politely();
}

void World::pass_hours() {
  while (clients_left_ > 0) {
    scheduler.sleep(Nanoseconds(scheduler.below(2'000)) * second / 1'000);
    clock.offset += Nanoseconds(scheduler.below(3'600)) * second;
  }
}

// While there are no faults, every step must be taken.
void World::pass_quiet_day() {
  for (int hour = 0; hour < 24; ++hour) {
    clock.offset += 3'600 * second;
    for (int tenth = 0; tenth < 50; ++tenth) scheduler.sleep(second / 10);  // a long sleep may leap
    check_taken(disk.projections.back().tables.image(), clock.now());
  }
}

void World::trouble() {
  const Process newest = alive_.empty() ? 0 : *std::max_element(alive_.begin(), alive_.end());
  const Process any = alive_.empty() ? 0 : alive_[scheduler.below(alive_.size())];
  if (scheduler.chance(plan.clock_jumps_one_in))
    clock.offset += (Nanoseconds(scheduler.below(200)) - 100) * 10 * second;
  if (zombie_ != 0 && scheduler.chance(2)) disk.cut_off = zombie_ = 0;
  if (newest == 0) return;
  if (scheduler.chance(plan.crashes_one_in)) {
    ++counts.crashes;
    crash(any, false);
  } else if (scheduler.chance(plan.power_cuts_one_in)) {  // the machine of database and servers
    ++counts.power_cuts;
    while (!alive_.empty()) crash(alive_.back(), alive_.size() == 1);
  } else if (scheduler.chance(plan.restarts_one_in) && alive_.size() == 1 && zombie_ == 0) {
    ++counts.restarts;
    stop_politely();
  } else if (scheduler.chance(plan.partitions_one_in) && alive_.size() == 1 && zombie_ == 0) {
    ++counts.partitions;
    disk.cut_off = zombie_ = newest;
    disk.stale_primary.reset();
    if (scheduler.chance(2)) {
      ++counts.stale_primaries;
      disk.stale_primary = disk.projections.back();
    }
  }
}

void World::start_server() {
  ++counts.servers;
  const Process process = ++last_process_;
  alive_.push_back(process);
  scheduler.spawn("main", process, false, [this, process] { serve_process(process); });
}

bool World::alive(Process process) const {
  return std::find(alive_.begin(), alive_.end(), process) != alive_.end();
}

void World::forget(Process process) {
  std::erase(alive_, process);
  std::erase_if(servers_, [&](const Server* server) { return server->process == process; });
  if (zombie_ == process) disk.cut_off = zombie_ = 0;
}

void World::crash(Process process, bool power_cut) {
  forget(process);
  for (Connection& connection : connections) {
    if (connection.process != process) continue;
    connection.to_server.broken = true;
    Pipe& replies = connection.to_client;
    // the bytes that the kernel had already sent
    if (!replies.ended) replies.bytes.resize(scheduler.below(replies.bytes.size() + 1));
    replies.ended = replies.broken = true;
    scheduler.notify(&replies);
  }
  scheduler.kill(process);
  if (power_cut) disk.power_cut(scheduler);
}

// Sends SIGTERM. If it takes too long, because the store is unavailable, kill -9 follows.
void World::stop_politely() {
  const Process process = alive_.front();
  for (const Nanoseconds deadline = scheduler.now() + 60 * second; alive(process);
       scheduler.sleep(second / 10)) {
    if (scheduler.now() > deadline) return crash(process, false);
    for (Server* server : servers_) {  // once it has started
      server->stopping = true;
      scheduler.notify(server);
    }
  }
}

}  // namespace exchange::simulation
