#pragma once
// One simulated world: a disk, server processes that live and die on it, clients, and a record of
// what all of them did, for the judge. The core, the session and recovery are those of the server;
// sockets, threads, clock and store are simulated.

#include <deque>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/core.hpp"
#include "model/random_commands.hpp"
#include "options.hpp"
#include "simulation/scheduler.hpp"
#include "simulation/simulated_store.hpp"
#include "simulation/simulated_timetable.hpp"

namespace exchange::simulation {

// The choices of a seed before the run. Most worlds have few kinds of faults: each kind is then
// tested in depth.
struct Plan {
  unsigned clients = 3, requests = 20;  // of each client
  unsigned crashes_one_in = 0;          // of the supervisor's steps, as all below
  unsigned power_cuts_one_in = 0, restarts_one_in = 0, partitions_one_in = 0,
           clock_jumps_one_in = 0;
  unsigned troubles = 0;  // steps of the supervisor
  std::uint64_t steps_between_max = 200;
  unsigned cuts_one_in = 0;  // of the requests, by the client
  bool extreme_numbers = false;
  bool mostly_queries = false;  // they may be answered without a commit
  bool timetable = false;       // servers have one, and hours pass
  CoreLimits core;
  ProtocolLimits protocol;
  static Plan draw(Scheduler& scheduler, Disk& disk);
};

class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(Scheduler& scheduler) : scheduler_(scheduler) {}
  Timestamp now() override { return {(scheduler_.now() + offset) / 1'000}; }
  std::int64_t monotonic_ns() override { return scheduler_.now(); }
  void pause(std::uint32_t milliseconds) override {
    scheduler_.sleep(Nanoseconds(milliseconds) * 1'000'000);
  }
  Nanoseconds offset = Nanoseconds(1'700'000'000) * 1'000'000'000;

 private:
  Scheduler& scheduler_;
};

// Bytes in flight in one direction.
struct Pipe {
  std::string bytes;
  bool ended = false;   // the sender sends no more
  bool broken = false;  // bytes no longer arrive, in either direction
};

struct AskedRequest {
  std::string bytes;              // with its length line
  std::vector<Command> commands;  // empty: it is malformed, and answered with one <error>
};

// The record of one connection, kept for the whole run: its requests and the bytes of its replies.
struct Connection {
  Process process;
  Pipe to_server, to_client;
  std::vector<AskedRequest> asked;
  std::string received;
  bool cut = false;  // maybe inside a request: the last reply may say so
};

struct Submitted {
  static constexpr std::size_t timetable = SIZE_MAX;  // in place of a connection
  std::size_t connection;
  std::vector<Command> commands;
  Timestamp looked_at = {};  // only of the timetable: its steps up to then are due
};

// What one process recovered, received and did.
struct ProcessRecord {
  Epoch epoch = 0;
  BatchNumber recovered_batch = 0;
  // another server had taken the store over before it had read all: it may send no reply
  bool replaced_at_start = false;
  std::vector<Submitted> submitted;  // in the order in which the core got them
  std::vector<std::string> state;    // as recovered
};

// A serving process. Its main task owns it.
struct Server {
  Process process;
  ProcessRecord& record;
  Core& core;
  CompletionSink& sink;
  unsigned connections = 0;
  bool stopping = false;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  // Runs the world to its end and judges it. Throws Violation.
  void run();
  // Two runs with the same seed must return the same value.
  std::uint64_t fingerprint() {
    return scheduler.below(UINT64_MAX) ^ std::uint64_t(scheduler.now());
  }

  Scheduler scheduler;
  Disk disk;
  SimulatedClock clock{scheduler};
  Plan plan;
  std::deque<ProcessRecord> processes;
  std::deque<Connection> connections;
  struct Counts {
    unsigned servers = 0, crashes = 0, power_cuts = 0, restarts = 0, partitions = 0,
             stale_primaries = 0, cuts = 0, answered = 0, unanswered = 0, replaced = 0, steps = 0,
             lost_steps = 0;
  } counts;

 private:
  // world.cpp: the events of servers
  void supervise();
  void trouble();
  void start_server();
  void crash(Process process, bool power_cut);
  void stop_politely();
  void pass_hours();
  void pass_quiet_day();
  void forget(Process process);
  bool alive(Process process) const;

  // simulated_server.cpp: the work of main() and a transport
  void serve_process(Process process);
  void serve_connection(Server& server, std::size_t number);
  [[noreturn]] void die(Process process, const std::string& why);

  // simulated_client.cpp
  void run_client(unsigned number);
  std::size_t connect();
  AskedRequest next_request();
  AskedRequest first_request();
  void send(Connection& connection, std::string_view bytes);
  bool read_replies(Connection& connection, std::size_t wanted);

  RandomCommands commands_;
  std::vector<Server*> servers_;  // that accept connections now
  std::vector<Process> alive_;
  Process last_process_ = 0;
  Epoch newest_served_ = 0;  // of the servers that took connections
  Process zombie_ = 0;       // cut off from the store while another serves
  unsigned clients_left_ = 0;
};

// Compares everything with the naive model; throws Violation. Counts answered requests.
void judge(World& world);

}  // namespace exchange::simulation
