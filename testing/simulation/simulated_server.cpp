// Does the work of main() and of a transport, without sockets.

#include <algorithm>
#include <cstring>

#include "core/recovery.hpp"
#include "protocol/xml_session.hpp"
#include "simulation/world.hpp"

namespace exchange::simulation {
namespace {

struct RequestBatch : Submission {
  bool done = false;
};

class Sink final : public CompletionSink {
 public:
  explicit Sink(Scheduler& scheduler) : scheduler_(scheduler) {}
  void completed(std::span<Submission* const> submissions) override {
    for (Submission* submission : submissions) {
      static_cast<RequestBatch*>(submission)->done = true;
      scheduler_.notify(submission);
    }
  }

 private:
  Scheduler& scheduler_;
};

}  // namespace

void World::serve_process(Process process) {
  SimulatedStore store(disk, scheduler);
  std::optional<Recovered> recovered;
  try {
    store.open();
    recovered = recover(store, scheduler.below(UINT64_MAX));
  } catch (const StoreUnavailable&) {
    return forget(process);  // the supervisor starts another
  } catch (const StoreFenced&) {
    return forget(process);
  }
  ProcessRecord& record = processes.emplace_back();
  record.epoch = store.epoch();
  record.recovered_batch = recovered->last_batch;
  record.replaced_at_start = disk.epoch != record.epoch;
  record.state = state_of(recovered->exchange);

  const auto metrics = std::make_unique<Metrics>();
  Sink sink(scheduler);
  const OnFatal on_fatal = [this, process](const std::string& why) { die(process, why); };
  std::optional<SimulatedTimetable> timetable;
  OnProjected on_projected;
  if (plan.timetable) {
    timetable.emplace(*this, record, *metrics, on_fatal);
    timetable->apply(recovered->exchange.symbol_rows());
    on_projected = [&](const Rows& rows, BatchNumber) { timetable->apply(rows.symbols); };
  }
  auto core = std::make_unique<Core>(std::move(*recovered), store, clock, plan.core, *metrics,
                                     on_fatal, on_projected);
  if (!alive(process)) return;  // killed during the start: no client may find it
  Server server{process, record, *core, sink};
  newest_served_ = std::max(newest_served_, record.epoch);
  servers_.push_back(&server);
  scheduler.notify(&servers_);
  if (timetable) timetable->start(*core);  // it may die in here: crash() must find the server
  while (!server.stopping) scheduler.wait(&server);
  std::erase(servers_, &server);
  for (Connection& connection : connections) {
    if (connection.process != process) continue;
    connection.to_server.ended = connection.cut = true;
    scheduler.notify(&connection.to_server);
  }
  while (server.connections > 0) scheduler.wait(&server);
  if (timetable) timetable->stop();
  core.reset();
  if (!scheduler.dying()) forget(process);
}

// Works as _exit(1): from here on nothing leaves the process.
void World::die(Process process, const std::string& why) {
  if (why.find("taken the store over") == std::string::npos)
    throw Violation("a server gave up: " + why);
  if (alive(process)) {
    scheduler.spawn("reaper", 0, false, [this, process] { crash(process, false); });
    for (Connection& connection : connections)
      if (connection.process == process) connection.to_client.ended = true;
  }
  while (true) scheduler.wait(nullptr);
}

void World::serve_connection(Server& server, std::size_t number) {
  Connection& connection = connections[number];
  XmlSession session(plan.protocol);
  RequestBatch batch;
  batch.sink = &server.sink;
  while (!session.finished()) {
    if (session.take_requests()) {
      batch.outcomes.clear();
      if (!session.commands().empty()) {
        batch.commands = session.commands();
        batch.done = false;
        Submission* const one = &batch;
        scheduler.preempt();
        const bool replaced = newest_served_ > server.record.epoch;
        {
          const Scheduler::Lock together;  // the record needs the core's order
          server.record.submitted.push_back({number, session.commands()});
          server.core.submit({&one, 1});
        }
        while (!batch.done) scheduler.wait(static_cast<Submission*>(&batch));
        if (replaced)
          throw Violation("a server answered what it was asked while a newer one was serving");
      }
      session.reply(batch.outcomes);
      if (!connection.to_client.ended) connection.to_client.bytes += session.output();
      session.output().clear();
      scheduler.notify(&connection.to_client);
    } else if (!session.finished()) {
      Pipe& input = connection.to_server;
      while (input.bytes.empty() && !input.ended && !input.broken) scheduler.wait(&input);
      if (input.broken) break;
      if (input.bytes.empty()) {
        session.end_of_stream();
        continue;
      }
      const std::span<char> space = session.read_space();
      const std::size_t taken = 1 + scheduler.below(std::min(space.size(), input.bytes.size()));
      std::memcpy(space.data(), input.bytes.data(), taken);
      input.bytes.erase(0, taken);
      session.received(taken);
    }
  }
  connection.to_client.ended = true;
  scheduler.notify(&connection.to_client);
  --server.connections;
  scheduler.notify(&server);
}

}  // namespace exchange::simulation
