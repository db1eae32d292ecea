#pragma once
// The records that a run keeps for the audit: each order that was opened or replaced, and the order
// states in replies during the run. Records are small, because there are millions. Each worker
// fills its own History; they are merged once the workers have ended. Times come from one steady
// clock: sent_ns is no later than the first byte was sent, answered_ns no earlier than the whole
// reply was received.

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/commands.hpp"

namespace exchange::run_audit {

// The terms of an order of the load generator besides its limit: at most one (docs/protocol.md,
// "Terms of an order").
enum class Terms : std::uint8_t {
  none,
  ioc,
  fok,
  post,
  market,          // without a limit
  cancel_resting,  // stp
  cancel_taking,
};

// Both are empty for an order without terms.
struct TermsAttribute {
  std::string_view name, value;
};
constexpr TermsAttribute attribute_of(Terms terms) {
  switch (terms) {
    case Terms::none: return {};
    case Terms::ioc: return {"tif", "ioc"};
    case Terms::fok: return {"tif", "fok"};
    case Terms::post: return {"post", "true"};
    case Terms::market: return {"type", "market"};
    case Terms::cancel_resting: return {"stp", "cancel-resting"};
    case Terms::cancel_taking: return {"stp", "cancel-taking"};
  }
  return {};
}

// Whether an order with these terms executes only when it arrives, and does not rest.
constexpr bool never_rests(Terms terms) {
  return terms == Terms::ioc || terms == Terms::fok || terms == Terms::market;
}

constexpr bool prevents_self_trades(Terms terms) {
  return terms == Terms::cancel_resting || terms == Terms::cancel_taking;
}

struct OrderRecord {
  std::uint64_t id;
  std::uint32_t account;  // AuditInput::accounts[account]
  std::uint16_t symbol;   // from 1
  Terms terms = Terms::none;
  std::int32_t amount;       // shares; negative sells
  std::int32_t limit_cents;  // 0 for a market order
  std::int64_t sent_ns, answered_ns;
};

// The state of an order of whole shares in a few bytes.
struct OrderDigest {
  std::int32_t open = 0, canceled = 0, executed = 0;  // shares
  std::uint32_t executions = 0;
  std::int64_t canceled_time = 0;
  std::uint64_t fingerprint = 0;  // of the executions, independent of their order
};

// Adds one execution to a fingerprint that starts at 0. The result does not depend on the order of
// the executions.
std::uint64_t add_to_fingerprint(std::uint64_t fingerprint, const Execution& execution);

// Returns nothing if there are parts of a share, or more shares than an OrderRecord's amount can
// hold.
std::optional<OrderDigest> digest_of(const Status& state);

// A reply to a query or a cancel.
struct Observation {
  enum class Kind : std::uint8_t { status, canceled, cancel_refused };
  Kind kind;
  std::uint64_t id;
  std::int64_t sent_ns, answered_ns;
  OrderDigest digest;  // not set if a cancel was refused
};

// The position of an event among the orders that were opened. Replaces and cancels of all have no
// id, but nothing else happens between the elements of one request (T17): they came right before or
// after an order that their request opened.
struct Place {
  std::uint64_t id = 0;  // of that order; 0: the request opened none, and the place is not known
  enum class Side : std::uint8_t { before, itself, after } side = Side::itself;
  std::uint16_t element = 0;  // of the request
  bool known() const { return id != 0; }
  auto operator<=>(const Place&) const = default;
};

// An order was replaced.
struct ReplaceRecord {
  std::uint64_t id;  // of the order
  Place place;
  std::int32_t amount;  // the new ones, as of an OrderRecord
  std::int32_t limit_cents;
  std::int64_t sent_ns, answered_ns;
};

// A cancel of all orders. The orders that it canceled have observations too.
struct CancelAllRecord {
  std::uint32_t account;
  std::uint16_t symbol = 0;  // 0: all
  Place place;
  std::int64_t sent_ns, answered_ns;
  std::vector<std::uint64_t> canceled;  // ids as listed; empty if the server refused it
  std::uint64_t executions = 0;         // number of executions listed
};

// A change of a symbol's trading that the run made as the operator. It was sent on one connection
// between two orders, whose ids show when it happened.
struct TradingRecord {
  std::uint16_t symbol;
  Trading trading;
  // right after the first of those orders; not known if one of them was refused
  Place place;
  std::uint64_t next_id = 0;          // of the second order
  std::int64_t sent_ns, answered_ns;  // of all three requests
  // the result of the auction that it ended, by the reply; 0: nothing executed
  std::int32_t price_cents = 0;
  std::int64_t shares = 0;
};

// An account that the run created, with shares of one symbol or none.
struct NewAccount {
  std::uint64_t number = 0;  // its number among the accounts of the client
  std::uint32_t client = 0;
  std::uint16_t symbol = 0;  // 0: none
  std::int32_t shares = 0;
};

struct History {
  std::vector<OrderRecord> orders;
  std::vector<NewAccount> new_accounts;
  std::vector<Observation> observations;
  std::vector<ReplaceRecord> replaces;
  std::vector<CancelAllRecord> cancels_of_all;
  std::vector<TradingRecord> trading;
  // symbols for which orders or replaces were refused because of a halt or an auction
  std::set<std::uint16_t> halted;
  // requests without a reply, and requests with a wrong one: their effect is not known
  std::uint64_t unanswered = 0, wrongly_answered = 0;

  void add(History&& other) {
    append(orders, other.orders);
    append(observations, other.observations);
    append(new_accounts, other.new_accounts);
    append(replaces, other.replaces);
    append(cancels_of_all, other.cancels_of_all);
    append(trading, other.trading);
    halted.merge(other.halted);
    unanswered += other.unanswered;
    wrongly_answered += other.wrongly_answered;
    other = {};
  }

 private:
  template <class Record>
  static void append(std::vector<Record>& to, std::vector<Record>& from) {
    if (to.empty())
      to.swap(from);
    else
      to.insert(to.end(), from.begin(), from.end());
  }
};

}  // namespace exchange::run_audit
