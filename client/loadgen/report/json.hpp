#pragma once
// Values of reports: JSON, with keys in the order of writing, and numbers as text. Slow to compile:
// include it only in files that read or write reports.

#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace exchange::loadgen {

using Json = nlohmann::ordered_json;
using Keys = std::initializer_list<const char*>;

// Returns the value under these keys, one inside the other; null if any is missing.
inline const Json& at(const Json& from, Keys keys) {
  static const Json nothing;
  const Json* found = &from;
  for (const char* key : keys) {
    if (!found->is_object()) return nothing;
    const auto next = found->find(key);
    if (next == found->end()) return nothing;
    found = &*next;
  }
  return *found;
}

// Returns NaN if the value is not a number.
inline double number_at(const Json& from, Keys keys) {
  const Json& value = at(from, keys);
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// Returns an empty string if the value is not a text.
inline std::string text_at(const Json& from, Keys keys) {
  const Json& value = at(from, keys);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Replaces bytes that are not UTF-8, which a server may have sent, by U+FFFD.
inline std::string to_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

inline bool true_at(const Json& from, Keys keys) { return at(from, keys) == Json(true); }

// Returns the sum of the numbers in an object; 0 if it is not an object.
inline double sum(const Json& counts) {
  double total = 0;
  if (counts.is_object())
    for (const auto& count : counts) total += count.is_number() ? count.get<double>() : 0;
  return total;
}

// Returns about three significant figures, or the whole number from 100 on: "0.0123", "3.21",
// "41,230"; a dash if the value is not finite.
std::string number_text(double value);
// Returns all digits, without trailing zeros: "0.05", "1,000", "1,234.5".
std::string exact_text(double value);

// A report warns if a hypervisor took more than this share of the CPU time: pauses then dominate
// the latencies.
inline constexpr double stolen_cpu_share_max = 0.01;

}  // namespace exchange::loadgen
