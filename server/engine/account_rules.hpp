#pragma once
// AccountRules is what the operator lets an account do (docs/protocol.md, D3 to D6).

#include <cstdint>

#include "base/described.hpp"
#include "engine/decimal.hpp"

namespace exchange {

// An operator's key is good for what needs the operator's.
BOOST_DEFINE_FIXED_ENUM_CLASS(Role, std::uint8_t, trader, market_operator)
// frozen: orders and replaces are refused; cancels and queries work.
BOOST_DEFINE_FIXED_ENUM_CLASS(Access, std::uint8_t, active, frozen)

// 0 stands for no such rule.
struct AccountRules {
  Role role = Role::trader;
  Access access = Access::active;
  std::uint64_t orders_max = 0;             // open at a time
  std::uint64_t orders_per_second_max = 0;  // orders and replaces
  Shares position_max;                      // of one symbol, with what open buys may add
  bool operator==(const AccountRules&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRules, (),
                      (role, access, orders_max, orders_per_second_max, position_max))

}  // namespace exchange
