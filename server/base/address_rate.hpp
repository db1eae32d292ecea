#pragma once
// AddressRate limits how often one address does something: `burst_max` times at once, and on
// average `per_second`. Each use moves the due time of the address later by the interval between
// two uses; an address whose due time is too far ahead is refused. Owner: the part that sets the
// limits. Any thread.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/guarded.hpp"
#include "base/peer_address.hpp"

namespace exchange {

class AddressRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `per_second` 0 means no limit. `burst_max` is 1 or more.
  AddressRate(std::size_t per_second, std::size_t burst_max)
      : limited_(per_second > 0),
        between_(limited_ ? std::chrono::nanoseconds(1'000'000'000 / std::int64_t(per_second))
                          : std::chrono::nanoseconds(0)),
        ahead_max_(between_ * std::int64_t(burst_max - 1)) {}

  // Counts `times` more uses of an address that has taken one. They delay its next uses, but by two
  // bursts at most, so that the address can continue soon.
  void charge(const PeerAddress& address, std::size_t times, Time now) {
    if (!limited_) return;
    due_.with([&](Due& due) {
      const auto found = due.of.find(address);
      if (found == due.of.end()) return;
      const Time latest = std::max(found->second, now + 2 * ahead_max_);
      found->second = std::min(found->second + between_ * std::int64_t(times), latest);
    });
  }
  // Counts one use. Returns false, and counts nothing, if the address must wait.
  bool take(const PeerAddress& address, Time now) {
    if (!limited_) return true;
    return due_.with([&](Due& due) {
      if (due.of.size() >= due.forget_at) forget(due, now);
      Time& at = due.of.try_emplace(address, now).first->second;
      if (at < now) at = now;
      if (at - now > ahead_max_) return false;
      at += between_;
      return true;
    });
  }

 private:
  struct Due {
    std::unordered_map<PeerAddress, Time> of;
    std::size_t forget_at = 1'024;  // addresses; beyond it, those that may use a burst are dropped
  };
  static void forget(Due& due, Time now) {
    std::erase_if(due.of, [&](const auto& one) { return one.second <= now; });
    due.forget_at = 2 * due.of.size() + 1'024;
  }

  const bool limited_;
  const std::chrono::nanoseconds between_, ahead_max_;
  Guarded<Due> due_;
};

}  // namespace exchange
