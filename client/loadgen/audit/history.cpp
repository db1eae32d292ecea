#include "client/loadgen/audit/history.hpp"

#include <limits>

namespace exchange::run_audit {
namespace {

// Returns false if these are not whole shares, or too many for `whole`.
bool whole_shares(Shares shares, std::int32_t& whole) {
  constexpr std::int64_t one = Shares::whole(1).units();
  const std::int64_t count = shares.units() / one;
  whole = std::int32_t(count);
  return shares.units() % one == 0 && count <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

std::uint64_t add_to_fingerprint(std::uint64_t fingerprint, const Execution& execution) {
  std::uint64_t own = 0;
  for (const std::int64_t number :
       {execution.shares.units(), execution.price.units(), execution.time.seconds()}) {
    own = (own ^ std::uint64_t(number)) * 0x9e3779b97f4a7c15u;
    own ^= own >> 32;
  }
  return fingerprint + own;
}

std::optional<OrderDigest> digest_of(const Status& state) {
  OrderDigest digest{.executions = std::uint32_t(state.executions.size()),
                     .canceled_time = state.canceled_at.seconds()};
  if (!whole_shares(state.open, digest.open) || !whole_shares(state.canceled, digest.canceled))
    return std::nullopt;
  std::int64_t executed = 0;
  for (const Execution& execution : state.executions) {
    std::int32_t shares = 0;
    if (!whole_shares(execution.shares, shares)) return std::nullopt;
    executed += shares;
    digest.fingerprint = add_to_fingerprint(digest.fingerprint, execution);
  }
  if (executed > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  digest.executed = std::int32_t(executed);
  return digest;
}

}  // namespace exchange::run_audit
