#include "base/fail_point.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "base/text.hpp"

namespace exchange {
namespace {

enum class Action { none, crash, hang, slow, error };

struct Armed {
  Action action = Action::none;
  std::uint64_t nth = 1;
  unsigned slow_ms = 0;
  std::atomic<std::uint64_t> passed{0};
};
std::array<Armed, fail_points.size()> armed_points;

std::string names() {
  std::string list;
  for (const FailPointPlace& place : fail_points) (list += list.empty() ? "" : ", ") += place.name;
  return list;
}

[[noreturn]] void refuse(std::string_view item, const std::string& why) {
  throw std::invalid_argument("EXCHANGE_FAIL_POINT: '" + std::string(item) + "' " + why);
}

template <class Number>
Number number_of(std::string_view item, std::string_view text) {
  const Number number = parse_number<Number>(text).value_or(0);
  if (number == 0)
    refuse(item, "has a number that is not a positive integer; the form is name=action[@nth]");
  return number;
}

void arm(std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    refuse(item, "is not of the form name=action[@nth]; the names are: " + names());
  const auto place =
      std::find_if(fail_points.begin(), fail_points.end(),
                   [&](const FailPointPlace& p) { return p.name == item.substr(0, equals); });
  if (place == fail_points.end()) refuse(item, "is not a fail point; the names are: " + names());
  std::string_view action = item.substr(equals + 1);
  Armed& point = armed_points[std::size_t(place - fail_points.begin())];
  if (const std::size_t at = action.find('@'); at != std::string_view::npos) {
    point.nth = number_of<std::uint64_t>(item, action.substr(at + 1));
    action = action.substr(0, at);
  }
  if (action == "crash") {
    point.action = Action::crash;
  } else if (action == "hang") {
    point.action = Action::hang;
  } else if (action == "error") {
    if (!place->may_throw)
      refuse(item, "is a place that cannot throw: use crash, hang or slow(ms) there");
    point.action = Action::error;
  } else if (action.starts_with("slow(") && action.ends_with(")")) {
    point.slow_ms = number_of<unsigned>(item, action.substr(5, action.size() - 6));
    point.action = Action::slow;
  } else {
    refuse(item, "has an unknown action; the actions are crash, hang, slow(ms), error");
  }
}

[[noreturn]] void hang() {
  while (true) ::pause();
}

}  // namespace

void arm_fail_points(const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    arm(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    fail_point_detail::armed = true;
  }
}

bool fail_point_detail::pass(std::size_t place) {
  Armed& point = armed_points[place];
  if (point.action == Action::none) return false;
  const std::uint64_t passed = ++point.passed;
  if (passed == point.nth)
    std::fprintf(stderr, "fail point %s is reached\n", fail_points[place].name.data());
  if (point.action == Action::slow) {
    if (passed >= point.nth) std::this_thread::sleep_for(std::chrono::milliseconds(point.slow_ms));
    return false;
  }
  if (passed != point.nth) return false;
  if (point.action == Action::crash) ::kill(::getpid(), SIGKILL);
  if (point.action != Action::error) hang();
  return true;
}

}  // namespace exchange
