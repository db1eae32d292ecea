// 5. Condition variables: signal and continue, or hand the monitor over?

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "course/experiments/lab.hpp"
#include "course/experiments/monitor.hpp"

namespace exchange::experiments {
namespace {

// How threads waited. Changed only inside the monitor.
struct Tally {
  long futile = 0;        // woken although the condition did not hold (any more)
  long out_of_order = 0;  // woken before a thread that had waited longer
};

// A condition variable or a HoareMonitor::Condition, which also records the order of waking.
template <class Condition>
struct WaitQueue {
  Condition condition;
  long tickets = 0, served = 0;

  template <class Ready, class... Lock>
  void wait(Tally& tally, Ready ready, Lock&... lock) {
    const long mine = tickets++;
    condition.wait(lock...);
    if (!ready()) ++tally.futile;
    if (mine != served++) ++tally.out_of_order;
  }
};

// A buffer of a few places between producers and consumers; get() returns nothing once everything
// has been taken.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void put(long item) = 0;
  virtual std::optional<long> get() = 0;
  Tally tally;  // valid when all threads are done

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

// std::condition_variable: a woken thread must queue for the mutex and check the condition again.
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
  using Queue = WaitQueue<std::condition_variable>;
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Queue& queue, Ready ready) {
    while (!ready()) queue.wait(tally, ready, lock);
  }
  void wake(Queue& queue) {
    if (one_for_all_)
      both_.condition.notify_all();
    else
      queue.condition.notify_one();
  }

  const bool one_for_all_;  // one condition for all threads; each wake-up wakes all
  std::mutex mutex_;
  Queue both_, not_full_, not_empty_;
  Queue& producers_ = one_for_all_ ? both_ : not_full_;
  Queue& consumers_ = one_for_all_ ? both_ : not_empty_;
};

// HoareMonitor: the condition holds when a thread wakes: `if` is enough where SignalAndContinue
// needs `while`.
class HandOff final : public Buffer {
 public:
  HandOff(std::size_t places, long total, bool elements)
      : Buffer(places, total), elements_(elements) {}

  void put(long item) override {
    monitor_.enter();
    if (full()) not_full_.wait(tally, [this] { return !full(); });
    items_.push_back(item);
    signal_and_leave(not_empty_);
  }
  std::optional<long> get() override {
    monitor_.enter();
    if (empty() && !done()) not_empty_.wait(tally, [this] { return !empty() || done(); });
    if (done()) {
      signal_and_leave(not_empty_);  // so that all threads end
      return {};
    }
    const long item = pop();
    signal_and_leave(done() ? not_empty_ : not_full_);
    return item;
  }

 private:
  using Queue = WaitQueue<HoareMonitor::Condition>;
  void signal_and_leave(Queue& queue) {
    if (elements_) return queue.condition.signal_and_leave();
    queue.condition.signal();
    monitor_.leave();
  }

  const bool elements_;  // the signaller leaves the monitor
  HoareMonitor monitor_;
  Queue not_full_{HoareMonitor::Condition(monitor_)}, not_empty_{HoareMonitor::Condition(monitor_)};
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
  std::vector<unsigned> pairs;  // numbers of producers, with the same number of consumers
  long items;
};
Sizes sizes(const Settings& settings) {
  if (settings.quick) return {{1, 16}, 1'600};
  return {{1, 4, 16}, 16'000};
}

double run(const Variant& variant, std::size_t places, unsigned pairs, long items,
           Counters& counters) {
  const std::unique_ptr<Buffer> buffer = variant.make(places, items);
  const long share = items / long(pairs);
  std::vector<std::vector<long>> taken(pairs);
  const Run ran = run_threads(2 * pairs, [&](unsigned thread) {
    if (thread < pairs) {
      for (long i = 0; i < share; ++i) buffer->put(long(thread) * share + i);
      return;
    }
    const unsigned consumer = thread - pairs;
    taken[consumer].reserve(std::size_t(items));
    while (const std::optional<long> item = buffer->get()) taken[consumer].push_back(*item);
  });

  std::vector<long> all;
  long overtaken = 0;  // items of one producer that one consumer got in another order
  for (const std::vector<long>& one : taken) {
    all.insert(all.end(), one.begin(), one.end());
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
  counters["item"] = ran.seconds / double(items);
  counters["futile"] = double(buffer->tally.futile);
  counters["out_of_order"] = double(buffer->tally.out_of_order);
  return ran.seconds;
}

std::string cell(const Variant& variant, std::size_t places, unsigned pairs) {
  return join_name("condition", variant.name, places, pairs);
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
  Table& throughput =
      out.add(Table{"throughput", "Time for one item through the buffer", {"condition variable"}});
  for (const std::size_t places : places_of_buffer)
    throughput.add_columns(s.pairs, [&](unsigned pairs) {
      const std::string each = std::to_string(pairs);
      return each + " + " + each + " threads, " + std::to_string(places) +
             (places == 1 ? " place" : " places");
    });
  for (const Variant& variant : variants) {
    const std::string label = variant.label;
    std::vector<std::string> row{label};
    for (const std::size_t places : places_of_buffer)
      for (const unsigned pairs : s.pairs)
        row.push_back(duration(measured.get(cell(variant, places, pairs), "item")));
    throughput.rows.push_back(std::move(row));
    const auto worst = [&](const char* what) {
      return measured.all(join_name("condition", variant.name, ""), what).worst();
    };
    out.check_none(label + ": every item arrives once, those of one producer in order",
                   worst("wrong"), "wrong");
    if (!variant.hands_over) continue;
    out.check_none(label + ": a woken thread finds its condition true", worst("futile"),
                   "times it was not");
    out.check_none(label + ": first come, first served", worst("out_of_order"),
                   "times out of turn");
  }
}

const Add add(5.1, {"condition", "5. Condition variables: signal and continue, or hand over?",
                    prepare, report});

}  // namespace
}  // namespace exchange::experiments
