#pragma once
// Rules that the operator sets, and may change. AccountRules is what an account may do
// (docs/protocol.md, D3 to D6). Instrument is what the orders of a symbol must keep to, and how it
// is traded (I1 to I9, A1 to A8). 0 stands for no such rule. Pure; any thread.

#include <cstdint>
#include <string_view>

#include "base/described.hpp"
#include "engine/decimal.hpp"

namespace exchange {

// --- accounts ---

// An operator's key is good for what needs the operator's.
BOOST_DEFINE_FIXED_ENUM_CLASS(Role, std::uint8_t, trader, market_operator)
// frozen: orders and replaces are refused; cancels and queries work.
BOOST_DEFINE_FIXED_ENUM_CLASS(Access, std::uint8_t, active, frozen)

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

// --- symbols ---

// halted: orders and replaces are refused; cancels and queries work. auction: they are collected,
// and nothing is executed until trading is open again. volatility: such an auction that an order
// started (AtBand::auction).
BOOST_DEFINE_FIXED_ENUM_CLASS(Trading, std::uint8_t, open, halted, auction, volatility)
constexpr bool collects(Trading trading) {
  return trading == Trading::auction || trading == Trading::volatility;
}
// What becomes of an order whose limit is beyond the band.
BOOST_DEFINE_FIXED_ENUM_CLASS(AtBand, std::uint8_t, refuse, auction)

struct Instrument {
  Price tick;                  // limits are multiples of it
  Price price_min, price_max;  // of limits
  Price band;        // the limit of a buy may be so far above the last price, of a sell below
  Shares lot;        // the shares of orders are multiples of it
  Shares order_max;  // shares of one order
  AtBand at_band = AtBand::refuse;
  Trading trading = Trading::open;
  bool operator==(const Instrument&) const = default;
};
BOOST_DESCRIBE_STRUCT(Instrument, (),
                      (tick, price_min, price_max, band, lot, order_max, at_band, trading))

// Whether an order may have this limit, whatever the last price is.
inline bool allows(const Instrument& rules, Price limit) {
  return (rules.tick == Price() || limit.units() % rules.tick.units() == 0) &&
         limit >= rules.price_min && (rules.price_max == Price() || limit <= rules.price_max);
}

// --- changes of them ---

// The rules with what the command gives: its members of the same names that have a value.
template <class Rules, class Command>
Rules with_given(Rules rules, const Command& command) {
  for_each_shared_member(rules, command, [](auto& rule, const auto& given) {
    if (given) rule = *given;
  });
  return rules;
}

}  // namespace exchange
