#include "days/new_day.hpp"

namespace exchange {

NewDay::Reply NewDay::ask(Store& store, const std::string& day) try {
  using enum Reply::State;
  DayCheck check = store.check_day(day);
  if (check.closed) return {closed, std::move(*check.closed)};
  return state_.with([&](State& state) -> Reply {
    if (state.asked && *state.asked != day)
      return {refused, "the day " + *state.asked + " is being closed"};
    if (state.asked) return {closing, {}};
    const std::optional<Failure> failure = std::exchange(state.failure, {});
    if (failure && failure->day == day) return {refused, failure->why};
    if (!check.problem.empty()) return {refused, std::move(check.problem)};
    state.asked = day;
    wake_();
    return {closing, {}};
  });
} catch (const std::runtime_error& error) {  // from the store
  return {Reply::State::unavailable, error.what()};
}

std::optional<std::string> NewDay::asked() {
  return state_.with([](const State& state) { return state.asked; });
}

void NewDay::closed() {
  state_.with([](State& state) { state = {}; });
}

void NewDay::failed(const std::string& why) {
  state_.with([&](State& state) {
    state.failure = Failure{state.asked.value_or(""), why};
    state.asked.reset();
  });
}

}  // namespace exchange
