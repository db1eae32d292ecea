#pragma once
// Loads the image that a start reads from the tables, and checks that a state is sound.
// Thread: that of the Exchange.

#include <string>

#include "engine/exchange_state.hpp"

namespace exchange {

// More order ids than a year uses at a hundred thousand a second. If tables have larger ids, the
// store is damaged.
inline constexpr OrderId order_ids_max = OrderId(1) << 42;

// Loads into an empty state. Open orders must be in order of place; their executions, and the
// newest references of each account, in order of id; accounts and symbols in order of number.
// Throws std::runtime_error, which names the row, if the rows contradict each other.
void load_image(const Rows& image, ExchangeState& state);

// Returns an empty text if cash + reserved cash = cash created, shares + reserved shares = shares
// created, no book is crossed and every index agrees; else a sentence that names the first
// violation. Takes O(state) time.
std::string check_invariants(const ExchangeState& state);

}  // namespace exchange
