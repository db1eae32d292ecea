#pragma once
// The header fields with which tests log in, and the refusal of a login.

#include <string>
#include <utility>
#include <vector>

namespace exchange::testing {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline const Fields as_operator{{"Authorization", "Bearer key-of-operator"}};
inline const Fields as_1{{"Authorization", "Basic MTpzZWNyZXQtb2YtMQ=="}},  // 1:secret-of-1
    as_2{{"Authorization", "Basic MjpzZWNyZXQtb2YtMg=="}};                  // 2:secret-of-2
inline const std::string unknown_account =
    R"(404 {"error":"unknown account","code":"unknown_account"})";

}  // namespace exchange::testing
