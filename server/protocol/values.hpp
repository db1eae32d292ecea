#pragma once
// The types of attribute values, their words, how they are read from text and written as text
// (docs/protocol.md, N1 to N8), and the errors of requests. A new type needs a line in ValueType,
// and its words, or a read_value() and a write_value(). Pure.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/described.hpp"
#include "engine/commands.hpp"

namespace exchange {

// Codes of the errors that the server finds in a request before the engine sees it: words for
// programs, which never change. Refusals by the engine have codes too (Reason). docs/protocol.md
// lists all codes (R14).
BOOST_DEFINE_FIXED_ENUM_CLASS(ErrorCode, std::uint8_t, bad_framing, malformed_xml, unknown_element,
                              too_many_elements, missing_attribute, conflicting_attributes,
                              unexpected_content, unknown_value, malformed_id, malformed_symbol,
                              malformed_reference, malformed_key, malformed_number,
                              number_out_of_range, no_cancel_on_disconnect, no_memory,
                              malformed_json, no_keys, malformed_name)

inline std::string_view to_code(ErrorCode code) { return to_string(code); }

// An error with its code and its sentence. The sentence is empty if there is no error.
struct Problem {
  ErrorCode code{};
  std::string sentence;
  explicit operator bool() const { return !sentence.empty(); }
};

enum class OrderType : bool { limit, market };

// The words of values and their meanings. Readers, error messages and clients use these tables.
template <class Value>
struct Word {
  std::string_view word;
  Value value;
};
template <class Value>
Word(std::string_view, Value) -> Word<Value>;  // clang 14 needs it

template <class Value>
inline constexpr std::array<Word<Value>, 0> words{};
template <>
inline constexpr std::array words<bool>{Word{"true", true}, Word{"false", false}};
template <>
inline constexpr std::array words<Lifetime>{Word{"gtc", Lifetime::until_canceled},
                                            Word{"ioc", Lifetime::immediate_or_cancel},
                                            Word{"fok", Lifetime::fill_or_kill}};
template <>
inline constexpr std::array words<OrderType>{Word{"limit", OrderType::limit},
                                             Word{"market", OrderType::market}};
template <>
inline constexpr std::array words<SelfTrade>{Word{"none", SelfTrade::allowed},
                                             Word{"cancel-resting", SelfTrade::cancel_resting},
                                             Word{"cancel-taking", SelfTrade::cancel_taking}};

template <>
inline constexpr std::array words<Trading>{
    Word{"open", Trading::open}, Word{"halted", Trading::halted}, Word{"auction", Trading::auction},
    Word{"volatility", Trading::volatility}};
template <>
inline constexpr std::array words<AtBand>{Word{"refuse", AtBand::refuse},
                                          Word{"auction", AtBand::auction}};

template <>
inline constexpr std::array words<Role>{Word{"trader", Role::trader},
                                        Word{"operator", Role::market_operator}};
template <>
inline constexpr std::array words<Access>{Word{"active", Access::active},
                                          Word{"frozen", Access::frozen}};

static_assert(words<Lifetime>.size() == enumerators<Lifetime> &&
              words<SelfTrade>.size() == enumerators<SelfTrade> &&
              words<Trading>.size() == enumerators<Trading> &&
              words<AtBand>.size() == enumerators<AtBand> &&
              words<Role>.size() == enumerators<Role> &&
              words<Access>.size() == enumerators<Access>);

template <class Value>
std::string_view word_of(Value value) {
  return std::find_if(words<Value>.begin(), words<Value>.end(),
                      [&](const auto& one) { return one.value == value; })
      ->word;
}
// Returns all words as part of a sentence: "gtc, ioc or fok".
template <class Value>
std::string all_words() {
  constexpr auto& all = words<Value>;
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 < all.size() ? ", " : " or ") + std::string(all[i].word);
  return text;
}

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
