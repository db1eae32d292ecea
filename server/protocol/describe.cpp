// describe generates files from the description of the protocol (description.hpp):
//   describe FILE             a description in OpenAPI or AsyncAPI, with its schemas completed
//   describe --python         the tables of the Python client
//   describe --dictionary     words for the fuzzer of XML
// In FILE, an object with "x-command": "place" is a schema of the members of that message:
// describe adds its properties, except those that the object already has and those in "x-without".
// It replaces "x-codes" by the error codes. It writes to standard output.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "protocol/description.hpp"

namespace exchange {
namespace {

using Json = nlohmann::ordered_json;

// Describes an attribute without the type of its command.
struct Described {
  std::string name, member;
  ValueType type;
  AllowedWords words;
  bool required;
  std::string default_value, meaning;
};
struct DescribedCommand {
  Element element;
  std::vector<Described> attributes;
};

std::vector<DescribedCommand> describe_all() {
  std::vector<DescribedCommand> all;
  for_each_kind([&](auto type) {
    using AnyCommand = typename decltype(type)::type;
    DescribedCommand& one = all.emplace_back(DescribedCommand{request_element<AnyCommand>, {}});
    for (const auto& attribute : attributes_of<AnyCommand>)
      one.attributes.push_back(
          {std::string(attribute.name), std::string(attribute.member), attribute.value.type,
           attribute.value.words, attribute.presence == Presence::required,
           std::string(attribute.default_value), std::string(attribute.meaning)});
  });
  return all;
}

// Returns "AtBand" for "at-band".
std::string camel_case(const std::string& words, char between) {
  std::string name;
  bool is_first = true;
  for (const char c : words) {
    if (c != between) name += is_first ? char(std::toupper(c)) : c;
    is_first = c == between;
  }
  return name;
}

// --- schemas ---

Json schema_of(const Described& attribute, const std::string& schemas) {
  const auto reference = [&](const char* name) {
    return Json{{"$ref", schemas + "#/components/schemas/" + name}};
  };
  Json schema;
  switch (attribute.type) {
    case ValueType::account: schema = reference("AccountId"); break;
    case ValueType::symbol: schema = reference("Symbol"); break;
    case ValueType::reference: schema = reference("Reference"); break;
    case ValueType::name: schema = reference("NewName"); break;
    case ValueType::key: schema = reference("Key"); break;
    case ValueType::order: schema = reference("OrderId"); break;
    case ValueType::count: schema = reference("NewCount"); break;
    case ValueType::shares:
    case ValueType::price: schema = reference("NewHolding"); break;
    case ValueType::positive: schema = reference("NewShares"); break;
    case ValueType::cash: schema = reference("NewCash"); break;
    case ValueType::shares_change: schema = reference("SharesChange"); break;
    case ValueType::cash_change: schema = reference("CashChange"); break;
    case ValueType::word: schema = {{"type", "string"}, {"enum", attribute.words}}; break;
    case ValueType::truth: schema = {{"type", "boolean"}}; break;
  }
  if (!attribute.default_value.empty() && !schema.contains("$ref"))
    schema["default"] = attribute.type == ValueType::truth ? Json(attribute.default_value == "true")
                                                           : Json(attribute.default_value);
  if (!attribute.meaning.empty()) schema["description"] = attribute.meaning;
  return schema;
}

std::vector<std::string> all_codes() {
  std::set<std::string> codes;
  boost::mp11::mp_for_each<EnumeratorsOf<Reason>>([&](auto one) { codes.insert(one.name); });
  boost::mp11::mp_for_each<EnumeratorsOf<ErrorCode>>([&](auto one) { codes.insert(one.name); });
  return {codes.begin(), codes.end()};
}

const DescribedCommand& find_message(const std::vector<DescribedCommand>& commands,
                                     const std::string& message) {
  for (const DescribedCommand& command : commands)
    if (command.element.message == message) return command;
  throw std::runtime_error("x-command: there is no message '" + message + "'");
}

void complete(Json& json, const std::vector<DescribedCommand>& commands,
              const std::string& schemas) {
  if (json.is_object() && json.contains("x-command")) {
    const DescribedCommand& command = find_message(commands, json["x-command"]);
    const std::vector<std::string> without = json.value("x-without", std::vector<std::string>());
    json.erase("x-command");
    json.erase("x-without");
    Json& properties = json["properties"];
    if (properties.is_null()) properties = Json::object();
    std::vector<std::string> required;
    for (const Described& attribute : command.attributes) {
      if (attribute.member.empty() || std::ranges::count(without, attribute.member) > 0) continue;
      if (attribute.required) required.push_back(attribute.member);
      if (!properties.contains(attribute.member))
        properties[attribute.member] = schema_of(attribute, schemas);
    }
    if (!json.contains("required") && !required.empty()) json["required"] = required;
    if (json["required"].is_null()) json.erase("required");
  }
  if (json.is_object() && json.contains("x-codes")) {
    json.erase("x-codes");
    std::vector<std::string> codes = all_codes();
    for (const Json& other : json["enum"]) codes.push_back(other);
    json["enum"] = codes;
  }
  for (Json& part : json)
    if (part.is_structured()) complete(part, commands, schemas);
}

// Returns a valid value that refers to what earlier examples have created.
Json example_of(const Described& attribute) {
  switch (attribute.type) {
    case ValueType::account: return "1";
    case ValueType::symbol: return "SPY";
    case ValueType::reference:
    case ValueType::name: return "first";
    case ValueType::key: return "secret-of-1";
    case ValueType::word: return attribute.words.front();
    case ValueType::truth: return true;
    case ValueType::order:
    case ValueType::count: return 1;
    default: return "10";
  }
}
// Returns an example with the required members.
Json example_of(const DescribedCommand& command) {
  Json example = Json::object();
  for (const Described& attribute : command.attributes)
    if (attribute.required && !attribute.member.empty())
      example[attribute.member] = example_of(attribute);
  return example;
}

// Adds the members of outcomes that the schema of responses lacks.
void add_outcomes(Json& properties) {
  boost::mp11::mp_for_each<
      boost::mp11::mp_transform<boost::mp11::mp_identity, Outcome>>([&](auto type) {
    using AnyOutcome = typename decltype(type)::type;
    if constexpr (requires { std::size(outcome_attributes<AnyOutcome>); })
      for (const auto& attribute : outcome_attributes<AnyOutcome>) {
        const std::string member(attribute.member);
        if (properties.contains(member)) continue;
        const char* const name = attribute.type == ValueType::price    ? "Price"
                                 : attribute.type == ValueType::shares ? "Shares"
                                                                       : nullptr;
        if (name == nullptr) throw std::runtime_error("a response needs a schema of " + member);
        properties[member] = {{"$ref", std::string("openapi.json#/components/schemas/") + name}};
      }
  });
}

// Adds the WebSocket messages that the description lacks: {"id": 1, "MESSAGE": {…}}.
void add_messages(Json& api, const std::vector<DescribedCommand>& commands) {
  Json& messages = api["components"]["messages"];
  Json& schemas = api["components"]["schemas"];
  for (const DescribedCommand& command : commands) {
    const std::string message(command.element.message);
    if (message.empty()) continue;
    const std::string schema = camel_case(message, '_');
    if (!schemas.contains(schema)) {
      schemas[schema] = {
          {"type", "object"},
          {"additionalProperties", false},
          {"required", {"id", message}},
          {"properties",
           {{"id", {{"$ref", "#/components/schemas/Id"}}},
            {message,
             {{"type", "object"}, {"additionalProperties", false}, {"x-command", message}}}}}};
      if (command.element.root == Root::transactions)
        schemas[schema]["properties"][message]["properties"]["account"] = {
            {"$ref", "openapi.json#/components/schemas/AccountId"}};
    }
    if (messages.contains(message)) continue;
    Json payload{{"id", message}, {message, example_of(command)}};
    messages[message] = {{"name", message},
                         {"title", message},
                         {"contentType", "application/json"},
                         {"payload", {{"$ref", "#/components/schemas/" + schema}}},
                         {"examples", Json::array({{{"payload", std::move(payload)}}})}};
    api["channels"]["ws"]["messages"][message] = {{"$ref", "#/components/messages/" + message}};
    api["operations"]["request"]["messages"].push_back(
        {{"$ref", "#/channels/ws/messages/" + message}});
  }
}

void write_description(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  Json json = Json::parse(in);
  const bool has_messages = json.contains("asyncapi");
  if (has_messages) {
    add_messages(json, describe_all());
    add_outcomes(json["components"]["schemas"]["Response"]["properties"]);
  }
  complete(json, describe_all(), has_messages ? "openapi.json" : "");
  std::cout << json.dump(1) << "\n";
}

// --- the tables of the Python client ---

std::string kind_in_python(ValueType type) {
  return type == ValueType::account ? "account"
         : type == ValueType::truth ? "truth"
         : is_count(type)           ? "count"
         : is_decimal(type)         ? "decimal"
                                    : "text";
}
std::string type_in_python(const Described& attribute) {
  if (attribute.type == ValueType::word) return camel_case(attribute.name, '-');
  const std::string kind = kind_in_python(attribute.type);
  return kind == "account"   ? "str | SupportsIndex"
         : kind == "truth"   ? "bool"
         : kind == "count"   ? "SupportsIndex"
         : kind == "decimal" ? "Number"
                             : "str";
}
// Returns the name in JSON, or the name in XML if JSON has the attribute in another form.
std::string keyword_in_python(const Described& attribute) {
  return attribute.member.empty() ? attribute.name : attribute.member;
}

// Returns what a docstring says of a keyword, in lines of at most 100 characters.
std::string keyword_lines(const std::string& keyword, const std::string& meaning) {
  std::istringstream words(meaning + ".");
  std::string lines, line = "    " + keyword + ":";
  for (std::string word; words >> word; line += " " + word) {
    if (line.size() + 1 + word.size() <= 100) continue;
    lines += line + "\n";
    line = std::string(7, ' ');
  }
  return lines + line + "\n";
}

// Writes the optional attributes of a message as keywords of methods, except those in `without`,
// which the methods declare themselves.
void write_keywords(const DescribedCommand& command, const char* name, const char* what,
                    std::initializer_list<std::string_view> without) {
  std::string meanings, types;
  for (const Described& attribute : command.attributes) {
    if (attribute.required || std::ranges::count(without, attribute.name) > 0) continue;
    const std::string keyword = keyword_in_python(attribute);
    types += "    " + keyword + ": " + type_in_python(attribute) + " | None\n";
    if (!attribute.meaning.empty()) meanings += keyword_lines(keyword, attribute.meaning);
  }
  std::cout << "\n\nclass " << name << "(TypedDict, total=False):\n    \"\"\"" << what << "\n\n"
            << meanings << "    \"\"\"\n\n"
            << types;
}

// Writes the tables as the formatter black would.
void write_python() {
  const std::vector<DescribedCommand> commands = describe_all();
  std::cout << R"("""The elements of requests, as the exchange describes them. )"
               R"(Written by its program describe."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple, SupportsIndex, TypeAlias, TypedDict

Number: TypeAlias = SupportsIndex | str | Decimal  # int, or as an int of numpy

)";
  std::set<std::string> written;
  for (const DescribedCommand& command : commands)
    for (const Described& attribute : command.attributes)
      if (!attribute.words.empty() && written.insert(camel_case(attribute.name, '-')).second) {
        std::string list;
        for (const std::string_view word : attribute.words)
          list += (list.empty() ? "\"" : ", \"") + std::string(word) + "\"";
        std::cout << camel_case(attribute.name, '-') << ": TypeAlias = Literal[" << list << "]\n";
      }
  write_keywords(find_message(commands, "place"), "Terms",
                 "What an order may ask for: further keywords of buy() and sell().",
                 {"limit", "ref", "type"});
  write_keywords(find_message(commands, "set_instrument"), "Rules",
                 "Rules for the orders of a symbol: keywords of set_instrument().", {"sym"});
  write_keywords(find_message(commands, "set_account"), "AccountSettings",
                 "What the operator sets of an account: keywords of set_account().", {});
  std::cout << R"(

class Attribute(NamedTuple):
    name: str  # in XML
    kind: Literal["account", "text", "decimal", "count", "truth"]
    is_required: bool
    usual: str  # what it is if it is left out


# By the name of the message in JSON: the name in XML, and the attributes by their keywords.
ELEMENTS: dict[str, tuple[str, dict[str, Attribute]]] = {
)";
  for (const DescribedCommand& command : commands) {
    if (command.element.message.empty()) continue;
    std::cout << "    \"" << command.element.message << "\": (\n        \"" << command.element.name
              << "\",\n        {\n";
    for (const Described& attribute : command.attributes)
      std::cout << "            \"" << keyword_in_python(attribute) << "\": Attribute(\""
                << attribute.name << "\", \"" << kind_in_python(attribute.type) << "\", "
                << (attribute.required ? "True" : "False") << ", \"" << attribute.default_value
                << "\"),\n";
    std::cout << "        },\n    ),\n";
  }
  std::cout << "}\n";
}

// --- words for the fuzzer ---

void write_dictionary() {
  std::set<std::string> words;
  for (const DescribedCommand& command : describe_all()) {
    if (command.element.name.empty()) continue;
    words.insert("<" + std::string(command.element.name));
    for (const Described& attribute : command.attributes) {
      words.insert(" " + attribute.name + "=");
      for (const std::string_view word : attribute.words)
        words.insert("\\\"" + std::string(word) + "\\\"");
    }
  }
  for (const std::string& word : words) std::cout << '"' << word << "\"\n";
}

}  // namespace
}  // namespace exchange

int main(int argc, char** argv) try {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "--python")
    exchange::write_python();
  else if (what == "--dictionary")
    exchange::write_dictionary();
  else if (!what.empty() && !what.starts_with("-"))
    exchange::write_description(what);
  else
    return std::cerr << "usage: describe FILE | --python | --dictionary\n", 2;
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "describe: " << error.what() << "\n";
  return 1;
}
