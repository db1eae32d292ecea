#pragma once
// Plays a run's orders again under the market rules, in the plainest form and with no code of the
// server's, and compares each execution with what the server reported for both its orders.
//
// Ids rise in the order in which the exchange took the orders, so each order meets the book that
// those with lower ids left. A cancel has no id; what its order executed in all shows where it
// belongs: as long as a canceled order is to execute more it is in the book, and when an incoming
// order would match it beyond that it must have left. So there is one right course of events for
// what the server reported, and every execution is judged. A cancel of an order that no later order
// reached could belong anywhere: that makes no difference.
//
// An order that prevents self-trades cancels others, or is canceled, without a request: where the
// replay finds that, it explains the cancel, which no reply shows (Evidence::canceled_by).
//
// Whether that course fits real time: going by id, each order was taken no earlier than it was
// sent, than any with a lower id was sent, than a cancel that it felt, and than a query that did
// not contain its executions yet; and it was taken before it was answered. Cancels and queries that
// contain an execution were answered after its orders were sent. What the intervals between sending
// and answer leave open is not seen.
//
// After a wrong execution the book of its symbol is not known: the replay of that symbol ends
// there.

#include <deque>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "client/loadgen/audit/evidence.hpp"

namespace exchange::loadgen {

class Replay {
 public:
  // What the course leaves open.
  struct Reading {
    bool self_match = true;    // an order matches others of its own account (M11)
    bool any_listing = false;  // executions of one second are listed in any order
  };
  // Fills evidence.canceled_by. With any_listing, puts the executions of each order into the order
  // in which they happened.
  Replay(Evidence& evidence, Findings& findings, Reading reading = {true, false});
  // Not to be matched again: only its orders' times are looked at.
  void leave_out(std::uint16_t symbol) { books_[symbol].abandoned = true; }
  void run();
  // After run(): the executions that it found right, each counted for both its orders.
  std::uint64_t explained() const;
  // After run(): the symbols that were left out, or whose replay ended early.
  std::set<std::uint16_t> not_replayed() const;

 private:
  using Line = std::deque<std::uint32_t>;     // of one price, first come first
  using Side = std::map<std::int32_t, Line>;  // by rank: the lower the better
  struct Book {
    Side buys, sells;
    bool abandoned = false;
  };
  // Nothing that follows was taken before this was sent.
  struct Bound {
    enum class Kind { order, cancel, query };
    std::int64_t ns = std::numeric_limits<std::int64_t>::min();
    Kind kind = Kind::order;
    std::uint32_t order = 0;    // that was placed, canceled or asked for
    std::uint32_t felt_by = 0;  // the order that came after it
  };

  // What comes of meeting the order that is next in line.
  enum class Meeting {
    stays,   // the resting order is still there
    leaves,  // it has executed or was canceled
    ends,    // the incoming order was canceled
    wrong,   // the server reported something else than the rules give
  };

  void match(std::uint32_t taker, Book& book);
  Meeting meet(std::uint32_t taker, std::uint32_t maker, const Side& makers);
  void add_meeting(std::uint32_t taker, std::uint32_t maker, const char* right);
  bool ends_unasked(std::uint32_t order) const;
  void explain_cancel(std::uint32_t order, std::uint32_t taker);
  bool execute(std::uint32_t taker, std::uint32_t maker, const Side& makers);
  const Fill* next_reported(std::uint32_t order) const;
  void list_first(std::uint32_t order, const Fill& wanted);
  std::string what_is_wrong(std::uint32_t taker, std::uint32_t maker, const Fill& right,
                            const Side& makers) const;
  void raise(const Bound& bound);
  void compare_with_observations(std::uint32_t order, std::uint32_t taker);
  void contradict(const std::string& reply, std::uint32_t taker);

  Evidence& evidence_;
  Findings& findings_;
  const Reading reading_;
  std::map<std::uint16_t, Book> books_;
  // By order.
  std::vector<std::int32_t> open_;
  std::vector<std::uint32_t> executed_, next_observation_;
  Bound earliest_;
};

}  // namespace exchange::loadgen
