#pragma once
// Commands as requests in XML, and their outcomes as replies, for clients and tests
// (description.hpp). Pure.

#include <span>
#include <string>
#include <string_view>

#include "protocol/description.hpp"

namespace exchange {

// ` key="…"`, or nothing for an empty key.
std::string key_attribute(std::string_view key);
// <create>, or with the operator's key <create key="…">.
std::string create_tag(std::string_view operator_key);
// A request as it may be shown: with … for each key. Its attributes are in double quotes.
std::string without_keys(std::string document);

// ` NAME="VALUE"`, with references in the value where it needs them.
std::string xml_attribute(std::string_view name, std::string_view value);
// The attributes of an element, as texts at the places of its table; empty where absent.
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

// The element of a command. An order is named by its reference if there is one, else by its id.
// `key`: of a new account; empty if the exchange requires none. Of a SetKey, which is the
// operator's: the new key; empty to revoke it.
std::string write_element(const Command& command, std::string_view key = {});
std::string write_creations(std::string_view elements, std::string_view operator_key = {});
std::string write_transactions(std::string_view account, std::string_view elements,
                               std::string_view key = {});
// Whether the command stands in <create>.
bool is_creation(const Command& command);
// A request of commands that all create, or all trade for this account.
std::string write_request(std::span<const Command> commands, const AccountId& account);

// The reply element to the element of this command.
std::string write_reply(const Command& asked, const Outcome& outcome);

}  // namespace exchange
