#include "client/cli/watched_symbol.hpp"

namespace exchange::cli {

bool WatchedSymbol::apply(const Json& message) {
  const bool snapshot = text_field(message, "type") == "snapshot";
  const std::int64_t sequence = number_field(message, "sequence");
  new_trades_.clear();
  if (!snapshot && (!known_ || sequence != sequence_ + 1)) {
    known_ = false;
    return false;
  }
  std::vector<Trade> trades = trades_field(message, "trades");
  if (snapshot) {
    bids_.clear();
    asks_.clear();
    tape_.assign(trades.begin(), trades.end());
  } else {
    for (const Trade& trade : trades) tape_.push_front(trade);
    new_trades_ = std::move(trades);
  }
  change(bids_, levels_field(message, "bids"));
  change(asks_, levels_field(message, "asks"));
  if (tape_.size() > tape_max) tape_.resize(tape_max);
  sequence_ = sequence;
  known_ = true;
  return true;
}

std::string WatchedSymbol::top() const {
  const auto best = [](const auto& side) {
    return side.empty() ? "- -"
                        : to_string(side.begin()->first) + " " + side.begin()->second.shares;
  };
  return best(bids_) + " " + best(asks_);
}

}  // namespace exchange::cli
