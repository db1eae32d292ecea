#pragma once
// The naive exchange with one fault of a test's choice. Judges have to find the fault.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/naive_exchange.hpp"

namespace exchange::testing {

// clang-format off
BOOST_DEFINE_FIXED_ENUM_CLASS(Fault, std::uint8_t,
  none,
  // Faults of executions:
  takers_price, newest_first, worst_price_first, no_match_on_equal, loses_place, never_matches,
  passed_over,   // an order that is open
  market_stops,  // at some price
  lost_execution, lost_remainder, ioc_rests, fok_in_part, post_takes,
  self_trade,    // of an order that prevents them
  out_of_reach,  // it cancels a resting order that it would not match
  taking_rests,  // where it is to be canceled
  // Faults of cash and shares:
  refund_dropped, credit_dropped,  // the smallest unit of them
  refund_forgotten, seller_not_paid, buyer_gets_nothing, cancel_keeps_cash, cancel_keeps_shares,
  float_cash, overdraft, naked_sells, no_reservation,
  unlocked,  // between a check and the change
  // Faults of queries and cancels:
  any_account, cancels_nothing, trades_after_cancel, canceled_unasked, vanished_order, stale_query,
  query_of_the_future, cancel_of_all_incomplete, cancel_of_all_refused, symbol_ignored,
  youngest_first,
  // Faults of replaces:
  replace_without_effect,
  place_kept,  // where it is lost
  place_lost,  // although only the amount fell
  rests_anew,  // though it could be executed
  amount_is_open, reservation_kept, replaced_after_cancel,
  duplicate_accounts)
// Faults of halts, auctions and frozen accounts:
BOOST_DEFINE_FIXED_ENUM_CLASS(DayFault, std::uint8_t,
  none, trades_in_halt, trades_in_auction,
  auction_price,         // another limit
  auction_newest_first,  // of one limit
  auction_forgets,       // its last execution
  auction_says_more,     // than it executes
  market_order_kept,     // at the end of an auction
  opens_frozen)          // of an account that is
// Gifts of a quarter of cash, or of one share, to an account, which no rule allows:
BOOST_DEFINE_FIXED_ENUM_CLASS(Gift, std::uint8_t,
  none,
  // with what a rule gives back
  cancel_pays,         // of an order that was not executed
  partial_cancel_pays, // of one that was
  cancel_of_replaced_pays, cancel_by_reference_pays, cancel_of_all_pays, disconnect_pays,
  cancel_in_auction_pays, operator_cancel_pays,
  rest_pays,           // of an ioc or market order
  self_trade_prevention_pays,
  auction_end_pays,    // to a market order
  replace_pays,        // that asks for less
  // with an execution
  better_price_pays,   // to a buyer below its limit
  partial_better_price_pays,  // while its order is open
  sale_pays, purchase_pays, auction_pays, self_trade_pays,
  // with an error
  refused_order_pays, refused_fok_pays, refused_post_pays,
  refused_by_rule_pays,  // of an account or symbol
  refused_replace_pays,
  second_cancel_pays, foreign_cancel_pays, cancel_of_none_pays,
  account_again_pays, bad_numbers_pay,
  // with what comes from outside
  placement_pays, second_placement_pays, early_placement_pays, empty_account_pays,
  adjustment_pays, refused_adjustment_pays)
// clang-format on

class FaultyExchange final : public NaiveExchange {
 public:
  // A fault that is a single action happens on each `occasion`-th occasion. Without `self_match`
  // orders of one account do not match each other.
  explicit FaultyExchange(Fault fault, unsigned occasion, bool self_match = true)
      : fault_(fault), occasion_(occasion), self_match_(self_match) {}
  FaultyExchange(DayFault fault, unsigned occasion) : day_fault_(fault), occasion_(occasion) {}
  explicit FaultyExchange(Gift gift) : occasion_(1), gift_(gift) {}

  Outcome apply(Command command, Timestamp now);
  // Opens an order that was checked when its account had this position: later changes of it are
  // lost.
  Outcome open_late(const PlaceOrder& order, Shares position_before, Timestamp now);
  // Uses up a number for an order that is not kept.
  OrderId skip_number() { return number_refused(), orders(); }
  bool knows(const AccountId& id) const { return account(id, version()) != nullptr; }
  const std::vector<OrderId>& orders_of(const AccountId& id) const {
    return account(id, version())->orders;
  }
  // Pays the gift: a quarter of cash, and one share if the symbol is known.
  void pay(const AccountId& account, const SymbolName& symbol);
  // From here on queries show the final state: of the faults, only vanished_order and
  // canceled_unasked appear, which happen at the end.
  void end_of_run() { in_run_ = false; }

 private:
  Outcome apply_to(CreateAccount& command, Timestamp now);
  Outcome apply_to(PlaceOrder& command, Timestamp now);
  Outcome apply_to(CancelOrder& command, Timestamp now);
  Outcome apply_to(CancelAll& command, Timestamp now);
  Outcome apply_to(ReplaceOrder& command, Timestamp now);
  Outcome apply_to(QueryOrder& command, Timestamp now);
  Outcome apply_to(SetInstrument& command, Timestamp now);
  template <class Create>
  Outcome apply_to(Create& command, Timestamp now) {
    return NaiveExchange::apply(command, now);
  }
  Outcome apply_without_gift(Command& command, Timestamp now);
  // Pays for a command that succeeded, or that was refused.
  void pay_for(const Command& command);
  void pay_for(const Command& command, Reason refusal);

  std::vector<OrderId> canceled_by(const CancelAll& command, Version version) const override;
  Order* best_match(const PlaceOrder& arriving) override;
  bool crosses(const PlaceOrder& arriving, const Order& maker, Version version) const override;
  std::optional<Rejected> broken_rule(const PlaceOrder& order, Version version) const override;
  bool collect(const PlaceOrder& order) override;
  std::optional<AuctionResult> hold_auction(const std::vector<AuctionOrder>& orders,
                                            std::optional<Price> last) const override;
  void cancel_market_orders(const Symbol& symbol, Timestamp now) override;
  Price price_of(const PlaceOrder& arriving, const Order& maker) const override;
  void note_execution(Order& buy, Order& sell) override;
  void note_canceled(Order& order) override;

  bool is(Fault fault) const { return fault == fault_ && in_run_; }
  bool is(DayFault fault) const { return fault == day_fault_ && in_run_; }
  bool is(Gift gift) const { return gift == gift_; }
  // Returns whether to do it now, at a possible occasion.
  template <class AnyFault>
  bool does(AnyFault fault) const {
    return is(fault) && ++chances_ % occasion_ == 0;
  }
  Account& account_of(const AccountId& id) { return accounts_.find(id.view())->second; }
  Outcome open_unchecked(const PlaceOrder& order, Timestamp now);
  void take(const AccountId& id, UInt128 cash_units);
  void take(const AccountId& id, const SymbolName& symbol, Shares shares);
  // Returns whether a refused order is opened anyway.
  bool accepts(const PlaceOrder& order, Reason refusal) const;
  // Returns the status that replies show.
  Status reported(Status status) const;

  const Fault fault_ = Fault::none;
  const DayFault day_fault_ = DayFault::none;
  const unsigned occasion_;
  const bool self_match_ = true;
  bool in_run_ = true;
  mutable std::uint64_t chances_ = 0;
  const Gift gift_ = Gift::none;
  std::map<std::string, SymbolName> early_;  // of shares that came before their account
  // The state of the command in progress:
  const Command* command_ = nullptr;
  bool rests_ = false;                       // it meets no order
  bool reverses_ = false, forgets_ = false;  // of a cancel of all: the order, or the first
  const Order* without_ = nullptr;           // this one is not matched
  std::optional<Price> without_price_;       // nor those of this price
  std::map<OrderId, Status> canceled_;       // reported canceled, and still in the book
};

}  // namespace exchange::testing
