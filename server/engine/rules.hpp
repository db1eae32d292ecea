#pragma once
// The rules that the operator sets, and may change. AccountRules limits what an account may do
// (docs/protocol.md, D3 to D6). Instrument has the rules for orders of a symbol, and how it is
// traded (I1 to I9, A1 to A8). 0 means that the rule is not set. Pure; any thread.

#include <cstdint>
#include <string_view>

#include "base/described.hpp"
#include "engine/decimal.hpp"

namespace exchange {

// --- accounts ---

// The key of a market_operator is valid for commands that need the operator's key.
BOOST_DEFINE_FIXED_ENUM_CLASS(Role, std::uint8_t, trader, market_operator)
// frozen: orders and replaces are refused; cancels and queries work.
BOOST_DEFINE_FIXED_ENUM_CLASS(Access, std::uint8_t, active, frozen)

struct AccountRules {
  Role role = Role::trader;
  Access access = Access::active;
  std::uint64_t orders_max = 0;             // open at the same time
  std::uint64_t orders_per_second_max = 0;  // orders and replaces
  Shares position_max;                      // in one symbol, including what open buys may add
  bool operator==(const AccountRules&) const = default;
};
BOOST_DESCRIBE_STRUCT(AccountRules, (),
                      (role, access, orders_max, orders_per_second_max, position_max))

// --- symbols ---

// halted: orders and replaces are refused; cancels and queries work. auction: orders are collected,
// and nothing is executed until trading is open again. volatility: such an auction, started by an
// order (AtBand::auction).
BOOST_DEFINE_FIXED_ENUM_CLASS(Trading, std::uint8_t, open, halted, auction, volatility)
constexpr bool collects(Trading trading) {
  return trading == Trading::auction || trading == Trading::volatility;
}
// The fate of an order whose limit is beyond the band.
BOOST_DEFINE_FIXED_ENUM_CLASS(AtBand, std::uint8_t, refuse, auction)

struct Instrument {
  Price tick;                  // limits are multiples of it
  Price price_min, price_max;  // bounds of limits
  Price band;                  // maximum distance of limits: buys above the last price, sells below
  Shares lot;                  // the shares of orders are multiples of it
  Shares order_max;            // shares of one order
  AtBand at_band = AtBand::refuse;
  Trading trading = Trading::open;
  bool operator==(const Instrument&) const = default;
};
BOOST_DESCRIBE_STRUCT(Instrument, (),
                      (tick, price_min, price_max, band, lot, order_max, at_band, trading))

// Returns true if an order may have this limit, whatever the last price is.
inline bool allows(const Instrument& rules, Price limit) {
  return (rules.tick == Price() || limit.units() % rules.tick.units() == 0) &&
         limit >= rules.price_min && (rules.price_max == Price() || limit <= rules.price_max);
}

// --- changes of them ---

// Returns the rules with the command's changes: its members of the same names that have a value.
template <class Rules, class Command>
Rules with_given(Rules rules, const Command& command) {
  for_each_shared_member(rules, command, [](auto& rule, const auto& given) {
    if (given) rule = *given;
  });
  return rules;
}

}  // namespace exchange
