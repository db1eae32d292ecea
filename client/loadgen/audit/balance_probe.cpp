#include "client/loadgen/audit/balance_probe.hpp"

#include <algorithm>

#include "client/connection/results.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::run_audit {
namespace {

// The largest number of shares of an order, and the largest price (docs/protocol.md, N3).
constexpr std::int64_t units_max = 92'233'720'368 * 100'000'000 - 1;
// More than any limit of the load generator's orders (workload.cpp).
constexpr std::int64_t high_price_units = 1'000 * 100'000'000LL;
constexpr std::size_t probes_per_request = 1'000;

// Whether the server refused because of a rule, and not because the account has too little.
bool is_for_rule(std::string_view refusal) {
  for (const Reason reason :
       {Reason::trading_halted, Reason::off_tick, Reason::off_lot, Reason::order_too_large,
        Reason::price_too_low, Reason::price_too_high, Reason::account_frozen,
        Reason::too_many_orders_a_second, Reason::too_many_orders_of_account,
        Reason::position_too_large})
    if (refusal.starts_with(describe(reason))) return true;
  return false;
}

Cash total_cash(const Holdings& holdings) { return holdings.cash + holdings.cash_reserved; }

}  // namespace

BalanceProbe::BalanceProbe(const AuditInput& input, const Evidence& evidence, const Ask& ask,
                           Findings& findings, Deviations& deviations)
    : input_(input),
      evidence_(evidence),
      ask_(ask),
      findings_(findings),
      deviations_(deviations),
      holdings_(expected_holdings()) {}

std::vector<Holdings> BalanceProbe::expected_holdings() const {
  std::vector<Holdings> all(input_.accounts.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].cash = Cash::whole(input_.accounts[i].cash);
    for (const AuditAccount::Placed& placed : input_.accounts[i].shares)
      all[i].positions[placed.symbol].free += Shares::whole(placed.shares);
  }
  for (std::size_t i = 0; i < evidence_.orders.size(); ++i) {
    const OrderRecord& order = evidence_.orders[i];
    const FinalState& state = evidence_.states[i];
    Holdings& holdings = all[order.account];
    Holdings::Position& position = holdings.positions[order.symbol];
    const Shares open = Shares::whole(state.open), executed = Shares::whole(state.executed);
    Cash moved;
    for (const Fill& fill : evidence_.fills_of(i))
      moved += cost(Shares::whole(fill.shares), price_of(fill.price_cents));
    if (order.amount > 0) {
      const Cash reserved = cost(open, price_of(evidence_.limit_cents_of(i)));
      holdings.cash -= moved + reserved;
      holdings.cash_reserved += reserved;
      position.free += executed;
    } else {
      holdings.cash += moved;
      position.free -= executed + open;
      position.reserved += open;
    }
  }
  return all;
}

void BalanceProbe::check_conservation() {
  Cash created, found;
  std::map<std::uint16_t, Int128> shares;  // found less created, in units
  for (std::size_t i = 0; i < holdings_.size(); ++i) {
    created += Cash::whole(input_.accounts[i].cash);
    found += total_cash(holdings_[i]);
    for (const AuditAccount::Placed& placed : input_.accounts[i].shares)
      shares[placed.symbol] -= Shares::whole(placed.shares).units();
    for (const auto& [symbol, position] : holdings_[i].positions)
      shares[symbol] += Int128(position.free.units()) + position.reserved.units();
  }
  if (found != created)
    findings_.add(Check::conservation, "By their executions all accounts together have " +
                                           to_string(found) + " in cash, where " +
                                           to_string(created) + " was created (M9).");
  for (const auto& [symbol, difference] : shares)
    if (difference != 0)
      findings_.add(Check::conservation,
                    "By their executions all accounts together have " +
                        to_string(Shares::from_units(
                            std::int64_t(difference > 0 ? difference : -difference))) +
                        " shares of " + input_.symbol_name(symbol) +
                        (difference > 0 ? " more" : " less") + " than were created (M9).");
}

void BalanceProbe::run() {
  if (input_.accounts.empty()) return;
  // Some servers do not create a symbol without shares, or refuse an order for a symbol that was
  // not created.
  const PlaceShares share{SymbolName(input_.probe_symbol), AccountId(input_.accounts.front().id),
                          Shares::whole(1)};
  const std::string reply = ask_(write_creations(write_element(share), "") + "\n");
  client::ReplyElements elements(reply);
  client::ReplyElement element;
  if (!elements.next(element) || element.name != "created")
    return findings_.add(Check::balances, "The server did not create the symbol " +
                                              input_.probe_symbol +
                                              ", so that no balance could be looked at: " + reply);
  for (std::size_t i = 0; i < holdings_.size(); ++i) probe(input_.accounts[i], holdings_[i]);
}

// Places orders for what is free, and for more; then cancels those that opened.
void BalanceProbe::probe(const AuditAccount& account, const Holdings& holdings) {
  probes_.clear();
  claim_ = "By its orders and executions account " + account.id + " has " +
           to_string(holdings.cash) + " in cash free";
  if (holdings.cash < Cash())
    findings_.add(Check::balances, claim_ + ": less than nothing.");
  else
    input_.lenient ? add_cent_probes(holdings.cash) : add_cash_probes(holdings.cash);
  for (const auto& [symbol, position] : holdings.positions) {
    const std::string name = input_.symbol_name(symbol);
    claim_ = "By its orders and executions account " + account.id + " has " +
             to_string(position.free) + " shares of " + name + " free";
    if (position.free < Shares())
      findings_.add(Check::balances, claim_ + ": less than nothing.");
    else
      add_share_probes(name, position.free);
  }

  std::vector<std::string> opened;
  for (std::size_t first = 0; first < probes_.size(); first += probes_per_request) {
    const std::size_t end = std::min(probes_.size(), first + probes_per_request);
    std::string orders;
    for (std::size_t i = first; i < end; ++i) orders += probes_[i].order;
    const std::string reply = ask_(write_transactions(account.id, orders) + "\n");
    client::ReplyElements elements(reply);
    client::ReplyElement element;
    std::size_t i = first;
    for (; i < end && elements.next(element); ++i) {
      const bool is_open = element.name == "opened";
      if (is_open) opened.emplace_back(element.attribute("id"));
      if (!is_open && is_for_rule(element.content))
        not_probed_ = element.content;
      else if (is_open != probes_[i].must_open)
        findings_.add(
            Check::balances,
            probes_[i].claim + "; but the server " + (is_open ? "opened" : "refused") + " " +
                probes_[i].order +
                (is_open ? ", which takes more (M2)."
                         : ", which takes no more (M1): " + std::string(element.content)));
    }
    if (i < end)
      findings_.add(Check::balances, "Of " + std::to_string(end - first) + " orders of account " +
                                         account.id + " the server answered " +
                                         std::to_string(i - first) + ".");
  }
  cancel(account, opened);
}

void BalanceProbe::add_cash_probes(Cash free) {
  Int128 rest = free.units();
  if (rest >= units_max) {  // first an order that leaves at most units_max
    const Int128 price = rest / units_max + 1, shares = rest / price;
    add(input_.probe_symbol, true, std::int64_t(shares), std::int64_t(price), true);
    rest -= shares * price;
  }
  add(input_.probe_symbol, true, std::int64_t(rest) + 1, 1, false);
  if (rest > 0) add(input_.probe_symbol, true, std::int64_t(rest), 1, true);
}

void BalanceProbe::add_cent_probes(Cash free) {
  const std::int64_t share = Shares::whole(1).units(), cent = Price::whole(1).units() / 100;
  Int128 rest = free.units() / share;  // the price at which one share takes all
  if (rest >= units_max) {             // first an order that leaves at most units_max
    const Int128 shares = rest / units_max + 1, price = rest / shares / cent * cent;
    add(input_.probe_symbol, true, std::int64_t(shares * share), std::int64_t(price), true);
    rest -= shares * price;
  }
  add(input_.probe_symbol, true, share, std::int64_t(rest) + cent, false);
  if (rest > cent) add(input_.probe_symbol, true, share, std::int64_t(rest) - cent, true);
}

void BalanceProbe::add_share_probes(const std::string& symbol, Shares free) {
  const bool exact = !input_.lenient;
  const Shares share = Shares::whole(1), step = exact ? Shares::from_units(1) : share;
  const std::int64_t limit = exact ? units_max : high_price_units;
  if (free.units() > units_max - step.units()) {
    add(symbol, false, share.units(), limit, true);
    free -= share;
  }
  add(symbol, false, (free + step).units(), limit, false);
  if (free > Shares()) add(symbol, false, free.units(), limit, true);
}

void BalanceProbe::add(const std::string& symbol, bool buy, std::int64_t shares_units,
                       std::int64_t price_units, bool must_open) {
  const PlaceOrder order({}, SymbolName(symbol), buy ? Side::buy : Side::sell,
                         Shares::from_units(shares_units), Price::from_units(price_units));
  probes_.push_back({write_element(order), must_open, claim_});
}

void BalanceProbe::cancel(const AuditAccount& account, const std::vector<std::string>& ids) {
  for (std::size_t first = 0; first < ids.size(); first += probes_per_request) {
    const std::size_t end = std::min(ids.size(), first + probes_per_request);
    std::string cancels;
    for (std::size_t i = first; i < end; ++i) cancels += "<cancel id=\"" + ids[i] + "\"/>";
    const std::string reply = ask_(write_transactions(account.id, cancels) + "\n");
    client::ReplyElements elements(reply);
    client::ReplyElement element;
    Status state;
    for (std::size_t i = first; i < end; ++i)
      if (!elements.next(element) || element.name != "canceled" ||
          !read_state(element, state, deviations_).empty() || !state.executions.empty())
        findings_.add(Check::balances,
                      "Order " + ids[i] + " of account " + account.id +
                          ", which no other order could match, was not canceled as a whole: " +
                          std::string(element.content));
  }
}

}  // namespace exchange::run_audit
