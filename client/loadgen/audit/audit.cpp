#include "client/loadgen/audit/audit.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "client/connection/results.hpp"
#include "client/loadgen/audit/balance_probe.hpp"
#include "client/loadgen/audit/evidence.hpp"
#include "client/loadgen/audit/order_ids.hpp"
#include "client/loadgen/audit/reply_checks.hpp"
#include "client/loadgen/audit/rerun.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::run_audit {
namespace {

constexpr std::size_t queries_per_request = 1'000;
constexpr std::int64_t units_per_share = Shares::whole(1).units(),
                       units_per_cent = Price::whole(1).units() / 100;
constexpr std::size_t reply_shown_max = 200;
// a wrong reading of the rules may explain this number of executions before it contradicts a wrong
// server
constexpr std::uint64_t by_chance = 100;

class Audit {
 public:
  Audit(AuditInput&& input, const Ask& ask) : input_(std::move(input)), ask_(ask) {}
  AuditResult run();

 private:
  void rank_ids();
  void sort_orders();
  void sort_replaces();
  void sort_trading();
  void ask_for_final_states();
  void ask_for_orders_of(const AuditAccount& account, std::vector<std::uint32_t> orders);
  void take_state(std::uint32_t order, const client::ReplyElement& element);
  std::string_view unusable(std::uint32_t order, const OrderDigest& digest) const;
  std::string_view misfit(std::uint32_t order, const FinalState& state) const;
  std::string_view misfit_of_arrival(const OrderRecord& order, const FinalState& state,
                                     std::uint32_t last_time) const;
  std::set<std::uint16_t> rerun(bool all_known);
  std::string what_is_not_known() const;
  std::string what_was_not_checked(bool all_known, const std::string& not_probed) const;

  AuditInput input_;
  const Ask& ask_;
  Evidence evidence_;
  Findings findings_;
  Deviations deviations_;
  Status state_;                     // of the element being read
  std::set<std::uint16_t> unclear_;  // symbols with an order whose final state is not known
  // symbols with an order for which the time of a replace is not known; the number of such replaces
  std::set<std::uint16_t> not_placed_;
  std::uint64_t replaces_not_placed_ = 0;
  std::set<std::uint16_t> not_ordered_;  // symbols whose orders came in an unknown order
  // symbols that were halted, or in an auction, at unknown times; symbols that could not be
  // rerun through an auction
  std::set<std::uint16_t> not_open_, undecided_;
};

// Counts the orders that were answered before an order with a lower id was sent.
std::size_t count_out_of_order(const std::vector<OrderRecord>& by_id) {
  std::int64_t sent_last = never_ns;
  std::size_t count = 0;
  for (const OrderRecord& order : by_id) {
    if (order.answered_ns < sent_last) ++count;
    sent_last = std::max(sent_last, order.sent_ns);
  }
  return count;
}

// Replaces each id by its rank in the current sequence of orders.
void number_anew(History& history, std::vector<std::string>& id_texts) {
  std::unordered_map<std::uint64_t, std::uint64_t> ranks{{0, 0}};
  for (OrderRecord& order : history.orders) {
    const auto [found, is_new] = ranks.emplace(order.id, id_texts.size() + 1);
    if (is_new) id_texts.push_back(id_text(order.id));
    order.id = found->second;
  }
  const auto rank = [&](std::uint64_t& id) {
    const auto found = ranks.find(id);
    id = found == ranks.end() ? 0 : found->second;
  };
  for (Observation& observation : history.observations) rank(observation.id);
  for (ReplaceRecord& replace : history.replaces) {
    rank(replace.id);
    rank(replace.place.id);
  }
  for (TradingRecord& trading : history.trading) {
    rank(trading.place.id);
    rank(trading.next_id);
  }
  for (CancelAllRecord& cancel : history.cancels_of_all) {
    rank(cancel.place.id);
    for (std::uint64_t& id : cancel.canceled) rank(id);
  }
}

// Checks that every execution has a buy and a sell that report the same values. Leaves out the
// symbols in `unclear`: they have orders whose final state is not known.
void check_pairing(const Evidence& evidence, const std::set<std::uint16_t>& unclear,
                   Findings& findings) {
  struct Side {
    Fill fill;
    std::uint32_t order;
  };
  struct Symbol {
    std::vector<Side> buys, sells;
  };
  std::map<std::uint16_t, Symbol> symbols;
  for (std::uint32_t i = 0; i < evidence.orders.size(); ++i) {
    Symbol& symbol = symbols[evidence.orders[i].symbol];
    for (const Fill& fill : evidence.fills_of(i))
      (evidence.orders[i].amount > 0 ? symbol.buys : symbol.sells).push_back({fill, i});
  }
  const auto alone = [&](const Side& side, const char* other) {
    findings.add(Check::pairing, "The server reported for " + evidence.name(side.order) +
                                     " an execution of " + text_of(side.fill) + " at time " +
                                     std::to_string(side.fill.time) + "; " + other +
                                     " has it (M9).");
  };
  for (auto& [number, symbol] : symbols) {
    if (unclear.contains(number)) continue;
    const auto by_fill = [](const Side& a, const Side& b) { return a.fill < b.fill; };
    std::sort(symbol.buys.begin(), symbol.buys.end(), by_fill);
    std::sort(symbol.sells.begin(), symbol.sells.end(), by_fill);
    auto buy = symbol.buys.begin(), sell = symbol.sells.begin();
    while (buy != symbol.buys.end() || sell != symbol.sells.end()) {
      if (sell == symbol.sells.end() || (buy != symbol.buys.end() && buy->fill < sell->fill))
        alone(*buy++, "no sell");
      else if (buy == symbol.buys.end() || sell->fill < buy->fill)
        alone(*sell++, "no buy");
      else
        ++buy, ++sell;
    }
  }
}

AuditResult Audit::run() {
  const auto start = std::chrono::steady_clock::now();
  AuditResult result;
  evidence_.symbol_name = input_.symbol_name;
  evidence_.account_name = [&](std::uint32_t account) { return input_.accounts.at(account).id; };
  rank_ids();
  sort_orders();
  sort_replaces();
  sort_trading();
  ask_for_final_states();
  const bool all_known = input_.history.unanswered + input_.history.wrongly_answered == 0;
  ReplyChecks reply_checks(evidence_, findings_, all_known);
  reply_checks.sort(std::move(input_.history.observations));
  if (all_known) check_pairing(evidence_, unclear_, findings_);
  reply_checks.run(rerun(all_known));
  std::string not_probed;
  if (all_known && unclear_.empty()) {
    BalanceProbe balances(input_, evidence_, ask_, findings_, deviations_);
    balances.check_conservation();
    balances.run();
    not_probed = balances.not_probed();
    result.accounts = input_.accounts.size();
  }
  result.not_checked = what_was_not_checked(all_known, not_probed);

  Cash moved;
  for (std::size_t i = 0; i < evidence_.orders.size(); ++i) {
    if (evidence_.orders[i].amount < 0) continue;
    result.executions += evidence_.states[i].fills;
    for (const Fill& fill : evidence_.fills_of(i))
      moved += cost(Shares::whole(fill.shares), price_of(fill.price_cents));
  }
  result.orders = evidence_.orders.size();
  result.cash_moved = to_string(moved);
  result.findings = findings_.sentences();
  result.deviations = std::move(deviations_);
  result.passed = result.findings.empty() && result.orders + result.accounts > 0;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string Audit::what_is_not_known() const {
  const std::uint64_t unanswered = input_.history.unanswered,
                      wrongly_answered = input_.history.wrongly_answered;
  const auto requests = [](std::uint64_t count) { return count == 1 ? " request" : " requests"; };
  std::string text;
  if (unanswered > 0)
    text = std::to_string(unanswered) + requests(unanswered) + " went without a reply";
  if (wrongly_answered > 0)
    text += (text.empty() ? "" : " and ") + std::to_string(wrongly_answered) +
            (text.empty() ? requests(wrongly_answered) : "") + " got a wrong answer";
  return text;
}

// Returns the checks that were not possible, and why. `not_probed`: why some balances were not.
std::string Audit::what_was_not_checked(bool all_known, const std::string& not_probed) const {
  std::string text;
  const auto add = [&](const std::string& sentence, const std::set<std::uint16_t>& symbols = {}) {
    text += (text.empty() ? "" : "; ") + sentence;
    for (const std::uint16_t symbol : symbols) text += " " + input_.symbol_name(symbol);
  };
  if (!all_known) {
    add(what_is_not_known() +
        ", and what they did is not known: whether executions pair up, whether each is the right "
        "one, and balances were not checked");
  } else {
    if (!unclear_.empty())
      add("not every order's state is known: the symbols of those others were not rerun, and "
          "balances not checked");
    if (!not_probed.empty())
      add("some of what accounts have was not looked at, since the server refuses orders for it: " +
          not_probed);
    if (replaces_not_placed_ > 0)
      add(std::to_string(replaces_not_placed_) +
              " replaces were in requests that opened no order, so that it is not known when they "
              "happened: whether the executions of these symbols are the right ones was not "
              "checked:",
          not_placed_);
    if (!not_open_.empty())
      add("trading was halted, or in an auction, and it is not known when: whether the executions "
          "of these symbols are the right ones was not checked:",
          not_open_);
    if (!undecided_.empty())
      add("too many orders were canceled while an auction ended: from there on the executions of "
          "these symbols were not checked:",
          undecided_);
  }
  if (!not_ordered_.empty())
    add("transaction ids do not rise in the order of arrival, and clients sent orders at once: "
        "whether each execution is the right one was not checked");
  return text;
}

// The course text leaves some rules open. Reruns one reading of it after another until no
// execution is wrong, and uses the reading with the fewest wrong executions, or the one that
// explains far more executions with the same number of wrong ones. Returns the symbols that could
// not be rerun to the end.
std::set<std::uint16_t> Audit::rerun(bool all_known) {
  struct Outcome {
    Rerun::Reading reading;
    Findings findings;
    std::uint64_t wrong, explained;
    std::vector<Fill> fills;
    std::map<std::uint32_t, std::uint32_t> canceled_by;
    std::vector<std::int64_t> open_after_ns;
    std::set<std::uint16_t> not_rerun, undecided;
  };
  const std::vector<Fill> listed = evidence_.fills;
  std::optional<Outcome> best;
  for (const Rerun::Reading reading :
       {Rerun::Reading{true, false}, {false, false}, {true, true}, {false, true}}) {
    if (best) evidence_.fills = listed;
    Findings findings = findings_;
    Rerun rerun(evidence_, findings, reading);
    for (const OrderRecord& order : evidence_.orders)
      if (!all_known || unclear_.contains(order.symbol) || not_placed_.contains(order.symbol) ||
          not_ordered_.contains(order.symbol) || not_open_.contains(order.symbol))
        rerun.leave_out(order.symbol);
    rerun.run();
    const std::uint64_t wrong = findings.count(Check::executions), explained = rerun.explained();
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
                     std::move(evidence_.open_after_ns),
                     rerun.not_rerun(),
                     rerun.undecided()};
    if (best->wrong == 0) break;
  }
  evidence_.fills = std::move(best->fills);
  evidence_.canceled_by = std::move(best->canceled_by);
  evidence_.open_after_ns = std::move(best->open_after_ns);
  findings_ = std::move(best->findings);
  undecided_ = std::move(best->undecided);
  if (!best->reading.self_match) deviations_.add(Deviation::self_refused, "");
  return std::move(best->not_rerun);
}

// Ids normally rise as orders are taken. This holds for other servers too, whether ids are numbers
// or not: "T9" comes before "T10". If they do not rise, for example because they are random, the
// order of two orders is known only if one was answered before the other was sent. The audit then
// continues with ranks in place of ids.
void Audit::rank_ids() {
  std::vector<OrderRecord>& orders = input_.history.orders;
  const auto is_text = [](const OrderRecord& order) { return order.id >= text_ids_begin; };
  const bool texts = std::any_of(orders.begin(), orders.end(), is_text);
  if (!texts && !input_.lenient) return;
  const auto by_text = [](const OrderRecord& a, const OrderRecord& b) {
    const std::string one = id_text(a.id), other = id_text(b.id);
    return std::pair(one.size(), one) < std::pair(other.size(), other);
  };
  const auto by_number = [](const OrderRecord& a, const OrderRecord& b) { return a.id < b.id; };
  if (texts)
    std::stable_sort(orders.begin(), orders.end(), by_text);
  else
    std::stable_sort(orders.begin(), orders.end(), by_number);
  // a few exceptions are an error of the server, which Rerun finds
  const bool rise = count_out_of_order(orders) <= orders.size() / 4;
  if (!rise) {
    deviations_.add(Deviation::ids_unordered, id_text(orders.front().id));
    std::stable_sort(orders.begin(), orders.end(), [](const OrderRecord& a, const OrderRecord& b) {
      return a.sent_ns < b.sent_ns;
    });
    std::map<std::uint16_t, std::int64_t> answered_last;  // by symbol
    for (const OrderRecord& order : orders) {
      std::int64_t& last = answered_last.emplace(order.symbol, never_ns).first->second;
      if (order.sent_ns < last) not_ordered_.insert(order.symbol);
      last = std::max(last, order.answered_ns);
    }
    for (const TradingRecord& trading : input_.history.trading) not_ordered_.insert(trading.symbol);
  }
  if (texts || !rise) number_anew(input_.history, evidence_.id_texts);
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
                  "Two orders were opened under the id " + evidence_.text_of_id(at->id) + " (T6).");
  orders.erase(std::unique(orders.begin(), orders.end(), same_id), orders.end());
  evidence_.states.resize(orders.size());
}

// Also records which orders each cancel of all orders canceled.
void Audit::sort_replaces() {
  std::vector<ReplaceRecord>& replaces = evidence_.replaces;
  replaces = std::move(input_.history.replaces);
  std::erase_if(replaces, [&](const ReplaceRecord& replace) {
    return evidence_.find(replace.id) == evidence_.orders.size();
  });
  // Replaces of one order are already in the order of their requests: one client sent them all.
  std::stable_sort(replaces.begin(), replaces.end(),
                   [](const ReplaceRecord& a, const ReplaceRecord& b) { return a.id < b.id; });
  std::uint32_t at = 0;
  for (const OrderRecord& order : evidence_.orders) {
    evidence_.first_replace.push_back(at);
    for (; at < replaces.size() && replaces[at].id == order.id; ++at)
      if (!replaces[at].place.known()) {
        ++replaces_not_placed_;
        not_placed_.insert(order.symbol);
      }
  }
  evidence_.first_replace.push_back(at);

  evidence_.cancels_of_all = std::move(input_.history.cancels_of_all);
  for (std::uint32_t i = 0; i < evidence_.cancels_of_all.size(); ++i)
    for (const std::uint64_t id : evidence_.cancels_of_all[i].canceled)
      if (const std::uint32_t order = evidence_.find(id); order < evidence_.orders.size())
        evidence_.canceled_with.emplace(order, i);
}

// A change of trading has a known place if no order came between the two that were sent with it.
void Audit::sort_trading() {
  for (const std::uint16_t symbol : input_.history.halted) not_open_.insert(symbol);
  for (const TradingRecord& record : input_.history.trading) {
    not_open_.erase(record.symbol);
    if (collects(record.trading)) evidence_.auctioned.insert(record.symbol);
  }
  for (const TradingRecord& record : input_.history.trading) {
    const std::uint32_t first = evidence_.find(record.place.id);
    const bool adjacent =
        first + 1 < evidence_.orders.size() && evidence_.orders[first + 1].id == record.next_id;
    if (adjacent)
      evidence_.trading.push_back(record);
    else
      not_open_.insert(record.symbol);
  }
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

// A server may refuse to return too many executions at once: asks again for the refused orders,
// unless the reply contained no execution at all.
void Audit::ask_for_orders_of(const AuditAccount& account, std::vector<std::uint32_t> orders) {
  while (!orders.empty()) {
    std::string queries;
    for (const std::uint32_t order : orders)
      queries += "<query id=\"" + evidence_.text_of_id(evidence_.orders[order].id) + "\"/>";
    const std::string reply = ask_(write_transactions(account.id, queries) + "\n");

    const std::size_t fills_before = evidence_.fills.size();
    std::vector<std::uint32_t> refused;
    std::vector<std::string> refusals;
    client::ReplyElements elements(reply);
    client::ReplyElement element;
    std::size_t count = 0;
    for (; count < orders.size() && elements.next(element); ++count) {
      const std::uint32_t order = orders[count];
      const std::string_view id = element.attribute("id");
      if (id.data() == nullptr && input_.lenient)
        deviations_.add(Deviation::not_repeated, "id");
      else if (id != evidence_.text_of_id(evidence_.orders[order].id))
        break;
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
  std::string_view problem = read_state(element, state_, deviations_);
  if (problem.empty()) {
    const std::optional<OrderDigest> digest = digest_of(state_);
    problem =
        digest ? unusable(order, *digest) : "parts of shares, where whole shares were ordered";
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
      problem = misfit(order, final);
    }
  }
  if (!problem.empty())
    findings_.add(Check::states, "In the end " + evidence_.name(order) + " has " +
                                     std::string(problem) + "; the server replied: " +
                                     std::string(element.content.substr(0, reply_shown_max)));
}

// Returns what the state cannot contain for any order, so that the audit cannot calculate with it.
// `state_` is the state that `digest` was made from.
std::string_view Audit::unusable(std::uint32_t order, const OrderDigest& digest) const {
  if (std::max({digest.open, digest.canceled, digest.executed}) > evidence_.shares_of(order))
    return "more shares than were ordered";
  for (const Execution& execution : state_.executions)
    if (execution.price.units() % units_per_cent != 0 ||
        execution.price.units() / units_per_cent > std::numeric_limits<std::int32_t>::max())
      return "a price that is not the limit of an order (M6)";
  return "";
}

// Returns what contradicts the rules in the final state of this order; empty if nothing does.
std::string_view Audit::misfit(std::uint32_t number, const FinalState& state) const {
  const OrderRecord& order = evidence_.orders[number];
  const bool replaced = !evidence_.replaces_of(number).empty();
  const std::int32_t worst_limit_cents = evidence_.worst_limit_cents_of(number);
  if (std::int64_t(state.open) + state.canceled + state.executed != evidence_.shares_of(number))
    return replaced
               ? "open, canceled and executed shares that are not what it was replaced by (E27)"
               : "open, canceled and executed shares that are not what was ordered";
  if (replaced && never_rests(order.terms))
    return "been replaced, but such an order never rests (E2, E26)";
  std::uint32_t last_time = 0;
  for (std::size_t i = state.first_fill; i < state.first_fill + state.fills; ++i) {
    const Fill& fill = evidence_.fills[i];
    if (order.terms != Terms::market && (order.amount > 0 ? fill.price_cents > worst_limit_cents
                                                          : fill.price_cents < worst_limit_cents))
      return "an execution worse than the limit (M3)";
    last_time = fill.time;
  }
  if (state.canceled > 0 && state.canceled_time < last_time)
    return "an execution later than its cancel (T10)";
  return evidence_.never_rests(number) ? misfit_of_arrival(order, state, last_time) : "";
}

// For an order that never rests: all its events happen when it arrives.
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

}  // namespace exchange::run_audit
