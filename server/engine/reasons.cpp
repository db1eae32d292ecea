// Why commands are refused, in words.

#include "engine/commands.hpp"

#include "base/ensure.hpp"

namespace exchange {

namespace {

struct Description {
  std::string_view code, sentence;
};

Description description(Reason reason) {
  switch (reason) {
    case Reason::account_exists: return {"account_exists", "account already exists"};
    case Reason::unknown_account: return {"unknown_account", "unknown account"};
    case Reason::unknown_order: return {"unknown_order", "no such order of this account"};
    case Reason::nothing_open: return {"nothing_open", "order has nothing open"};
    case Reason::insufficient_funds: return {"insufficient_funds", "insufficient funds"};
    case Reason::insufficient_shares: return {"insufficient_shares", "insufficient shares"};
    case Reason::cash_total_overflow:
      return {"cash_total_overflow", "balance would overflow the cash of the exchange"};
    case Reason::shares_total_overflow:
      return {"shares_total_overflow", "shares of this symbol would overflow"};
    case Reason::reference_used: return {"reference_used", "reference already used by order"};
    case Reason::cannot_fill: return {"cannot_fill", "the order cannot be filled at once"};
    case Reason::would_execute: return {"would_execute", "the order would execute at once"};
    case Reason::no_open_orders: return {"no_open_orders", "no open orders"};
    case Reason::other_side: return {"other_side", "an order cannot change its side"};
    case Reason::executed_more:
      return {"executed_more", "the order has executed that much already"};
    case Reason::too_many_accounts:
      return {"too_many_accounts", "the limit of accounts is reached:"};
    case Reason::too_many_symbols: return {"too_many_symbols", "the limit of symbols is reached:"};
    case Reason::too_many_positions:
      return {"too_many_positions", "the limit of symbols that accounts have is reached:"};
    case Reason::too_many_orders:
      return {"too_many_orders", "the limit of open orders is reached:"};
    case Reason::too_many_orders_of_account:
      return {"too_many_orders_of_account", "the limit of open orders of an account is reached:"};
    case Reason::too_many_references:
      return {"too_many_references", "the limit of references of orders is reached:"};
    case Reason::too_many_old_orders:
      return {"too_many_old_orders",
              "the limit of open orders among old ids is reached; cancel old orders"};
    case Reason::too_many_executions:
      return {"too_many_executions", "the limit of executions of open orders is reached:"};
    case Reason::too_many_executions_of_account:
      return {
          "too_many_executions_of_account",
          "the next order to execute is of an account at the limit of executions of open orders:"};
    case Reason::unknown_symbol: return {"unknown_symbol", "unknown symbol"};
    case Reason::reply_too_long:
      return {"reply_too_long", "the reply would be too long; ask for fewer orders in one request"};
    case Reason::key_unchecked:
      return {"key_unchecked", "the key could not be checked now; nothing was executed"};
    case Reason::operator_key: return {"operator_key", "creating needs the operator's key"};
  }
  ENSURE(false);
}

}  // namespace

std::string_view describe(Reason reason) { return description(reason).sentence; }
std::string_view code_of(Reason reason) { return description(reason).code; }

}  // namespace exchange
