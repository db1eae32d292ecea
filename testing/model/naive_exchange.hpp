#pragma once
// NaiveExchange is the reference for checks of the engine and of histories: the market rules
// (docs/protocol.md, M1 to M11, and those of order terms, cancels and replaces) in their plainest
// form. It stores only what happened (deposits, placed shares, orders with their terms, executions
// and cancels), and the version from which each holds, and computes every balance, position and
// book from that. So it can also give the outcome that a command would have had after fewer
// commands. It shares value types with the engine, but no logic. Tests override its virtual
// functions to plant faults (testing/support/faulty_exchange.hpp), and a judge overrides them to
// note events (testing/history/event_check.cpp). Thread: one at a time.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/loadgen/audit/auction.hpp"
#include "engine/exchange.hpp"

namespace exchange {

// The number of commands that have been applied.
using Version = std::size_t;
inline constexpr Version no_version = SIZE_MAX;

class NaiveExchange {
 public:
  // Sets the policy of the entry point that all commands come through.
  void set_policy(DoorPolicy policy) { policy_ = policy; }
  virtual ~NaiveExchange() = default;
  // Works as Exchange::apply, except that it remembers every order and so never answers
  // NotInMemory.
  Outcome apply(const Command& command, Timestamp now);
  // Gives an id to an order or a replace that the rules refused, but that a journal contains.
  void number_refused() { orders_.emplace_back(); }

  // Returns the outcome of the command at this version, at most version(). If the command would
  // change something there, returns Created, Opened{0}, Replaced, or an empty Canceled or
  // CanceledAll.
  Outcome outcome(const Command& command, Version at) const;
  // Returns a version after `at` up to which outcome() stays the same: the next change of an
  // account or symbol that it depends on; no_version if there is none.
  Version next_change(const Command& command, Version at) const;

  // D6, at this version: the limit of the account (0: no limit), and whether an order or replace
  // counts for it. outcome() never returns this refusal.
  std::uint64_t orders_per_second_max(const AccountId& account, Version at) const;
  bool counts(const Command& command, Version at) const;

  // As in Exchange, for the newest version.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;
  std::vector<Exchange::Depth> depth(const SymbolName& symbol, Side side) const;

  Version version() const { return version_; }
  std::size_t accounts() const { return accounts_.size(); }
  // Counts all ids so far: those of orders, and the numbers of replaces, from the same sequence.
  OrderId orders() const { return orders_.size(); }
  OrderId replaces() const { return replacements_.size(); }
  std::uint64_t executions() const { return takers_.size(); }
  // Returns the order as it was first sent; null if the id is the number of a replace.
  const PlaceOrder* placed(OrderId id) const {
    return orders_[id - 1].opened == no_version ? nullptr : &orders_[id - 1].placed;
  }
  // Returns the place: at one price, an order comes before those with a higher place.
  OrderId place(OrderId id) const { return terms(orders_[id - 1], version_).place; }
  // All replaces, by number.
  const std::map<OrderId, ReplacementRow>& replacements() const { return replacements_; }
  // The display name of an account; empty if it has no name.
  AccountName name(const AccountId& account) const {
    return accounts_.find(account.view())->second.name;
  }
  // Returns the side of the taker in an execution.
  Side taker(ExecutionId execution) const { return takers_[execution - 1]; }
  bool is_open(OrderId order) const { return open(orders_[order - 1], version_) > Shares(); }
  Status status(OrderId order) const { return status(order, version_); }

 protected:
  DoorPolicy policy_;
  // A value, and the version from which it holds; of several, the newest is the last.
  template <class Value>
  struct Since {
    Version from;
    Value value;
  };
  // Units of cash or shares that came from outside; if negative, they were taken away.
  using Placements = std::vector<Since<Int128>>;
  struct Account {
    Version created;
    Placements cash = {};  // as it was created, and what the operator gave or took
    std::map<std::string, Placements, std::less<>> placements = {};  // by symbol
    std::vector<OrderId> orders = {};
    std::vector<Since<AccountRules>> rules = {};
    AccountName name = {};
    std::vector<Version> changes = {};  // of it or of its orders
    // the orders and replaces in this second so far
    mutable std::int64_t second = 0;
    mutable std::uint64_t orders_in_second = 0;
  };
  struct Symbol {
    Version created;
    std::size_t number;  // in the order of their creation
    Placements placements = {};
    std::vector<OrderId> open = {};    // may contain some that have closed
    std::vector<OrderId> orders = {};  // all of them
    std::vector<Since<Instrument>> rules = {};
    std::vector<Since<Price>> last_prices = {};  // of executions
    std::vector<Version> changes = {};           // of it or of its orders
  };
  // The terms that a replace changes.
  struct Terms {
    Version from;
    Shares shares;
    Price limit;
    OrderId place;
  };
  struct Order {
    PlaceOrder placed;            // as it was sent first
    Version opened = no_version;  // never: refused, or the number of a replace
    std::vector<Terms> terms;
    std::vector<Since<Execution>> executions;
    Version canceled = no_version;
    Shares canceled_shares;
    Timestamp canceled_at;
  };

  // A command of a kind that is not listed needs no more than its account, and changes nothing
  // here.
  template <class AnyCommand>
  Outcome at(const AnyCommand& command, Version version) const;
  template <class AnyCommand>
  Outcome execute(const AnyCommand&, Timestamp) {
    return Created{};
  }
  Outcome execute(const SetAccount& command, Timestamp now);
  Outcome execute(const AdjustCash& command, Timestamp now);
  Outcome execute(const AdjustShares& command, Timestamp now);
  Outcome execute(const CreateAccount& command, Timestamp now);
  Outcome execute(const CreateSymbol& command, Timestamp now);
  Outcome execute(const PlaceShares& command, Timestamp now);
  Outcome execute(const PlaceOrder& command, Timestamp now);
  Outcome execute(const CancelOrder& command, Timestamp now);
  Outcome execute(const CancelAll& command, Timestamp now);
  Outcome execute(const ReplaceOrder& command, Timestamp now);
  Outcome execute(const SetInstrument& command, Timestamp now);

  Instrument instrument(const SymbolName& symbol, Version version) const;
  static Instrument changed(Instrument instrument, const SetInstrument& command);
  // Returns why a rule of the account forbids an order, or a replace, of `shares` beside the open
  // orders; or nothing. It does not check the rate of orders.
  std::optional<Rejected> broken_rule_of_account(const Account& by, const SymbolName& symbol,
                                                 Side side, Shares shares, Version version,
                                                 const Order* replaced = nullptr) const;
  bool would_rest(const PlaceOrder& order, Version version) const;
  // Returns the refusal if this order or replace is one too many in this second. Counts it.
  std::optional<Rejected> count_order(const Command& command, Timestamp now);
  // Returns why the order, or the order that a replace makes, breaks a rule; or nothing.
  virtual std::optional<Rejected> broken_rule(const PlaceOrder& order, Version version) const;
  // Returns the furthest price that the band allows an order of that side; 0: any price.
  Price furthest(const SymbolName& symbol, Side side, Version version) const;
  bool is_beyond_band(const PlaceOrder& order, Version version) const;
  // Returns what each open share of a buy reserves.
  Price reserved_price(const Order& order, Version version) const;
  bool collects_orders(const SymbolName& symbol, Version version) const {
    return collects(instrument(symbol, version).trading);
  }
  // Returns whether an order is collected for an auction that is in progress or that it starts.
  virtual bool collect(const PlaceOrder& order);
  virtual std::optional<AuctionResult> hold_auction(const std::vector<AuctionOrder>& orders,
                                                    std::optional<Price> last) const;
  virtual void cancel_market_orders(const Symbol& symbol, Timestamp now);
  std::optional<Uncrossed> uncross(const SymbolName& symbol, Timestamp now);
  void trade(Order& buy, Order& sell, const Execution& execution, Side taker);
  std::vector<SymbolName> named_by(const SetInstrument& command, Version version) const;
  // Returns null if the account does not exist at this version.
  const Account* account(const AccountId& id, Version version) const;
  const Order* order(const AccountId& account, OrderId id, Version version,
                     bool of_any_account = false) const;
  // Returns the order that the command means: by its reference, among the newest 1,024 orders of
  // the account that have one, or by its id. Returns 0 if the reference does not exist.
  OrderId referenced(const AccountId& account, const OrderReference& reference,
                     Version version) const;
  template <class NamesOrder>
  OrderId meant(const NamesOrder& command, Version version) const {
    return command.reference ? referenced(command.account, *command.reference, version)
                             : command.order;
  }
  // Returns the open orders that the command cancels, by place.
  virtual std::vector<OrderId> canceled_by(const CancelAll& command, Version version) const;
  // The shares of orders open at this version that would be executed against this one, as far as
  // a fill-or-kill order reaches.
  UInt128 executable(const PlaceOrder& taker, SelfTrade self_trade, Version version) const;
  void cancel_open(Order& order, Timestamp now);
  // Executes the order as far as possible; `arriving` has its current terms.
  void match(OrderId id, const PlaceOrder& arriving, Timestamp now);
  // Returns the open order that this one executes against next, or null.
  virtual Order* best_match(const PlaceOrder& arriving);
  // Returns whether the sides and limits of both allow an execution.
  virtual bool crosses(const PlaceOrder& arriving, const Order& maker, Version version) const;
  virtual Price price_of(const PlaceOrder& arriving, const Order& maker) const;
  // Called right after each of these events.
  virtual void note_execution(Order&, Order&) {}  // buy, sell
  virtual void note_opened(Order&) {}
  virtual void note_replaced(Order&) {}
  virtual void note_canceled(Order&) {}
  OrderId number_of(const Order& order) const { return OrderId(&order - orders_.data()) + 1; }
  Shares open_now(const Order& order) const { return open(order, version_); }
  Price limit_now(const Order& order) const { return terms(order, version_).limit; }
  Cash balance(const Account& account, Version version) const;
  Shares position(const Account& account, const SymbolName& symbol, Version version) const;
  // Requires: the order is already opened at this version.
  static const Terms& terms(const Order& order, Version version);
  static Shares executed(const Order& order, Version version);
  static Shares open(const Order& order, Version version);
  Status status(OrderId id, Version version, std::uint64_t from = 1) const;
  // Return the one that this version changes; make it if it does not exist.
  Account& account_to_change(const AccountId& id);
  Symbol& symbol_to_change(const SymbolName& name);
  void place(const AccountId& account, const SymbolName& symbol, Int128 units);
  void give_cash(const AccountId& account, Int128 units);

  std::map<std::string, Account, std::less<>> accounts_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<Order> orders_;  // order n at n - 1, and an empty one for each other number
  std::map<OrderId, ReplacementRow> replacements_;
  std::vector<Version> cash_changes_;  // by which cash came or went
  Version version_ = 0;
  std::vector<Side> takers_;  // of execution n at n - 1
};

}  // namespace exchange
