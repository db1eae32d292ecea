#pragma once
// Replaces server/base/thread.hpp for the core's sources in a simulation: threads are tasks.

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "simulation/scheduler.hpp"

namespace exchange {

using OnFatal = std::function<void(const std::string&)>;

class Thread {
 public:
  Thread() = default;
  explicit Thread(simulation::Task task) : task_(task) {}
  bool joinable() const { return task_.has_value(); }
  void join() {
    simulation::Scheduler::current()->join(*task_);
    task_.reset();
  }

 private:
  std::optional<simulation::Task> task_;
};

enum class Priority { usual, low };

inline void yield_cpu() { simulation::Scheduler::current()->preempt(); }

inline Thread start_thread(const char* name, const OnFatal& on_fatal, std::function<void()> work,
                           Priority = Priority::usual) {
  simulation::Scheduler& scheduler = *simulation::Scheduler::current();
  return Thread(
      scheduler.spawn(name, scheduler.process(), true, [&on_fatal, work = std::move(work)] {
        try {
          work();
        } catch (const simulation::Violation&) {
          throw;
        } catch (const std::exception& error) {
          on_fatal(error.what());
        }
      }));
}

}  // namespace exchange
