#pragma once
// The types of attribute values, and how they are read from text and written as text
// (docs/protocol.md, N1 to N8). A new type needs a line in ValueType, a read_value() and a
// write_value(). Pure.

#include <array>
#include <span>
#include <string>

#include "engine/commands.hpp"
#include "protocol/error_code.hpp"
#include "protocol/words.hpp"

namespace exchange {

// An error with its code and its sentence. The sentence is empty if there is no error.
struct Problem {
  ErrorCode code{};
  std::string sentence;
  explicit operator bool() const { return !sentence.empty(); }
};

// The type of a value. It determines the form of the value in JSON and its schema.
enum class ValueType : std::uint8_t {
  account,
  symbol,
  reference,
  name,
  key,
  word,           // one of words<>
  truth,          // in JSON: true or false
  order,          // a whole number from 1
  count,          // a whole number from 0
  shares,         // from 0
  price,          // from 0
  positive,       // shares or a price above 0
  cash,           // from 0
  shares_change,  // below 0: shares are taken
  cash_change
};

constexpr bool is_decimal(ValueType type) {
  return type == ValueType::shares || type == ValueType::price || type == ValueType::positive ||
         type == ValueType::cash || type == ValueType::shares_change ||
         type == ValueType::cash_change;
}
constexpr bool is_count(ValueType type) {
  return type == ValueType::order || type == ValueType::count;
}
constexpr bool is_number(ValueType type) { return is_decimal(type) || is_count(type); }

using AllowedWords = std::span<const std::string_view>;
// Returns the problem of `name`, which is not a valid number; `why` is the text of the error.
Problem number_problem(NumberError error, std::string_view name, std::string_view why);
Problem read_value(std::string_view text, AccountId& value, std::string_view name);
Problem read_value(std::string_view text, SymbolName& value, std::string_view name);
Problem read_value(std::string_view text, OrderReference& value, std::string_view name);
Problem read_value(std::string_view text, AccountName& value, std::string_view name);
Problem read_value(std::string_view text, std::uint64_t& value, std::string_view name);  // from 1
Problem read_value(std::string_view text, Cash& value, std::string_view name);           // from 0
Problem read_value(std::string_view text, Shares& value, std::string_view name);         // from 0
Problem read_value(std::string_view text, Price& value, std::string_view name);          // from 0
template <class Value>
requires(!words<Value>.empty()) Problem
    read_value(std::string_view text, Value& value, std::string_view name) {
  for (const auto& known : words<Value>)
    if (text == known.word) {
      value = known.value;
      return {};
    }
  return {ErrorCode::unknown_value, std::string(name) + " must be " + all_words<Value>()};
}
Problem read_value(std::string_view text, std::optional<std::uint64_t>& value,
                   std::string_view name);  // from 0
template <class Value>
Problem read_value(std::string_view text, std::optional<Value>& value, std::string_view name) {
  return read_value(text, value.emplace(), name);
}
template <class Text>
Problem read_value(std::string_view text, OptionalText<Text>& value, std::string_view name) {
  Text given;
  Problem problem = read_value(text, given, name);
  if (!problem) value = given;
  return problem;
}
template <class Number>
Problem read_value(std::string_view text, OptionalNumber<Number>& value, std::string_view name) {
  return read_value(text, value.emplace(), name);
}

// Appends the value in the form of XML and JSON; returns false if there is no value.
inline bool write_value(std::uint64_t value, std::string& text) {
  return text += std::to_string(value), true;
}
template <class Value>
requires(!words<Value>.empty()) bool write_value(Value value, std::string& text) {
  return text += word_of(value), true;
}
template <class Value>
requires requires(const Value& value) { value.view(); }
bool write_value(const Value& value, std::string& text) { return text += value.view(), true; }
template <class Number>
requires requires(const Number& number) { append_decimal(std::declval<std::string&>(), number); }
bool write_value(const Number& number, std::string& text) {
  return append_decimal(text, number), true;
}
template <class Optional>
requires requires(const Optional& value) { *value; }
bool write_value(const Optional& value, std::string& text) {
  return value && write_value(*value, text);
}

template <class Value>
inline constexpr auto word_list = [] {
  std::array<std::string_view, words<Value>.size()> list;
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = words<Value>[i].word;
  return list;
}();

// Returns the type of the values of a field.
template <class Field>
consteval ValueType value_type() {
  if constexpr (requires(Field field) { *field; })
    if constexpr (std::is_same_v<Field, std::optional<std::uint64_t>>)
      return ValueType::count;
    else
      return value_type<std::remove_cvref_t<decltype(*std::declval<Field>())>>();
  else if constexpr (std::is_same_v<Field, AccountId>)
    return ValueType::account;
  else if constexpr (std::is_same_v<Field, SymbolName>)
    return ValueType::symbol;
  else if constexpr (std::is_same_v<Field, OrderReference>)
    return ValueType::reference;
  else if constexpr (std::is_same_v<Field, AccountName>)
    return ValueType::name;
  else if constexpr (std::is_same_v<Field, bool>)
    return ValueType::truth;
  else if constexpr (std::is_same_v<Field, std::uint64_t>)
    return ValueType::order;
  else if constexpr (std::is_same_v<Field, Cash>)
    return ValueType::cash;
  else if constexpr (std::is_same_v<Field, Shares>)
    return ValueType::shares;
  else if constexpr (std::is_same_v<Field, Price>)
    return ValueType::price;
  else
    return ValueType::word;
}

template <class Field>
constexpr AllowedWords list_words() {
  if constexpr (requires(Field field) { *field; })
    return list_words<std::remove_cvref_t<decltype(*std::declval<Field>())>>();
  else if constexpr (value_type<Field>() == ValueType::word)
    return word_list<Field>;
  else
    return {};
}

}  // namespace exchange
