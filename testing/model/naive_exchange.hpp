#pragma once
// NaiveExchange is what the engine is checked against: the market rules (docs/protocol.md, M1 to
// M11) in their plainest form. It keeps only what happened (deposits, placed shares, orders with
// their executions and cancels) and works out every balance, position and book from that, by
// scanning, whenever it is asked. Called by random tests and simulations. Shares value types with
// the engine, and no logic.

#include <vector>

#include "engine/exchange.hpp"

namespace exchange {

class NaiveExchange {
 public:
  // As Exchange::apply, except that it remembers every order and so never answers NotInMemory.
  Outcome apply(const Command& command, Timestamp now);

  // As in Exchange.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;
  std::vector<Exchange::Depth> depth(const SymbolName& symbol, Side side) const;

  std::size_t accounts() const { return accounts_.size(); }
  OrderId orders() const { return orders_.size(); }
  bool is_open(OrderId order) const { return open(orders_[order - 1]) > Shares(); }
  Status status(OrderId order) const { return status(orders_[order - 1]); }

 private:
  struct Account {
    AccountId id;
    Cash deposit;
  };
  struct Placement {
    SymbolName symbol;
    AccountId account;
    Shares shares;
  };
  struct Order {
    OrderId id;
    PlaceOrder placed;
    Shares canceled;
    Timestamp canceled_at;
    std::vector<Execution> executions;
  };

  Outcome execute(const CreateAccount& command, Timestamp now);
  Outcome execute(const CreateSymbol& command, Timestamp now);
  Outcome execute(const PlaceShares& command, Timestamp now);
  Outcome execute(const PlaceOrder& command, Timestamp now);
  Outcome execute(const CancelOrder& command, Timestamp now);
  Outcome execute(const QueryOrder& command, Timestamp now);

  bool knows(const AccountId& account) const;
  bool knows(const SymbolName& symbol) const;
  // The order, where this account placed it.
  Order* find(const AccountId& account, OrderId order);
  // The open order that this one executes against next.
  Order* best_match(const Order& taker);
  static Shares open(const Order& order);
  static Status status(const Order& order);

  std::vector<Account> accounts_;
  std::vector<SymbolName> symbols_;
  std::vector<Placement> placements_;
  std::vector<Order> orders_;  // order n at n - 1
};

}  // namespace exchange
