#pragma once
// Guarded<T>: data reachable only through its lock.

#include <condition_variable>
#include <mutex>
#include <utility>

namespace exchange {

template <class T>
class Guarded {
 public:
  template <class... Arguments>
  explicit Guarded(Arguments&&... arguments) : data_(std::forward<Arguments>(arguments)...) {}

  // with([](T& data) { ... }) under the lock; returns what the function returns.
  template <class Function>
  decltype(auto) with(Function function) {
    const std::lock_guard lock(mutex_);
    return function(data_);
  }
  // As with(), after waiting until ready(data).
  template <class Ready, class Function>
  decltype(auto) when(Ready ready, Function function) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready(data_); });
    return function(data_);
  }
  // Waits until ready(data) or the time is over; returns ready(data).
  template <class Duration, class Ready>
  bool wait_for(Duration time, Ready ready) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return ready(data_); });
  }
  // After with(): wakes whoever waits in when().
  void notify() { changed_.notify_all(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  T data_;
};

}  // namespace exchange
