#include "net/admission_control.hpp"

#include <algorithm>

namespace exchange {
namespace {

constexpr std::size_t candidates_max = 64;

}  // namespace

AdmissionControl::AdmissionControl(const NetLimits& limits)
    : limits_(limits),
      quota_(limits.connections_max + limits.closing_max,
             exchange::per_address_max(limits.connections_per_address, limits.connections_max)) {}

AdmissionControl::Decision AdmissionControl::decide(const PeerAddress& address,
                                                    std::uint64_t now_ms) {
  Decision decision{.place = quota_.take(address)};
  decision.refusal = decision.place.refusal();
  if (decision.refusal != Refusal::none) return decision;
  if (open() < std::min(limits_.connections_max, possible_max_)) return decision;
  const auto group = groups_.find(address);
  decision.evicted =
      choose_evicted(1 + (group == groups_.end() ? 0 : group->second.open()), now_ms);
  if (decision.evicted == nullptr) {
    decision.place = {};
    decision.refusal = Refusal::total;
  }
  return decision;
}

void AdmissionControl::add(ConnectionRecord& connection) {
  const auto [entry, is_new] = groups_.try_emplace(connection.place.address());
  AddressGroup& group = entry->second;
  try {
    group.connections.push_back(&connection);
  } catch (...) {  // no memory
    if (is_new) groups_.erase(entry);
    throw;
  }
  connection.group = &group;
  connection.position = group.connections.size() - 1;
  ++size_;
}

void AdmissionControl::set_closing(ConnectionRecord& connection) {
  if (connection.closing) return;
  connection.closing = true;
  ++connection.group->closing;
  ++closing_;
}

void AdmissionControl::remove(ConnectionRecord& connection) {
  std::erase_if(candidates_, [&](const Candidate& one) { return one.connection == &connection; });
  AddressGroup& group = *connection.group;
  if (connection.closing) {
    --group.closing;
    --closing_;
  }
  group.connections[connection.position] = group.connections.back();
  group.connections[connection.position]->position = connection.position;
  group.connections.pop_back();
  --size_;
  if (!group.connections.empty()) return;
  if (candidates_of_ == &group) {
    candidates_.clear();
    candidates_of_ = nullptr;
  }
  groups_.erase(connection.place.address());
}

// `newcomer_count`: how many connections the new one's address has with it.
ConnectionRecord* AdmissionControl::choose_evicted(std::size_t newcomer_count,
                                                   std::uint64_t now_ms) {
  ConnectionRecord* evicted = take_candidate(newcomer_count);
  const bool in_vain = now_ms < none_until_ms_ && newcomer_count >= none_for_;
  if (evicted == nullptr && !in_vain) {
    find_candidates(newcomer_count, now_ms);
    evicted = take_candidate(newcomer_count);
    if (evicted == nullptr) {
      none_until_ms_ = now_ms + 1;
      none_for_ = newcomer_count;
    }
  }
  return evicted;
}

ConnectionRecord* AdmissionControl::take_candidate(std::size_t newcomer_count) {
  if (candidates_of_ != nullptr && candidates_of_->open() <= newcomer_count) candidates_.clear();
  while (!candidates_.empty()) {
    const Candidate candidate = candidates_.back();
    candidates_.pop_back();
    const ConnectionRecord& connection = *candidate.connection;
    if (connection.closing || connection.group->open() + 1 < newcomer_count) continue;
    if (connection.activity.answered_ms() == candidate.answered_ms) return candidate.connection;
  }
  return nullptr;
}

// Of the address with most connections, if that has more than the new one's; else of any address
// with as many as the new one's, its own too, if idle for long.
void AdmissionControl::find_candidates(std::size_t newcomer_count, std::uint64_t now_ms) {
  const AddressGroup* most = nullptr;
  for (const auto& [address, group] : groups_)
    if (most == nullptr || group.open() > most->open()) most = &group;
  if (most == nullptr) return;

  const auto consider = [&](const AddressGroup& group, std::uint64_t idle_ms_min) {
    for (ConnectionRecord* const connection : group.connections) {
      const Activity& activity = connection->activity;
      const std::uint64_t answered_ms = activity.answered_ms();
      if (!connection->closing && !activity.is_executing() &&
          activity.idle_ms(now_ms) >= idle_ms_min)
        candidates_.push_back({connection, answered_ms});
    }
  };
  candidates_.clear();
  candidates_of_ = nullptr;
  if (most->open() > newcomer_count) {
    consider(*most, 0);
    if (!candidates_.empty()) candidates_of_ = most;
  }
  if (candidates_.empty())
    for (const auto& [address, group] : groups_)
      if (group.open() + 1 >= newcomer_count) consider(group, limits_.evictable_idle_ms);

  const auto idle_longer = [](const Candidate& a, const Candidate& b) {
    return a.answered_ms != b.answered_ms ? a.answered_ms < b.answered_ms
                                          : a.connection->serial < b.connection->serial;
  };
  const std::size_t kept = std::min(candidates_.size(), candidates_max);
  std::partial_sort(candidates_.begin(), candidates_.begin() + std::ptrdiff_t(kept),
                    candidates_.end(), idle_longer);
  candidates_.resize(kept);
  std::reverse(candidates_.begin(), candidates_.end());
}

ConnectionRecord* AdmissionControl::handle_fd_exhaustion(std::uint64_t now_ms) {
  possible_max_ = std::max<std::size_t>(open(), 1);
  ConnectionRecord* const evicted = reserve_.empty() ? choose_evicted(1, now_ms) : nullptr;
  reserve_.release();
  return evicted;
}

void AdmissionControl::recover_descriptors() {
  const bool lacking = lacks_descriptors();
  if (reserve_.refill() && lacking) possible_max_ += 1 + possible_max_ / 8;
}

}  // namespace exchange
