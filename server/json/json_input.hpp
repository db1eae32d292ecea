#pragma once
// JSON as clients send it, read so that a text has one reading: a member that stands twice is an
// error, and a number counts only if it is written as a whole one. Pure.

#include <nlohmann/json.hpp>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

using JsonInput = nlohmann::json;  // finds a member without a search of all

// The largest whole number that every language has exactly.
inline constexpr std::uint64_t json_integer_max = (std::uint64_t(1) << 53) - 1;

struct ReadJson {
  JsonInput value;  // discarded if the text is not JSON
  // A member stands twice, or a number is beyond what a double holds. Of the latter, `value` is
  // what was read before it.
  Problem problem;
};
// A number of `value` is an integer if it is written as one, also as 5.0; any other is a
// float: 9.5, 1e2, 9.99999999999999999.
ReadJson read_json(std::string_view text);

}  // namespace exchange
