#pragma once
// Counts commands by kind and result, and orders by kind, for one batch, before they are added to
// the metrics. What orders cancel by their terms is not seen here: outcomes do not tell it.
// Thread: the owner's.

#include "engine/commands.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

class CommandCounts {
 public:
  void add(const Command& command, const Outcome& outcome) {
    if (std::holds_alternative<NotInMemory>(outcome)) return;  // the order reader counts it
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ++counts_[command.index()][rejected == nullptr ? 0 : 1 + std::size_t(rejected->reason)];
    if (std::holds_alternative<Opened>(outcome))
      ++orders_[std::size_t(kind_of(std::get<PlaceOrder>(command)))];
    canceled_by_client_ += std::holds_alternative<Canceled>(outcome);
  }
  void move_to(Metrics& metrics) {
    for (std::size_t kind = 0; kind < Metrics::command_kinds; ++kind)
      for (std::size_t result = 0; result < Metrics::command_results; ++result)
        if (counts_[kind][result] > 0)
          Metrics::add(metrics.commands[kind][result], counts_[kind][result]);
    for (std::size_t kind = 0; kind < order_kinds; ++kind)
      if (orders_[kind] > 0) Metrics::add(metrics.orders[kind], orders_[kind]);
    if (canceled_by_client_ > 0) Metrics::add(metrics.canceled_by_client, canceled_by_client_);
    *this = {};
  }

 private:
  static OrderKind kind_of(const PlaceOrder& order) {
    if (order.limit == Price()) return OrderKind::market;
    if (order.post_only) return OrderKind::post;
    switch (order.lifetime) {
      case Lifetime::until_canceled: return OrderKind::limit;
      case Lifetime::immediate_or_cancel: return OrderKind::ioc;
      case Lifetime::fill_or_kill: return OrderKind::fok;
    }
    return OrderKind::limit;
  }

  static_assert(Metrics::command_kinds == std::variant_size_v<Command> &&
                Metrics::command_results == 1 + reasons);
  std::uint32_t counts_[Metrics::command_kinds][Metrics::command_results] = {};
  std::uint32_t orders_[order_kinds] = {}, canceled_by_client_ = 0;
};

}  // namespace exchange
