// 5. Condition variables: signal and continue, or hand the monitor over?

#include <sys/resource.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/histogram.hpp"
#include "studies/experiments/lab.hpp"
#include "studies/experiments/monitor.hpp"

namespace exchange::experiments {
namespace {

// What waiting was good for. Changed by who is inside only.
struct Tally {
  long woken = 0;
  long futile = 0;        // woken, and the condition did not hold (any more)
  long out_of_order = 0;  // woken before somebody who had waited longer
};

// A buffer of a few places between producers and consumers; get() says nothing once all has been
// taken.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void put(long item) = 0;
  virtual std::optional<long> get() = 0;
  Tally tally;  // when all threads are done

 protected:
  Buffer(std::size_t places, long total) : places_(places), total_(total) {}
  bool full() const { return items_.size() == places_; }
  bool empty() const { return items_.empty(); }
  bool done() const { return taken_ == total_; }
  long pop() {
    const long item = items_.front();
    items_.pop_front();
    ++taken_;
    return item;
  }

  const std::size_t places_;
  const long total_;
  std::deque<long> items_;
  long taken_ = 0;
};

// std::condition_variable: who is woken has to queue for the mutex, and to look again.
class SignalAndContinue final : public Buffer {
 public:
  SignalAndContinue(std::size_t places, long total, bool one_for_all)
      : Buffer(places, total), one_for_all_(one_for_all) {}

  void put(long item) override {
    {
      std::unique_lock lock(mutex_);
      wait(lock, producers_, [this] { return !full(); });
      items_.push_back(item);
    }
    wake(consumers_);
  }
  std::optional<long> get() override {
    std::unique_lock lock(mutex_);
    wait(lock, consumers_, [this] { return !empty() || done(); });
    if (done()) return {};
    const long item = pop();
    const bool last = done();
    lock.unlock();
    if (last)
      consumers_.condition.notify_all();
    else
      wake(producers_);
    return item;
  }

 private:
  struct Queue {
    std::condition_variable condition;
    long tickets = 0, served = 0;
  };
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Queue& queue, Ready ready) {
    while (!ready()) {
      const long mine = queue.tickets++;
      queue.condition.wait(lock);
      ++tally.woken;
      if (!ready()) ++tally.futile;
      if (mine != queue.served++) ++tally.out_of_order;
    }
  }
  void wake(Queue& queue) {
    if (one_for_all_)
      both_.condition.notify_all();
    else
      queue.condition.notify_one();
  }

  const bool one_for_all_;  // one condition for all, and all are woken
  std::mutex mutex_;
  Queue both_, not_full_, not_empty_;
  Queue& producers_ = one_for_all_ ? both_ : not_full_;
  Queue& consumers_ = one_for_all_ ? both_ : not_empty_;
};

// HoareMonitor: who is woken finds what it waited for, so there is an `if` where the other needs a
// `while`.
class HandOff final : public Buffer {
 public:
  HandOff(std::size_t places, long total, bool elements)
      : Buffer(places, total), elements_(elements) {}

  void put(long item) override {
    monitor_.enter();
    if (full()) wait(not_full_, [this] { return !full(); });
    items_.push_back(item);
    signal_and_leave(not_empty_);
  }
  std::optional<long> get() override {
    monitor_.enter();
    if (empty() && !done()) wait(not_empty_, [this] { return !empty() || done(); });
    if (done()) {
      signal_and_leave(not_empty_);  // so that all go home
      return {};
    }
    const long item = pop();
    signal_and_leave(done() ? not_empty_ : not_full_);
    return item;
  }

 private:
  struct Queue {
    explicit Queue(HoareMonitor& monitor) : condition(monitor) {}
    HoareMonitor::Condition condition;
    long tickets = 0, served = 0;
  };
  template <class Ready>
  void wait(Queue& queue, Ready ready) {
    const long mine = queue.tickets++;
    queue.condition.wait();
    ++tally.woken;
    if (!ready()) ++tally.futile;
    if (mine != queue.served++) ++tally.out_of_order;
  }
  void signal_and_leave(Queue& queue) {
    if (elements_) return queue.condition.signal_and_leave();
    queue.condition.signal();
    monitor_.leave();
  }

  const bool elements_;  // the signaller does not come back
  HoareMonitor monitor_;
  Queue not_full_{monitor_}, not_empty_{monitor_};
};

struct Variant {
  const char *name, *label;
  std::unique_ptr<Buffer> (*make)(std::size_t places, long total);
  bool hands_over;
};
template <class Kind, bool option>
std::unique_ptr<Buffer> make(std::size_t places, long total) {
  return std::make_unique<Kind>(places, total, option);
}
const Variant variants[] = {
    {"one", "signal and continue, notify_one", make<SignalAndContinue, false>, false},
    {"all", "signal and continue, notify_all", make<SignalAndContinue, true>, false},
    {"hoare", "hand-off, signaller comes back", make<HandOff, false>, true},
    {"leave", "hand-off, signaller leaves", make<HandOff, true>, true},
};

constexpr std::size_t places_of_buffer[] = {1, 16};
struct Sizes {
  std::vector<unsigned> pairs;  // so many producers and as many consumers
  long items;
};
Sizes sizes(const Settings& settings) {
  if (settings.quick) return {{1, 16}, 1'600};
  return {{1, 4, 16}, 16'000};
}

double context_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_nvcsw + usage.ru_nivcsw);
}

double run(const Variant& variant, std::size_t places, unsigned pairs, long items,
           Counters& counters) {
  const std::unique_ptr<Buffer> buffer = variant.make(places, items);
  const long share = items / long(pairs);
  std::vector<std::vector<long>> taken(pairs);
  std::vector<Histogram> waits_ns(pairs);
  const double switches = context_switches();
  const CpuTime before = cpu_time();
  const double seconds = run_threads(2 * pairs, [&](unsigned thread) {
    if (thread < pairs) {
      for (long i = 0; i < share; ++i) buffer->put(long(thread) * share + i);
      return;
    }
    const unsigned consumer = thread - pairs;
    taken[consumer].reserve(std::size_t(items));
    while (true) {
      const double begin_s = now_s();
      const std::optional<long> item = buffer->get();
      if (!item) return;
      waits_ns[consumer].record(std::uint64_t((now_s() - begin_s) * 1e9));
      taken[consumer].push_back(*item);
    }
  });
  const CpuTime after = cpu_time();

  Histogram waits;
  for (const Histogram& one : waits_ns) waits.merge(one);
  std::vector<long> all;
  std::size_t most = 0;
  long overtaken = 0;  // items of one producer that one consumer got in another order
  for (const std::vector<long>& one : taken) {
    all.insert(all.end(), one.begin(), one.end());
    most = std::max(most, one.size());
    std::vector<long> latest(pairs, -1);
    for (const long item : one) {
      long& before_it = latest[std::size_t(item / share)];
      if (item < before_it) ++overtaken;
      before_it = item;
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<long> expected(std::size_t(items), 0);
  std::iota(expected.begin(), expected.end(), 0);
  counters["wrong"] = double(overtaken) + (all == expected ? 0 : 1);
  counters["item"] = seconds / double(items);
  counters["cpu"] =
      (after.user_s - before.user_s + after.system_s - before.system_s) / double(items);
  counters["switches"] = (context_switches() - switches) / double(items);
  counters["woken"] = double(buffer->tally.woken) / double(items);
  counters["futile"] = double(buffer->tally.futile) / double(items);
  counters["out_of_order"] = double(buffer->tally.out_of_order) / double(items);
  counters["most"] = double(most) * pairs / double(items);
  counters["p50"] = double(waits.quantile(0.5)) * 1e-9;
  counters["p99"] = double(waits.quantile(0.99)) * 1e-9;
  counters["worst"] = double(waits.max()) * 1e-9;
  return seconds;
}

std::string cell(const Variant& variant, std::size_t places, unsigned pairs) {
  return std::string("condition/") + variant.name + "/" + std::to_string(places) + "/" +
         std::to_string(pairs);
}

void prepare(const Settings& settings) {
  const Sizes s = sizes(settings);
  for (const Variant& variant : variants)
    for (const std::size_t places : places_of_buffer)
      for (const unsigned pairs : s.pairs)
        measure(cell(variant, places, pairs),
                [&variant, places, pairs, items = s.items](Counters& counters) {
                  return run(variant, places, pairs, items, counters);
                });
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const Sizes s = sizes(settings);
  Table throughput{
      "throughput", "Time for one item through the buffer", {"condition variable"}, {}};
  for (const std::size_t places : places_of_buffer)
    for (const unsigned pairs : s.pairs)
      throughput.columns.push_back(std::to_string(pairs) + " + " + std::to_string(pairs) +
                                   " threads, " + std::to_string(places) +
                                   (places == 1 ? " place" : " places"));
  Table fairness{
      "fairness",
      "What it takes for one item, and how fair it is: " + std::to_string(s.pairs.back()) + " + " +
          std::to_string(s.pairs.back()) + " threads, 1 place",
      {"condition variable", "CPU time", "context switches", "woken", "of them for nothing",
       "of them out of turn", "luckiest consumer to an equal share", "wait of a consumer: median",
       "99 %", "longest"},
      {}};
  for (const Variant& variant : variants) {
    std::vector<std::string> row{variant.label};
    double wrong = 0, futile = 0, out_of_order = 0;
    for (const std::size_t places : places_of_buffer)
      for (const unsigned pairs : s.pairs) {
        const std::string name = cell(variant, places, pairs);
        row.push_back(duration(measured.of(name, "item")));
        wrong += measured.of(name, "wrong").high();
        futile += measured.of(name, "futile").high();
        out_of_order += measured.of(name, "out_of_order").high();
      }
    throughput.rows.push_back(std::move(row));
    const std::string name = cell(variant, 1, s.pairs.back());
    const auto plain = [&](const char* what) {
      return number(measured.of(name, what).median(), 2);
    };
    fairness.rows.push_back(
        {variant.label, duration(measured.of(name, "cpu").median()), plain("switches"),
         plain("woken"), plain("futile"), plain("out_of_order"), plain("most"),
         duration(measured.of(name, "p50").median()), duration(measured.of(name, "p99").median()),
         duration(measured.of(name, "worst"))});
    out.check(
        std::string(variant.label) + ": every item arrives once, those of one producer in order",
        wrong == 0, number(wrong) + " wrong");
    if (!variant.hands_over) continue;
    out.check(std::string(variant.label) + ": who is woken finds its condition true", futile == 0,
              number(futile) + " an item did not");
    out.check(std::string(variant.label) + ": first come, first served", out_of_order == 0,
              number(out_of_order) + " an item out of turn");
  }
  out.tables.push_back(std::move(throughput));
  out.tables.push_back(std::move(fairness));
}

const Add add(
    5.1,
    {.name = "condition",
     .title = "5. Condition variables: signal and continue, or hand over?",
     .asked =
         "std::condition_variable lets the signaller go on, and the woken thread look again; Hoare's monitor runs the woken thread "
         "at once. What does each cost, and which is fair?",
     .measured =
         "Producers and consumers share a buffer of 1 place or 16, whose use is all that they do. Four ways to wait for it: "
         "std::condition_variable with one condition for each side and notify_one, the same with one for all and notify_all, Hoare's "
         "monitor, and Hoare's monitor whose signaller leaves with the signal. Counted are the items that each consumer got, how long it "
         "waited for each, who was woken in turn, and who for nothing.",
     .prepare = prepare,
     .report = report});

}  // namespace
}  // namespace exchange::experiments
