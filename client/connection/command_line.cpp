#include "client/connection/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace exchange::client {
namespace {

[[noreturn]] void invalid(std::string_view text, const char* problem) {
  throw std::invalid_argument("'" + std::string(text) + "' " + problem);
}

}  // namespace

StopFlag& stop_flag() {
  static StopFlag flag{false};
  return flag;
}

void stop_on_signals() {
  stop_flag();  // constructed before a signal handler can use it
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag() = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::string prefix_from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

double leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || value < 0 || !std::isfinite(value))
    invalid(text, "does not begin with a number");
  rest = text.substr(std::size_t(end - text.data()));
  return value;
}

double parse_seconds(std::string_view text) {
  std::string_view unit;
  const double value = leading_number(text, unit);
  for (const auto& [name, factor] :
       {std::pair("us", 1e-6), {"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}})
    if (unit == name) return value * factor;
  invalid(text, "is not a time such as 20ms, 1.5s or 2m");
}

double parse_duration(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  const double seconds = parse_seconds(plain ? text + "s" : text);
  if (seconds < 0.001 || seconds > duration_max_s) invalid(text, "is not between 1 ms and 11 days");
  return seconds;
}

void check_address(const std::string& text) {
  if (text.starts_with(unix_scheme) && text.size() > unix_scheme.size()) return;
  const std::size_t colon = text.rfind(':');
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || colon == 0 ||
      std::from_chars(text.data() + colon + 1, end, port).ptr != end || port == 0 || port > 65535)
    invalid(text, "is not HOST:PORT or unix:PATH");
}

std::vector<std::string> split_addresses(const std::string& list) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    addresses.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return addresses;
}

void check_addresses(const std::string& list) {
  for (const std::string& address : split_addresses(list)) check_address(address);
}

}  // namespace exchange::client
