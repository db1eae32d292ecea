#pragma once
// Writes commands as requests in XML, for clients and tests (description.hpp). Pure.

#include <span>
#include <string>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

// Returns ` key="…"`, or an empty string for an empty key.
std::string key_attribute(std::string_view key);
// Returns <create>, or <create key="…"> if the operator's key is not empty.
std::string create_tag(std::string_view operator_key);
// Replaces each key by …, so that a program may show the request. Requires: its attributes are in
// double quotes.
std::string without_keys(std::string document);

// Returns ` NAME="VALUE"`, with references in the value where XML requires them.
std::string xml_attribute(std::string_view name, std::string_view value);
// The attributes of an element, as texts at the places of its table; absent ones are empty.
using AttributeTexts = std::array<std::optional<std::string>, attributes_max>;
template <class AnyCommand>
std::string write_element(const AttributeTexts& texts, std::string_view content = {}) {
  const std::string name(request_element<AnyCommand>.name);
  std::string text = "<" + name;
  for_each_attribute<AnyCommand>([&](auto place) {
    if (texts[place]) text += xml_attribute(attributes_of<AnyCommand>[place].name, *texts[place]);
  });
  return text + (content.empty() ? "/>" : ">" + std::string(content) + "</" + name + ">");
}

// Returns the element of a command. It names an order by its reference if the command has one,
// otherwise by its id. `key` is the key of a new account; empty if the exchange requires none. For
// a SetKey of the operator, `key` is the new key; an empty one revokes the old key.
std::string write_element(const Command& command, std::string_view key = {});
std::string write_creations(std::string_view elements, std::string_view operator_key = {});
std::string write_transactions(std::string_view account, std::string_view elements,
                               std::string_view key = {});
// Whether the element of the command belongs in <create>.
bool is_creation(const Command& command);
// Returns a request with these commands, which must all belong in <create>, or all in
// <transactions> of this account.
std::string write_request(std::span<const Command> commands, const AccountId& account);

}  // namespace exchange
