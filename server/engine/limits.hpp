#pragma once
// Limits of the state that an exchange keeps in memory. A command that would make the state exceed
// one is refused; existing state stays, even if a limit was lowered meanwhile. The limits are not
// part of the state: a replay has none, because the journal holds only accepted commands.

#include <cstddef>
#include <limits>

#include "base/option.hpp"

namespace exchange {

struct StateLimits {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::size_t accounts_max = none;
  std::size_t symbols_max = none;
  // pairs of an account and a symbol of which it has, or had, shares
  std::size_t positions_max = none;
  // open orders of all accounts, and of one
  std::size_t open_orders_max = none;
  std::size_t open_orders_per_account_max = none;
  // references remembered for all accounts
  std::size_t references_max = none;
  // executions of orders that are open, or not in the tables yet; of all accounts, and of the
  // account whose order is next to be executed
  std::size_t executions_max = none;
  std::size_t executions_per_account_max = none;
};
template <class Add>
void add_options(StateLimits& limits, Add add) {
  constexpr Range range{0, std::uint64_t(1) << 31};
  add("--open-orders-max", limits.open_orders_max,
      "maximum open orders; beyond it, orders that would rest are refused. 0: as memory allows "
      "(docs/options.md#limits-of-the-state)",
      range);
  add("--open-orders-per-account", limits.open_orders_per_account_max,
      "maximum open orders of one account; 0: three quarters of all", range);
  add("--accounts-max", limits.accounts_max, "maximum accounts; 0: as memory allows", range);
  add("--symbols-max", limits.symbols_max, "maximum symbols; 0: as memory allows", range);
}

}  // namespace exchange
