#pragma once
// The words of attribute values (docs/protocol.md) and their meanings. Readers, error messages and
// clients use these tables.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "engine/commands.hpp"

namespace exchange {

enum class OrderType : bool { limit, market };

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

}  // namespace exchange
