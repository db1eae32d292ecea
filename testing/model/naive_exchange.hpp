#pragma once
// NaiveExchange is what the engine is checked against, and what histories are judged by: the market
// rules (docs/protocol.md, M1 to M11) in their plainest form. It keeps only what happened
// (deposits, placed shares, orders with their executions and cancels), and the version from which
// each holds, and works out every balance, position and book from that. So it can also give the
// outcome that a command would have had after fewer commands. Shares value types with the engine,
// and no logic. Thread: one at a time.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/exchange.hpp"

namespace exchange {

// So many commands have been applied.
using Version = std::size_t;
inline constexpr Version never = SIZE_MAX;

class NaiveExchange {
 public:
  // As Exchange::apply, except that it remembers every order and so never answers NotInMemory.
  Outcome apply(const Command& command, Timestamp now);
  // Gives an id to an order that the rules refused and that a journal holds all the same.
  void number_refused(const PlaceOrder& order) { orders_.push_back({.placed = order}); }

  // The outcome of the command at this version, at most version(): for a command that would change
  // something there, Created, Opened{0}, or Canceled or CanceledAll with nothing in it.
  Outcome outcome(const Command& command, Version at) const;
  // The first version after `at` at which outcome() may be another one; never if there is none.
  Version next_change(const Command& command, Version at) const;

  // As in Exchange, now.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;
  std::vector<Exchange::Depth> depth(const SymbolName& symbol, Side side) const;

  Version version() const { return version_; }
  std::size_t accounts() const { return accounts_.size(); }
  OrderId orders() const { return orders_.size(); }
  std::uint64_t executions() const { return executions_; }
  bool is_open(OrderId order) const { return open(orders_[order - 1], version_) > Shares(); }
  Status status(OrderId order) const { return status(order, version_); }

 private:
  struct Placement {
    Version from;
    Shares shares;
  };
  struct Account {
    Version created;
    Cash deposit;
    std::map<std::string, std::vector<Placement>, std::less<>> placements;  // by symbol
    std::vector<OrderId> orders;
  };
  struct Symbol {
    std::vector<Placement> placements;
    std::vector<OrderId> open;    // the oldest first
    std::vector<OrderId> orders;  // all of them
  };
  struct Executed {
    Version from;
    Execution execution;
  };
  struct Order {
    PlaceOrder placed;
    Version opened = never;  // never: refused
    std::vector<Executed> executions;
    Version canceled = never;
    Shares canceled_shares;
    Timestamp canceled_at;
  };

  Outcome at(const CreateAccount& command, Version version) const;
  Outcome at(const CreateSymbol& command, Version version) const;
  Outcome at(const PlaceShares& command, Version version) const;
  Outcome at(const PlaceOrder& command, Version version) const;
  Outcome at(const CancelOrder& command, Version version) const;
  Outcome at(const QueryOrder& command, Version version) const;
  Outcome at(const CancelAll& command, Version version) const;
  Outcome execute(const CreateAccount& command, Timestamp now);
  Outcome execute(const CreateSymbol& command, Timestamp now);
  Outcome execute(const PlaceShares& command, Timestamp now);
  Outcome execute(const PlaceOrder& command, Timestamp now);
  Outcome execute(const CancelOrder& command, Timestamp now);
  Outcome execute(const QueryOrder& command, Timestamp now);
  Outcome execute(const CancelAll& command, Timestamp now);

  // Null if there is none at this version.
  const Account* account(const AccountId& id, Version version) const;
  const Order* order(const AccountId& account, OrderId id, Version version,
                     bool of_any_account = false) const;
  // The order that the command means: by its reference, among the account's newest 1,024 that have
  // one, or by its id. 0 if there is no such reference.
  OrderId referenced(const AccountId& account, const OrderReference& reference,
                     Version version) const;
  template <class QueryOrCancel>
  OrderId meant(const QueryOrCancel& command, Version version) const {
    return command.reference ? referenced(command.account, *command.reference, version)
                             : command.order;
  }
  // The open orders that it cancels.
  std::vector<OrderId> canceled_by(const CancelAll& command, Version version) const;
  // The shares of orders open at this version that would be executed against this one, as far as
  // a fill-or-kill order reaches.
  UInt128 executable(const PlaceOrder& taker, SelfTrade self_trade, Version version) const;
  void cancel_open(Order& order, Timestamp now);
  // The open order that this one executes against next, or null.
  Order* best_match(const Order& taker);
  Cash balance(const Account& account, Version version) const;
  Shares position(const Account& account, const SymbolName& symbol, Version version) const;
  static Shares open(const Order& order, Version version);
  Status status(OrderId id, Version version) const;

  std::map<std::string, Account, std::less<>> accounts_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<Order> orders_;  // order n at n - 1
  Version version_ = 0;
  std::uint64_t executions_ = 0;
};

}  // namespace exchange
