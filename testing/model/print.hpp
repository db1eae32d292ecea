#pragma once
// Prints values in words, for messages and for comparisons: described types (base/described.hpp) as
// "PlaceOrder(account 7, symbol SPY, shares 5, limit 10)". Members after the first are omitted if
// they have their default values.

#include <algorithm>
#include <boost/core/type_name.hpp>
#include <concepts>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

template <class Value>
std::string print(const Value& value);

template <class Struct>
std::string print_members(const Struct& value) {
  [[maybe_unused]] static const Struct fresh{};
  std::string text;
  bool first = true;
  for_each_member<Struct>([&](auto member) {
    const auto& field = value.*member.pointer;
    if (!first && field == fresh.*member.pointer) return;
    text += (first ? "" : ", ") + std::string(member.name) + " " + print(field);
    first = false;
  });
  return text;
}

template <class Value>
std::string print(const Value& value) {
  if constexpr (requires { value.view(); }) {
    return std::string(value.view());
  } else if constexpr (std::same_as<Value, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<Value>) {
    return std::to_string(value);
  } else if constexpr (requires(std::string out) { append_decimal(out, value); }) {
    return to_string(value);
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(to_string(value));
  } else if constexpr (std::same_as<Value, Timestamp>) {
    return std::to_string(value.microseconds) + "us";
  } else if constexpr (requires { value.index(); }) {
    return std::visit([](const auto& alternative) { return print(alternative); }, value);
  } else if constexpr (requires { value.begin(); }) {
    std::string text;
    for (const auto& element : value) text += (text.empty() ? "" : ", ") + print(element);
    return "[" + text + "]";
  } else if constexpr (requires { *value; }) {
    return value ? print(*value) : "none";
  } else {
    static const std::string name = boost::core::type_name<Value>();
    return name.substr(name.rfind(':') + 1) + "(" + print_members(value) + ")";
  }
}

// Returns one line for each row of each table, sorted: rows come in any order.
inline std::vector<std::string> lines(const Rows& rows) {
  std::vector<std::string> lines;
  for_each_member<Rows>([&](auto table) {
    if constexpr (requires { (rows.*table.pointer).begin(); })
      for (const auto& row : rows.*table.pointer) lines.push_back(print(row));
  });
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace exchange
