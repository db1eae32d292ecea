#pragma once
// Keys in the text of requests. Pure.

#include <string>
#include <string_view>

namespace exchange::client {

// ` key="…"`, or nothing for an empty key.
std::string key_attribute(std::string_view key);
// <create>, or with the operator's key <create key="…">.
std::string create_tag(std::string_view operator_key);
// A request as it may be shown: with … for each key. Its attributes are in double quotes.
std::string without_keys(std::string document);

}  // namespace exchange::client
