// 9. The exchange as an experiment: one thread for the engine, or locks?

#include <random>

#include "course/experiments/designs.hpp"
#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

struct Kind {
  const char *name, *label;
  std::unique_ptr<Design> (*make)(const DesignSettings&);
};
template <class Made>
std::unique_ptr<Design> make(const DesignSettings& settings) {
  return std::make_unique<Made>(settings);
}
const Kind kinds[] = {
    {"mutex", "mutex", make<Locked<StdMutex>>},
    {"spinlock", "spinlock", make<Locked<BackoffLock>>},
    {"sharded", "mutex for each of 16 symbols", make<Locked<StdMutex, symbols>>},
    {"group", "mutex, group commit", make<GroupCommit>},
    {"core", "core thread, batches", make<CoreThread>},
};
struct CommitKind {
  Commit commit;
  const char *name, *label;
};
const CommitKind commits[] = {{Commit::none, "none", "no commit"},
                              {Commit::sleep, "sleep", "a commit of 100 us asleep"},
                              {Commit::fdatasync, "fdatasync", "fdatasync"}};

struct Counts {
  std::uint64_t answered = 0, changed = 0, orders = 0, unexpected = 0;
  void operator+=(const Counts& other) {
    answered += other.answered;
    changed += other.changed;
    orders += other.orders;
    unexpected += other.unexpected;
  }
};

// Draws the commands of one client and keeps its open orders: 35 % cancels of random orders of its
// own, 60 % limit orders around the price, 5 % orders that cross it. Each client has its own
// account.
class Client {
 public:
  Client(std::uint64_t seed, unsigned account)
      : random_(seed), account_(account_id(account % accounts)) {}

  void draw(Task& task) {
    const unsigned kind = below(100);
    if (kind < 35 && !open_.empty()) {
      const std::size_t at = below(unsigned(open_.size()));
      task.symbol = open_[at].symbol;
      task.command = CancelOrder{account_, open_[at].id};
      open_[at] = open_.back();
      open_.pop_back();
      return;
    }
    task.symbol = below(symbols);
    const bool buy = below(2) == 0, marketable = kind >= 95;
    const auto distance = std::int64_t(1 + below(100));
    const std::int64_t cents = 10'000 + (buy == marketable ? distance : -distance);
    task.command = PlaceOrder{account_, symbol_name(task.symbol), buy ? Side::buy : Side::sell,
                              Shares::whole(1 + below(100)), Price::from_units(cents * 1'000'000)};
  }
  void take(const Task& task) {
    ++counts.answered;
    counts.changed += changed_state(task.outcome);
    if (const auto* opened = std::get_if<Opened>(&task.outcome)) {
      ++counts.orders;
      open_.push_back({task.symbol, opened->order});
    }
    const auto* refused = std::get_if<Rejected>(&task.outcome);
    counts.unexpected += refused != nullptr && refused->reason != Reason::nothing_open;
  }

  Counts counts;

 private:
  struct Order {
    unsigned symbol;
    OrderId id;
  };
  unsigned below(unsigned n) { return unsigned((UInt128(random_()) * n) >> 64); }

  std::mt19937_64 random_;
  const AccountId account_;
  std::vector<Order> open_;
};

struct Load {
  unsigned threads;
  unsigned clients;  // per thread, each with one command in flight, submitted together
  double window_s;
  std::uint64_t seed;
};

double run(const Kind& kind, const DesignSettings& settings, const Load& load, Counters& counters) {
  const std::unique_ptr<Design> design = kind.make(settings);
  std::vector<Histogram> latencies_ns(load.threads);
  std::vector<Counts> counts(load.threads);
  const Run ran = run_window(
      load.threads, load.window_s, [&](unsigned thread, const auto& begin, const Over& over) {
        std::vector<Client> clients;
        std::vector<Task> tasks(load.clients);
        std::vector<Task*> pointers;
        for (unsigned client = 0; client < load.clients; ++client) {
          const unsigned number = thread * load.clients + client;
          clients.emplace_back(load.seed * 1'000 + number, number);
          pointers.push_back(&tasks[client]);
        }
        begin();
        while (!over.load(std::memory_order_relaxed)) {
          for (unsigned client = 0; client < load.clients; ++client)
            clients[client].draw(tasks[client]);
          const double submitted_s = now_s();
          if (!design->run(pointers, over)) break;
          latencies_ns[thread].record(std::uint64_t((now_s() - submitted_s) * 1e9));
          for (unsigned client = 0; client < load.clients; ++client)
            clients[client].take(tasks[client]);
        }
        for (const Client& client : clients) counts[thread] += client.counts;
      });
  design->finish();

  Histogram latency_ns;
  Counts all;
  for (unsigned thread = 0; thread < load.threads; ++thread) {
    latency_ns.merge(latencies_ns[thread]);
    all += counts[thread];
  }
  Design::Audit audit;
  design->add_to(audit);
  const auto commands = double(all.answered);
  counters["rate"] = commands / ran.seconds;
  counters["cpu"] = ran.used.cpu_s() / commands;
  set_quantiles(counters, latency_ns);
  counters["batch"] = audit.commits > 0 ? double(audit.journaled) / double(audit.commits) : 0;
  counters["orders_lost"] = double(audit.orders) - double(all.orders);
  counters["not_journaled"] =
      settings.commit == Commit::none ? 0 : double(audit.journaled) - double(all.changed);
  counters["violations"] = double(!audit.violation.empty()) + double(all.unexpected);
  return ran.seconds;
}

struct Sizes {
  std::vector<unsigned> threads;
  double window_s;
};
Sizes sizes(const Settings& settings) {
  if (settings.quick) return {{1, 16}, 0.02};
  return {{1, 2, 4, 8, 16, 32, 64}, 0.15};
}
constexpr unsigned loops = 2, clients_of_loop = 32;

std::string cell(const CommitKind& commit, const Kind& kind, unsigned threads, unsigned clients) {
  return join_name("exchange", commit.name, kind.name,
                   std::to_string(threads) + "x" + std::to_string(clients));
}

void prepare(const Settings& settings) {
  const Sizes s = sizes(settings);
  for (const CommitKind& commit : commits)
    for (const Kind& kind : kinds) {
      const DesignSettings design{commit.commit, settings.binaries};
      const auto add = [&](unsigned threads, unsigned clients) {
        const Load load{threads, clients, s.window_s, settings.seed};
        measure(cell(commit, kind, threads, clients), [&kind, design, load](Counters& counters) {
          return run(kind, design, load, counters);
        });
      };
      for (const unsigned threads : s.threads) add(threads, 1);
      add(loops, clients_of_loop);
    }
}

void check(const Measurements& measured, const Kind& kind, Report& out) {
  double lost = 0, not_journaled = 0, violations = 0;
  for (const CommitKind& commit : commits) {
    const std::string runs = join_name("exchange", commit.name, kind.name, "");
    lost += measured.all(runs, "orders_lost").worst();
    not_journaled += measured.all(runs, "not_journaled").worst();
    violations += measured.all(runs, "violations").worst();
  }
  out.check(
      std::string(kind.label) + ": every order is answered once and every engine's books balance",
      lost == 0 && violations == 0,
      number(lost) + " orders astray, " + number(violations) + " violations");
  out.check(std::string(kind.label) +
                ": what was answered is in the journals, and they replay to the same state",
            not_journaled == 0 && violations == 0, number(not_journaled) + " commands astray");
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes s = sizes(settings);
  const unsigned most = s.threads.back();
  Table cost{"cost",
             "What a command costs and how long its client waits, with " + std::to_string(most) +
                 " threads",
             {"engine behind"}};
  Table loop{"loops",
             std::to_string(loops) + " threads carry " + std::to_string(clients_of_loop) +
                 " clients each and submit together",
             {"engine behind"}};
  for (const CommitKind& commit : commits) {
    Table& table = out.add(Table{std::string("rate-") + commit.name,
                                 std::string("Commands a second by threads, with ") + commit.label,
                                 {"engine behind"}});
    table.add_columns(s.threads, threads_text);
    Plot& plot = out.add(Plot{std::string("rate-") + commit.name,
                              std::string("Commands a second, with ") + commit.label, "threads",
                              "commands/s"});
    for (const Kind& kind : kinds) {
      const auto rate_of = [&](unsigned threads) -> const Sample& {
        return measured.get(cell(commit, kind, threads, 1), "rate");
      };
      table.add_row({kind.label}, s.threads,
                    [&](unsigned threads) { return count(rate_of(threads)); });
      plot.add(kind.label, s.threads, rate_of);
    }
    for (const char* what : {": CPU time", ": median; 99 %"})
      cost.columns.push_back(commit.label + std::string(what));
    for (const char* what : {": commands/s", ": CPU time"})
      loop.columns.push_back(commit.label + std::string(what));
  }
  cost.columns.push_back("commands in a commit, fdatasync");
  for (const Kind& kind : kinds) {
    cost.rows.push_back({kind.label});
    loop.rows.push_back({kind.label});
    for (const CommitKind& commit : commits) {
      const Named many(measured, cell(commit, kind, most, 1)),
          few(measured, cell(commit, kind, loops, clients_of_loop));
      cost.rows.back().push_back(many.median_time("cpu"));
      cost.rows.back().push_back(many.median_time("p50") + "; " + many.median_time("p99"));
      loop.rows.back().push_back(count(few("rate")));
      loop.rows.back().push_back(few.median_time("cpu"));
    }
    cost.rows.back().push_back(
        number(Named(measured, cell(commits[2], kind, most, 1)).median("batch")));

    check(measured, kind, out);
  }
  out.add(std::move(cost));
  out.add(std::move(loop));
  out.notes.push_back(
      "the mutex for each symbol gives something up: an account has a balance for each symbol "
      "instead of one, order ids are unique within "
      "a symbol only, and there are 16 journals without an order among them");
}

const Add add(9, {"exchange", "9. The exchange: one thread for the engine, or locks?", prepare,
                  report});

}  // namespace
}  // namespace exchange::experiments
