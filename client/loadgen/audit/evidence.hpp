#pragma once
// What the parts of the audit share: all that the server reported of the orders of a run, and the
// findings.

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/loadgen/audit/order_digest.hpp"
#include "client/loadgen/history.hpp"

namespace exchange::loadgen {

// An execution as one of its two orders reports it. Orders are of whole shares and cents, so these
// are too.
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

// How an order stands after the run.
struct FinalState {
  std::size_t first_fill = 0;
  std::uint32_t fills = 0;
  std::uint32_t canceled_time = 0;
  std::int32_t open = 0, canceled = 0, executed = 0;
  bool known = false;  // the server returned it, and it could be read
};

struct Evidence {
  std::vector<OrderRecord> orders;               // by id
  std::vector<FinalState> states;                // of orders[i] at i, as the next two
  std::vector<std::uint32_t> first_observation;  // and one more: where the last one's end
  std::vector<Observation> observations;         // an order's by the number of executions in them
  std::vector<Fill> fills;
  // orders that were canceled when the other came, which prevents self-trades: itself or a resting
  // one (E14, E15); by the replay
  std::map<std::uint32_t, std::uint32_t> canceled_by;
  std::function<std::string(unsigned)> symbol_name;

  std::span<const Fill> fills_of(std::size_t order) const {
    return std::span(fills).subspan(states[order].first_fill, states[order].fills);
  }
  std::span<const Observation> observations_of(std::size_t order) const {
    return std::span(observations)
        .subspan(first_observation[order], first_observation[order + 1] - first_observation[order]);
  }
  // The reply that canceled it; null where there was none.
  const Observation* cancel_of(std::size_t order) const {
    for (const Observation& observation : observations_of(order))
      if (observation.kind == Observation::Kind::canceled) return &observation;
    return nullptr;
  }
  // "order 12 (buy 50 of SYM1 at 100.5, tif ioc)"
  std::string name(std::size_t order) const {
    const OrderRecord& record = orders[order];
    const auto [attribute, value] = attribute_of(record.terms);
    std::string text =
        "order " + std::to_string(record.id) + (record.amount > 0 ? " (buy " : " (sell ") +
        std::to_string(std::abs(record.amount)) + " of " + symbol_name(record.symbol);
    if (record.terms != Terms::market) text += " at " + to_string(price_of(record.limit_cents));
    if (!attribute.empty()) text += ", " + std::string(attribute) + " " + std::string(value);
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

// Sentences for people: of each check the first few, and how many more there were.
class Findings {
 public:
  void add(Check check, std::string sentence) {
    Found& found = found_[std::size_t(check)];
    if (++found.count <= sentences_max) found.sentences.push_back(std::move(sentence));
  }
  std::uint64_t count(Check check) const { return found_[std::size_t(check)].count; }
  // All, in the order of the checks.
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
  static constexpr std::uint64_t sentences_max = 3;  // of one check
  struct Found {
    std::vector<std::string> sentences;
    std::uint64_t count = 0;
  };
  std::array<Found, checks> found_;
};

}  // namespace exchange::loadgen
