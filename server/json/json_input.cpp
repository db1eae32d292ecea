#include "json/json_input.hpp"

#include <optional>
#include <vector>

#include "base/text.hpp"

namespace exchange {
namespace {

// Returns the whole number that the text of a JSON number stands for, such as "5", "-5" or "5.00";
// nothing if it is not a whole number that every language represents exactly.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  if (text.find_first_not_of('0', point + (point < text.size() ? 1 : 0)) != text.npos) return {};
  text = text.substr(0, point);
  const auto number = parse_number<std::int64_t>(text);
  constexpr auto most = std::int64_t(json_integer_max);
  return number && *number >= -most && *number <= most ? number : std::nullopt;
}

// The parser calls it with each part of the text.
class Builder {
 public:
  explicit Builder(ReadJson& into) : into_(into) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string& text) {
    const auto whole = whole_number(text);
    if (!whole) return put(value);
    return *whole < 0 ? put(*whole) : put(std::uint64_t(*whole));
  }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(JsonInput::binary_t&) { return false; }  // not in texts
  bool start_object(std::size_t) { return begin(JsonInput::object()); }
  bool start_array(std::size_t) { return begin(JsonInput::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& name) {
    const auto [at, added] = open_.back()->emplace(name, nullptr);
    if (!added && !into_.problem)
      into_.problem = {ErrorCode::malformed_json,
                       "the member '" + name.substr(0, 64) + "' stands twice"};
    member_ = &*at;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const JsonInput::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id != number_overflow)
      into_.value = JsonInput(JsonInput::value_t::discarded);
    else if (!into_.problem)
      into_.problem = {ErrorCode::malformed_number, "a number is too large; send it as a string"};
    return false;
  }

 private:
  // Returns the place of the next value.
  JsonInput& place() {
    if (open_.empty()) return into_.value;
    if (open_.back()->is_object()) return *member_;
    return open_.back()->emplace_back();
  }
  bool put(JsonInput value) {
    place() = std::move(value);
    return true;
  }
  bool begin(JsonInput value) {
    JsonInput& at = place();
    at = std::move(value);
    open_.push_back(&at);
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  ReadJson& into_;
  std::vector<JsonInput*> open_;  // objects and arrays, each inside the previous one
  JsonInput* member_ = nullptr;   // current member of the innermost object
};

}  // namespace

ReadJson read_json(std::string_view text) {
  ReadJson read;
  Builder builder(read);
  JsonInput::sax_parse(text, &builder);
  return read;
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json error_object(std::string_view sentence, std::string_view code) {
  return {{"error", sentence}, {"code", code}};
}

}  // namespace exchange
