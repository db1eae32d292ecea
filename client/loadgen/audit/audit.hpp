#pragma once
// Proves after a run, over the public protocol alone, that the server did what the market rules
// say. Relies on this: accounts and symbols are of this run, and no other client traded them. Asks
// for the final state of every order, then checks that
//   - each is complete: open + canceled + executed shares are what was ordered, no price is worse
//   than the limit;
//   - replies during the run agree with it, a cancel was final, and a cancel of all orders left out
//   none that was opened before it was sent and open after its reply;
//   - the executions of buys and sells pair up, so that what buyers paid is what sellers got;
//   - every execution is the one that price-time priority gives, in a course of events that real
//   time allows (Replay);
//   - halts and auctions that the run itself made were kept, and came out as the rules say;
//   - every account has the cash and shares that follow, to the last unit or to a cent
//   (BalanceProbe).
//
// What it cannot see: an order that was refused although it could be paid for, filled (fok) or
// posted, or a replace that was refused; which of two orders came first where the replies to both
// are the same either way; the order of things between a request's sending and its answer, as far
// as ids leave it open; what happens after the audit. Where the request of a replace opened no
// order, it is not known when that happened (Place): the symbols of those orders are not replayed.
// Where another client halted symbols or held auctions it is not known when: a symbol of which an
// order was refused for it is not replayed; an auction that refused none can lead to findings where
// there are none. Where requests went without a right reply (History::unanswered, wrongly_answered)
// it is not known what they did: pairing, replay and balances are not checked then.
//
// What differs from the protocol in form alone (Deviation), and what the course protocol leaves
// open, is no finding: whether orders of one account match each other, and in which order the
// executions of one second are listed. Where transaction ids are texts, or with
// AuditPrecision::cent numbers, that do not rise in the order of arrival, orders of one symbol that
// were sent at once are not replayed.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.hpp"
#include "client/loadgen/audit/deviations.hpp"
#include "client/loadgen/audit/history.hpp"

namespace exchange::run_audit {

// How exactly the audit looks at balances: to the last unit, or to a cent, for servers that keep
// cents or floating point.
BOOST_DEFINE_FIXED_ENUM_CLASS(AuditPrecision, std::uint8_t, unit, cent)

// As created, before or during the run.
struct AuditAccount {
  std::string id;
  std::int64_t cash;  // whole
  struct Placed {
    std::uint16_t symbol;
    std::int64_t shares;  // whole
  };
  std::vector<Placed> shares;
};

struct AuditInput {
  std::vector<AuditAccount> accounts;
  std::function<std::string(unsigned)> symbol_name;  // of symbols from 1
  std::string probe_symbol;  // that no account sells; the audit places a share of it
  AuditPrecision precision = AuditPrecision::unit;
  bool lenient = false;  // as ReplyCheck
  History history;
};

// Sends one document, without a length line, and returns the reply document. What it throws passes
// through.
using Ask = std::function<std::string(std::string_view document)>;

struct AuditResult {
  bool passed = false;  // something was checked, and there are no findings
  std::uint64_t orders = 0, executions = 0, accounts = 0;
  std::string cash_moved;  // from buyers to sellers
  // of all accounts, as created: where the audit passed it is all still there
  std::string cash_total;
  std::vector<std::string> findings;  // sentences: the first few of each check
  Deviations deviations;              // in the replies to the audit's own queries
  std::string not_checked;            // what could not be, and why
  double seconds = 0;
};

AuditResult audit(AuditInput input, const Ask& ask);

}  // namespace exchange::run_audit
