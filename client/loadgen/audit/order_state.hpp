#pragma once
// What a <status> or <canceled> reply element tells of an order. Numbers are read exactly. Pure.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "client/connection/reply.hpp"
#include "client/loadgen/history.hpp"
#include "engine/decimal.hpp"

namespace exchange::loadgen {

struct OrderState {
  struct Execution {
    Shares shares;
    Price price;
    std::int64_t time = 0;  // seconds since the epoch, as all times here
    bool operator==(const Execution&) const = default;
  };
  Shares open, canceled;  // at most one is above zero
  std::int64_t canceled_time = 0;
  std::vector<Execution> executions;  // oldest first
  bool operator==(const OrderState&) const = default;
};

// Overwrites `state`, whose memory is used again. Returns what is wrong with the element's content:
// empty where it is as docs/protocol.md, T9 and T10 say.
std::string_view parse_order_state(const ReplyElement& element, OrderState& state);

// Of executions one after another, from 0: the same only for the same executions in the same order.
std::uint64_t add_to_fingerprint(std::uint64_t fingerprint, const OrderState::Execution& execution);

// Nothing where there are parts of a share, or more than an OrderRecord's amount can say.
std::optional<OrderDigest> digest_of(const OrderState& state);

}  // namespace exchange::loadgen
