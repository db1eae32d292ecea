#pragma once
// Checks after a run, over the public protocol alone, whether the server kept the market rules.
// Requires that accounts and symbols belong to this run, and that no other client traded them. Asks
// for the final state of every order, then checks that
//   - each state is complete: open + canceled + executed shares equal the ordered shares, and no
//     price is worse than the limit;
//   - replies during the run agree with it, a cancel was final, and a cancel of all orders did not
//     leave out an order that was opened before it was sent and open after its reply;
//   - the executions of buys and sells pair up, so that what buyers paid is what sellers got;
//   - every execution is the one that price-time priority gives, in an order of events that the
//     times of requests and replies allow (Rerun);
//   - halts and auctions that the run itself made were kept, and had the results that the rules
//     give;
//   - every account has the resulting cash and shares, to the last unit, or in a lenient audit to
//     a cent (BalanceProbe).
//
// The audit cannot see: whether an order was refused although it could be paid for, filled (fok) or
// posted; whether a replace was refused wrongly; which of two orders came first if the replies to
// both are the same either way; the order of events between the sending of a request and its
// answer, if ids leave it open; what happens after the audit. If the request of a replace opened no
// order, the time of the replace is not known (Place): the symbols of those orders are not
// rerun. If another client halted symbols or held auctions, the times are not known: a symbol is
// not rerun if an order was refused for this reason; an auction that refused no order can cause
// false findings. If requests got no right reply (History::unanswered, wrongly_answered), their
// effect is not known: pairing, rerun and balances are then not checked.
//
// Differences from the protocol in form alone (Deviation), and rules that the course protocol
// leaves open, are not findings: whether orders of one account match each other, and in which order
// the executions of one second are listed. If transaction ids do not rise in the order of arrival
// (texts, or numbers of a lenient audit), orders of one symbol that were sent at once are not
// rerun.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/loadgen/audit/deviations.hpp"
#include "client/loadgen/audit/history.hpp"

namespace exchange::run_audit {

// An account as it was created, before or during the run.
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
  std::function<std::string(unsigned)> symbol_name;  // names symbols from 1
  std::string probe_symbol;  // no account sells it; the audit places one share of it
  // For other people's servers: attributes may be missing (ReplyCheck::lenient), ids need not rise,
  // and balances are checked to a cent, for servers that keep cents or floating point.
  bool lenient = false;
  History history;
};

// Sends one document, without a length line, and returns the reply document. Its exceptions pass
// through.
using Ask = std::function<std::string(std::string_view document)>;

struct AuditResult {
  bool passed = false;  // something was checked, and there are no findings
  std::uint64_t orders = 0, executions = 0, accounts = 0;
  std::string cash_moved;             // from buyers to sellers
  std::vector<std::string> findings;  // sentences: the first few of each check
  Deviations deviations;              // in the replies to the audit's own queries
  std::string not_checked;            // the checks that were not possible, and why
  double seconds = 0;
};

AuditResult audit(AuditInput input, const Ask& ask);

}  // namespace exchange::run_audit
