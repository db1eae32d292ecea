// The sentences for the reasons why commands are refused.

#include "engine/commands.hpp"

#include "base/ensure.hpp"

namespace exchange {

std::string_view describe(Reason reason) {
  switch (reason) {
    case Reason::account_exists: return "account already exists";
    case Reason::unknown_account: return "unknown account";
    case Reason::unknown_order: return "no such order of this account";
    case Reason::nothing_open: return "order has nothing open";
    case Reason::insufficient_funds: return "insufficient funds";
    case Reason::insufficient_shares: return "insufficient shares";
    case Reason::cash_total_overflow: return "balance would overflow the cash of the exchange";
    case Reason::shares_total_overflow: return "shares of this symbol would overflow";
    case Reason::reference_used: return "reference already used by order";
    case Reason::cannot_fill: return "the order cannot be filled at once";
    case Reason::would_execute: return "the order would execute at once";
    case Reason::no_open_orders: return "no open orders";
    case Reason::other_side: return "an order cannot change its side";
    case Reason::executed_more: return "the order has executed that much already";
    case Reason::too_many_accounts: return "the limit of accounts is reached:";
    case Reason::too_many_symbols: return "the limit of symbols is reached:";
    case Reason::too_many_positions: return "the limit of symbols that accounts have is reached:";
    case Reason::too_many_orders: return "the limit of open orders is reached:";
    case Reason::too_many_orders_of_account:
      return "the limit of open orders of an account is reached:";
    case Reason::too_many_references: return "the limit of references of orders is reached:";
    case Reason::too_many_old_orders:
      return "the limit of open orders among old ids is reached; cancel old orders";
    case Reason::too_many_executions: return "the limit of executions of open orders is reached:";
    case Reason::too_many_executions_of_account:
      return "the next order to execute is of an account at the limit of executions of open "
             "orders:";
    case Reason::unknown_symbol: return "unknown symbol";
    case Reason::reply_too_long:
      return "the reply would be too long; ask for fewer orders in one request";
    case Reason::key_unchecked: return "the key could not be checked now; nothing was executed";
    case Reason::operator_key: return "creating needs the operator's key";
    case Reason::trading_halted: return "trading of this symbol is halted";
    case Reason::off_tick: return "the limit is not a multiple of the tick";
    case Reason::off_lot: return "the number of shares is not a multiple of the lot";
    case Reason::order_too_large: return "an order of this symbol has at most so many shares:";
    case Reason::price_too_low: return "the limit is below the lowest price";
    case Reason::price_too_high: return "the limit is above the highest price";
    case Reason::inverted_prices: return "the lowest price would be above the highest";
    case Reason::not_in_auction: return "an auction collects limit orders and market orders only";
    case Reason::no_price_max:
      return "a market buy in an auction needs a highest price of its symbol";
    case Reason::account_frozen: return "the account is frozen";
    case Reason::too_many_orders_a_second:
      return "the account may send so many orders in a second:";
    case Reason::position_too_large: return "the account may have so many shares of a symbol:";
    case Reason::in_auction: return "the highest price cannot change in an auction";
  }
  ENSURE(false);
}

std::string sentence_of(const Rejected& rejected) {
  std::string sentence(describe(rejected.reason));
  if (rejected.number == 0) return sentence;
  switch (rejected.reason) {
    case Reason::off_tick:
    case Reason::price_too_low:
    case Reason::price_too_high:
      return sentence + " " + to_string(Price::from_units(std::int64_t(rejected.number)));
    case Reason::off_lot:
    case Reason::order_too_large:
    case Reason::position_too_large:
      return sentence + " " + to_string(Shares::from_units(std::int64_t(rejected.number)));
    default: return sentence + " " + std::to_string(rejected.number);
  }
}

}  // namespace exchange
