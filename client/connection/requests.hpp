#pragma once
// Commands as the XML of requests, and the keys in them. Pure.

#include <string>
#include <string_view>

#include "engine/commands.hpp"

namespace exchange::client {

// ` key="…"`, or nothing for an empty key.
std::string key_attribute(std::string_view key);
// <create>, or with the operator's key <create key="…">.
std::string create_tag(std::string_view operator_key);
// A request as it may be shown: with … for each key. Its attributes are in double quotes.
std::string without_keys(std::string document);

// An order is named by its reference if there is one, else by its id. `key`: of a new account;
// empty if the exchange requires none. Of a SetKey, which is the operator's: the new key; empty to
// revoke it.
std::string element_of(const Command& command, std::string_view key = {});
std::string creations(std::string_view elements, std::string_view operator_key);
std::string transactions(std::string_view account, std::string_view elements,
                         std::string_view key = {});

}  // namespace exchange::client
