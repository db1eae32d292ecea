#pragma once
// The data that the parts of the audit share: all that the server reported about the orders of a
// run, and the findings.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "client/loadgen/audit/history.hpp"

namespace exchange::run_audit {

// An execution as one of its two orders reports it. Orders have whole shares and cents, so
// executions have too.
struct Fill {
  std::int32_t shares, price_cents;
  std::uint32_t time;
  auto operator<=>(const Fill&) const = default;
};

inline Price price_of(std::int32_t cents) {
  return Price::from_units(std::int64_t(cents) * 1'000'000);
}
inline std::string text_of(const Fill& fill) {
  return std::to_string(fill.shares) + " at " + to_string(price_of(fill.price_cents));
}
inline Execution execution_of(const Fill& fill) {
  return {Shares::whole(fill.shares), price_of(fill.price_cents), {fill.time * 1'000'000LL}};
}

// The state of an order after the run.
struct FinalState {
  std::size_t first_fill = 0;
  std::uint32_t fills = 0;
  std::uint32_t canceled_time = 0;
  std::int32_t open = 0, canceled = 0, executed = 0;
  bool known = false;  // the server returned it, and it could be read
};

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::min();

struct Evidence {
  std::vector<OrderRecord> orders;               // by id
  std::vector<std::string> id_texts;             // the server's ids, if ids are ranks
  std::vector<FinalState> states;                // orders[i] has states[i]
  std::vector<std::uint32_t> first_observation;  // of orders[i] at i; one more: the end
  std::vector<Observation> observations;         // an order's by the number of executions in them
  std::vector<Fill> fills;
  std::vector<std::uint32_t> first_replace;  // as first_observation
  std::vector<ReplaceRecord> replaces;       // an order's as they happened
  std::vector<CancelAllRecord> cancels_of_all;
  std::vector<TradingRecord> trading;  // with a place
  std::set<std::uint16_t> auctioned;   // symbols that were in an auction
  // By order that a cancel of all orders canceled: the index of that cancel in cancels_of_all.
  std::map<std::uint32_t, std::uint32_t> canceled_with;
  // canceled order -> the order that arrived then, which prevents self-trades; it is the same order
  // or another one (E14, E15). The rerun sets it.
  std::map<std::uint32_t, std::uint32_t> canceled_by;
  // by order: the order was open at this time, or later; the rerun sets it
  std::vector<std::int64_t> open_after_ns;
  std::function<std::string(unsigned)> symbol_name;
  std::function<std::string(std::uint32_t)> account_name;  // its id

  // Returns the id as the server writes it.
  std::string text_of_id(std::uint64_t id) const {
    return id_texts.empty() ? std::to_string(id) : id == 0 ? "" : id_texts.at(id - 1);
  }
  std::span<const Fill> fills_of(std::size_t order) const {
    return std::span(fills).subspan(states[order].first_fill, states[order].fills);
  }
  std::span<const Observation> observations_of(std::size_t order) const {
    return std::span(observations)
        .subspan(first_observation[order], first_observation[order + 1] - first_observation[order]);
  }
  std::span<const ReplaceRecord> replaces_of(std::size_t order) const {
    return std::span(replaces).subspan(first_replace[order],
                                       first_replace[order + 1] - first_replace[order]);
  }
  // False for a market order in a symbol with auctions: an auction collects market orders.
  bool never_rests(std::size_t order) const {
    const OrderRecord& record = orders[order];
    return run_audit::never_rests(record.terms) &&
           !(record.terms == Terms::market && auctioned.contains(record.symbol));
  }
  // Returns the shares as ordered, or as last replaced, without their sign.
  std::int32_t shares_of(std::size_t order) const {
    const auto own = replaces_of(order);
    return std::abs(own.empty() ? orders[order].amount : own.back().amount);
  }
  std::int32_t limit_cents_of(std::size_t order) const {
    const auto own = replaces_of(order);
    return own.empty() ? orders[order].limit_cents : own.back().limit_cents;
  }
  // Returns the worst limit that the order ever had.
  std::int32_t worst_limit_cents_of(std::size_t order) const {
    const bool buy = orders[order].amount > 0;
    std::int32_t worst = orders[order].limit_cents;
    for (const ReplaceRecord& replace : replaces_of(order))
      worst = buy ? std::max(worst, replace.limit_cents) : std::min(worst, replace.limit_cents);
    return worst;
  }
  // Among orders of one price the one with the lowest place comes first (E29). Returns the current
  // place of the order, or its last one.
  Place last_place_of(std::size_t order) const {
    Place place{orders[order].id};
    std::int32_t shares = std::abs(orders[order].amount), limit_cents = orders[order].limit_cents;
    for (const ReplaceRecord& replace : replaces_of(order)) {
      if (!keeps_place(replace, shares, limit_cents)) place = replace.place;
      shares = std::abs(replace.amount);
      limit_cents = replace.limit_cents;
    }
    return place;
  }
  // Whether an order that had `shares` before keeps its place; a part may have executed (E29).
  static bool keeps_place(const ReplaceRecord& replace, std::int32_t shares,
                          std::int32_t limit_cents) {
    return replace.limit_cents == limit_cents && std::abs(replace.amount) <= shares;
  }
  // Whether a cancel of all may leave an order to the next cancel: it canceled and listed as much
  // as one cancel may, and all of that is older than the order (E18).
  bool left_to_the_next(std::uint32_t order, const CancelAllRecord& cancel) const {
    constexpr std::size_t orders_max = 1'000, executions_max = 100'000;
    if (cancel.canceled.size() < orders_max && cancel.executions < executions_max) return false;
    const std::uint32_t youngest = find(cancel.canceled.back());
    if (youngest == orders.size()) return true;
    const Place place = last_place_of(order), last = last_place_of(youngest);
    return !place.known() || !last.known() || place > last;
  }
  // Returns the index of the order with that id; the number of all orders if it does not exist.
  std::uint32_t find(std::uint64_t id) const {
    const auto at = std::lower_bound(
        orders.begin(), orders.end(), id,
        [](const OrderRecord& order, std::uint64_t wanted) { return order.id < wanted; });
    return std::uint32_t(at != orders.end() && at->id == id ? at - orders.begin()
                                                            : orders.end() - orders.begin());
  }
  // Returns the reply to the request that canceled it; null if there is no such reply.
  const Observation* cancel_of(std::size_t order) const {
    for (const Observation& observation : observations_of(order))
      if (observation.kind == Observation::Kind::canceled) return &observation;
    return nullptr;
  }
  // "A cancel of all orders of account 3", or "…, symbol SYM1,".
  std::string name(const CancelAllRecord& cancel) const {
    return "A cancel of all orders of account " + account_name(cancel.account) +
           (cancel.symbol == 0 ? "" : ", symbol " + symbol_name(cancel.symbol) + ",");
  }
  // Returns "order 12 (buy 50 of SYM1 at 100.5, tif ioc)"; or "…, replaced by 40 at 101)" with the
  // last of the first `replaced` replaces, by default of all.
  std::string name(std::size_t order,
                   std::size_t replaced = std::numeric_limits<std::size_t>::max()) const {
    const OrderRecord& record = orders[order];
    const auto [attribute, value] = attribute_of(record.terms);
    std::string text =
        "order " + text_of_id(record.id) + (record.amount > 0 ? " (buy " : " (sell ") +
        std::to_string(std::abs(record.amount)) + " of " + symbol_name(record.symbol);
    if (record.terms != Terms::market) text += " at " + to_string(price_of(record.limit_cents));
    if (!attribute.empty()) text += ", " + std::string(attribute) + " " + std::string(value);
    const auto own = replaces_of(order);
    if (replaced = std::min(replaced, own.size()); replaced > 0)
      text += ", replaced by " + std::to_string(std::abs(own[replaced - 1].amount)) + " at " +
              to_string(price_of(own[replaced - 1].limit_cents));
    return text + ")";
  }
};

enum class Check : std::uint8_t {
  states,
  replies,
  pairing,
  executions,
  time,
  conservation,
  balances
};
inline constexpr std::size_t checks = 7;

// Findings as sentences: the first few of each check, and the number of the others.
class Findings {
 public:
  void add(Check check, std::string sentence) {
    Found& found = found_[std::size_t(check)];
    if (++found.count <= sentences_max) found.sentences.push_back(std::move(sentence));
  }
  std::uint64_t count(Check check) const { return found_[std::size_t(check)].count; }
  // Returns all sentences, in the order of the checks.
  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const Found& found : found_) {
      all.insert(all.end(), found.sentences.begin(), found.sentences.end());
      if (found.count > sentences_max)
        all.back() += " (And " + std::to_string(found.count - sentences_max) + " more like these.)";
    }
    return all;
  }

 private:
  static constexpr std::uint64_t sentences_max = 3;  // per check
  struct Found {
    std::vector<std::string> sentences;
    std::uint64_t count = 0;
  };
  std::array<Found, checks> found_;
};

}  // namespace exchange::run_audit
