#pragma once
// What a run remembers for the audit: each order that was opened or replaced, and the order states
// in replies during the run. Records are small, for there are millions. Each worker fills a History
// of its own; they are added up once the workers have ended. Times are of one steady clock: sent_ns
// no later than the first byte went out, answered_ns no earlier than the whole reply was there.

#include <compare>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "client/loadgen/audit/terms.hpp"
#include "engine/rules.hpp"

namespace exchange::run_audit {

struct OrderRecord {
  std::uint64_t id;
  std::uint32_t account;  // AuditInput::accounts[account]
  std::uint16_t symbol;   // from 1
  Terms terms = Terms::none;
  std::int32_t amount;       // shares; negative sells
  std::int32_t limit_cents;  // of a market order 0
  std::int64_t sent_ns, answered_ns;
};

// A Status in a few bytes, of an order of whole shares (digest_of).
struct OrderDigest {
  std::int32_t open = 0, canceled = 0, executed = 0;  // shares
  std::uint32_t executions = 0;
  std::int64_t canceled_time = 0;
  std::uint64_t fingerprint = 0;  // of the executions, whatever their order
};

// A reply to a query or a cancel.
struct Observation {
  enum class Kind : std::uint8_t { status, canceled, cancel_refused };
  Kind kind;
  std::uint64_t id;
  std::int64_t sent_ns, answered_ns;
  OrderDigest digest;  // not of a refused cancel
};

// When something happened, among the orders that were opened. Replaces and cancels of all have no
// id, but between the elements of one request nothing else happens (T17): they came right before or
// after an order that their request opened.
struct Place {
  std::uint64_t id = 0;  // that order's; 0: it opened none, and the place is not known
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

// A cancel of all orders. What it canceled has observations too.
struct CancelAllRecord {
  std::uint32_t account;
  std::uint16_t symbol = 0;  // 0: all
  Place place;
  std::int64_t sent_ns, answered_ns;
  std::vector<std::uint64_t> canceled;  // ids as listed; empty where it was refused
  std::uint64_t executions = 0;         // listed
};

// The run, as the operator, changed how a symbol trades. Sent on one connection between two orders,
// whose ids show when it happened.
struct TradingRecord {
  std::uint16_t symbol;
  Trading trading;
  // right after the first of those orders; not known where one of them was refused
  Place place;
  std::uint64_t next_id = 0;          // that of the second one
  std::int64_t sent_ns, answered_ns;  // of all three requests
  // the auction that it ended, by the reply; 0: nothing was executed
  std::int32_t price_cents = 0;
  std::int64_t shares = 0;
};

// An account that the run created, with shares of one symbol or none.
struct NewAccount {
  std::uint64_t number = 0;  // among those of the client
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
  // symbols of which orders or replaces were refused because they were halted, or in an auction
  std::set<std::uint16_t> halted;
  // requests sent whose reply never came, or was a wrong one: what they did is not known
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
