#pragma once
// The thread policies, for test cases that run under each.

#include <string>
#include <vector>

#include "catch.hpp"
#include "net/limits.hpp"

namespace exchange::testing {

inline std::vector<Policy> policies() {
  std::vector<Policy> all;
  for (std::size_t i = 0; i < enumerators<Policy>; ++i) all.push_back(Policy(i));
  return all;
}
inline std::vector<std::string> policy_names() {
  std::vector<std::string> all;
  for (const Policy policy : policies()) all.emplace_back(to_string(policy));
  return all;
}

// Tests print it with INFO(to_string(policy)).
inline Policy any_policy() { return GENERATE(from_range(policies())); }

}  // namespace exchange::testing
