#pragma once
// Scheduler runs tasks, in place of threads, on the one thread that calls run(). At every point
// where a thread could be preempted, the seed decides which of the ready tasks runs next. Time is
// virtual and passes when all tasks wait. So a run is a function of its seed. Tasks are fibers:
// production code blocks in them as it does in threads. Owner: one simulation. Functions are called
// in tasks, except spawn() and run().

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace exchange::simulation {

// Thrown when a killed task would block. It is not a std::exception, so that no handler takes it
// for a failure.
struct Killed {};
// The broken promise, in words; ends the run.
struct Violation : std::exception {
  explicit Violation(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

using Nanoseconds = std::int64_t;
using Process = unsigned;  // tasks that are killed together
using Task = std::size_t;

class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : random_(seed) {}
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  // Returns the scheduler that runs on this thread; null if none runs.
  static Scheduler* current();

  // `thread`: a thread of the process, which dies before the rest of it.
  Task spawn(std::string name, Process process, bool thread, std::function<void()> work);
  // Runs until every task has ended. Throws what a task threw, or Violation if all tasks wait and
  // none can wake them.
  void run();

  // Points where other tasks may run first. They do nothing while a lock is held, and in a task
  // that is being killed.
  void preempt();
  // Blocks until notified, or until virtual time or the step has come. May wake for no reason.
  // Throws Killed.
  void wait(const void* event);
  bool wait_until(const void* event, Nanoseconds deadline);  // false: the time is over
  void sleep(Nanoseconds time);
  // Waits for this number of switches between tasks; ends early if all other tasks wait for ever.
  void sleep_steps(std::uint64_t steps);
  void notify(const void* event);
  // Blocks until that task has ended. Does not throw: destructors join.
  void join(Task task);

  // Ends all tasks of a process, threads first, as kill -9 would: their stacks unwind, and code
  // that would send anything out of the process on the way must check dying() first. A task must
  // not kill its own process.
  void kill(Process process);
  // Returns whether the caller's task has been killed.
  bool dying() const { return running_ != nullptr && running_->killed; }
  Process process() const { return running_->process; }

  Nanoseconds now() const { return now_; }
  // Drawn from the seed.
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool chance(std::uint64_t one_in) { return one_in != 0 && below(one_in) == 0; }

  // Holds a lock while it lives: preempt() does not let another task run.
  class Lock {
   public:
    Lock() : scheduler_(current()) {
      if (scheduler_) ++scheduler_->locks_;
    }
    ~Lock() {
      if (scheduler_) --scheduler_->locks_;
    }
    Lock(const Lock&) = delete;

   private:
    Scheduler* const scheduler_;
  };

 private:
  static constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();
  struct Fiber {
    std::string name;
    Process process = 0;
    bool thread = false;
    std::function<void()> work;
    std::unique_ptr<char[]> stack;
    ucontext_t context{};
    // The C++ runtime's data for each thread: the exceptions that are being handled.
    alignas(void*) std::array<std::byte, sizeof(void*) + sizeof(unsigned)> exceptions{};
    void* sanitizer_stack = nullptr;
    const void* event = nullptr;  // the event that the fiber waits for, with a deadline
    Nanoseconds deadline = never;
    std::uint64_t step = 0;  // it runs at this step, or earlier if nothing else can run
    bool ready = true, killed = false, ended = false;
  };

  static void enter(unsigned high, unsigned low);
  void suspend();  // throws nothing
  void block();    // suspend(), then throws Killed if it was killed
  Fiber* choose();
  void resume(Fiber& fiber);
  void switch_exceptions(Fiber& fiber);

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> alive_, ready_;
  std::vector<std::unique_ptr<char[]>> stacks_;  // of ended tasks, for the next
  Fiber* running_ = nullptr;
  ucontext_t main_{};
  void* main_sanitizer_stack_ = nullptr;
  const void* main_stack_bottom_ = nullptr;
  std::size_t main_stack_size_ = 0;
  unsigned locks_ = 0;
  Nanoseconds now_ = 0;
  std::uint64_t steps_ = 0;
  std::exception_ptr failure_;
};

}  // namespace exchange::simulation
