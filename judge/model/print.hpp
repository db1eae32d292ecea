#pragma once
// Commands, outcomes and rows in print, for the messages of tests and for comparing.

#include <algorithm>
#include <string>
#include <vector>

#include "engine/commands.hpp"
#include "engine/exchange.hpp"
#include "engine/rows.hpp"

namespace exchange {

inline std::string print(const AccountId& id) { return std::string(id.view()); }
inline std::string print(const SymbolName& name) { return std::string(name.view()); }
inline std::string print(const OptionalReference& reference) {
  return reference ? std::string((*reference).view()) : "no reference";
}
inline std::string print(OrderId order, const OptionalReference& reference) {
  return reference ? print(reference) : std::to_string(order);
}
inline std::string print_terms(const PlaceOrder& order) {
  std::string text;
  if (order.lifetime != Lifetime::until_canceled)
    text += order.lifetime == Lifetime::fill_or_kill ? " fok" : " ioc";
  if (order.post_only) text += " post";
  if (order.symbol_must_exist) text += " of a known symbol";
  if (order.self_trade != SelfTrade::allowed)
    text += order.self_trade == SelfTrade::cancel_resting ? " cancel-resting" : " cancel-taking";
  return text;
}
inline std::string print(Timestamp time) { return std::to_string(time.microseconds) + "us"; }
inline std::string print(const Exchange::Depth& depth) {
  return units_text(depth.shares_units) + " units @" + to_string(depth.price) + " in " +
         std::to_string(depth.orders);
}
inline std::string print(const Status& status) {
  std::string text = std::to_string(status.order) + " open " + to_string(status.open) +
                     " canceled " + to_string(status.canceled) + " at " + print(status.canceled_at);
  for (const Execution& e : status.executions)
    text +=
        ", executed " + to_string(e.shares) + " @" + to_string(e.price) + " at " + print(e.time);
  if (status.skipped != 0) text += ", skipped " + std::to_string(status.skipped);
  if (status.next != 0) text += ", next " + std::to_string(status.next);
  return text;
}
inline std::string print(const Outcome& outcome) {
  struct {
    std::string operator()(const Rejected& o) {
      return "rejected: " + std::string(describe(o.reason)) +
             (o.number != 0 ? " " + std::to_string(o.number) : "");
    }
    std::string operator()(const Created&) { return "created"; }
    std::string operator()(const Opened& o) { return "opened " + std::to_string(o.order); }
    std::string operator()(const OpenedBefore& o) {
      return "opened before " + std::to_string(o.order);
    }
    std::string operator()(const Status& o) { return "status " + print(o); }
    std::string operator()(const Canceled& o) { return "canceled " + print(o.status); }
    std::string operator()(const CanceledAll& o) {
      std::string text = "canceled all:";
      for (const Status& status : o.orders) text += " [" + print(status) + "]";
      return text;
    }
    std::string operator()(const Replaced& o) { return "replaced " + std::to_string(o.order); }
    std::string operator()(const NotInMemory& o) {
      return "not in memory: account " + std::to_string(o.account) + " order " +
             std::to_string(o.order);
    }
  } printer;
  return std::visit(printer, outcome);
}
inline std::string print(const Command& command) {
  struct {
    std::string operator()(const CreateAccount& c) {
      return "account " + print(c.account) + " with " + to_string(c.balance);
    }
    std::string operator()(const CreateSymbol& c) { return "symbol " + print(c.symbol); }
    std::string operator()(const PlaceShares& c) {
      return "place " + to_string(c.shares) + " " + print(c.symbol) + " at " + print(c.account);
    }
    std::string operator()(const PlaceOrder& c) {
      return print(c.account) + (c.side == Side::buy ? " buys " : " sells ") + to_string(c.shares) +
             " " + print(c.symbol) + (c.is_market() ? "" : " @" + to_string(c.limit)) +
             print_terms(c) + (c.reference ? " as " + print(c.reference) : "");
    }
    std::string operator()(const CancelOrder& c) {
      return print(c.account) + " cancels " + print(c.order, c.reference);
    }
    std::string operator()(const QueryOrder& c) {
      return print(c.account) + " queries " + print(c.order, c.reference) +
             (c.of_any_account ? " of any account" : "") +
             (c.from == 1 ? "" : " from " + std::to_string(c.from));
    }
    std::string operator()(const CancelAll& c) {
      return print(c.account) + " cancels all" + (c.symbol ? " of " + print(*c.symbol) : "");
    }
    std::string operator()(const ReplaceOrder& c) {
      return print(c.account) + " replaces " + print(c.order, c.reference) + " by a " +
             (c.side == Side::buy ? "buy of " : "sell of ") + to_string(c.shares) + " @" +
             to_string(c.limit);
    }
  } printer;
  return std::visit(printer, command);
}

// One line per row, sorted: rows come in any order. A place is shown if it is not the order's id,
// the taker of an execution if it is not the order with the higher id.
inline std::vector<std::string> lines(const Rows& rows) {
  std::vector<std::string> lines;
  const auto number = [](auto n) { return std::to_string(n); };
  const auto taker = [](const ExecutionRow& r) {
    const Side newer = r.buy_order > r.sell_order ? Side::buy : Side::sell;
    return r.taker == newer ? "" : r.taker == Side::buy ? ", taker buy" : ", taker sell";
  };
  for (const AccountRow& r : rows.accounts)
    lines.push_back("account " + number(r.number) + " " + print(r.id) + ": " +
                    to_string(r.balance));
  for (const SymbolRow& r : rows.symbols)
    lines.push_back("symbol " + number(r.number) + " " + print(r.name) + ": " +
                    to_string(r.shares_total));
  for (const PositionRow& r : rows.positions)
    lines.push_back("position " + number(r.account) + " " + number(r.symbol) + ": " +
                    to_string(r.shares));
  for (const OrderRow& r : rows.orders)
    lines.push_back("order " + number(r.id) + ": account " + number(r.account) +
                    (r.side == Side::buy ? " buys " : " sells ") + to_string(r.shares) + " of " +
                    number(r.symbol) + " @" + to_string(r.limit) + " at " + print(r.opened_at) +
                    ", open " + to_string(r.open) + ", canceled " + to_string(r.canceled) + " at " +
                    print(r.canceled_at) + (r.place != r.id ? ", place " + number(r.place) : ""));
  for (const ExecutionRow& r : rows.executions)
    lines.push_back("execution " + number(r.id) + ": buy " + number(r.buy_order) + " sell " +
                    number(r.sell_order) + " " + to_string(r.shares) + " of " + number(r.symbol) +
                    " @" + to_string(r.price) + " at " + print(r.time) + taker(r));
  for (const ReferenceRow& r : rows.references)
    lines.push_back("reference " + std::string(r.reference.view()) + " of " + number(r.account) +
                    ": order " + number(r.order));
  for (const ReplacementRow& r : rows.replacements)
    lines.push_back("replacement " + number(r.number) + ": order " + number(r.order) + " was " +
                    to_string(r.shares) + " @" + to_string(r.limit) +
                    (r.keeps_place ? ", keeps its place" : "") + ", after execution " +
                    number(r.executions_before) + " at " + print(r.time));
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace exchange
