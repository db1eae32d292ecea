#pragma once
// Counts commands by kind and result, and orders by kind, for one batch, before they are added to
// the metrics.
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
    if (std::holds_alternative<Canceled>(outcome))
      ++(std::get<CancelOrder>(command).at_disconnect ? canceled_at_disconnect_
                                                      : canceled_by_client_);
    if (const auto* all = std::get_if<CanceledAll>(&outcome))
      canceled_by_client_ += std::uint32_t(all->orders.size());
  }
  void move_to(Metrics& metrics) {
    for (std::size_t kind = 0; kind < CommandCounters::kinds; ++kind)
      for (std::size_t result = 0; result < CommandCounters::results; ++result)
        if (counts_[kind][result] > 0)
          Metrics::add(metrics.commands[kind][result], counts_[kind][result]);
    for (std::size_t kind = 0; kind < enumerators<OrderKind>; ++kind)
      if (orders_[kind] > 0) Metrics::add(metrics.orders[OrderKind(kind)], orders_[kind]);
    auto& canceled = metrics.canceled_orders;
    if (canceled_by_client_ > 0) Metrics::add(canceled[CancelCause::client], canceled_by_client_);
    if (canceled_at_disconnect_ > 0)
      Metrics::add(canceled[CancelCause::disconnect], canceled_at_disconnect_);
    *this = {};
  }

 private:
  static OrderKind kind_of(const PlaceOrder& order) {
    if (order.is_market()) return OrderKind::market;
    if (order.post_only) return OrderKind::post;
    switch (order.lifetime) {
      case Lifetime::until_canceled: return OrderKind::limit;
      case Lifetime::immediate_or_cancel: return OrderKind::ioc;
      case Lifetime::fill_or_kill: return OrderKind::fok;
    }
    return OrderKind::limit;
  }

  std::uint32_t counts_[CommandCounters::kinds][CommandCounters::results] = {};
  std::uint32_t orders_[enumerators<OrderKind>] = {};
  std::uint32_t canceled_by_client_ = 0, canceled_at_disconnect_ = 0;
};

}  // namespace exchange
