#pragma once
// Plays a run's orders again under the market rules. Uses the plainest algorithm and none of the
// server's code, and compares each execution with what the server reported for both its orders.
//
// Ids rise in the order in which the exchange took the orders, so each order meets the book that
// the orders with lower ids left. A cancel has no id; the number of executions of its order shows
// its position: a canceled order is in the book as long as it has executions left, and has left
// once an incoming order would match it beyond these. So what the server reported determines the
// course of events, and every execution is checked. If no later order reached a canceled order, its
// cancel could have any position: that makes no difference.
//
// A replace, or a cancel of all, has no id either, but its request opened an order right before or
// after it: this gives it a place among the ids (Place), and the rerun plays it as an event of its
// own. A replaced order keeps its place in the book, or leaves it and arrives anew (E29). Until all
// its replaces have happened, an order was not canceled in another way. A cancel of all takes out
// the orders that it lists, and every other order of the account must have left before.
//
// If its place is not known, the symbols of a replace must be left out, and a cancel of all is
// played as one cancel for each order. But it canceled these orders together: once one of them has
// been found gone, the others execute no more.
//
// Halts and auctions have a place too (TradingRecord). An auction collects orders; when it ends
// they execute at the price that the naive auction gives for the book at that moment. If the cancel
// of an order was in flight then, it is not known whether the order was in the book: the auction
// must have the reported result either with it or without it.
//
// An order that prevents self-trades cancels others, or is canceled, without a request. If the
// rerun finds such a case, it explains the cancel, which no reply shows (Evidence::canceled_by).
//
// The rerun also checks that this course fits real time. By its id, each order was taken no
// earlier than these were sent: the order itself, every order with a lower id, every cancel that
// took effect on it, and every query whose reply did not yet contain its executions. And it was
// taken before it was answered. Cancels and queries that contain an execution were answered after
// its orders were sent. The rerun cannot see what the intervals between sending and answer leave
// open.
//
// After a wrong execution the book of its symbol is not known: the rerun of that symbol ends
// there.

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "client/loadgen/audit/auction.hpp"
#include "client/loadgen/audit/evidence.hpp"

namespace exchange::run_audit {

class Rerun {
 public:
  // The rules that the course text leaves open.
  struct Reading {
    bool self_match = true;    // an order matches others of its own account (M11)
    bool any_listing = false;  // executions of one second are listed in any order
  };
  // Fills evidence.canceled_by and evidence.open_after_ns. With any_listing, puts the executions of
  // each order into the order in which they happened.
  Rerun(Evidence& evidence, Findings& findings, Reading reading = {true, false});
  // Does not match the orders of this symbol: checks only their times.
  void leave_out(std::uint16_t symbol) { books_[symbol].abandoned = true; }
  void run();
  // After run(): the number of executions that it found right, each counted for both its orders.
  std::uint64_t explained() const;
  // After run(): the symbols that were left out, and those whose rerun ended early.
  std::set<std::uint16_t> not_rerun() const;
  // After run(): the symbols whose rerun ended at an auction with more than unsure_max cancels in
  // flight.
  const std::set<std::uint16_t>& undecided() const { return undecided_; }

 private:
  using Line = std::deque<std::uint32_t>;     // the orders of one price, first come first
  using Side = std::map<std::int32_t, Line>;  // by rank: the lower the better
  struct Book {
    Side buys, sells;
    Trading trading = Trading::open;
    std::int32_t last_cents = 0;  // of the last execution; 0: there was no execution
    bool abandoned = false;
  };
  // A lower bound for the time of all that follows: nothing that follows was taken before this was
  // sent.
  struct Bound {
    enum class Kind { order, cancel, query };
    std::int64_t ns = std::numeric_limits<std::int64_t>::min();
    Kind kind = Kind::order;
    std::uint32_t order = 0;    // placed, canceled or queried
    std::uint32_t felt_by = 0;  // the order that came after it
  };

  // The result when an order meets the next order in line.
  enum class Meeting {
    stays,   // the resting order is still there
    leaves,  // it has executed or was canceled
    ends,    // the incoming order was canceled
    wrong,   // the server reported something other than the rules give
  };

  // A replace, cancel of all or change of trading, as an index of evidence.replaces,
  // cancels_of_all or trading.
  struct Event {
    Place place;
    enum class Kind { replace, cancel_all, trading } kind;
    std::uint32_t index;
  };

  void play(std::uint32_t order, Place::Side side);
  void replace(const ReplaceRecord& replace);
  std::string wrong_replace(std::uint32_t order, const ReplaceRecord& replace) const;
  void cancel_all(std::uint32_t index);
  void take_out_listed(const CancelAllRecord& cancel, std::uint32_t order);
  bool must_have_left(const CancelAllRecord& cancel, std::uint32_t order);
  void take_out(std::uint32_t order);
  void rest(std::uint32_t order, Book& book);
  void collect(std::uint32_t order, Book& book);
  void change_trading(const TradingRecord& record);
  void uncross(const TradingRecord& record, Book& book);
  // The orders that an auction may execute, and those of them that may have left before it. Orders
  // that one cancel of all canceled form one element of `unsure`.
  struct Collected {
    std::vector<std::uint32_t> orders;
    std::vector<std::vector<std::uint32_t>> unsure;
  };
  bool had_left(std::uint32_t order, const TradingRecord& record) const;
  Collected take_collected(const TradingRecord& record, Book& book);
  static std::optional<AuctionResult> right_result(const std::vector<AuctionOrder>& orders,
                                                   const Book& book);
  std::vector<AuctionOrder> auction_orders(const std::vector<std::uint32_t>& orders) const;
  bool comes_out_as_reported(const std::vector<std::uint32_t>& orders,
                             const std::optional<AuctionResult>& right,
                             const TradingRecord& record);
  void execute_auction(const std::vector<std::uint32_t>& orders, Book& book);
  void cancel_market_orders(const TradingRecord& record, Book& book);
  void add_wrong_auction(const TradingRecord& record, const std::vector<std::uint32_t>& orders,
                         const std::optional<AuctionResult>& right);
  void match(std::uint32_t taker, Book& book);
  Meeting meet(std::uint32_t taker, std::uint32_t maker, const Side& makers);
  void add_meeting(std::uint32_t taker, std::uint32_t maker, const char* right);
  bool ends_unasked(std::uint32_t order) const;
  void explain_cancel(std::uint32_t order, std::uint32_t taker);
  void leave_with_others(std::uint32_t order, std::uint32_t taker);
  void stay_with_others(std::uint32_t order);
  bool execute(std::uint32_t taker, std::uint32_t maker, const Side& makers);
  const Fill* next_reported(std::uint32_t order) const;
  void list_first(std::uint32_t order, const Fill& wanted);
  std::string what_is_wrong(std::uint32_t taker, std::uint32_t maker, const Fill& right,
                            const Side& makers) const;
  // Returns the terms of the order when it arrives; none if it arrives anew after a replace (E30).
  Terms terms_of(std::uint32_t order) const {
    return replaced_[order] > 0 ? Terms::none : evidence_.orders[order].terms;
  }
  // Returns the rank of an order with a limit: the lower, the better.
  std::int32_t rank_of(std::uint32_t order) const {
    return evidence_.orders[order].amount > 0 ? -limit_cents_[order] : limit_cents_[order];
  }
  // Whether a replace of the order, or a cancel of all that lists it, is still to be played.
  bool has_event(std::uint32_t order) const {
    return replaced_[order] < evidence_.replaces_of(order).size() || will_be_canceled(order);
  }
  bool will_be_canceled(std::uint32_t order) const;
  // Whether the order was canceled, and has no event left before that.
  bool may_have_left(std::uint32_t order) const {
    return evidence_.states[order].canceled > 0 && !next_reported(order) && !has_event(order);
  }
  // Returns the name with the replaces played so far.
  std::string name(std::uint32_t order) const { return evidence_.name(order, replaced_[order]); }
  void raise(const Bound& bound);
  void compare_with_observations(std::uint32_t order, std::uint32_t taker);
  void contradict(const std::string& reply);

  Evidence& evidence_;
  Findings& findings_;
  const Reading reading_;
  std::map<std::uint16_t, Book> books_;
  std::set<std::uint16_t> undecided_;
  // Indexed by order.
  std::vector<std::int32_t> open_, shares_, limit_cents_;
  std::vector<std::uint32_t> executed_, replaced_, next_observation_;
  std::vector<char> in_book_;
  std::vector<Event> events_;  // by place
  std::size_t next_event_ = 0;
  std::uint32_t now_ = 0;               // the arriving order, or the order next to the event
  std::vector<char> has_canceled_all_;  // indexed by cancel of all
  std::vector<std::vector<std::uint32_t>> resting_;  // by account, if it has such cancels
  // cancel of all without a place -> an order that was found gone, and the order that arrived then
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> gone_with_;
  Bound earliest_;
};

}  // namespace exchange::run_audit
