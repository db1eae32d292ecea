#pragma once
// JSON as clients send it, read so that a text has one reading: a member that stands twice is an
// error, and a number counts only if it is written as a whole one; and JSON as the server writes
// it. Pure.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

using JsonInput = nlohmann::json;     // what is read: finds a member without a search of all
using Json = nlohmann::ordered_json;  // what is written

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

// With a new line behind it. What is no UTF-8 is replaced.
std::string json_text(const Json& json);
// `code`: for programs (docs/protocol.md, R14, or the name of an HTTP status).
Json error_object(std::string_view sentence, std::string_view code);

}  // namespace exchange
