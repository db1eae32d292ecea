#include "client/loadgen/audit/replay.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace exchange::loadgen {
namespace {

// The lower, the better; of orders with a limit.
std::int32_t rank_of(const OrderRecord& order) {
  return order.amount > 0 ? -order.limit_cents : order.limit_cents;
}

std::string reported(const Fill* fill) { return fill ? text_of(*fill) : "no further execution"; }

}  // namespace

Replay::Replay(Evidence& evidence, Findings& findings, Reading reading)
    : evidence_(evidence),
      findings_(findings),
      reading_(reading),
      executed_(evidence.orders.size()),
      next_observation_(evidence.first_observation) {
  evidence_.canceled_by.clear();
  open_.reserve(evidence.orders.size());
  for (const OrderRecord& order : evidence.orders) open_.push_back(std::abs(order.amount));
}

void Replay::run() {
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i) {
    raise({evidence_.orders[i].sent_ns, Bound::Kind::order, i, i});
    Book& book = books_[evidence_.orders[i].symbol];
    if (!book.abandoned) match(i, book);
    if (earliest_.ns > evidence_.orders[i].answered_ns)
      contradict("the answer to " + evidence_.name(i), i);
  }
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i)
    if (const Fill* extra = next_reported(i);
        extra && !books_[evidence_.orders[i].symbol].abandoned)
      findings_.add(Check::executions, "The server reported for " + evidence_.name(i) +
                                           " an execution of " + text_of(*extra) +
                                           "; by the rules it matched no other order then.");
}

std::uint64_t Replay::explained() const {
  return std::accumulate(executed_.begin(), executed_.end(), std::uint64_t(0));
}

std::set<std::uint16_t> Replay::not_replayed() const {
  std::set<std::uint16_t> symbols;
  for (const auto& [symbol, book] : books_)
    if (book.abandoned) symbols.insert(symbol);
  return symbols;
}

void Replay::match(std::uint32_t taker, Book& book) {
  const OrderRecord& order = evidence_.orders[taker];
  Side& makers = order.amount > 0 ? book.sells : book.buys;
  // Accounts have so much cash that a market buy never runs out of it (E11).
  const auto matches = [&](std::int32_t rank) {
    return order.terms == Terms::market || rank + rank_of(order) <= 0;
  };
  for (auto best = makers.begin();
       open_[taker] > 0 && best != makers.end() && matches(best->first);) {
    Line& line = best->second;
    for (auto at = line.begin(); open_[taker] > 0 && at != line.end();) {
      switch (meet(taker, *at, makers)) {
        case Meeting::stays: ++at; break;
        case Meeting::leaves: at = line.erase(at); break;
        case Meeting::ends: return;
        case Meeting::wrong: book.abandoned = true; return;
      }
    }
    best = line.empty() ? makers.erase(best) : std::next(best);
  }
  if (open_[taker] > 0 && !never_rests(order.terms))
    (order.amount > 0 ? book.buys : book.sells)[rank_of(order)].push_back(taker);
}

Replay::Meeting Replay::meet(std::uint32_t taker, std::uint32_t maker, const Side& makers) {
  const OrderRecord& order = evidence_.orders[taker];
  const bool own = evidence_.orders[maker].account == order.account;
  const bool gone = evidence_.states[maker].canceled > 0 && !next_reported(maker);
  const Observation* const request = evidence_.cancel_of(maker);
  if (own && order.terms == Terms::cancel_resting && gone && !request) {
    explain_cancel(maker, taker);
    return Meeting::leaves;
  }
  if (own && order.terms == Terms::cancel_taking && ends_unasked(taker) &&
      !(gone && request && request->answered_ns < order.sent_ns)) {
    explain_cancel(taker, taker);
    return Meeting::ends;
  }
  if (own && !prevents_self_trades(order.terms) && !reading_.self_match) return Meeting::stays;
  if (gone) {
    if (request) raise({request->sent_ns, Bound::Kind::cancel, maker, taker});
    return Meeting::leaves;
  }
  if (own && prevents_self_trades(order.terms)) {
    add_meeting(taker, maker,
                order.terms == Terms::cancel_resting ? "the other is canceled (E14)"
                                                     : "the one is canceled (E15)");
    return Meeting::wrong;
  }
  if (order.terms == Terms::post) {
    add_meeting(taker, maker, "the one is refused (E5)");
    return Meeting::wrong;
  }
  if (!execute(taker, maker, makers)) return Meeting::wrong;
  return open_[maker] == 0 ? Meeting::leaves : Meeting::stays;
}

void Replay::add_meeting(std::uint32_t taker, std::uint32_t maker, const char* right) {
  findings_.add(Check::executions, "When " + evidence_.name(taker) + " came, " +
                                       evidence_.name(maker) +
                                       " was open and would have executed at once: by the rules " +
                                       right + "; the server did something else.");
}

// Whether the order executes no more and is canceled, but by no request.
bool Replay::ends_unasked(std::uint32_t order) const {
  return evidence_.states[order].canceled > 0 && !next_reported(order) &&
         !evidence_.cancel_of(order);
}

// `order` was canceled when `taker` came, at the time of what that executed before.
void Replay::explain_cancel(std::uint32_t order, std::uint32_t taker) {
  evidence_.canceled_by[order] = taker;
  if (executed_[taker] == 0) return;
  const std::uint32_t last = executed_[taker] - 1;
  if (evidence_.fills_of(taker)[last].time != evidence_.states[order].canceled_time)
    findings_.add(Check::time, "When " + evidence_.name(taker) + " came, " + evidence_.name(order) +
                                   " was canceled, but at another time (E14, E15).");
}

const Fill* Replay::next_reported(std::uint32_t order) const {
  return executed_[order] < evidence_.states[order].fills
             ? &evidence_.fills[evidence_.states[order].first_fill + executed_[order]]
             : nullptr;
}

// Makes `wanted` the next one reported, if the order has it among those of its second.
void Replay::list_first(std::uint32_t order, const Fill& wanted) {
  const FinalState& state = evidence_.states[order];
  const auto begin = evidence_.fills.begin() + std::ptrdiff_t(state.first_fill),
             next = begin + std::ptrdiff_t(executed_[order]),
             end = begin + std::ptrdiff_t(state.fills);
  for (auto at = next; at != end && at->time == next->time; ++at)
    if (*at == wanted) {
      std::rotate(next, at, at + 1);
      return;
    }
}

// False where the server reported something else than the rules give.
bool Replay::execute(std::uint32_t taker, std::uint32_t maker, const Side& makers) {
  const Fill* by_taker = next_reported(taker);
  const Fill right{std::min(open_[taker], open_[maker]), evidence_.orders[maker].limit_cents,
                   by_taker ? by_taker->time : 0};
  if (reading_.any_listing)
    for (const std::uint32_t order : {taker, maker}) list_first(order, right);
  const Fill* by_maker = next_reported(maker);
  if (!by_taker || !by_maker || *by_taker != right || *by_maker != right) {
    findings_.add(Check::executions, what_is_wrong(taker, maker, right, makers));
    return false;
  }
  for (const std::uint32_t order : {taker, maker}) {
    open_[order] -= right.shares;
    ++executed_[order];
    compare_with_observations(order, taker);
  }
  return true;
}

std::string Replay::what_is_wrong(std::uint32_t taker, std::uint32_t maker, const Fill& right,
                                  const Side& makers) const {
  const Fill* by_taker = next_reported(taker);
  const Fill* by_maker = next_reported(maker);
  std::string text = "When " + evidence_.name(taker) + " came, " + evidence_.name(maker) +
                     " was open, the best price and the first there: by the rules they execute " +
                     text_of(right) + "; the server reported for the one " + reported(by_taker) +
                     ", for the other " + reported(by_maker) + ". ";
  const std::string passed_over = "The open order was passed over (M3)",
                    lost = ", or its execution was lost.";
  if (!by_taker) return text + passed_over + lost;
  const std::int32_t price = by_taker->price_cents, limit = evidence_.orders[taker].limit_cents;
  if (price == right.price_cents)
    return text + (*by_taker == right && by_maker && by_maker->shares == right.shares &&
                           by_maker->price_cents == right.price_cents
                       ? "The two report different times of it."
                       : "The order that arrived first at that price was passed over (M4)" + lost);
  if (price == limit && by_maker && *by_maker == *by_taker)
    return text + "The price was that of the incoming order, not of the resting one (M6).";
  const bool anybody_there = makers.contains(evidence_.orders[taker].amount > 0 ? price : -price);
  return text +
         (anybody_there || price != limit ? "A better price was passed over (M4)" : passed_over) +
         lost;
}

// --- real time

void Replay::raise(const Bound& bound) {
  if (bound.ns > earliest_.ns) earliest_ = bound;
}

// `order` has just executed against `taker`, or is it: replies with less came before, those
// with this after.
void Replay::compare_with_observations(std::uint32_t order, std::uint32_t taker) {
  const std::uint32_t end = evidence_.first_observation[order + 1];
  std::uint32_t& next = next_observation_[order];
  for (; next < end && evidence_.observations[next].digest.executions < executed_[order]; ++next) {
    const Observation& before = evidence_.observations[next];
    const bool query = before.kind == Observation::Kind::status;
    raise({before.sent_ns, query ? Bound::Kind::query : Bound::Kind::cancel, order, taker});
  }
  for (std::uint32_t i = next;
       i < end && evidence_.observations[i].digest.executions == executed_[order]; ++i)
    if (earliest_.ns > evidence_.observations[i].answered_ns)
      contradict("a reply with an execution of " + evidence_.name(order), taker);
}

// `reply` contains an event that can only have happened after something sent later.
void Replay::contradict(const std::string& reply, std::uint32_t taker) {
  const std::string it = evidence_.name(earliest_.order);
  const std::string cause = earliest_.felt_by == earliest_.order
                                ? "coming"
                                : "meeting " + evidence_.name(earliest_.felt_by);
  switch (earliest_.kind) {
    case Bound::Kind::order:
      findings_.add(Check::time, "Time goes against the ids: " + reply + " came before " + it +
                                     " was sent, which was taken no later.");
      break;
    case Bound::Kind::cancel:
      findings_.add(Check::time, "An order was passed over as if canceled: " + reply +
                                     " came before the cancel of " + it +
                                     " was sent, and by then " + evidence_.name(earliest_.felt_by) +
                                     " had found it gone.");
      break;
    case Bound::Kind::query:
      findings_.add(Check::time,
                    "A query was stale: " + reply + " came before a query of " + it +
                        " was sent, which did not contain what that order had executed on " +
                        cause + ".");
      break;
  }
  // so that one contradiction is reported once
  earliest_ = {evidence_.orders[taker].sent_ns, Bound::Kind::order, taker, taker};
}

}  // namespace exchange::loadgen
