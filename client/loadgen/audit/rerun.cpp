#include "client/loadgen/audit/rerun.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace exchange::run_audit {
namespace {

std::string reported(const Fill* fill) { return fill ? text_of(*fill) : "no further execution"; }

}  // namespace

Rerun::Rerun(Evidence& evidence, Findings& findings, Reading reading)
    : evidence_(evidence),
      findings_(findings),
      reading_(reading),
      executed_(evidence.orders.size()),
      replaced_(evidence.orders.size()),
      next_observation_(evidence.first_observation) {
  evidence_.canceled_by.clear();
  evidence_.open_after_ns.assign(evidence.orders.size(), never_ns);
  open_.reserve(evidence.orders.size());
  limit_cents_.reserve(evidence.orders.size());
  for (std::uint32_t i = 0; i < evidence.orders.size(); ++i) {
    open_.push_back(std::abs(evidence.orders[i].amount));
    limit_cents_.push_back(evidence.orders[i].limit_cents);
  }
  shares_ = open_;
  in_book_.resize(evidence.orders.size());
  has_canceled_all_.resize(evidence.cancels_of_all.size());
  const auto add_events = [&](const auto& records, Event::Kind kind) {
    for (std::uint32_t i = 0; i < records.size(); ++i)
      if (records[i].place.known()) events_.push_back({records[i].place, kind, i});
  };
  add_events(evidence.replaces, Event::Kind::replace);
  add_events(evidence.cancels_of_all, Event::Kind::cancel_all);
  add_events(evidence.trading, Event::Kind::trading);
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.place < b.place; });
  for (const CancelAllRecord& cancel : evidence.cancels_of_all)
    if (resting_.size() <= cancel.account) resting_.resize(cancel.account + 1);
}

void Rerun::run() {
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i) {
    now_ = i;
    raise({evidence_.orders[i].sent_ns, Bound::Kind::order, i, i});
    play(i, Place::Side::before);
    stay_with_others(i);
    Book& book = books_[evidence_.orders[i].symbol];
    if (!book.abandoned) match(i, book);
    play(i, Place::Side::after);
    if (earliest_.ns > evidence_.orders[i].answered_ns)
      contradict("the answer to " + evidence_.name(i, 0));
  }
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i)
    if (const Fill* extra = next_reported(i);
        extra && !books_[evidence_.orders[i].symbol].abandoned)
      findings_.add(Check::executions, "The server reported for " + evidence_.name(i) +
                                           " an execution of " + text_of(*extra) +
                                           "; by the rules it matched no other order then.");
}

std::uint64_t Rerun::explained() const {
  return std::accumulate(executed_.begin(), executed_.end(), std::uint64_t(0));
}

std::set<std::uint16_t> Rerun::not_rerun() const {
  std::set<std::uint16_t> symbols;
  for (const auto& [symbol, book] : books_)
    if (book.abandoned) symbols.insert(symbol);
  return symbols;
}

// Plays the events that the request of this order caused before it, or after it.
void Rerun::play(std::uint32_t order, Place::Side side) {
  const Place last{evidence_.orders[order].id, side, std::numeric_limits<std::uint16_t>::max()};
  for (; next_event_ < events_.size() && events_[next_event_].place <= last; ++next_event_) {
    const Event& event = events_[next_event_];
    switch (event.kind) {
      case Event::Kind::replace: replace(evidence_.replaces[event.index]); break;
      case Event::Kind::cancel_all: cancel_all(event.index); break;
      case Event::Kind::trading: change_trading(evidence_.trading[event.index]); break;
    }
  }
}

void Rerun::replace(const ReplaceRecord& replace) {
  const std::uint32_t order = evidence_.find(replace.id);
  Book& book = books_[evidence_.orders[order].symbol];
  if (book.abandoned) return;
  const std::int32_t open = std::abs(replace.amount) - (shares_[order] - open_[order]);
  if (!in_book_[order] || open <= 0 || book.trading == Trading::halted) {
    findings_.add(Check::executions, wrong_replace(order, replace));
    book.abandoned = true;
    return;
  }
  stay_with_others(order);
  const bool keeps_place = Evidence::keeps_place(replace, shares_[order], limit_cents_[order]);
  if (!keeps_place) take_out(order);
  shares_[order] = std::abs(replace.amount);
  limit_cents_[order] = replace.limit_cents;
  open_[order] = open;
  ++replaced_[order];
  if (!keeps_place) match(order, book);
}

std::string Rerun::wrong_replace(std::uint32_t order, const ReplaceRecord& replace) const {
  const std::string text = "When the server replaced " + name(order) + " by " +
                           std::to_string(std::abs(replace.amount)) + ", ";
  if (!in_book_[order]) return text + "nothing was open by the rules (E26).";
  if (books_.at(evidence_.orders[order].symbol).trading == Trading::halted)
    return text + "trading was halted (I6).";
  return text + std::to_string(shares_[order] - open_[order]) +
         " had executed by the rules: nothing would be open (E27).";
}

void Rerun::cancel_all(std::uint32_t index) {
  const CancelAllRecord& cancel = evidence_.cancels_of_all[index];
  has_canceled_all_[index] = true;
  for (const std::uint64_t id : cancel.canceled)
    if (const std::uint32_t order = evidence_.find(id); order < evidence_.orders.size())
      take_out_listed(cancel, order);
  if (cancel.account < resting_.size())
    std::erase_if(resting_[cancel.account], [&](std::uint32_t order) {
      return !in_book_[order] || must_have_left(cancel, order);
    });
}

void Rerun::take_out_listed(const CancelAllRecord& cancel, std::uint32_t order) {
  Book& book = books_[evidence_.orders[order].symbol];
  if (book.abandoned) return;
  if (in_book_[order] && may_have_left(order)) return take_out(order);
  findings_.add(Check::executions,
                evidence_.name(cancel) + " canceled " + name(order) +
                    (in_book_[order] ? ", which executed or was replaced later (E17)."
                                     : ", of which nothing was open by the rules (E17)."));
  book.abandoned = true;
}

// Handles an order that is in the book although a cancel of all did not list it. Returns whether it
// leaves the list of resting orders.
bool Rerun::must_have_left(const CancelAllRecord& cancel, std::uint32_t order) {
  const OrderRecord& record = evidence_.orders[order];
  Book& book = books_[record.symbol];
  if (book.abandoned) return true;
  if ((cancel.symbol != 0 && cancel.symbol != record.symbol) ||
      evidence_.left_to_the_next(order, cancel))
    return false;
  const Observation* const request = evidence_.cancel_of(order);
  if (may_have_left(order) && request) {
    raise({request->sent_ns, Bound::Kind::cancel, order, now_});
    leave_with_others(order, now_);
    take_out(order);
    return true;
  }
  findings_.add(Check::executions,
                evidence_.name(cancel) +
                    (cancel.canceled.empty() ? " was refused, but " : " left out ") + name(order) +
                    (cancel.canceled.empty() ? " was open by the rules (E19)."
                                             : ", which was open by the rules (E17)."));
  book.abandoned = true;
  return true;
}

void Rerun::take_out(std::uint32_t order) {
  Book& book = books_[evidence_.orders[order].symbol];
  Side& side = evidence_.orders[order].amount > 0 ? book.buys : book.sells;
  const auto price = side.find(rank_of(order));
  Line& line = price->second;
  line.erase(std::find(line.begin(), line.end(), order));
  if (line.empty()) side.erase(price);
  in_book_[order] = false;
}

bool Rerun::will_be_canceled(std::uint32_t order) const {
  const auto with = evidence_.canceled_with.find(order);
  return with != evidence_.canceled_with.end() && !has_canceled_all_[with->second] &&
         evidence_.cancels_of_all[with->second].place.known();
}

void Rerun::rest(std::uint32_t order, Book& book) {
  const OrderRecord& record = evidence_.orders[order];
  (record.amount > 0 ? book.buys : book.sells)[rank_of(order)].push_back(order);
  in_book_[order] = true;
  if (record.account < resting_.size()) resting_[record.account].push_back(order);
}

void Rerun::match(std::uint32_t taker, Book& book) {
  if (book.trading != Trading::open) return collect(taker, book);
  const OrderRecord& order = evidence_.orders[taker];
  const Terms terms = terms_of(taker);
  Side& makers = order.amount > 0 ? book.sells : book.buys;
  // Accounts have more cash than any market buy can use (E11).
  const auto matches = [&](std::int32_t rank) {
    return terms == Terms::market || rank + rank_of(taker) <= 0;
  };
  for (auto best = makers.begin();
       open_[taker] > 0 && best != makers.end() && matches(best->first);) {
    Line& line = best->second;
    for (auto at = line.begin(); open_[taker] > 0 && at != line.end();) {
      switch (meet(taker, *at, makers)) {
        case Meeting::stays: ++at; break;
        case Meeting::leaves:
          in_book_[*at] = false;
          at = line.erase(at);
          break;
        case Meeting::ends: return;
        case Meeting::wrong: book.abandoned = true; return;
      }
    }
    best = line.empty() ? makers.erase(best) : std::next(best);
  }
  if (open_[taker] > 0 && !never_rests(terms_of(taker))) rest(taker, book);
}

Rerun::Meeting Rerun::meet(std::uint32_t taker, std::uint32_t maker, const Side& makers) {
  const OrderRecord& order = evidence_.orders[taker];
  const Terms terms = terms_of(taker);
  const bool own = evidence_.orders[maker].account == order.account;
  const bool gone = may_have_left(maker);
  const Observation* const request = evidence_.cancel_of(maker);
  if (own && terms == Terms::cancel_resting && gone && !request) {
    explain_cancel(maker, taker);
    return Meeting::leaves;
  }
  if (own && terms == Terms::cancel_taking && ends_unasked(taker) &&
      !(gone && request && request->answered_ns < order.sent_ns)) {
    explain_cancel(taker, taker);
    return Meeting::ends;
  }
  if (own && !prevents_self_trades(terms) && !reading_.self_match) return Meeting::stays;
  if (gone) {
    if (request) raise({request->sent_ns, Bound::Kind::cancel, maker, taker});
    leave_with_others(maker, taker);
    return Meeting::leaves;
  }
  if (own && prevents_self_trades(terms)) {
    add_meeting(taker, maker,
                terms == Terms::cancel_resting ? "the other is canceled (E14)"
                                               : "the one is canceled (E15)");
    return Meeting::wrong;
  }
  if (terms == Terms::post) {
    add_meeting(taker, maker, "the one is refused (E5)");
    return Meeting::wrong;
  }
  if (!execute(taker, maker, makers)) return Meeting::wrong;
  return open_[maker] == 0 ? Meeting::leaves : Meeting::stays;
}

void Rerun::add_meeting(std::uint32_t taker, std::uint32_t maker, const char* right) {
  findings_.add(Check::executions, "When " + name(taker) + " came, " + name(maker) +
                                       " was open and would have executed at once: by the rules " +
                                       right + "; the server did something else.");
}

// Whether the order executes no more and is canceled, but not by a request.
bool Rerun::ends_unasked(std::uint32_t order) const {
  return may_have_left(order) && !evidence_.cancel_of(order);
}

// Records that `order` was canceled when `taker` came, at the time of the executions of `taker`
// before that.
void Rerun::explain_cancel(std::uint32_t order, std::uint32_t taker) {
  evidence_.canceled_by[order] = taker;
  if (executed_[taker] == 0) return;
  const std::uint32_t last = executed_[taker] - 1;
  if (evidence_.fills_of(taker)[last].time != evidence_.states[order].canceled_time)
    findings_.add(Check::time, "When " + name(taker) + " came, " + name(order) +
                                   " was canceled, but at another time (E14, E15).");
}

// Records that `order` was gone when `taker` came.
void Rerun::leave_with_others(std::uint32_t order, std::uint32_t taker) {
  if (const auto with = evidence_.canceled_with.find(order); with != evidence_.canceled_with.end())
    gone_with_.try_emplace(with->second, order, taker);
}

// Records that `order` comes, executes or is replaced, so that it has not been canceled yet.
void Rerun::stay_with_others(std::uint32_t order) {
  evidence_.open_after_ns[order] = std::max(evidence_.open_after_ns[order], earliest_.ns);
  const auto with = evidence_.canceled_with.find(order);
  if (with == evidence_.canceled_with.end()) return;
  const auto gone = gone_with_.find(with->second);
  if (gone == gone_with_.end()) return;
  findings_.add(Check::time, "One request canceled " + name(gone->second.first) + " and " +
                                 name(order) + ", but " + name(gone->second.second) +
                                 " found the one gone before the other left (E17, T17).");
  gone_with_.erase(gone);
}

const Fill* Rerun::next_reported(std::uint32_t order) const {
  return executed_[order] < evidence_.states[order].fills
             ? &evidence_.fills[evidence_.states[order].first_fill + executed_[order]]
             : nullptr;
}

// Makes `wanted` the next reported execution, if the order has it among those of the same second.
void Rerun::list_first(std::uint32_t order, const Fill& wanted) {
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

// Returns false if the server reported something other than the rules give.
bool Rerun::execute(std::uint32_t taker, std::uint32_t maker, const Side& makers) {
  const Fill* by_taker = next_reported(taker);
  const Fill right{std::min(open_[taker], open_[maker]), limit_cents_[maker],
                   by_taker ? by_taker->time : 0};
  if (reading_.any_listing)
    for (const std::uint32_t order : {taker, maker}) list_first(order, right);
  const Fill* by_maker = next_reported(maker);
  if (!by_taker || !by_maker || *by_taker != right || *by_maker != right) {
    findings_.add(Check::executions, what_is_wrong(taker, maker, right, makers));
    return false;
  }
  books_[evidence_.orders[taker].symbol].last_cents = right.price_cents;
  for (const std::uint32_t order : {taker, maker}) stay_with_others(order);
  for (const std::uint32_t order : {taker, maker}) {
    open_[order] -= right.shares;
    ++executed_[order];
    compare_with_observations(order, taker);
  }
  return true;
}

std::string Rerun::what_is_wrong(std::uint32_t taker, std::uint32_t maker, const Fill& right,
                                 const Side& makers) const {
  const Fill* by_taker = next_reported(taker);
  const Fill* by_maker = next_reported(maker);
  std::string text = "When " + name(taker) + " came, " + name(maker) +
                     " was open, the best price and the first there: by the rules they execute " +
                     text_of(right) + "; the server reported for the one " + reported(by_taker) +
                     ", for the other " + reported(by_maker) + ". ";
  const std::string passed_over = "The open order was passed over (M3)",
                    lost = ", or its execution was lost.";
  if (!by_taker) return text + passed_over + lost;
  const std::int32_t price = by_taker->price_cents, limit = limit_cents_[taker];
  const auto line = makers.find(rank_of(maker));
  const bool replaced_there =
      line != makers.end() &&
      std::any_of(line->second.begin(), line->second.end(),
                  [&](std::uint32_t order) { return replaced_[order] > 0; });
  if (price == right.price_cents)
    return text + (*by_taker == right && by_maker && by_maker->shares == right.shares &&
                           by_maker->price_cents == right.price_cents
                       ? "The two report different times of it."
                       : "The order that arrived first at that price was passed over (M4" +
                             std::string(replaced_there ? ", E29)" : ")") + lost);
  if (price == limit && by_maker && *by_maker == *by_taker)
    return text + "The price was that of the incoming order, not of the resting one (M6).";
  const bool anybody_there = makers.contains(evidence_.orders[taker].amount > 0 ? price : -price);
  return text +
         (anybody_there || price != limit ? "A better price was passed over (M4)" : passed_over) +
         lost;
}

// --- real time

void Rerun::raise(const Bound& bound) {
  if (bound.ns > earliest_.ns) earliest_ = bound;
}

// `order` has just executed against `taker`, or is `taker` itself. Replies with fewer executions
// came before this event, replies with this number after it.
void Rerun::compare_with_observations(std::uint32_t order, std::uint32_t taker) {
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
      contradict("a reply with an execution of " + name(order));
}

// Reports that `reply` contains an event which can only have happened after something sent later.
void Rerun::contradict(const std::string& reply) {
  const std::string it = name(earliest_.order);
  const std::string cause =
      earliest_.felt_by == earliest_.order ? "coming" : "meeting " + name(earliest_.felt_by);
  switch (earliest_.kind) {
    case Bound::Kind::order:
      findings_.add(Check::time, "Time goes against the ids: " + reply + " came before " + it +
                                     " was sent, which was taken no later.");
      break;
    case Bound::Kind::cancel:
      findings_.add(Check::time, "An order was passed over as if canceled: " + reply +
                                     " came before the cancel of " + it +
                                     " was sent, and by then " + name(earliest_.felt_by) +
                                     " had found it gone.");
      break;
    case Bound::Kind::query:
      findings_.add(Check::time,
                    "A query was stale: " + reply + " came before a query of " + it +
                        " was sent, which did not contain what that order had executed on " +
                        cause + ".");
      break;
  }
  // reports each contradiction once
  earliest_ = {evidence_.orders[now_].sent_ns, Bound::Kind::order, now_, now_};
}

}  // namespace exchange::run_audit
