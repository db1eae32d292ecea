#pragma once
// The state of an order in a few bytes: a run keeps millions. Pure.

#include <cstdint>
#include <optional>

#include "client/loadgen/audit/history.hpp"
#include "engine/commands.hpp"

namespace exchange::run_audit {

// Of executions one after another, from 0: the same for the same executions in any order.
std::uint64_t add_to_fingerprint(std::uint64_t fingerprint, const Execution& execution);

// Nothing where there are parts of a share, or more than an OrderRecord's amount can hold.
std::optional<OrderDigest> digest_of(const Status& state);

}  // namespace exchange::run_audit
