#pragma once
// start_thread() starts a named thread whose exceptions are reported, never lost. Used by the core,
// the store's projector and the readers.

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>

namespace exchange {

using Thread = std::thread;
// Called with the message of an exception that ended a thread. In the server it ends the process.
using OnFatal = std::function<void(const std::string&)>;

// low: gives way to threads that clients wait for. If all threads want the same CPU, it still gets
// a third as much as one of them; least: a seventieth. idle: runs if no other thread wants the CPU,
// and may wait long, so it must not hold a lock that other threads want.
enum class Priority { usual, low, least, idle };

// Lets other threads run first that are ready and share this CPU.
inline void yield_cpu() { sched_yield(); }

// Runs `work` on a new thread; if it throws a std::exception, calls `on_fatal` on that thread.
// `on_fatal` must outlive the thread. `name`: shown by debuggers and top; at most 15 characters.
inline Thread start_thread(const char* name, const OnFatal& on_fatal, std::function<void()> work,
                           Priority priority = Priority::usual) {
  return Thread([name, &on_fatal, work = std::move(work), priority] {
    pthread_setname_np(pthread_self(), name);
    constexpr int low_nice = 5, least_nice = 19;
    if (priority == Priority::low || priority == Priority::least)
      setpriority(PRIO_PROCESS, id_t(::gettid()),  // of this thread only, on Linux
                  priority == Priority::low ? low_nice : least_nice);
    const sched_param none{};
    if (priority == Priority::idle) pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
    try {
      work();
    } catch (const std::exception& error) {
      on_fatal(error.what());
    }
  });
}

}  // namespace exchange
