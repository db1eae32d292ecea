#pragma once
// The account and key of an HTTP request: Authorization: Basic base64(account:key). Pure.

#include <optional>
#include <string>
#include <string_view>

#include "engine/ids.hpp"

namespace exchange {

struct BasicCredentials {
  AccountId account;
  std::string key;
};
// Of the header's value; nothing where it is absent or is something else.
std::optional<BasicCredentials> read_basic_credentials(std::string_view authorization);

}  // namespace exchange
