#pragma once
// Counts commands by kind and result for one batch, before they are added to the metrics.
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
  }
  void move_to(Metrics& metrics) {
    for (std::size_t kind = 0; kind < Metrics::command_kinds; ++kind)
      for (std::size_t result = 0; result < Metrics::command_results; ++result)
        if (counts_[kind][result] > 0)
          Metrics::add(metrics.commands[kind][result], counts_[kind][result]);
    *this = {};
  }

 private:
  static_assert(Metrics::command_kinds == std::variant_size_v<Command> &&
                Metrics::command_results == 1 + reasons);
  std::uint32_t counts_[Metrics::command_kinds][Metrics::command_results] = {};
};

}  // namespace exchange
