#pragma once
// Instrument is what the orders of a symbol must keep to, and how it is traded (docs/protocol.md,
// I1 to I9 and A1 to A8).

#include <cstdint>

#include "base/described.hpp"
#include "engine/decimal.hpp"

namespace exchange {

// halted: orders and replaces are refused; cancels and queries work. auction: they are collected,
// and nothing is executed until trading is open again. volatility: such an auction that an order
// started (AtBand::auction).
BOOST_DEFINE_FIXED_ENUM_CLASS(Trading, std::uint8_t, open, halted, auction, volatility)
constexpr bool collects(Trading trading) {
  return trading == Trading::auction || trading == Trading::volatility;
}
// What becomes of an order whose limit is beyond the band.
BOOST_DEFINE_FIXED_ENUM_CLASS(AtBand, std::uint8_t, refuse, auction)

// 0 stands for no such rule.
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

}  // namespace exchange
