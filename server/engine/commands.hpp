#pragma once
// Commands of the engine, one struct for each kind of request element, and their outcomes.

#include <string_view>
#include <variant>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"

namespace exchange {

struct CreateAccount {
  CreateAccount() = default;
  CreateAccount(const AccountId& account_, Cash balance_, const KeyHash& key_ = {})
      : account(account_), key(key_), balance(balance_) {}
  AccountId account;
  KeyHash key;   // optional; here, where it fills a gap
  Cash balance;  // not negative
  bool operator==(const CreateAccount&) const = default;
};
struct CreateSymbol {
  SymbolName symbol;
  bool operator==(const CreateSymbol&) const = default;
};
// Gives new shares of a symbol to an account; creates the symbol if it is new.
struct PlaceShares {
  SymbolName symbol;
  AccountId account;
  Shares shares;  // positive
  bool operator==(const PlaceShares&) const = default;
};
struct PlaceOrder {
  AccountId account;
  SymbolName symbol;
  Side side;
  Shares shares;  // positive
  Price limit;    // positive
  bool operator==(const PlaceOrder&) const = default;
};
struct CancelOrder {
  AccountId account;
  OrderId order;
  bool operator==(const CancelOrder&) const = default;
};
struct QueryOrder {
  AccountId account;
  OrderId order;
  bool of_any_account = false;  // --open-queries: else only its own orders
  bool operator==(const QueryOrder&) const = default;
};
using Command =
    std::variant<CreateAccount, CreateSymbol, PlaceShares, PlaceOrder, CancelOrder, QueryOrder>;
// Orders are the most frequent commands; no other command may make them larger.
static_assert(sizeof(Command) == 144);

enum class Reason : std::uint8_t {
  account_exists,
  unknown_account,
  unknown_order,
  nothing_open,
  insufficient_funds,
  insufficient_shares,
  cash_total_overflow,
  shares_total_overflow,
  reply_too_long,  // by the core: the queries of a request would return too many executions
  key_unchecked,   // by the authenticator, before the core: it stops, or too many checks wait for
                   // one address
};
inline constexpr std::size_t reasons = std::size_t(Reason::key_unchecked) + 1;
std::string_view describe(Reason reason);

struct Execution {
  Shares shares;
  Price price;
  Timestamp time;
  bool operator==(const Execution&) const = default;
};

struct Created {
  bool operator==(const Created&) const = default;
};
struct Opened {
  OrderId order;
  bool operator==(const Opened&) const = default;
};
// State of an order. At most one of open and canceled is above zero.
struct Status {
  OrderId order = 0;
  Shares open;
  Shares canceled;
  Timestamp canceled_at;
  std::vector<Execution> executions;  // oldest first
  bool operator==(const Status&) const = default;
};
struct Canceled {
  Status status;
  bool operator==(const Canceled&) const = default;
};
struct Rejected {
  Reason reason;
  bool operator==(const Rejected&) const = default;
};
// The engine does not hold that order: it never existed, or it closed and its row is in the tables.
// The order reader replaces this outcome before the submission completes.
struct NotInMemory {
  AccountNumber account;
  OrderId order;
  bool operator==(const NotInMemory&) const = default;
};
using Outcome = std::variant<Rejected, Created, Opened, Status, Canceled, NotInMemory>;

// Whether the command behind this outcome changed state and so belongs in the journal.
inline bool changed_state(const Outcome& outcome) {
  return std::holds_alternative<Created>(outcome) || std::holds_alternative<Opened>(outcome) ||
         std::holds_alternative<Canceled>(outcome);
}

}  // namespace exchange
