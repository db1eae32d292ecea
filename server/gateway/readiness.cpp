#include "gateway/readiness.hpp"

#include <algorithm>
#include <utility>

#include "journal/lease.hpp"

namespace exchange {
namespace {

constexpr std::int64_t ms = 1'000'000;

std::string seconds(std::int64_t ns) { return std::to_string(ns / 1'000'000'000) + " s"; }

}  // namespace

std::string Readiness::State::clients_silent_for(std::int64_t max_ns, std::int64_t now_ns) const {
  const std::int64_t silence_ns = silence ? silence(now_ns) : 0;
  return silence_ns <= max_ns
             ? ""
             : "the threads of clients have been silent for " + seconds(silence_ns);
}

void Readiness::become(Role role, std::shared_ptr<const Health> health, std::int64_t now_ns,
                       Silence silence) {
  state_.with([&](State& state) { state = {role, std::move(health), now_ns, std::move(silence)}; });
}

std::string Readiness::not_alive(std::int64_t now_ns) {
  const State now = state();
  if (now.role != Role::active) return {};
  const std::int64_t dead_ns = limits_.dead_ms * ms;
  const std::int64_t silence_ns = now.health->silence_ns(now_ns);
  if (silence_ns > dead_ns && !now.health->waits_for_store())
    return "the core has been silent for " + seconds(silence_ns);
  return now.clients_silent_for(dead_ns, now_ns);
}

std::string Readiness::not_ready(std::int64_t now_ns) {
  const State now = state();
  switch (now.role) {
    case Role::standby: return "standby";
    case Role::starting:
    case Role::stopping: return stale(now, now_ns);
    case Role::active: break;
  }
  const Health& health = *now.health;
  if (!health.store_available()) return "the store is unavailable";
  const std::int64_t stall_ns = limits_.journal_stall_ms * ms;
  if (!health.reads_available() || health.read_age_ns(now_ns) > stall_ns)
    return "the store does not answer";
  if (const std::int64_t batch_ns = health.batch_age_ns(now_ns); batch_ns > stall_ns)
    return "the journal has not moved for " + seconds(batch_ns);
  if (const std::int64_t silence_ns = health.silence_ns(now_ns); silence_ns > stall_ns)
    return "the core has been silent for " + seconds(silence_ns);
  std::string silent = now.clients_silent_for(limits_.clients_stall_ms * ms, now_ns);
  return silent.empty() ? stale(now, now_ns) : silent;
}

std::string Readiness::not_able(std::int64_t now_ns) {
  const State now = state();
  return now.role == Role::standby ? stale(now, now_ns) : not_ready(now_ns);
}

std::string Readiness::stale(std::int64_t now_ns) { return stale(state(), now_ns); }

std::string Readiness::stale(const State& now, std::int64_t now_ns) const {
  const std::int64_t stale_ns = limits_.stale_ms * ms;
  if (now.role == Role::starting)
    return "the server is starting: it waits for the store, or reads it";
  if (now.role == Role::stopping) return "the server is stopping";  // another may be active
  if (now.role == Role::standby) {
    const std::int64_t age_ns = now.health->journal_age_ns(now_ns);
    return age_ns <= stale_ns ? "" : "this standby has not read the journal for " + seconds(age_ns);
  }
  const std::int64_t lease_end_ns = journal_.lease_end_ns();
  const std::int64_t confirmed_ns =
      lease_end_ns < 0 ? now.since_ns : std::max(now.since_ns, lease_end_ns - Lease::length_ns);
  return now_ns - confirmed_ns <= stale_ns
             ? ""
             : "the store has not confirmed for " + seconds(now_ns - confirmed_ns) +
                   " that this server is the active one";
}

}  // namespace exchange
