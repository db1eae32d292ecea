#include "client/loadgen/audit/order_state.hpp"

#include <charconv>
#include <limits>

namespace exchange::loadgen {
namespace {

bool read_shares(const ReplyElement& element, Shares& shares) {
  const auto parsed = parse_shares(element.attribute("shares"));
  shares = parsed.value;
  return parsed && shares > Shares();
}

bool read_price(const ReplyElement& element, Price& price) {
  const auto parsed = parse_price(element.attribute("price"));
  price = parsed.value;
  return parsed && price > Price();
}

bool read_time(const ReplyElement& element, std::int64_t& time) {
  const std::string_view text = element.attribute("time");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  return error == std::errc() && end == text.data() + text.size();
}

// False where these are not whole shares, or more than fit.
bool whole_shares(Shares shares, std::int32_t& whole) {
  constexpr std::int64_t units_per_share = Shares::whole(1).units();
  const std::int64_t count = shares.units() / units_per_share;
  whole = std::int32_t(count);
  return shares.units() % units_per_share == 0 && count <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

std::string_view parse_order_state(const ReplyElement& element, OrderState& state) {
  state.open = state.canceled = Shares();
  state.canceled_time = 0;
  state.executions.clear();
  ReplyElements parts = ReplyElements::within(element);
  ReplyElement part;
  for (bool first = true; parts.next(part); first = false) {
    if (part.name == "executed") {
      OrderState::Execution& execution = state.executions.emplace_back();
      if (!read_shares(part, execution.shares))
        return "<executed> without a positive number of shares";
      if (!read_price(part, execution.price)) return "<executed> without a positive price";
      if (!read_time(part, execution.time)) return "<executed> without a time";
    } else if (!first) {
      return "an element that may only stand first, or not at all";
    } else if (part.name == "open") {
      if (!read_shares(part, state.open)) return "<open> without a positive number of shares";
    } else if (part.name == "canceled") {
      if (!read_shares(part, state.canceled))
        return "<canceled> without a positive number of shares";
      if (!read_time(part, state.canceled_time)) return "<canceled> without a time";
    } else {
      return "an element that is no state of an order";
    }
  }
  return parts.complete() ? "" : "content that cannot be read";
}

std::uint64_t add_to_fingerprint(std::uint64_t fingerprint,
                                 const OrderState::Execution& execution) {
  for (const std::int64_t number :
       {execution.shares.units(), execution.price.units(), execution.time}) {
    fingerprint = (fingerprint ^ std::uint64_t(number)) * 0x9e3779b97f4a7c15u;
    fingerprint ^= fingerprint >> 32;
  }
  return fingerprint;
}

std::optional<OrderDigest> digest_of(const OrderState& state) {
  OrderDigest digest{.executions = std::uint32_t(state.executions.size()),
                     .canceled_time = state.canceled_time};
  if (!whole_shares(state.open, digest.open) || !whole_shares(state.canceled, digest.canceled))
    return std::nullopt;
  std::int64_t executed = 0;
  for (const OrderState::Execution& execution : state.executions) {
    std::int32_t shares = 0;
    if (!whole_shares(execution.shares, shares)) return std::nullopt;
    executed += shares;
    digest.fingerprint = add_to_fingerprint(digest.fingerprint, execution);
  }
  if (executed > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  digest.executed = std::int32_t(executed);
  return digest;
}

}  // namespace exchange::loadgen
