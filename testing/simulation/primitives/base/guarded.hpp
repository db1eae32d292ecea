#pragma once
// Replaces server/base/guarded.hpp for sources in a simulation: a lock is a point where another
// task may run first. A waiting task sleeps until it is notified, so that a missing notify() is
// found.

#include <chrono>
#include <utility>

#include "simulation/scheduler.hpp"

namespace exchange {

template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T data) : data_(std::move(data)) {}
  template <class Function>
  decltype(auto) with(Function function) {
    if (Scheduler* const scheduler = Scheduler::current()) scheduler->preempt();
    const Scheduler::Lock lock;
    return function(data_);
  }
  template <class Ready, class Function>
  decltype(auto) when(Ready ready, Function function) {
    Scheduler::current()->preempt();
    while (!ready(data_)) Scheduler::current()->wait(this);
    const Scheduler::Lock lock;
    return function(data_);
  }
  template <class Duration, class Ready>
  bool wait_for(Duration time, Ready ready) {
    Scheduler& scheduler = *Scheduler::current();
    const simulation::Nanoseconds deadline =
        scheduler.now() + std::chrono::nanoseconds(time).count();
    scheduler.preempt();
    while (!ready(data_))
      if (!scheduler.wait_until(this, deadline)) return ready(data_);
    return true;
  }
  void notify() {
    if (Scheduler* const scheduler = Scheduler::current()) scheduler->notify(this);
  }

 private:
  using Scheduler = simulation::Scheduler;
  T data_{};
};

}  // namespace exchange
