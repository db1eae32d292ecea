#pragma once
// Checks the replies of the run against the final states: each reported state is possible, each
// cancel was final, and a cancel of all did not leave out an order that was certainly open.

#include <set>
#include <string_view>

#include "client/loadgen/audit/evidence.hpp"

namespace exchange::run_audit {

class ReplyChecks {
 public:
  // `evidence` has the orders and their final states. `all_known`: every request got a reply.
  ReplyChecks(Evidence& evidence, Findings& findings, bool all_known)
      : evidence_(evidence), findings_(findings), all_known_(all_known) {}
  // Moves `observations` of known orders into the evidence, sorted by order.
  void sort(std::vector<Observation> observations);
  // Call it after the rerun. `not_rerun`: the symbols whose executions have no known order.
  void run(const std::set<std::uint16_t>& not_rerun);

 private:
  void check_observation(const Observation& observation, std::uint32_t order);
  std::string_view contradiction(const Observation& observation, std::uint32_t order) const;
  bool could_have(std::int32_t shares, const Observation& observation, std::uint32_t order) const;
  bool executions_fit(const OrderDigest& then, std::uint32_t order) const;
  void check_cancels(std::uint32_t order);
  void check_cancel(std::uint32_t order, std::int64_t sent_ns, std::int64_t answered_ns);
  void check_replaces(std::uint32_t order);
  void check_list(const CancelAllRecord& cancel);
  void check_complete();
  std::int64_t open_after_ns(std::uint32_t order) const;
  bool explained(std::uint32_t order) const;

  Evidence& evidence_;
  Findings& findings_;
  const bool all_known_;
  std::set<std::uint16_t> not_rerun_;
  std::set<std::uint32_t> prevents_self_trades_;  // accounts with such an order
};

}  // namespace exchange::run_audit
