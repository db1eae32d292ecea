#include "simulation/scheduler.hpp"

#include <cxxabi.h>

#include <algorithm>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace exchange::simulation {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::uint64_t steps_max = 20'000'000;  // far more than any run that ends

thread_local Scheduler* current_scheduler = nullptr;

// AddressSanitizer has to know which stack is in use: a switch begins on the old stack and ends on
// the new one.
#if defined(__SANITIZE_ADDRESS__)
constexpr auto* begin_switch = __sanitizer_start_switch_fiber;
constexpr auto* finish_switch = __sanitizer_finish_switch_fiber;
#else
void begin_switch(void**, const void*, std::size_t) {}
void finish_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace

Scheduler* Scheduler::current() { return current_scheduler; }

Scheduler::~Scheduler() = default;

Task Scheduler::spawn(std::string name, Process process, bool thread, std::function<void()> work) {
  auto fiber = std::make_unique<Fiber>();
  fiber->name = std::move(name);
  fiber->process = process;
  fiber->thread = thread;
  fiber->killed = dying() && running_->process == process;  // a thread of a killed process
  fiber->work = std::move(work);
  if (stacks_.empty()) {
    fiber->stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  } else {
    fiber->stack = std::move(stacks_.back());
    stacks_.pop_back();
  }
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = stack_bytes;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Scheduler::enter), 2,
              unsigned(address >> 32), unsigned(address));
  alive_.push_back(fiber.get());
  fibers_.push_back(std::move(fiber));
  return fibers_.size() - 1;
}

// The first frame of every task.
void Scheduler::enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Scheduler*>(std::uintptr_t(high) << 32 | low);
  Fiber& fiber = *self->running_;
  finish_switch(nullptr, &self->main_stack_bottom_, &self->main_stack_size_);
  try {
    if (!fiber.killed) fiber.work();
  } catch (const Killed&) {
  } catch (...) {
    self->failure_ = std::current_exception();
  }
  fiber.work = nullptr;
  fiber.ended = true;
  self->switch_exceptions(fiber);
  begin_switch(nullptr, self->main_stack_bottom_, self->main_stack_size_);
  setcontext(&self->main_);
}

void Scheduler::run() {
  current_scheduler = this;
  while (!alive_.empty() && !failure_) {
    Fiber* const next = choose();
    if (steps_ > steps_max) {
      failure_ = std::make_exception_ptr(
          Violation("no end after " + std::to_string(steps_max) + " steps"));
      break;
    }
    if (next == nullptr) {
      std::string waiting;
      for (const Fiber* fiber : alive_) waiting += " " + fiber->name;
      failure_ =
          std::make_exception_ptr(Violation("nothing can go on any more; waiting:" + waiting));
      break;
    }
    resume(*next);
    if (!next->ended) continue;
    stacks_.push_back(std::move(next->stack));
    alive_.erase(std::find(alive_.begin(), alive_.end(), next));
  }
  if (failure_)  // the remaining tasks unwind, newest first
    while (!alive_.empty()) {
      const auto last = std::find_if(alive_.rbegin(), alive_.rend(),
                                     [](const Fiber* fiber) { return fiber->thread; });
      Fiber* const fiber = last != alive_.rend() ? *last : alive_.back();
      fiber->killed = true;
      const std::exception_ptr first = failure_;
      resume(*fiber);
      failure_ = first;
      if (fiber->ended) alive_.erase(std::find(alive_.begin(), alive_.end(), fiber));
    }
  current_scheduler = nullptr;
  if (failure_) std::rethrow_exception(failure_);
}

Scheduler::Fiber* Scheduler::choose() {
  ++steps_;
  // Killed tasks unwind before any other task runs: threads first, then in the reverse order of
  // their creation.
  Fiber* killed = nullptr;
  for (Fiber* fiber : alive_)
    if (fiber->killed && (killed == nullptr || fiber->thread || !killed->thread)) killed = fiber;
  if (killed != nullptr) return killed;
  while (true) {
    ready_.clear();
    Fiber* by_time = nullptr;
    Fiber* by_step = nullptr;
    for (Fiber* fiber : alive_) {
      if (!fiber->ready && fiber->deadline <= now_) fiber->ready = true;
      if (fiber->ready && fiber->step <= steps_)
        ready_.push_back(fiber);
      else if (fiber->ready)
        by_step = by_step == nullptr || fiber->step < by_step->step ? fiber : by_step;
      else if (fiber->deadline != never &&
               (by_time == nullptr || fiber->deadline < by_time->deadline))
        by_time = fiber;
    }
    // A busy machine may be late, or so slow that timers expire in between.
    if (!ready_.empty() && !(by_time != nullptr && chance(200)))
      return ready_[below(ready_.size())];
    if (by_time != nullptr) {
      now_ = by_time->deadline;
      continue;
    }
    if (by_step != nullptr) by_step->step = 0;
    return by_step;
  }
}

void Scheduler::resume(Fiber& fiber) {
  running_ = &fiber;
  switch_exceptions(fiber);
  begin_switch(&main_sanitizer_stack_, fiber.stack.get(), stack_bytes);
  swapcontext(&main_, &fiber.context);
  finish_switch(main_sanitizer_stack_, nullptr, nullptr);
  running_ = nullptr;
}

void Scheduler::suspend() {
  Fiber& fiber = *running_;
  switch_exceptions(fiber);
  begin_switch(&fiber.sanitizer_stack, main_stack_bottom_, main_stack_size_);
  swapcontext(&fiber.context, &main_);
  finish_switch(fiber.sanitizer_stack, &main_stack_bottom_, &main_stack_size_);
}

// Swaps the exceptions of the fiber with those of the fiber that ran before: tasks may block inside
// a catch block.
void Scheduler::switch_exceptions(Fiber& fiber) {
  // the layout of the Itanium C++ ABI: a pointer and a count
  auto* const globals = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
  std::swap_ranges(fiber.exceptions.begin(), fiber.exceptions.end(), globals);
}

void Scheduler::block() {
  if (locks_ > 0) throw Violation(running_->name + " waits while it holds a lock");
  running_->ready = false;
  suspend();
  running_->event = nullptr;
  running_->deadline = never;
  if (running_->killed) throw Killed{};
}

void Scheduler::preempt() {
  if (running_ == nullptr || locks_ > 0 || running_->killed || !chance(4)) return;
  suspend();
}

void Scheduler::wait(const void* event) { wait_until(event, never); }

bool Scheduler::wait_until(const void* event, Nanoseconds deadline) {
  if (running_->killed) throw Killed{};
  if (chance(100)) {
    preempt();
    return now_ < deadline;
  }
  running_->event = event;
  running_->deadline = deadline;
  block();
  return now_ < deadline;
}

void Scheduler::sleep(Nanoseconds time) {
  if (running_->killed) throw Killed{};
  const Nanoseconds deadline = now_ + time;
  do {
    running_->deadline = deadline;
    block();
  } while (now_ < deadline);
}

void Scheduler::sleep_steps(std::uint64_t steps) {
  if (running_->killed) throw Killed{};
  running_->step = steps_ + steps;
  suspend();
  if (running_->killed) throw Killed{};
}

void Scheduler::notify(const void* event) {
  for (Fiber* fiber : alive_)
    if (fiber->event == event && !fiber->ready) fiber->ready = true;
}

void Scheduler::join(Task task) {
  while (!fibers_[task]->ended) {
    running_->event = nullptr;
    if (running_->killed) {
      suspend();
      continue;
    }
    running_->deadline = now_ + 1'000'000;
    running_->ready = false;
    suspend();
    running_->deadline = never;
  }
}

void Scheduler::kill(Process process) {
  bool any = false;
  for (Fiber* fiber : alive_)
    if (fiber->process == process) any = fiber->killed = true;
  if (any) suspend();  // killed tasks run first
}

}  // namespace exchange::simulation
