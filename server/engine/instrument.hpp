#pragma once
// Instrument is what the orders of a symbol must keep to (docs/protocol.md, I1 to I8).

#include <cstdint>

#include "base/described.hpp"
#include "engine/decimal.hpp"

namespace exchange {

// halted: orders and replaces are refused; cancels and queries work.
BOOST_DEFINE_FIXED_ENUM_CLASS(Trading, std::uint8_t, open, halted)

// 0 stands for no such rule.
struct Instrument {
  Price tick;                  // limits are multiples of it
  Price price_min, price_max;  // of limits
  Shares lot;                  // the shares of orders are multiples of it
  Shares order_max;            // shares of one order
  Trading trading = Trading::open;
  bool operator==(const Instrument&) const = default;
};
BOOST_DESCRIBE_STRUCT(Instrument, (), (tick, price_min, price_max, lot, order_max, trading))

}  // namespace exchange
