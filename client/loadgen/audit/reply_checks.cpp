#include "client/loadgen/audit/reply_checks.hpp"

#include <algorithm>
#include <map>

namespace exchange::run_audit {

void ReplyChecks::sort(std::vector<Observation> observations) {
  std::vector<Observation>& kept = evidence_.observations;
  kept = std::move(observations);
  std::erase_if(kept, [&](Observation& observation) {
    const std::uint32_t order = evidence_.find(observation.id);
    if (order == evidence_.orders.size() || !evidence_.states[order].known) return true;
    // A refused cancel counts as a reply with all executions of the order: nothing was open.
    if (observation.kind == Observation::Kind::cancel_refused)
      observation.digest.executions = evidence_.states[order].fills;
    return false;
  });
  std::sort(kept.begin(), kept.end(), [](const Observation& a, const Observation& b) {
    return a.id != b.id ? a.id < b.id : a.digest.executions < b.digest.executions;
  });
  evidence_.first_observation.reserve(evidence_.orders.size() + 1);
  std::uint32_t at = 0;
  for (const OrderRecord& order : evidence_.orders) {
    evidence_.first_observation.push_back(at);
    while (at < kept.size() && kept[at].id == order.id) ++at;
  }
  evidence_.first_observation.push_back(at);
}

void ReplyChecks::run(const std::set<std::uint16_t>& not_rerun) {
  not_rerun_ = not_rerun;
  for (const OrderRecord& order : evidence_.orders)
    if (prevents_self_trades(order.terms)) prevents_self_trades_.insert(order.account);
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i) {
    for (const Observation& observation : evidence_.observations_of(i))
      check_observation(observation, i);
    check_cancels(i);
    check_replaces(i);
  }
  for (const CancelAllRecord& cancel : evidence_.cancels_of_all) check_list(cancel);
  check_complete();
}

void ReplyChecks::check_observation(const Observation& observation, std::uint32_t order) {
  const std::string_view problem = contradiction(observation, order);
  if (problem.empty()) return;
  const OrderDigest& digest = observation.digest;
  const FinalState& final = evidence_.states[order];
  const auto text = [](std::int32_t open, std::int32_t canceled, std::int32_t executed,
                       std::uint32_t executions) {
    return std::to_string(open) + " open, " + std::to_string(canceled) + " canceled, " +
           std::to_string(executed) + " executed in " + std::to_string(executions);
  };
  using Kind = Observation::Kind;
  const char* const kind = observation.kind == Kind::status     ? "A query"
                           : observation.kind == Kind::canceled ? "The cancel"
                                                                : "A refused cancel";
  findings_.add(
      Check::replies,
      std::string(kind) + " of " + evidence_.name(order) + ": " + std::string(problem) +
          (observation.kind == Kind::cancel_refused
               ? ""
               : "; reported then: " +
                     text(digest.open, digest.canceled, digest.executed, digest.executions)) +
          "; in the end: " + text(final.open, final.canceled, final.executed, final.fills) + ".");
}

// Returns why the order cannot have had both the reported state and its final state.
std::string_view ReplyChecks::contradiction(const Observation& observation,
                                            std::uint32_t order) const {
  const OrderDigest& digest = observation.digest;
  const FinalState& final = evidence_.states[order];
  if (observation.kind == Observation::Kind::cancel_refused)
    return final.open > 0 ? "it was refused, but the order is open" : "";

  if (const std::int64_t shares = std::int64_t(digest.open) + digest.canceled + digest.executed;
      shares > std::numeric_limits<std::int32_t>::max() ||
      !could_have(std::int32_t(shares), observation, order))
    return evidence_.replaces_of(order).empty()
               ? "open, canceled and executed shares were not what was ordered"
               : "open, canceled and executed shares were not what it was replaced by then (E27)";
  const bool is_cancel = observation.kind == Observation::Kind::canceled;
  if (is_cancel && digest.canceled == 0) return "it canceled nothing";
  if (evidence_.never_rests(order)) {
    if (is_cancel) return "there was nothing to cancel, since such an order never rests (E2, E10)";
    if (digest.open > 0) return "it was open, but such an order never rests (E2, E10)";
  }
  if (digest.canceled > 0) {
    if (digest.executions < final.fills) return "the order was executed after it was canceled";
    if (final.open > 0) return "the order is open after it was canceled";
    if (digest.canceled != final.canceled) return "what was canceled is not the same in the end";
    if (digest.canceled_time != final.canceled_time)
      return "the time of the cancel is another in the end";
  }
  if (digest.executions > final.fills) return "executions that were reported have gone";
  return executions_fit(digest, order)
             ? ""
             : "the executions reported then are not the first of those in the end";
}

// Whether the order had this number of shares at some time between sending and reply, as far as
// replies to replaces show it. If it was canceled, the final number counts.
bool ReplyChecks::could_have(std::int32_t shares, const Observation& observation,
                             std::uint32_t order) const {
  const std::span<const ReplaceRecord> replaces = evidence_.replaces_of(order);
  for (std::size_t version = 0; version <= replaces.size(); ++version) {
    const bool has_begun = version == 0 || replaces[version - 1].sent_ns <= observation.answered_ns,
               has_ended = version < replaces.size() &&
                           (observation.digest.canceled > 0 ||
                            replaces[version].answered_ns < observation.sent_ns);
    const std::int32_t amount =
        version == 0 ? evidence_.orders[order].amount : replaces[version - 1].amount;
    if (has_begun && !has_ended && std::abs(amount) == shares) return true;
  }
  return false;
}

// Executions are in their true order after a rerun. Without a rerun, those of one second may be
// listed in any order.
bool ReplyChecks::executions_fit(const OrderDigest& then, std::uint32_t order) const {
  const std::span<const Fill> fills = evidence_.fills_of(order);
  std::uint64_t fingerprint = 0;
  for (const Fill& fill : fills.first(then.executions))
    fingerprint = add_to_fingerprint(fingerprint, execution_of(fill));
  const auto within_a_second = [&](std::uint32_t count) {
    return count > 0 && count < fills.size() && fills[count - 1].time == fills[count].time;
  };
  return fingerprint == then.fingerprint ||
         (not_rerun_.contains(evidence_.orders[order].symbol) && within_a_second(then.executions));
}

// Checks that a request or a rule canceled the order, and that replies agree on the time.
void ReplyChecks::check_cancels(std::uint32_t order) {
  if (evidence_.states[order].canceled == 0) return;
  const Observation* const cancel = evidence_.cancel_of(order);
  if (!cancel && all_known_ && !explained(order))
    findings_.add(Check::replies, "In the end " + evidence_.name(order) +
                                      " is canceled, but no request canceled it (T10).");
  const auto by = evidence_.canceled_by.find(order);
  if (cancel)
    check_cancel(order, cancel->sent_ns, cancel->answered_ns);
  else if (by != evidence_.canceled_by.end())
    check_cancel(order, evidence_.orders[by->second].sent_ns,
                 evidence_.orders[by->second].answered_ns);
}

// Checks that something was open for each replace.
void ReplyChecks::check_replaces(std::uint32_t order) {
  const Observation* const cancel = evidence_.cancel_of(order);
  if (!cancel) return;
  for (const ReplaceRecord& replace : evidence_.replaces_of(order))
    if (replace.sent_ns > cancel->answered_ns)
      findings_.add(Check::replies,
                    "After it was canceled " + evidence_.name(order) + " was replaced (E26).");
}

// Checks that the list contains only orders that it may contain, the oldest first.
void ReplyChecks::check_list(const CancelAllRecord& cancel) {
  Place last;
  for (const std::uint64_t id : cancel.canceled) {
    const std::uint32_t order = evidence_.find(id);
    if (order == evidence_.orders.size()) {
      if (all_known_)
        findings_.add(Check::replies, evidence_.name(cancel) + " canceled order " +
                                          evidence_.text_of_id(id) +
                                          ", which no request opened (E17).");
      continue;
    }
    const OrderRecord& record = evidence_.orders[order];
    if (record.account != cancel.account || (cancel.symbol != 0 && record.symbol != cancel.symbol))
      findings_.add(Check::replies, evidence_.name(cancel) + " canceled " + evidence_.name(order) +
                                        ", which is another's or of another symbol (E17).");
    const Place place = evidence_.last_place_of(order);
    if (place.known() && place < last)
      findings_.add(Check::replies, evidence_.name(cancel) + " listed " + evidence_.name(order) +
                                        " behind a younger order (E17, E31).");
    last = place;
  }
}

// Checks that no cancel of all left out an order that was opened before it was sent and open after
// its reply.
void ReplyChecks::check_complete() {
  std::map<std::uint32_t, std::vector<const CancelAllRecord*>> of_account;  // as sent
  for (const CancelAllRecord& cancel : evidence_.cancels_of_all)
    of_account[cancel.account].push_back(&cancel);
  const auto sent_before = [](const CancelAllRecord* a, const CancelAllRecord* b) {
    return a->sent_ns < b->sent_ns;
  };
  for (auto& [account, cancels] : of_account)
    std::sort(cancels.begin(), cancels.end(), sent_before);

  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i) {
    const OrderRecord& order = evidence_.orders[i];
    const auto own = of_account.find(order.account);
    if (own == of_account.end() || !evidence_.states[i].known) continue;
    const std::int64_t open_after = open_after_ns(i);
    const auto first = std::lower_bound(
        own->second.begin(), own->second.end(), order.answered_ns,
        [](const CancelAllRecord* cancel, std::int64_t ns) { return cancel->sent_ns < ns; });
    for (auto at = first; at != own->second.end() && (*at)->sent_ns <= open_after; ++at) {
      const CancelAllRecord& cancel = **at;
      if (cancel.answered_ns > open_after || evidence_.left_to_the_next(i, cancel) ||
          (cancel.symbol != 0 && cancel.symbol != order.symbol) ||
          std::count(cancel.canceled.begin(), cancel.canceled.end(), order.id) > 0)
        continue;
      findings_.add(Check::replies,
                    evidence_.name(cancel) +
                        (cancel.canceled.empty() ? " was refused, but " : " left out ") +
                        evidence_.name(i) +
                        (cancel.canceled.empty() ? " was open (E19)." : ", which was open (E17)."));
    }
  }
}

// Returns a time at or after which the order was open.
std::int64_t ReplyChecks::open_after_ns(std::uint32_t order) const {
  if (evidence_.states[order].open > 0) return std::numeric_limits<std::int64_t>::max();
  std::int64_t ns = evidence_.open_after_ns[order];
  for (const Observation& observation : evidence_.observations_of(order))
    if (observation.kind == Observation::Kind::canceled || observation.digest.open > 0)
      ns = std::max(ns, observation.sent_ns);
  for (const ReplaceRecord& replace : evidence_.replaces_of(order))
    ns = std::max(ns, replace.sent_ns);
  return ns;
}

// Whether the rules explain the cancel without a request. If the symbol was not rerun, orders
// that prevent self-trades may have canceled it.
bool ReplyChecks::explained(std::uint32_t order) const {
  const OrderRecord& record = evidence_.orders[order];
  return never_rests(record.terms) || evidence_.canceled_by.contains(order) ||
         (not_rerun_.contains(record.symbol) && prevents_self_trades_.contains(record.account));
}

// Checks that the order can have been canceled between these two times.
void ReplyChecks::check_cancel(std::uint32_t order, std::int64_t sent_ns,
                               std::int64_t answered_ns) {
  const Observation* const cancel = evidence_.cancel_of(order);
  for (const Observation& other : evidence_.observations_of(order)) {
    switch (other.kind) {
      case Observation::Kind::canceled:
        if (&other != cancel)
          findings_.add(Check::replies,
                        "The cancel of " + evidence_.name(order) + " was successful twice.");
        break;
      case Observation::Kind::cancel_refused:
        if (other.answered_ns < sent_ns)
          findings_.add(Check::replies,
                        "The cancel of " + evidence_.name(order) + " was refused, and later done.");
        break;
      case Observation::Kind::status:
        if (other.digest.canceled == 0 && other.sent_ns > answered_ns)
          findings_.add(Check::replies,
                        "A query was stale: sent after the answer to the cancel of " +
                            evidence_.name(order) + ", it returned that order as not canceled.");
        if (other.digest.canceled > 0 && other.answered_ns < sent_ns)
          findings_.add(Check::replies, "A query returned " + evidence_.name(order) +
                                            " as canceled before any request to cancel it.");
        break;
    }
  }
}

}  // namespace exchange::run_audit
