#pragma once
// NewDay is the wish to end a day: HTTP asks, main stops the server and closes the store, and a
// server on an empty store goes on in the same process. Asking again tells what has become of it.
// Owner: main, which outlives each Server. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "store/store.hpp"

namespace exchange {

class NewDay {
 public:
  struct Answer {
    enum class State { closed, closing, refused, unavailable } state;
    std::string text;  // closed: the URL of the day; refused, unavailable: why
  };

  // `wake` lets main look at asked().
  explicit NewDay(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Asks to close `store` as the day of this name, unless it is closed already, or cannot be. A
  // failed attempt to close it is reported once.
  Answer ask(Store& store, const std::string& day);

  // Main: the day that is to be closed, if any; what became of it.
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
using CloseDay = std::function<NewDay::Answer(const std::string& day)>;

}  // namespace exchange
