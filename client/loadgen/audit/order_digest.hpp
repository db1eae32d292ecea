#pragma once
// The state of an order in a few bytes, because a run keeps millions. Pure.

#include <cstdint>
#include <optional>

#include "client/loadgen/audit/history.hpp"
#include "engine/commands.hpp"

namespace exchange::run_audit {

// Adds one execution to a fingerprint that starts at 0. The result does not depend on the order of
// the executions.
std::uint64_t add_to_fingerprint(std::uint64_t fingerprint, const Execution& execution);

// Returns nothing if there are parts of a share, or more shares than an OrderRecord's amount can
// hold.
std::optional<OrderDigest> digest_of(const Status& state);

}  // namespace exchange::run_audit
