#pragma once
// What a run remembers for the audit: each order that was opened, and the order states in replies
// during the run. Records are small, for there are millions. Each worker fills a History of
// its own; they are added up once the workers have ended. Times are of one steady clock: sent_ns no
// later than the first byte went out, answered_ns no earlier than the whole reply was there.

#include <cstdint>
#include <utility>
#include <vector>

#include "client/loadgen/terms.hpp"

namespace exchange::loadgen {

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
  // requests sent whose reply never came, or was a wrong one: what they did is not known
  std::uint64_t unanswered = 0, wrongly_answered = 0;

  void add(History&& other) {
    append(orders, other.orders);
    append(observations, other.observations);
    append(new_accounts, other.new_accounts);
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

}  // namespace exchange::loadgen
