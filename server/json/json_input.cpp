#include "json/json_input.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#include <cmath>
#include <optional>

#include "base/text.hpp"

namespace exchange {
namespace {

using Kind = JsonInput::Kind;

// Returns the digits of the whole number that the text of a JSON number stands for, such as "-5" or
// "5.00"; nothing if it is not a whole number that every language represents exactly.
std::optional<std::string> whole_number(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  if (text.find_first_not_of('0', point + (point < text.size() ? 1 : 0)) != text.npos) return {};
  const auto number = parse_number<std::int64_t>(text.substr(0, point));
  constexpr auto most = std::int64_t(json_integer_max);
  if (!number || *number < -most || *number > most) return {};
  return std::to_string(*number);
}

// Objects with more members are searched for duplicates when they end.
constexpr std::size_t few_members = 16;

// Returns the name of a member that stands twice; empty if there is none.
std::string duplicate_of(const std::vector<JsonInput::Member>& members) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : members) names.push_back(name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  return twice == names.end() ? "" : std::string(*twice);
}

// The parser of Boost.JSON calls it with each part of the text.
class Builder {
 public:
  using Error = boost::json::error_code;
  using Text = boost::json::string_view;
  static constexpr std::size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX,
                               max_key_size = SIZE_MAX, max_string_size = SIZE_MAX;

  Builder(ReadJson& into, std::size_t values_max) : into_(into), values_left_(values_max) {}

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error& error) { return begin(Kind::object, error); }
  bool on_object_end(std::size_t, Error&) {
    if (const auto& members = open_.back()->members(); members.size() > few_members)
      note_twice(duplicate_of(members));
    return end();
  }
  bool on_array_begin(Error& error) { return begin(Kind::list, error); }
  bool on_array_end(std::size_t, Error&) { return end(); }
  bool on_key_part(Text part, std::size_t, Error&) { return add_part(part); }
  bool on_key(Text part, std::size_t, Error&) {
    add_part(part);
    std::string name = std::exchange(parts_, {});
    std::vector<JsonInput::Member>& members = open_.back()->members();
    if (members.size() < few_members) {
      if (JsonInput* const known = open_.back()->find(name)) {
        note_twice(name);
        next_ = known;
        return true;
      }
      if (members.empty() && open_.size() <= 2) members.reserve(few_members / 2);
    }
    next_ = &members.emplace_back(std::move(name), JsonInput()).second;
    return true;
  }
  bool on_string_part(Text part, std::size_t, Error&) { return add_part(part); }
  bool on_string(Text part, std::size_t, Error& error) {
    add_part(part);
    return put(Kind::text, std::exchange(parts_, {}), error);
  }
  bool on_number_part(Text, Error&) { return true; }
  bool on_int64(std::int64_t value, Text, Error& error) {
    return put(Kind::integer, std::to_string(value), error);
  }
  bool on_uint64(std::uint64_t value, Text, Error& error) {
    return put(Kind::integer, std::to_string(value), error);
  }
  bool on_double(double value, Text text, Error& error) {
    if (!std::isfinite(value)) error = boost::json::error::exponent_overflow;
    auto whole = whole_number({text.data(), text.size()});
    return put(whole ? Kind::integer : Kind::fraction, whole ? std::move(*whole) : std::string(),
               error);
  }
  bool on_bool(bool value, Error& error) {
    return put(Kind::truth, value ? "true" : "false", error);
  }
  bool on_null(Error& error) { return put(Kind::null, {}, error); }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

 private:
  // Returns the place of the next value.
  JsonInput& place() {
    if (open_.empty()) return into_.value;
    if (open_.back()->is_object()) return *next_;
    return open_.back()->members().emplace_back().second;
  }
  // Returns the new value; null with an error if there are too many.
  JsonInput* add(Kind kind, std::string text, Error& error) {
    if (values_left_-- == 0) error = boost::json::error::array_too_large;
    if (error) return nullptr;
    JsonInput& at = place();
    at = JsonInput(kind, std::move(text));
    return &at;
  }
  bool put(Kind kind, std::string text, Error& error) {
    return add(kind, std::move(text), error) != nullptr;
  }
  bool begin(Kind kind, Error& error) {
    if (JsonInput* const at = add(kind, {}, error)) open_.push_back(at);
    return !error;
  }
  bool end() {
    open_.pop_back();
    return true;
  }
  bool add_part(Text part) {
    parts_.append(part.data(), part.size());
    return true;
  }
  void note_twice(const std::string& name) {
    if (!name.empty() && !into_.problem)
      into_.problem = {ErrorCode::malformed_json,
                       "the member '" + name.substr(0, 64) + "' stands twice"};
  }

  ReadJson& into_;
  std::size_t values_left_;
  std::vector<JsonInput*> open_;  // objects and lists, each inside the previous one
  JsonInput* next_ = nullptr;     // the member whose value follows
  std::string parts_;             // of a name or a text that has escapes
};

}  // namespace

const JsonInput* JsonInput::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  const auto found = std::ranges::find(members_, name, &Member::first);
  return found == members_.end() ? nullptr : &found->second;
}

std::string JsonInput::dump() const {
  switch (kind_) {
    case Kind::null: return "null";
    case Kind::text: return nlohmann::json(text_).dump();
    case Kind::truth:
    case Kind::integer: return text_;
    case Kind::fraction: return "a fraction";
    case Kind::list:
    case Kind::object: break;
  }
  std::string all;
  for (const auto& [name, value] : members_)
    all += (all.empty() ? "" : ",") + (is_object() ? nlohmann::json(name).dump() + ":" : "") +
           value.dump();
  return is_object() ? "{" + all + "}" : "[" + all + "]";
}

ReadJson read_json(std::string_view text) {
  ReadJson read;
  boost::json::parse_options options;
  options.max_depth = 256;
  constexpr std::size_t values_least = 1'024, bytes_per_value = 8;
  boost::json::basic_parser<Builder> parser(options, read,
                                            values_least + text.size() / bytes_per_value);
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  boost::json::error_code error;
  const std::size_t parsed = parser.write_some(false, text.data(), text.size(), error);
  if (error == boost::json::error::exponent_overflow) {
    if (!read.problem)
      read.problem = {ErrorCode::malformed_number, "a number is too large; send it as a string"};
  } else if (error || parsed < text.size()) {
    read = {};
    read.is_json = false;
  }
  return read;
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json error_object(std::string_view sentence, std::string_view code) {
  return {{"error", sentence}, {"code", code}};
}

}  // namespace exchange
