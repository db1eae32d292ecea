// 9. The exchange as an experiment: one thread for the engine, or locks?

#include <random>

#include "course/experiments/designs.hpp"
#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

struct Kind {
  const char *name, *label;
  std::unique_ptr<Design> (*make)(const std::string& folder);  // of journals
};
template <class Made>
std::unique_ptr<Design> make(const std::string& folder) {
  return std::make_unique<Made>(folder);
}
const Kind kinds[] = {
    {"mutex", "mutex", make<Locked<StdMutex>>},
    {"spinlock", "spinlock", make<Locked<BackoffLock>>},
    {"sharded", "mutex for each of 16 symbols", make<Locked<StdMutex, symbols>>},
    {"group", "mutex, group commit", make<GroupCommit>},
    {"core", "core thread, batches", make<CoreThread>},
};

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

// Each thread is a client, with one command in flight.
double run(const Kind& kind, const Settings& settings, unsigned threads, double window_s,
           Counters& counters) {
  const std::unique_ptr<Design> design = kind.make(settings.binaries);
  std::vector<Counts> counts(threads);
  const Run ran =
      run_window(threads, window_s, [&](unsigned thread, const auto& begin, const Over& over) {
        Client client(settings.seed * 1'000 + thread, thread);
        Task task{};
        begin();
        while (!over.load(std::memory_order_relaxed)) {
          client.draw(task);
          if (!design->run(task, over)) break;
          client.take(task);
        }
        counts[thread] = client.counts;
      });
  design->finish();

  Counts all;
  for (const Counts& one : counts) all += one;
  Design::Audit audit;
  design->add_to(audit);
  counters["rate"] = double(all.answered) / ran.seconds;
  counters["orders_lost"] = double(audit.orders) - double(all.orders);
  counters["not_journaled"] = double(audit.journaled) - double(all.changed);
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

std::string cell(const Kind& kind, unsigned threads) {
  return join_name("exchange", kind.name, threads);
}

void prepare(const Settings& settings) {
  const Sizes s = sizes(settings);
  for (const Kind& kind : kinds)
    for (const unsigned threads : s.threads)
      measure(cell(kind, threads), [=, &kind](Counters& counters) {
        return run(kind, settings, threads, s.window_s, counters);
      });
}

void check(const Measurements& measured, const Kind& kind, Report& out) {
  const auto worst = [&](const char* what) {
    return measured.all(join_name("exchange", kind.name, ""), what).worst();
  };
  const double lost = worst("orders_lost"), not_journaled = worst("not_journaled"),
               violations = worst("violations");
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
  Table& table = out.add(
      Table{"rate-fdatasync", "Commands a second by threads, with fdatasync", {"engine behind"}});
  table.add_columns(s.threads, threads_text);
  for (const Kind& kind : kinds) {
    table.add_row({kind.label}, s.threads, [&](unsigned threads) {
      return count(measured.get(cell(kind, threads), "rate"));
    });
    check(measured, kind, out);
  }
  out.notes.push_back(
      "the mutex for each symbol gives something up: an account has a balance for each symbol "
      "instead of one, order ids are unique within "
      "a symbol only, and there are 16 journals without an order among them");
}

const Add add(9, {"exchange", "9. The exchange: one thread for the engine, or locks?", prepare,
                  report});

}  // namespace
}  // namespace exchange::experiments
