#pragma once
// Calculates what every account must have by its orders and executions, and checks that it does.
// The protocol shows no balance, but an order that takes the whole balance opens, and one that
// takes the smallest unit more is refused. In a lenient audit an order of a cent less must open,
// one of a cent more must be refused, and amounts are whole: a server need not compute with more
// than two decimals. The buys are for a symbol that no account sells; the sells have the highest
// possible price: all of them rest, and are canceled again. Costs two requests for each account.

#include <map>

#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/audit/evidence.hpp"

namespace exchange::run_audit {

// The free amounts, and those reserved for open orders.
struct Holdings {
  Cash cash, cash_reserved;
  struct Position {
    Shares free, reserved;
  };
  std::map<std::uint16_t, Position> positions;
};

class BalanceProbe {
 public:
  BalanceProbe(const AuditInput& input, const Evidence& evidence, const Ask& ask,
               Findings& findings, Deviations& deviations);
  // Checks that the total cash and shares equal what was created. Sends no request.
  void check_conservation();
  void run();
  // After run(): the refusal of a probe because of a rule of the operator, which shows nothing
  // about the balance; empty if no probe was refused so.
  const std::string& not_probed() const { return not_probed_; }

 private:
  struct Probe {
    std::string order;  // the request element
    bool must_open;
    std::string claim;  // what the account has
  };
  std::vector<Holdings> expected_holdings() const;
  void probe(const AuditAccount& account, const Holdings& holdings);
  void add_cash_probes(Cash free);
  void add_cent_probes(Cash free);
  void add_share_probes(const std::string& symbol, Shares free);
  void add(const std::string& symbol, bool buy, std::int64_t shares_units, std::int64_t price_units,
           bool must_open);
  void cancel(const AuditAccount& account, const std::vector<std::string>& ids);

  const AuditInput& input_;
  const Evidence& evidence_;
  const Ask& ask_;
  Findings& findings_;
  Deviations& deviations_;
  const std::vector<Holdings> holdings_;
  std::vector<Probe> probes_;  // of the current account
  std::string claim_, not_probed_;
};

}  // namespace exchange::run_audit
