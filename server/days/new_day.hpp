#pragma once
// NewDay carries the request to end a day: HTTP requests it, main stops the server and closes the
// store, and a new server on an empty store continues in the same process. A repeated request
// returns the state of the first one. Owner: main, which outlives each Server. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "store/store.hpp"

namespace exchange {

class NewDay {
 public:
  struct Reply {
    enum class State { closed, closing, refused, unavailable } state;
    std::string text;  // closed: the URL of the day; refused, unavailable: why
  };

  // `wake` makes main check asked().
  explicit NewDay(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Requests to close `store` as the day of this name, unless it is closed already or cannot be
  // closed. Reports a failed attempt to close it once.
  Reply ask(Store& store, const std::string& day);

  // For main: the day to close, if any, and the result of closing it.
  std::optional<std::string> asked();
  void closed();
  void failed(const std::string& why);

 private:
  struct Failure {
    std::string day, why;
  };
  struct State {
    std::optional<std::string> asked;
    std::optional<Failure> failure;  // of the last attempt, not reported yet
  };
  const std::function<void()> wake_;
  Guarded<State> state_;
};

// NewDay::ask() for the store of a server.
using CloseDay = std::function<NewDay::Reply(const std::string& day)>;

}  // namespace exchange
