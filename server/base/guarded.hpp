#pragma once
// Guarded<T> owns data of type T and the mutex that protects it; the data is accessible only inside
// the functions below. Any thread. The functions passed in run under the lock: they must be short
// and must not call the same Guarded again.
//   Guarded<Inbox> inbox;
//   inbox.with([&](Inbox& data) { data.submissions.push_back(one); });
//   inbox.notify();

#include <condition_variable>
#include <mutex>
#include <utility>

namespace exchange {

template <class T>
class Guarded {
 public:
  template <class... Arguments>
  explicit Guarded(Arguments&&... arguments) : data_(std::forward<Arguments>(arguments)...) {}

  // Calls function(data) under the lock and returns its result.
  template <class Function>
  decltype(auto) with(Function function) {
    const std::lock_guard lock(mutex_);
    return function(data_);
  }
  // Waits until ready(data) is true. Then does the same as with(), under the same lock.
  template <class Ready, class Function>
  decltype(auto) when(Ready ready, Function function) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready(data_); });
    return function(data_);
  }
  // Waits until ready(data) is true or `time` has passed. Returns ready(data).
  template <class Duration, class Ready>
  bool wait_for(Duration time, Ready ready) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return ready(data_); });
  }
  // Wakes all threads in when() and wait_for(), to evaluate ready() again. Call it after a with()
  // that may make it true.
  void notify() { changed_.notify_all(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  T data_;
};

}  // namespace exchange
