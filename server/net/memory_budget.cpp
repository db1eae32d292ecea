#include "net/memory_budget.hpp"

#include <algorithm>

namespace exchange {

bool MemoryBudget::Share::reserve(std::size_t bytes) {
  release();
  if (bytes <= budget_.limits_.small_bytes_max) return true;
  bytes = std::min(bytes, budget_.limits_.bytes_max);
  if (!budget_.admits(address_, bytes)) return false;
  budget_.change(address_, bytes_, bytes);
  return true;
}

void MemoryBudget::Share::hold(std::size_t bytes) { budget_.change(address_, bytes_, bytes); }

bool MemoryBudget::admits(const PeerAddress& address, std::size_t bytes) const {
  if (bytes_ == 0) return true;
  const std::size_t all = bytes_ + bytes;
  if (all > limits_.bytes_max) return false;
  if (all <= limits_.uncontested_bytes_max) return true;
  const auto found = by_address_.find(address);
  const std::size_t of_address = found == by_address_.end() ? 0 : found->second;
  return of_address + bytes <= limits_.bytes_per_address_max;
}

void MemoryBudget::change(const PeerAddress& address, std::size_t& current, std::size_t bytes) {
  if (current == bytes) return;
  const auto used = by_address_.try_emplace(address, 0).first;
  used->second += bytes - current;
  bytes_ += bytes - current;
  current = bytes;
  if (used->second == 0) by_address_.erase(used);
}

std::vector<std::size_t> choose_to_shed(std::span<const HeldBytes> held, std::size_t bytes,
                                        std::chrono::steady_clock::time_point now) {
  struct Holder {
    double weight = 0;
    std::vector<std::size_t> shares;  // the heaviest last
  };
  const auto weight = [&](std::size_t i) {
    const std::chrono::duration<double, std::milli> time = now - held[i].since;
    return double(held[i].bytes) * (1 + time.count());
  };
  std::unordered_map<PeerAddress, Holder> holders;
  for (std::size_t i = 0; i < held.size(); ++i) {
    Holder& holder = holders[held[i].address];
    holder.weight += weight(i);
    holder.shares.push_back(i);
  }
  for (auto& [address, holder] : holders)
    std::sort(holder.shares.begin(), holder.shares.end(),
              [&](std::size_t a, std::size_t b) { return weight(a) < weight(b); });

  std::vector<std::size_t> chosen;
  for (std::size_t freed = 0; freed < bytes && !holders.empty();) {
    const auto heaviest = std::max_element(
        holders.begin(), holders.end(),
        [](const auto& a, const auto& b) { return a.second.weight < b.second.weight; });
    Holder& holder = heaviest->second;
    const std::size_t i = holder.shares.back();
    chosen.push_back(i);
    freed += held[i].bytes;
    holder.weight -= weight(i);
    holder.shares.pop_back();
    if (holder.shares.empty()) holders.erase(heaviest);
  }
  return chosen;
}

}  // namespace exchange
