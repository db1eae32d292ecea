#include "client/cli/sentences.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "client/cli/text.hpp"

namespace exchange::cli {
namespace {

constexpr std::size_t prices_shown_max = 4;

// Returns "@ 145.67", or "for 14568.7 (40 @ 145.67, 60 @ 145.7)" if prices differ.
std::string at_prices(const Status& status) {
  std::vector<Execution> by_price;  // consecutive executions at one price are merged
  Int128 paid = 0;
  bool overflow = false;
  for (const Execution& execution : status.executions) {
    overflow |=
        __builtin_add_overflow(paid, cost(execution.shares, execution.price).units(), &paid);
    if (!by_price.empty() && by_price.back().price == execution.price)
      by_price.back().shares += execution.shares;
    else
      by_price.push_back(execution);
  }
  if (by_price.size() == 1) return "@ " + to_string(by_price.front().price);
  const std::string total = overflow ? "" : "for " + to_string(Cash::from_units(paid)) + " ";
  if (by_price.size() > prices_shown_max) {
    Price least = by_price.front().price, most = least;
    for (const Execution& one : by_price) {
      least = std::min(least, one.price);
      most = std::max(most, one.price);
    }
    return total + "(@ " + to_string(least) + " to " + to_string(most) + ")";
  }
  std::string list;
  for (const Execution& one : by_price)
    list += (list.empty() ? "" : ", ") + to_string(one.shares) + " @ " + to_string(one.price);
  return total + "(" + list + ")";
}

// Returns "tick 0.05, no lot".
std::string in_words(const std::vector<Rule>& rules) {
  std::string list;
  for (const auto& [name, value] : rules) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '-', ' ');
    const auto number = parse_shares(value, Rounding::towards_zero);  // prices have the same form
    if (value.empty() || (name != "name" && number && number.value == Shares()))
      words = "no " + words;
    else if (name == "name")
      words = "name " + printable(value);
    else if (name == "access")
      words = value;
    else if (name == "cancel-orders")
      words = "open orders canceled";
    else
      words += " " + (number ? to_string(number.value) : value);
    list += (list.empty() ? "" : ", ") + words;
  }
  return list;
}

}  // namespace

Shares executed_shares(const Status& status) {
  return std::accumulate(
      status.executions.begin(), status.executions.end(), Shares(),
      [](Shares sum, const Execution& execution) { return sum + execution.shares; });
}

std::string sentence(const std::string& id, const Status& status, const NewOrder* terms) {
  const bool buy = terms != nullptr && terms->side == Side::buy;
  const std::string symbol = terms == nullptr || terms->symbol.empty() ? "" : " " + terms->symbol;
  std::string text = "order " + id + ": ", rest;
  if (status.open > Shares()) rest = to_string(status.open);
  if (status.canceled > Shares()) rest = to_string(status.canceled);
  const bool any = !status.executions.empty();
  const Shares executed = executed_shares(status);
  if (any) {
    text += terms == nullptr ? "executed " + to_string(executed)
                             : (buy ? "bought " : "sold ") + to_string(executed) + symbol;
    text += " " + at_prices(status);
    if (!rest.empty()) text += ", ";
  } else if (!rest.empty()) {
    rest += symbol;
  }
  if (status.open > Shares()) {
    text += rest + (any ? " still open" : " open");
    if (terms != nullptr)
      text += std::string(any   ? " at "
                          : buy ? ", to buy at "
                                : ", to sell at ") +
              (terms->limit == market_price ? "" : "limit ") + terms->limit;
  } else if (status.canceled > Shares()) {
    text += rest + " canceled";
  } else if (!any) {
    text += "nothing open";
  }
  return text;
}

std::string named(const SetRules& set) {
  return set.symbol ? "symbol " + *set.symbol : "all symbols";
}

std::string sentence(const SetRules& set, const Uncrossed* auction) {
  std::string list = in_words(set.rules);
  if (!set.trading.empty()) list += (list.empty() ? "" : ", ") + ("trading " + set.trading.back());
  if (auction != nullptr)
    list +=
        "; the auction executed " + to_string(auction->shares) + " @ " + to_string(auction->price);
  return named(set) + ": " + list;
}

std::string sentence(const AccountChange& change) {
  return "account " + change.account + ": " + in_words(change.rules);
}

std::string sentence(const Adjustment& adjustment) {
  const bool takes = adjustment.amount.starts_with('-');
  return "account " + adjustment.account + ": " + adjustment.amount.substr(takes ? 1 : 0) +
         (adjustment.symbol ? " shares of " + *adjustment.symbol : " cash") +
         (takes ? " taken" : " given");
}

std::string execution_lines(const Status& status) {
  std::string lines;
  for (const Execution& execution : status.executions)
    lines += "  " + local_time(execution.time.seconds()) + "  " + to_string(execution.shares) +
             " @ " + to_string(execution.price) + "\n";
  if (status.canceled > Shares())
    lines += "  " + local_time(status.canceled_at.seconds()) + "  " + to_string(status.canceled) +
             " canceled\n";
  return lines;
}

}  // namespace exchange::cli
