#pragma once
// Reads JSON of clients so that a text has only one meaning: a duplicate member is an error, and a
// number is a whole number only if it is written as one. Also writes the JSON of the server. Pure.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

using JsonInput = nlohmann::json;     // for reading: finds a member without a linear search
using Json = nlohmann::ordered_json;  // for writing

// The largest whole number that every language represents exactly.
inline constexpr std::uint64_t json_integer_max = (std::uint64_t(1) << 53) - 1;

struct ReadJson {
  JsonInput value;  // discarded if the text is not JSON
  // A member occurs twice, or a number is beyond the range of a double. In the second case `value`
  // is the part before the number.
  Problem problem;
};
// A number in `value` is an integer if it is written as one, or as 5.0; any other number is a
// float: 9.5, 1e2, 9.99999999999999999.
ReadJson read_json(std::string_view text);

// Returns the text of `json` with a newline after it. Replaces bytes that are not UTF-8.
std::string json_text(const Json& json);
// `code` is for programs (docs/protocol.md, R14, or the name of an HTTP status).
Json error_object(std::string_view sentence, std::string_view code);

}  // namespace exchange
