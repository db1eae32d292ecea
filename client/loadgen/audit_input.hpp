#pragma once
// What the audit of a run starts from: the accounts of its workload, and its history.

#include <cstddef>

#include "client/loadgen/workload.hpp"
#include "judge/replay/audit.hpp"

namespace exchange::loadgen {

// New accounts beyond these are left out, evenly: to check an account takes two requests.
inline constexpr std::size_t new_accounts_audited_max = 20'000;

// `workload` must outlive it.
AuditInput audit_input(const Workload& workload, const LoadOptions& load, History history);

}  // namespace exchange::loadgen
