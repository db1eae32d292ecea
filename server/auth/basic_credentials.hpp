#pragma once
// Reads the account and key of an HTTP request: Authorization: Basic base64(account:key). Pure.

#include <optional>
#include <string>
#include <string_view>

#include "engine/ids.hpp"

namespace exchange {

struct BasicCredentials {
  AccountId account;
  std::string key;
};
// Parses the value of the header. Returns nothing if it is absent or has another form.
std::optional<BasicCredentials> read_basic_credentials(std::string_view authorization);

}  // namespace exchange
