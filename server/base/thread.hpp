#pragma once
// A thread of the core: named for debuggers, and its failure is told, never swallowed.

#include <pthread.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>

namespace exchange {

using Thread = std::thread;
using OnFatal = std::function<void(const std::string&)>;

// Runs `work` on a new thread; what it throws goes to `on_fatal` there. `name`: 15 characters at
// most.
inline Thread start_thread(const char* name, const OnFatal& on_fatal, std::function<void()> work) {
  return Thread([name, &on_fatal, work = std::move(work)] {
    pthread_setname_np(pthread_self(), name);
    try {
      work();
    } catch (const std::exception& error) {
      on_fatal(error.what());
    }
  });
}

}  // namespace exchange
