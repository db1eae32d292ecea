#pragma once
// Reads JSON of clients so that a text has only one meaning: a duplicate member is an error, and a
// number is a whole number only if it is written as one. Also writes the JSON of the server. Pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/description.hpp"

namespace exchange {

using Json = nlohmann::ordered_json;  // for writing

// The largest whole number that every language represents exactly.
inline constexpr std::uint64_t json_integer_max = (std::uint64_t(1) << 53) - 1;

// A value that a client has sent.
class JsonInput {
 public:
  // integer: a number that is written as one, or as 5.0; fraction: any other number, such as 9.5,
  // 1e2 or 9.99999999999999999
  enum class Kind : std::uint8_t { null, truth, integer, fraction, text, list, object };
  using Member = std::pair<std::string, JsonInput>;

  explicit JsonInput(Kind kind = Kind::null, std::string text = {})
      : kind_(kind), text_(std::move(text)) {}

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_object() const { return kind_ == Kind::object; }
  // The characters of a text, the digits of an integer, or "true" or "false".
  const std::string& text() const { return text_; }
  // The members of an object, in their order, or the values of a list, without names.
  const std::vector<Member>& members() const { return members_; }
  std::vector<Member>& members() { return members_; }
  // Returns the member, or null.
  const JsonInput* find(std::string_view name) const;
  JsonInput* find(std::string_view name) {
    return const_cast<JsonInput*>(std::as_const(*this).find(name));
  }
  // Returns the value as JSON: one of a request is small.
  std::string dump() const;

 private:
  Kind kind_;
  std::string text_;
  std::vector<Member> members_;
};

struct ReadJson {
  JsonInput value;
  // false: the text is not JSON, has more than 256 levels, or so many values that they would take
  // much more memory than it: more than 1,024 and one for each eight bytes
  bool is_json = true;
  // A member occurs twice, or a number is beyond the range of a double. In the second case `value`
  // is the part before the number.
  Problem problem;
};
ReadJson read_json(std::string_view text);

// Returns the text of `json` with a newline after it. Replaces bytes that are not UTF-8.
std::string json_text(const Json& json);
// `code` is for programs (docs/protocol.md, R14, or the name of an HTTP status).
Json error_object(std::string_view sentence, std::string_view code);

}  // namespace exchange
