#pragma once
// What becomes of rules when a command changes some of them. Pure; any thread.

#include <string_view>

#include "base/described.hpp"

namespace exchange {

// The rules with what the command gives: its members of the same names that are not none.
template <class Rules, class Command>
Rules with_given(Rules rules, const Command& command) {
  for_each_member<Rules>([&](auto rule) {
    for_each_member<Command>([&](auto change) {
      if constexpr (requires { rules.*rule.pointer = *(command.*change.pointer); })
        if (std::string_view(rule.name) == change.name && command.*change.pointer)
          rules.*rule.pointer = *(command.*change.pointer);
    });
  });
  return rules;
}

}  // namespace exchange
