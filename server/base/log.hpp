#pragma once
// The log of the server: lines for its operator. spdlog writes them. Only log.cpp and main.cpp
// include its header, because it takes two seconds to compile, with formatting, in each source
// file.
//   log_warning("{} is missing: rebuilding it from {}", path, journal);
// Thread: any, except where noted.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace exchange {

// A text in which {} stands for each value. The compiler checks the number of values.
template <std::size_t Values>
struct LogFormat {
  consteval LogFormat(const char* format) : text(format) {
    std::size_t places = 0;
    for (std::size_t at = 0; (at = text.find("{}", at)) != text.npos; at += 2) ++places;
    if (places != Values) throw "as many values as {} are needed";
  }
  std::string_view text;
};

enum class LogLevel : std::uint8_t { info, warning, error, critical };
void write_log(LogLevel level, std::string_view format, std::span<const std::string> values);

inline std::string log_value(std::string_view text) { return std::string(text); }
template <std::integral Number>
std::string log_value(Number number) {
  return std::to_string(number);
}

template <class... Values>
std::array<std::string, sizeof...(Values)> values_of_log(const Values&... values) {
  return {log_value(values)...};
}

template <class... Values>
void log_info(LogFormat<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::info, format.text, values_of_log(values...));
}
template <class... Values>
void log_warning(LogFormat<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::warning, format.text, values_of_log(values...));
}
template <class... Values>
void log_error(LogFormat<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::error, format.text, values_of_log(values...));
}
template <class... Values>
void log_critical(LogFormat<sizeof...(Values)> format, const Values&... values) {
  write_log(LogLevel::critical, format.text, values_of_log(values...));
}

// Decides which failures of one outage are logged: each reason once. So the log has the reason that
// keeps the outage going, such as a changed password, but not a line for each attempt. Thread: one
// at a time.
class OutageReasons {
 public:
  // Returns true if `reason` must be logged.
  bool is_new(const std::string& reason) {
    constexpr std::size_t reasons_max = 16;
    return reasons_.size() < reasons_max && reasons_.insert(reason).second;
  }
  // Marks the outage as over. Returns true if there was one.
  bool clear() {
    const bool was_out = !reasons_.empty();
    reasons_.clear();
    return was_out;
  }

 private:
  std::set<std::string> reasons_;
};

}  // namespace exchange
