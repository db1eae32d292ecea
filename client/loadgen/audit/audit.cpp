#include "client/loadgen/audit/audit.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "client/connection/results.hpp"
#include "client/loadgen/audit/balance_probe.hpp"
#include "client/loadgen/audit/evidence.hpp"
#include "client/loadgen/audit/pairing.hpp"
#include "client/loadgen/audit/replay.hpp"
#include "client/loadgen/audit/reply_checks.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::size_t queries_per_request = 1'000;
constexpr std::int64_t units_per_share = Shares::whole(1).units(),
                       units_per_cent = Price::whole(1).units() / 100;
constexpr std::size_t reply_shown_max = 200;
// executions that a wrong reading of the rules may explain until it contradicts a wrong server
constexpr std::uint64_t by_chance = 100;

class Audit {
 public:
  Audit(AuditInput&& input, const Ask& ask) : input_(std::move(input)), ask_(ask) {}
  AuditResult run();

 private:
  void sort_orders();
  void ask_for_final_states();
  void ask_for_orders_of(const AuditAccount& account, std::vector<std::uint32_t> orders);
  void take_state(std::uint32_t order, const client::ReplyElement& element);
  std::string_view unusable(const OrderRecord& order, const OrderDigest& digest) const;
  std::string_view misfit(const OrderRecord& order, const FinalState& state) const;
  std::string_view misfit_of_arrival(const OrderRecord& order, const FinalState& state,
                                     std::uint32_t last_time) const;
  std::set<std::uint16_t> replay(bool all_known);
  std::string what_is_not_known() const;

  AuditInput input_;
  const Ask& ask_;
  Evidence evidence_;
  Findings findings_;
  Deviations deviations_;
  Status state_;                     // of the element being read
  std::set<std::uint16_t> unclear_;  // symbols of orders whose final state is not known
};

AuditResult Audit::run() {
  const auto start = std::chrono::steady_clock::now();
  AuditResult result;
  evidence_.symbol_name = input_.symbol_name;
  sort_orders();
  ask_for_final_states();
  const bool all_known = input_.history.unanswered + input_.history.wrongly_answered == 0;
  ReplyChecks reply_checks(evidence_, findings_, all_known);
  reply_checks.sort(std::move(input_.history.observations));
  if (all_known) check_pairing(evidence_, unclear_, findings_);
  reply_checks.run(replay(all_known));
  if (all_known && unclear_.empty()) {
    BalanceProbe balances(input_, evidence_, ask_, findings_, deviations_);
    balances.check_conservation();
    balances.run();
    result.accounts = input_.accounts.size();
  } else if (!all_known) {
    result.not_checked = what_is_not_known() +
                         ", and what they did is not known: whether executions pair up, whether "
                         "each is the right one, and balances were not checked";
  } else {
    result.not_checked =
        "not every order's state is known: the symbols of those others were not replayed, and balances not checked";
  }

  Cash moved, created;
  for (std::size_t i = 0; i < evidence_.orders.size(); ++i) {
    if (evidence_.orders[i].amount < 0) continue;
    result.executions += evidence_.states[i].fills;
    for (const Fill& fill : evidence_.fills_of(i))
      moved += cost(Shares::whole(fill.shares), price_of(fill.price_cents));
  }
  for (const AuditAccount& account : input_.accounts) created += Cash::whole(account.cash);
  result.orders = evidence_.orders.size();
  result.cash_moved = to_string(moved);
  result.cash_total = to_string(created);
  result.findings = findings_.sentences();
  result.deviations = std::move(deviations_);
  result.passed = result.findings.empty() && result.orders + result.accounts > 0;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string Audit::what_is_not_known() const {
  const std::uint64_t unanswered = input_.history.unanswered,
                      wrongly_answered = input_.history.wrongly_answered;
  std::string text;
  if (unanswered > 0) text = std::to_string(unanswered) + " requests went without a reply";
  if (wrongly_answered > 0)
    text += (text.empty() ? "" : " and ") + std::to_string(wrongly_answered) +
            (text.empty() ? " requests" : "") + " got a wrong answer";
  return text;
}

// The course leaves some things open: of the ways to read it, the one with the fewest wrong
// executions, or that explains far more before them. Returns the symbols that could not be replayed
// to the end.
std::set<std::uint16_t> Audit::replay(bool all_known) {
  struct Outcome {
    Replay::Reading reading;
    Findings findings;
    std::uint64_t wrong, explained;
    std::vector<Fill> fills;
    std::map<std::uint32_t, std::uint32_t> canceled_by;
    std::set<std::uint16_t> not_replayed;
  };
  const std::vector<Fill> listed = evidence_.fills;
  std::optional<Outcome> best;
  for (const Replay::Reading reading :
       {Replay::Reading{true, false}, {false, false}, {true, true}, {false, true}}) {
    if (best) evidence_.fills = listed;
    Findings findings = findings_;
    Replay replay(evidence_, findings, reading);
    for (const OrderRecord& order : evidence_.orders)
      if (!all_known || unclear_.contains(order.symbol)) replay.leave_out(order.symbol);
    replay.run();
    const std::uint64_t wrong = findings.count(Check::executions), explained = replay.explained();
    const bool better = !best || wrong < best->wrong ||
                        (wrong == best->wrong && explained > best->explained + by_chance &&
                         reading.any_listing == best->reading.any_listing);
    if (better)
      best = Outcome{reading,
                     std::move(findings),
                     wrong,
                     explained,
                     std::move(evidence_.fills),
                     std::move(evidence_.canceled_by),
                     replay.not_replayed()};
    if (best->wrong == 0) break;
  }
  evidence_.fills = std::move(best->fills);
  evidence_.canceled_by = std::move(best->canceled_by);
  findings_ = std::move(best->findings);
  if (!best->reading.self_match) deviations_.add(Deviation::self_refused, "");
  return std::move(best->not_replayed);
}

void Audit::sort_orders() {
  std::vector<OrderRecord>& orders = evidence_.orders;
  orders = std::move(input_.history.orders);
  std::sort(orders.begin(), orders.end(),
            [](const OrderRecord& a, const OrderRecord& b) { return a.id < b.id; });
  const auto same_id = [](const OrderRecord& a, const OrderRecord& b) { return a.id == b.id; };
  for (auto at = orders.begin();
       (at = std::adjacent_find(at, orders.end(), same_id)) != orders.end(); ++at)
    findings_.add(Check::states,
                  "Two orders were opened under the id " + std::to_string(at->id) + " (T6).");
  orders.erase(std::unique(orders.begin(), orders.end(), same_id), orders.end());
  evidence_.states.resize(orders.size());
}

void Audit::ask_for_final_states() {
  std::vector<std::uint32_t> by_account(evidence_.orders.size());
  std::iota(by_account.begin(), by_account.end(), 0u);
  const auto account_of = [&](std::uint32_t order) { return evidence_.orders[order].account; };
  std::stable_sort(by_account.begin(), by_account.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return account_of(a) < account_of(b); });
  evidence_.fills.reserve(2 * by_account.size());
  for (auto first = by_account.begin(); first != by_account.end();) {
    auto end = first;
    while (end != by_account.end() && std::size_t(end - first) < queries_per_request &&
           account_of(*end) == account_of(*first))
      ++end;
    ask_for_orders_of(input_.accounts.at(account_of(*first)), {first, end});
    first = end;
  }
  for (std::uint32_t i = 0; i < evidence_.orders.size(); ++i)
    if (!evidence_.states[i].known) unclear_.insert(evidence_.orders[i].symbol);
}

// A server may refuse to return too many executions at once: what was refused is asked again,
// unless the reply contained none at all.
void Audit::ask_for_orders_of(const AuditAccount& account, std::vector<std::uint32_t> orders) {
  while (!orders.empty()) {
    std::string request = "<transactions id=\"" + account.id + "\">";
    for (const std::uint32_t order : orders)
      request += "<query id=\"" + std::to_string(evidence_.orders[order].id) + "\"/>";
    const std::string reply = ask_(request + "</transactions>\n");

    const std::size_t fills_before = evidence_.fills.size();
    std::vector<std::uint32_t> refused;
    std::vector<std::string> refusals;
    client::ReplyElements elements(reply);
    client::ReplyElement element;
    std::size_t count = 0;
    for (; count < orders.size() && elements.next(element); ++count) {
      const std::uint32_t order = orders[count];
      if (element.attribute("id") != std::to_string(evidence_.orders[order].id)) break;
      if (element.name == "status") {
        take_state(order, element);
      } else {
        refused.push_back(order);
        refusals.emplace_back(element.content);
      }
    }
    if (count < orders.size())
      findings_.add(Check::states, "Asked for " + std::to_string(orders.size()) +
                                       " orders of account " + account.id +
                                       ", the server returned " + std::to_string(count) + ": " +
                                       reply.substr(0, reply_shown_max));
    if (evidence_.fills.size() == fills_before) {
      for (std::size_t i = 0; i < refused.size(); ++i)
        findings_.add(Check::states,
                      "Asked in the end for " + evidence_.name(refused[i]) +
                          ", which it had opened, the server replied: " + refusals[i]);
      return;
    }
    orders = std::move(refused);
  }
}

void Audit::take_state(std::uint32_t order, const client::ReplyElement& element) {
  const OrderRecord& record = evidence_.orders[order];
  std::string_view problem = read_state(element, state_, deviations_);
  if (problem.empty()) {
    const std::optional<OrderDigest> digest = digest_of(state_);
    problem =
        digest ? unusable(record, *digest) : "parts of shares, where whole shares were ordered";
    if (problem.empty()) {
      FinalState& final = evidence_.states[order];
      final = {.first_fill = evidence_.fills.size(),
               .fills = digest->executions,
               .canceled_time = std::uint32_t(digest->canceled_time),
               .open = digest->open,
               .canceled = digest->canceled,
               .executed = digest->executed,
               .known = true};
      for (const Execution& execution : state_.executions)
        evidence_.fills.push_back({std::int32_t(execution.shares.units() / units_per_share),
                                   std::int32_t(execution.price.units() / units_per_cent),
                                   std::uint32_t(execution.time.seconds())});
      problem = misfit(record, final);
    }
  }
  if (!problem.empty())
    findings_.add(Check::states, "In the end " + evidence_.name(order) + " has " +
                                     std::string(problem) + "; the server replied: " +
                                     std::string(element.content.substr(0, reply_shown_max)));
}

// What no state of the order can have, so that there is nothing to reckon with. `state_` is the one
// of the digest.
std::string_view Audit::unusable(const OrderRecord& order, const OrderDigest& digest) const {
  if (std::max({digest.open, digest.canceled, digest.executed}) > std::abs(order.amount))
    return "more shares than were ordered";
  for (const Execution& execution : state_.executions)
    if (execution.price.units() % units_per_cent != 0 ||
        execution.price.units() / units_per_cent > std::numeric_limits<std::int32_t>::max())
      return "a price that is no order's limit (M6)";
  return "";
}

// What its state has that no order can have.
std::string_view Audit::misfit(const OrderRecord& order, const FinalState& state) const {
  if (std::int64_t(state.open) + state.canceled + state.executed != std::abs(order.amount))
    return "open, canceled and executed shares that are not what was ordered";
  std::uint32_t last_time = 0;
  for (std::size_t i = state.first_fill; i < state.first_fill + state.fills; ++i) {
    const Fill& fill = evidence_.fills[i];
    if (order.terms != Terms::market && (order.amount > 0 ? fill.price_cents > order.limit_cents
                                                          : fill.price_cents < order.limit_cents))
      return "an execution worse than the limit (M3)";
    last_time = fill.time;
  }
  if (state.canceled > 0 && state.canceled_time < last_time)
    return "an execution later than its cancel (T10)";
  return never_rests(order.terms) ? misfit_of_arrival(order, state, last_time) : "";
}

// Of an order that never rests: all that happens to it happens when it arrives.
std::string_view Audit::misfit_of_arrival(const OrderRecord& order, const FinalState& state,
                                          std::uint32_t last_time) const {
  if (order.terms == Terms::fok && state.executed != std::abs(order.amount))
    return "not been executed in full (E3)";
  if (state.open > 0) return "open shares, but such an order never rests (E2, E10)";
  if (state.fills > 0 && (evidence_.fills[state.first_fill].time != last_time ||
                          (state.canceled > 0 && state.canceled_time != last_time)))
    return "executions and a cancel of several times, but all happens when it arrives (E2)";
  return "";
}

}  // namespace

AuditResult audit(AuditInput input, const Ask& ask) { return Audit(std::move(input), ask).run(); }

}  // namespace exchange::loadgen
