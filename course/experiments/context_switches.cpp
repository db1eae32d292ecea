// 4. What does it cost to switch from one task to the other?

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <exception>
#include <fstream>
#include <mutex>

#ifdef EXPERIMENTS_WITH_FIBERS
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#endif

#include "base/histogram.hpp"
#include "course/experiments/lab.hpp"

namespace exchange::experiments {
namespace {

// Ways in which one task passes its turn to another and waits for its own. Side 0 passes odd
// numbers to side 1, which passes even ones back: pass(to, number), await(me) -> the number that
// arrived. A side awaits only after it passed, except that side 1 awaits first. Each side is a
// thread, process or fiber.
bool is_turn_of(unsigned side, std::uint32_t turn) { return turn % 2 == side; }

enum class Notify { under_the_lock, after_it };

// Uses std:: or boost::fibers:: types.
template <class Mutex, class Condition, Notify notify>
class ConditionBaton {
 public:
  void pass(unsigned, std::uint32_t turn) {
    {
      const std::lock_guard lock(mutex_);
      turn_ = turn;
      if (notify == Notify::under_the_lock) changed_.notify_one();
    }
    if (notify == Notify::after_it) changed_.notify_one();
  }
  std::uint32_t await(unsigned me) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_turn_of(me, turn_); });
    return turn_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::uint32_t turn_ = 0;
};

// The turn is an atomic number; How waits while it has a value, and wakes the other side.
using Turn = std::atomic<std::uint32_t>;
template <class How>
class AtomicBaton {
 public:
  void pass(unsigned, std::uint32_t turn) {
    turn_ = turn;
    How::wake(turn_);
  }
  std::uint32_t await(unsigned me) {
    for (;;) {
      const std::uint32_t turn = turn_;
      if (is_turn_of(me, turn)) return turn;
      How::wait(turn_, turn);
    }
  }

 private:
  Turn turn_ = 0;
};

// The standard library may spin for a while before it sleeps.
struct ByStandardWait {
  static void wake(Turn& turn) { turn.notify_one(); }
  static void wait(Turn& turn, std::uint32_t value) { turn.wait(value); }
};
struct ByFutex {
  static_assert(sizeof(Turn) == 4);
  static void wake(Turn& turn) {
    ::syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  static void wait(Turn& turn, std::uint32_t value) {
    ::syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  }
};
struct ByYield {
  static void wake(Turn&) {}
  static void wait(Turn&, std::uint32_t) { ::sched_yield(); }
};

// Turns travel through descriptors: each side reads from one and writes to one.
class DescriptorBaton {
 public:
  DescriptorBaton() = default;
  DescriptorBaton(const DescriptorBaton&) = delete;
  ~DescriptorBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      ::close(read_by_[side]);
      if (written_to_[side] != read_by_[side] && written_to_[side] != read_by_[1 - side])
        ::close(written_to_[side]);
    }
  }
  void pass(unsigned to, std::uint32_t turn) {
    const std::uint64_t bytes = turn;
    need(::write(written_to_[to], &bytes, sizeof bytes) == sizeof bytes, "write");
  }
  std::uint32_t await(unsigned me) {
    std::uint64_t bytes = 0;
    need(::read(read_by_[me], &bytes, sizeof bytes) == sizeof bytes, "read");
    return std::uint32_t(bytes);
  }

 protected:
  int read_by_[2] = {-1, -1}, written_to_[2] = {-1, -1};  // by destination side
};

class PipeBaton : public DescriptorBaton {
 public:
  PipeBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      int ends[2];
      need(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
      read_by_[side] = ends[0];
      written_to_[side] = ends[1];
    }
  }
};

class EventfdBaton : public DescriptorBaton {
 public:
  EventfdBaton() {
    for (unsigned side = 0; side < 2; ++side) {
      need((read_by_[side] = ::eventfd(0, EFD_CLOEXEC)) >= 0, "eventfd");
      written_to_[side] = read_by_[side];
    }
  }
};

class UnixBaton : public DescriptorBaton {
 public:
  UnixBaton() {
    need(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, read_by_) == 0, "socketpair");
    for (unsigned side = 0; side < 2; ++side) written_to_[side] = read_by_[1 - side];
  }
};

class TcpBaton : public DescriptorBaton {
 public:
  TcpBaton() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    sockaddr* const any = reinterpret_cast<sockaddr*>(&address);
    need(::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0 &&
             ::getsockname(listener, any, &size) == 0,
         "listen");
    read_by_[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(::connect(read_by_[0], any, size) == 0, "connect");
    need((read_by_[1] = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0, "accept");
    ::close(listener);
    const int yes = 1;
    for (unsigned side = 0; side < 2; ++side) {
      need(::setsockopt(read_by_[side], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0,
           "TCP_NODELAY");
      written_to_[side] = read_by_[1 - side];
    }
  }
};

struct Outcome {
  double seconds = 0;
  Histogram round_trips_ns;  // empty if reading the clock would cost more than what it measures
  std::uint64_t wrong = 0;   // turns with an unexpected number
};

// Side 0 begins each round, and measures.
template <class Baton>
void ping(Baton& baton, std::uint32_t rounds, bool timed, Outcome& outcome) {
  const double begin_s = now_s();
  double last_s = begin_s;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    baton.pass(1, 2 * round + 1);
    outcome.wrong += baton.await(0) != 2 * round + 2;
    if (!timed) continue;
    const double time_s = now_s();
    outcome.round_trips_ns.record(std::uint64_t((time_s - last_s) * 1e9));
    last_s = time_s;
  }
  outcome.seconds = now_s() - begin_s;
}

// Side 1 answers. Returns the number of turns with an unexpected number.
template <class Baton>
std::uint64_t pong(Baton& baton, std::uint32_t rounds) {
  std::uint64_t wrong = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    wrong += baton.await(1) != 2 * round + 1;
    baton.pass(0, 2 * round + 2);
  }
  return wrong;
}

using Cpus = std::vector<unsigned>;  // one for each side; the same one twice if both share it

template <class Baton>
Outcome between_threads(const Cpus& cpus, std::uint32_t rounds) {
  Baton baton;
  Outcome outcome;
  std::uint64_t wrong = 0;
  run_threads(2, [&](unsigned side) {
    pin_thread({cpus[side]});
    if (side == 0)
      ping(baton, rounds, true, outcome);
    else
      wrong = pong(baton, rounds);
  });
  outcome.wrong += wrong;
  return outcome;
}

Outcome between_processes(const Cpus& cpus, std::uint32_t rounds) {
  PipeBaton baton;
  const pid_t child = ::fork();
  need(child >= 0, "fork");
  if (child == 0) {
    pin_thread({cpus[1]});
    ::_exit(pong(baton, rounds) == 0 ? 0 : 1);
  }
  Outcome outcome;
  run_threads(1, [&](unsigned) {
    pin_thread({cpus[0]});
    ping(baton, rounds, true, outcome);
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.wrong += status != 0;
  return outcome;
}

// A coroutine that another one, or a loop, resumes.
struct Side {
  struct promise_type {
    Side get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// Without optimization the stack grows with every transfer, so that a coroutine sometimes returns
// to the loop.
constexpr std::uint32_t transfers_in_a_row = 1'000;

struct Transfers {
  std::coroutine_handle<> sides[2];
  std::uint32_t turn = 0;
  std::uint64_t wrong = 0;
  bool straight = false;  // from side to side; false: back to the loop each time
};

struct Transfer {
  Transfers& transfers;
  std::coroutine_handle<> to;
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const {
    return transfers.straight && transfers.turn % transfers_in_a_row != 0 ? to
                                                                          : std::noop_coroutine();
  }
  void await_resume() const {}
};

Side side_of(Transfers& transfers, unsigned me, std::uint32_t rounds) {
  for (std::uint32_t round = 0; round < rounds; ++round) {
    transfers.wrong += transfers.turn != 2 * round + me;
    ++transfers.turn;
    co_await Transfer{transfers, transfers.sides[1 - me]};
  }
}

Outcome between_coroutines(bool straight, const Cpus& cpus, std::uint32_t rounds) {
  Outcome outcome;
  run_threads(1, [&](unsigned) {
    pin_thread({cpus[0]});
    Transfers transfers;
    transfers.straight = straight;
    for (unsigned side = 0; side < 2; ++side)
      transfers.sides[side] = side_of(transfers, side, rounds).handle;
    const double begin_s = now_s();
    while (transfers.turn < 2 * rounds) transfers.sides[transfers.turn % 2].resume();
    outcome.seconds = now_s() - begin_s;
    outcome.wrong = transfers.wrong;
    for (const std::coroutine_handle<> side : transfers.sides) side.destroy();
  });
  return outcome;
}

#ifdef EXPERIMENTS_WITH_FIBERS
namespace fibers = boost::fibers;

class FiberYieldBaton {
 public:
  void pass(unsigned, std::uint32_t turn) { turn_ = turn; }
  std::uint32_t await(unsigned me) {
    while (!is_turn_of(me, turn_)) boost::this_fiber::yield();
    return turn_;
  }

 private:
  std::uint32_t turn_ = 0;
};
using FiberConditionBaton =
    ConditionBaton<fibers::mutex, fibers::condition_variable, Notify::after_it>;

template <class Baton>
Outcome between_fibers(const Cpus& cpus, std::uint32_t rounds) {
  Outcome outcome;
  run_threads(1, [&](unsigned) {
    pin_thread({cpus[0]});
    Baton baton;
    fibers::fiber first([&] { ping(baton, rounds, false, outcome); });
    fibers::fiber second([&] { outcome.wrong += pong(baton, rounds); });
    first.join();
    second.join();
  });
  return outcome;
}
#endif

struct Way {
  std::string key, label, there;
  std::function<Outcome(const Cpus&, std::uint32_t rounds)> run;
  bool in_kernel;      // false: in user space, with more rounds in the same time
  bool on_two = true;  // CPUs
};

std::vector<Way> ways() {
  const auto coroutines = [](bool straight) {
    return [straight](const Cpus& cpus, std::uint32_t rounds) {
      return between_coroutines(straight, cpus, rounds);
    };
  };
  std::vector<Way> all{
      {"coroutines-loop", "coroutines, resumed by a loop", "-", coroutines(false), false, false},
      {"coroutines", "coroutines, one straight to the other", "-", coroutines(true), false, false}};
#ifdef EXPERIMENTS_WITH_FIBERS
  all.push_back({"fibers-yield", "fibers, yielding", "103-149 ns (goroutines)",
                 between_fibers<FiberYieldBaton>, false, false});
  all.push_back({"fibers-condition", "fibers, condition variable", "-",
                 between_fibers<FiberConditionBaton>, false, false});
  all.push_back({"fibers-threads", "fibers on a thread each, condition variable",
                 "145-156 ns (goroutines)", between_threads<FiberConditionBaton>, true});
#endif
  const auto add = [&](const char* key, const char* label, auto run,
                       const char* there = "1-2 us (quoted)") {
    all.push_back({key, label, there, run, true});
  };
  add("yield", "threads, sched_yield", between_threads<AtomicBaton<ByYield>>);
  add("futex", "threads, futex", between_threads<AtomicBaton<ByFutex>>);
  add("atomic", "threads, std::atomic wait", between_threads<AtomicBaton<ByStandardWait>>);
  add("condition", "threads, condition variable",
      between_threads<ConditionBaton<std::mutex, std::condition_variable, Notify::after_it>>);
  add("condition-locked", "threads, the same, notified under the lock",
      between_threads<ConditionBaton<std::mutex, std::condition_variable, Notify::under_the_lock>>);
  add("eventfd", "threads, eventfd", between_threads<EventfdBaton>);
  add("pipe", "threads, pipe", between_threads<PipeBaton>);
  add("processes", "processes, pipe", between_processes, "3-5 us (quoted)");
  add("unix", "threads, UNIX-domain socket", between_threads<UnixBaton>, "-");
  add("tcp", "threads, TCP on loopback", between_threads<TcpBaton>, "500 us (quoted, a network)");
  return all;
}

std::vector<std::pair<std::string, Cpus>> placements() {
  const std::vector<unsigned> usable = usable_cpus();
  std::vector<std::pair<std::string, Cpus>> all{{"one", {usable[0], usable[0]}}};
  if (usable.size() > 1) all.push_back({"two", {usable[0], usable[1]}});
  return all;
}

void prepare(const Settings& settings) {
  for (const Way& way : ways())
    for (const auto& [place, cpus] : placements()) {
      if (place == "two" && !way.on_two) continue;
      const std::uint32_t rounds = (way.in_kernel ? 20'000 : 1'000'000) / (settings.quick ? 10 : 1);
      measure(join_name("context_switches", way.key, place), [way, rounds,
                                                              cpus = cpus](Counters& counters) {
        const Outcome outcome = way.run(cpus, rounds);
        // Half the median round: rounds in which another process had the CPU have no effect
        // on it.
        counters["switch"] = way.in_kernel ? double(outcome.round_trips_ns.quantile(0.5)) * 1e-9 / 2
                                           : outcome.seconds / (2.0 * rounds);
        counters["wrong"] = double(outcome.wrong);
        return outcome.seconds;
      });
    }
}

// Whether two CPUs are threads of one core, which makes a switch between them cheaper.
bool share_a_core(unsigned first, unsigned second) {
  std::string cores[2];
  for (unsigned i = 0; i < 2; ++i) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(i == 0 ? first : second) +
                       "/topology/thread_siblings_list");
    std::getline(file, cores[i]);
  }
  return !cores[0].empty() && cores[0] == cores[1];
}

void report(const Settings&, const Measurements& measured, Report& out) {
  Table& switches =
      out.add(Table{"switches",
                    "one switch (half a round trip)",
                    {"tasks, and how they hand over", "there", "on one CPU", "on two CPUs"}});
  for (const Way& way : ways()) {
    std::vector<std::string> row{way.label, way.there};
    for (const std::string place : {"one", "two"}) {
      const std::string name = join_name("context_switches", way.key, place);
      row.push_back(measured.has(name) ? duration(measured.get(name, "switch")) : "-");
    }
    switches.rows.push_back(std::move(row));
  }
  const Sample wrong = measured.all("context_switches/", "wrong");
  out.check_none("every turn arrives once and in order", wrong.sum(),
                 "wrong turns in " + number(double(wrong.values.size())) + " runs");
  const std::vector<unsigned> usable = usable_cpus();
  if (usable.size() < 2)
    out.notes.push_back("only one CPU may be used: nothing was measured on two");
  else if (share_a_core(usable[0], usable[1]))
    out.notes.push_back("the two CPUs are threads of one core");
#ifndef EXPERIMENTS_WITH_FIBERS
  out.notes.push_back("built without Boost.Fiber: no fibers");
#endif
}

const Add add(4, {"context_switches",
                  "4. Context switches: what does it cost to go from one task to the other?",
                  prepare, report});

}  // namespace
}  // namespace exchange::experiments
