#pragma once
// The image that a start takes from the tables, and the proof that a state is sound.
// Thread: that of the Exchange.

#include <string>

#include "engine/exchange_state.hpp"

namespace exchange {

// More orders than a year gives at a hundred thousand a second. Larger ids in tables mean that the
// store is damaged.
inline constexpr OrderId order_ids_max = OrderId(1) << 42;

// Into an empty state: open orders in order of place; their executions, and the newest references
// of each account, in order of id; accounts and symbols in order of number. Throws
// std::runtime_error, which names the row, if the rows contradict each other.
void load_image(const Rows& image, ExchangeState& state);

// Empty if cash + reserved cash = cash created, shares + reserved shares = shares created, no book
// is crossed and every index agrees; else a sentence that names the first violation. Takes time in
// O(state).
std::string check_invariants(const ExchangeState& state);

}  // namespace exchange
